import BluetoothWire
import Essentials
import Testing

@Suite("Values of standard characteristics")
struct StandardValueTests {
  static let samples: [(UInt16, [UInt8], String)] = [
    (0x2A00, Array("Strap".utf8), "Strap"),
    (0x2A01, [0x41, 0x03], "Heart Rate Belt"),
    (
      0x2A04, [0x18, 0x00, 0x28, 0x00, 0x00, 0x00, 0x48, 0x00],
      "interval 30.00 ms to 50.00 ms, latency 0, timeout 720 ms"
    ),
    (0x2A05, [0x01, 0x00, 0xFF, 0xFF], "handles 0x0001–0xFFFF"),
    (0x2A06, [2], "high alert"),
    (0x2A07, [0xF8], "-8 dBm"),
    (0x2A19, [87], "87%"),
    (0x2A1C, [0x00, 0x6C, 0x01, 0x00, 0xFF], "36.4 °C"),
    (
      0x2A1C, [0x07, 0xD7, 0x03, 0x00, 0xFF, 0xE8, 0x07, 2, 29, 13, 5, 9, 6],
      "98.3 °F, 2024-02-29 13:05:09, mouth"
    ),
    (0x2A23, [1, 2, 3, 4, 5, 6, 7, 8], "organization 080706, manufacturer 0504030201"),
    (0x2A29, Array("Ambit\0".utf8), "Ambit"),
    (
      0x2A2B, [0xE8, 0x07, 2, 29, 13, 5, 9, 4, 128, 1],
      "2024-02-29 13:05:09.50 (manual update)"
    ),
    (0x2A35, [0x04, 120, 0, 80, 0, 93, 0, 60, 0], "120/80 mmHg, mean 93, pulse 60 bpm"),
    (0x2A37, [0x00, 72], "72 bpm"),
    (0x2A37, [0x1F, 0x2C, 0x01, 12, 0, 0x00, 0x04], "300 bpm, contact, 12 kJ, beats 1000 ms"),
    (0x2A38, [1], "chest"),
    (0x2A38, [9], "reserved (9)"),
    (
      0x2A50, [1, 0x4C, 0x00, 0x34, 0x12, 0x13, 0x02],
      "Apple, Inc., product 0x1234, version 2.1.3"
    ),
    (0x2A53, [0x04, 0x80, 0x02, 180], "running 2.50 m/s, 180 steps/min"),
    (0x2A5B, [1, 10, 0, 0, 0, 0x00, 0x02], "wheel 10 turns at 0.500 s"),
    (0x2A6D, [0xDD, 0x76, 0x0F, 0x00], "101346.9 Pa"),
    (0x2A6E, [0x66, 0x08], "21.50 °C"),
    (0x2A6E, [0xFB, 0xFF], "-0.05 °C"),
    (0x2A6E, [0x00, 0x80], "not known"),
    (0x2A6F, [0x8B, 0x11], "44.91%"),
    (0x2A9D, [0x00, 0x10, 0x27], "50.000 kg"),
    (0x2B18, [0x40, 0x00], "1.000000 V"),
  ]

  @Test("a standard value reads as text", arguments: samples)
  func text(number: UInt16, bytes: [UInt8], expected: String) {
    #expect(StandardValue.text(bytes[...], of: BluetoothUUID(number)) == expected)
  }

  @Test("a value cut short, or with bytes left over, is no text of its format")
  func cut() {
    for (number, bytes, _) in Self.samples {
      for count in 0..<bytes.count {
        _ = StandardValue.text(bytes.prefix(count), of: BluetoothUUID(number))
      }
    }
    #expect(StandardValue.text([], of: 0x2A37) == nil)
    #expect(StandardValue.text([0x01, 72], of: 0x2A37) == nil)
    #expect(StandardValue.text([0x00, 72, 1], of: 0x2A37) == nil)
    #expect(StandardValue.text([1, 2, 3], of: 0x2A6E) == nil)
    #expect(StandardValue.text([0x80], of: 0x2A00) == nil)
    #expect(StandardValue.text([0xE8, 0x07, 13, 1, 0, 0, 0], of: 0x2A08) == nil)
  }

  @Test("any bytes under any characteristic or descriptor are read without harm")
  func hostile() {
    var random = SeededGenerator(seed: 20_240_229)
    for round in 0..<20_000 {
      let number = UInt16.random(
        in: round.isMultiple(of: 4) ? 0x2900...0x2910 : 0x2A00...0x2BFF, using: &random)
      let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      let text =
        StandardValue.text(bytes[...], of: BluetoothUUID(number))
        ?? StandardValue.text(bytes[...], ofDescriptor: BluetoothUUID(number)) ?? ""
      #expect(text.utf8.count < 600 && !text.contains("\u{1B}"), "round \(round)")
      _ = Beacon(manufacturerData: bytes[...])
      _ = Beacon(serviceData: bytes[...], of: Beacon.eddystoneService)
    }
  }

  @Test("text with control characters or direction overrides is not printable")
  func printable() {
    #expect(StandardValue.printable(Array("plain Ünïcode ✓".utf8)[...]) == "plain Ünïcode ✓")
    #expect(StandardValue.printable(Array("esc \u{1B}[2J".utf8)[...]) == nil)
    #expect(StandardValue.printable(Array("a\u{202E}b".utf8)[...]) == nil)
    #expect(StandardValue.printable([]) == nil)
    #expect(StandardValue.printable([0, 0]) == nil)
    #expect(StandardValue.printable([0xC3, 0x28]) == nil)
  }

  @Test("descriptors read as text")
  func descriptors() {
    #expect(StandardValue.text([1, 0], ofDescriptor: 0x2902) == "notifications on")
    #expect(StandardValue.text([0, 0], ofDescriptor: 0x2902) == "off")
    #expect(StandardValue.text([0], ofDescriptor: 0x2902) == nil)
    #expect(StandardValue.text([0x6F, 0x6B], ofDescriptor: 0x2901) == "ok")
    #expect(
      StandardValue.text([0x0E, 0xFE, 0x2F, 0x27, 1, 0, 0], ofDescriptor: 0x2904)
        == "format 14, exponent -2, unit 0x272F")
  }

  @Test("medical floats keep their digits, and their special values have names")
  func medicalFloats() {
    #expect(MedicalFloat(bits32: 0xFF00_016C).description == "36.4")
    #expect(MedicalFloat(bits32: 0x007F_FFFF) == .notANumber)
    #expect(MedicalFloat(bits32: 0x0080_0000) == .notAtThisResolution)
    #expect(MedicalFloat(bits32: 0x007F_FFFE) == .infinity(isNegative: false))
    #expect(MedicalFloat(bits32: 0x0080_0002) == .infinity(isNegative: true))
    #expect(MedicalFloat(bits32: 0x0080_0001) == .reserved)
    #expect(MedicalFloat(bits16: 0xF072).description == "11.4")
    #expect(MedicalFloat(bits16: 0x07FF) == .notANumber)
    #expect(MedicalFloat(bits16: 0x0800) == .notAtThisResolution)
    #expect(MedicalFloat(bits32: 0x8000_0005).description == "5e-128")
  }
}
