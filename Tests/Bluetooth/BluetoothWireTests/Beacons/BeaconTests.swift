import BluetoothWire
import Essentials
import Testing

@Suite("Beacons in advertising data")
struct BeaconTests {
  private func bytes(_ text: String) throws -> [UInt8] {
    try #require(Hexadecimal.bytes(text.filter { $0 != " " }))
  }

  private static let uuid = BluetoothUUID(
    high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)

  @Test("an iBeacon is read from Apple's manufacturer data")
  func iBeacon() throws {
    let bytes = try bytes("4c000215 2f234454cf6d4a0fadf2f4911ba9ffa6 0001 0002 c5")
    let beacon = try #require(Beacon(manufacturerData: bytes[...]))
    #expect(
      beacon.description == "iBeacon 2F234454-CF6D-4A0F-ADF2-F4911BA9FFA6 major 1 minor 2")
    #expect(beacon.powerAtOneMetre == -59)
    for count in 0..<bytes.count { #expect(Beacon(manufacturerData: bytes.prefix(count)) == nil) }
  }

  @Test("an iBeacon is written as Apple's dictionary value and as advertising data")
  func iBeaconWriting() throws {
    let beacon = IBeacon(uuid: Self.uuid, major: 513, minor: 258, powerAtOneMetre: -70)
    let value = try bytes("e2c56db5dffb48d2b060d0f5a71096e0 0201 0102 ba")
    #expect(beacon.bytes == value)
    #expect(try IBeacon(decoding: value[...]) == beacon)
    let air = try bytes("020106 1aff4c000215 e2c56db5dffb48d2b060d0f5a71096e0 0201 0102 ba")
    #expect(beacon.advertisingData == air)
    #expect(air.count == 30)
    #expect(Beacon.read(AdvertisingData(air[...])) == .beacon(.iBeacon(beacon)))
  }

  @Test("Apple's dictionary value has exactly 21 bytes")
  func dictionaryValue() throws {
    let value = IBeacon(uuid: Self.uuid, major: 1, minor: 0, powerAtOneMetre: -59).bytes
    for count in 0..<value.count {
      #expect { try IBeacon(decoding: value.prefix(count)) } throws: { $0.isTruncated }
    }
    #expect(throws: WireError.trailingBytes(count: 2)) {
      try IBeacon(decoding: (value + [0, 0])[...])
    }
  }

  @Test("an AltBeacon is read and written, of whatever company")
  func altBeacon() throws {
    let bytes = try bytes("1801 beac e2c56db5dffb48d2b060d0f5a71096e0 0201 0102 ba 07")
    let beacon = try AltBeacon(decoding: bytes[...])
    #expect(beacon.company == 0x0118 && beacon.reserved == 7)
    #expect(beacon.manufacturerData == bytes)
    #expect(Beacon(manufacturerData: bytes[...]) == .altBeacon(beacon))
    #expect(
      beacon.asIBeacon
        == IBeacon(uuid: Self.uuid, major: 513, minor: 258, powerAtOneMetre: -70))
    #expect(AltBeacon(company: 1, identifier: [1, 2], powerAtOneMetre: 0) == nil)
    for count in 4..<bytes.count {
      #expect(Beacon.read(manufacturerData: bytes.prefix(count)) == .malformed)
    }
    #expect(Beacon.read(manufacturerData: (bytes + [0])[...]) == .malformed)
  }

  @Test("malformed iBeacons are distinguished from other advertisements of Apple's devices")
  func malformed() throws {
    let whole = IBeacon(uuid: Self.uuid, major: 1, minor: 2, powerAtOneMetre: -59)
      .manufacturerData
    for count in 0..<4 {
      #expect(Beacon.read(manufacturerData: whole.prefix(count)) == .foreign)
    }
    for count in 4..<whole.count {
      #expect(Beacon.read(manufacturerData: whole.prefix(count)) == .malformed)
    }
    #expect(Beacon.read(manufacturerData: (whole + [0])[...]) == .malformed)
    var other = whole
    other[3] = 0x14
    #expect(Beacon.read(manufacturerData: other[...]) == .malformed)
    other = whole
    other[2] = 0x10
    #expect(Beacon.read(manufacturerData: other[...]) == .foreign)
    other = whole
    other[0] = 0x4D
    #expect(Beacon.read(manufacturerData: other[...]) == .foreign)
  }

  @Test("a beacon is found in any order of structures, without flags, and after a malformed one")
  func order() throws {
    let beacon = IBeacon(uuid: Self.uuid, major: 1, minor: 2, powerAtOneMetre: -59)
    let structure: [UInt8] = [26, 0xFF] + beacon.manufacturerData
    let name: [UInt8] = [3, 0x09, 0x41, 0x42]
    let broken: [UInt8] = [5, 0xFF, 0x4C, 0, 2, 0x15]
    let flags: [UInt8] = [2, 1, 6]
    for data in [
      structure, name + structure, structure + flags, broken + structure, structure + broken,
    ] {
      #expect(Beacon.read(AdvertisingData(data[...])) == .beacon(.iBeacon(beacon)))
    }
    #expect(Beacon.read(AdvertisingData((broken + name)[...])) == .malformed)
    #expect(Beacon.read(AdvertisingData(name[...])) == .foreign)
    // A structure with a length beyond the data is ignored.
    #expect(Beacon.read(AdvertisingData(structure.dropLast())) == .foreign)
  }

  @Test("an advertisement that is not a beacon stays readable as manufacturer data")
  func others() {
    let data: [UInt8] = [7, 0xFF, 0x4C, 0, 0x10, 0x02, 1, 2]
    #expect(
      AdvertisingFields(data[...]).manufacturerData
        == .init(company: 0x4C, data: [0x10, 0x02, 1, 2]))
    #expect(Beacon.read(AdvertisingData(data[...])) == .foreign)
  }

  @Test("Eddystone frames are read from service data")
  func eddystone() throws {
    let url = try bytes("10ee 03 676f6f 07")
    #expect(
      Beacon(serviceData: url[...], of: 0xFEAA)
        == .eddystoneURL("https://goo.com", powerAtZeroMetres: -18))
    #expect(Beacon(serviceData: url[...], of: 0xFEAA)?.powerAtOneMetre == -59)
    let uid = try bytes("00e7 00010203040506070809 aabbccddeeff 0000")
    #expect(
      Beacon(serviceData: uid[...], of: 0xFEAA)?.description
        == "Eddystone 00010203040506070809 aabbccddeeff")
    let telemetry = try bytes("2000 0bb8 1580 00000010 00000064")
    let read = Beacon(serviceData: telemetry[...], of: 0xFEAA)
    #expect(read?.description == "Eddystone telemetry 3000 mV, 21.50 °C")
    for voltage in ["0000", "ffff"] {
      let unmeasured = try bytes("2000 \(voltage) 1580 00000010 00000064")
      #expect(
        Beacon(serviceData: unmeasured[...], of: 0xFEAA)?.description
          == "Eddystone telemetry battery unknown, 21.50 °C")
    }
    #expect(read?.powerAtOneMetre == nil)
    let ephemeral = try bytes("30ee 0102030405060708")
    #expect(
      Beacon(serviceData: ephemeral[...], of: 0xFEAA)
        == .eddystoneEphemeral([1, 2, 3, 4, 5, 6, 7, 8], powerAtZeroMetres: -18))
    #expect(Beacon(serviceData: uid[...], of: 0x180D) == nil)
    #expect(Beacon(serviceData: [0x10, 0, 9], of: 0xFEAA) == nil)
  }

  @Test("malformed Eddystone frames are distinguished from unknown and encrypted ones")
  func eddystoneReadings() {
    func read(_ bytes: [UInt8]) -> Beacon.Reading {
      Beacon.read(serviceData: bytes[...], of: 0xFEAA)
    }
    for bytes: [UInt8] in [[], [0], [0x00, 1, 2], [0x10, 0, 9], [0x20, 0, 1], [0x30, 0, 1]] {
      #expect(read(bytes) == .malformed, "\(bytes)")
    }
    for bytes: [UInt8] in [[0x40, 1], [0x20, 1, 2, 3]] { #expect(read(bytes) == .foreign) }
    #expect(
      Beacon(serviceData: [0x10, 0x80, 0, 0x41], of: 0xFEAA)?.powerAtOneMetre == -128,
      "a power that can't be so weak")
  }

  @Test("mutated advertising data is read without a trap, and as what it is", arguments: 0..<20)
  func mutated(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let whole = IBeacon(uuid: Self.uuid, major: 1, minor: 2, powerAtOneMetre: -59)
      .advertisingData
    for _ in 0..<2000 {
      var data = whole
      for _ in 0..<3 {
        data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      guard case .beacon(.iBeacon(let beacon)) = Beacon.read(AdvertisingData(data[...])) else {
        continue
      }
      let count = data.count - 21
      let isThere = (0...count).contains { Array(data[$0..<$0 + 21]) == beacon.bytes }
      #expect(isThere, "seed \(seed)")
    }
  }
}
