import ARPWire
import Essentials
import Testing

@Suite("An ARP packet")
struct ARPPacketTests {
  private let mac = MACAddress(rawValue: 0x0200_5E10_0001)
  private let candidate = Inet4Address(169, 254, 1, 2)

  @Test("F4: a probe has its own hardware address, no sender address, no target hardware")
  func probe() {
    #expect(
      ARPPacket.probe(for: candidate, from: mac).bytes
        == Hexadecimal.bytes("0001 0800 06 04 0001 02005e100001 00000000 000000000000 a9fe0102"))
    #expect(ARPPacket.probe(for: candidate, from: mac).isProbe)
  }

  @Test("F9: an announcement has the address as sender and as target")
  func announcement() {
    let packet = ARPPacket.announcement(of: candidate, from: mac)
    #expect(
      packet.bytes
        == Hexadecimal.bytes("0001 0800 06 04 0001 02005e100001 a9fe0102 000000000000 a9fe0102"))
    #expect(!packet.isProbe)
  }

  @Test("an ARP packet comes back from its bytes as it was, whatever padding follows")
  func roundTrip() throws {
    var rng = SeededGenerator(seed: 3)
    for _ in 0..<2000 {
      let packet = ARPPacket(
        rng.next() & 1 == 0 ? .request : .reply,
        senderHardware: MACAddress(rawValue: rng.next()),
        senderAddress: Inet4Address(rawValue: UInt32(truncatingIfNeeded: rng.next())),
        targetHardware: MACAddress(rawValue: rng.next()),
        targetAddress: Inet4Address(rawValue: UInt32(truncatingIfNeeded: rng.next())))
      let padding = [UInt8](repeating: 0xAA, count: Int(rng.next() % 20))
      #expect(packet.bytes.count == ARPPacket.byteCount)
      #expect(try ARPPacket(decoding: (packet.bytes + padding)[...]) == packet)
    }
  }

  @Test("G3: an ARP packet cut anywhere is refused with the missing part", arguments: 0..<28)
  func cut(_ count: Int) {
    let bytes = ARPPacket.probe(for: candidate, from: mac).bytes
    #expect {
      try ARPPacket(decoding: bytes[..<count])
    } throws: { error in
      guard case .truncated(let cut) = error as? ARPError else { return false }
      return cut.needed > cut.available
    }
  }

  @Test("a packet of another kind of hardware, protocol, length or operation is refused")
  func kinds() {
    let good = ARPPacket.probe(for: candidate, from: mac).bytes
    for (index, value) in [(0, 1), (1, 6), (2, 0x86), (3, 0xDD), (4, 8), (5, 16)] {
      var bytes = good
      bytes[index] = UInt8(value)
      let fields = stride(from: 0, to: 6, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      let error = ARPError.unsupportedKind(
        hardware: fields[0], protocol: fields[1], lengths: fields[2])
      #expect(throws: error) { try ARPPacket(decoding: bytes[...]) }
    }
    for code in [UInt8(0), 3, 8, 255] {
      var bytes = good
      bytes[7] = code
      #expect(throws: ARPError.unknownOperation(UInt16(code))) {
        try ARPPacket(decoding: bytes[...])
      }
    }
  }

  @Test("an ARP packet is decoded from any bytes without harm, and encoded to the same bytes")
  func noise() {
    var rng = SeededGenerator(seed: 4)
    let good = ARPPacket.announcement(of: candidate, from: mac).bytes
    var decodedCount = 0
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<(rng.next() % 4) {
        bytes[Int(rng.next() % 28)] = UInt8(truncatingIfNeeded: rng.next())
      }
      guard let packet = try? ARPPacket(decoding: bytes[...]) else { continue }
      decodedCount += 1
      #expect(packet.bytes == bytes)
    }
    #expect(decodedCount > 5_000)
  }

  @Test("a hardware address reads and prints as people write it")
  func hardware() {
    #expect(mac.description == "02:00:5e:10:00:01")
    #expect(MACAddress([2, 0, 0x5E, 0x10, 0, 1] as [UInt8]) == mac)
    #expect(MACAddress([2, 0, 0x5E] as [UInt8]) == nil)
    #expect(MACAddress(rawValue: .max) == .broadcast)
  }
}
