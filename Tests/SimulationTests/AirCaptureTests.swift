import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Captures of the simulated air")
struct AirCaptureTests {
  private static let key: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10

  private func capture(_ packets: [AirPacket]) -> [UInt8] {
    LinkLayerCapture.header
      + packets.flatMap { packet in
        LinkLayerCapture.record(
          LinkLayerPacket(
            microseconds: packet.time.nanoseconds / 1_000, accessAddress: packet.accessAddress,
            direction: packet.direction, phy: packet.phy, bytes: packet.bytes))
      }
  }

  private func read(_ file: [UInt8]) throws -> [LinkLayerPacket] {
    var reader = try LinkLayerCapture.Reader(file[...])
    var packets: [LinkLayerPacket] = []
    while let packet = try reader.next() { packets.append(packet) }
    return packets
  }

  /// The L2CAP payload of each direction, without retransmissions.
  private func payloads(_ packets: [LinkLayerPacket]) -> [LinkCipher.Direction: [UInt8]] {
    var payloads: [LinkCipher.Direction: [UInt8]] = [:]
    var last: [LinkCipher.Direction: [UInt8]] = [:]
    for packet in packets {
      let new = [packet.bytes[0] & 8] + packet.bytes[2...]
      let isRepeated = last.updateValue(new, forKey: packet.direction) == new
      guard !isRepeated, packet.bytes[0] & 3 != 3 else { continue }
      payloads[packet.direction, default: []] += packet.bytes[2...]
    }
    return payloads
  }

  @Test(
    "the keys decrypt a capture of a lossy link with a key change, and set Wireshark's bits",
    arguments: [1, 2, 3] as [UInt64])
  func decrypted(_ seed: UInt64) throws {
    let pair = try #require(ConnectedPair(seed: seed, interval: 8, timeout: 400))
    pair.world.radio.packetLoss = 0.2
    let eavesdropper = Eavesdropper(pair.world)
    pair.central.sendData([9, 9], on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.encrypt(Self.key))
    for number in UInt8(0)..<40 {
      pair.central.sendData([number, 0xAA], on: pair.centralHandle)
      pair.peripheral.sendData([number, 0xBB, 0xCC], on: pair.peripheralHandle)
    }
    pair.world.run(for: .seconds(3))
    #expect(pair.encrypt(Self.key ^ 1))
    for number in UInt8(0)..<40 { pair.central.sendData([number], on: pair.centralHandle) }
    pair.world.run(for: .seconds(3))
    let recorded = try read(capture(eavesdropper.packets))
    #expect(recorded.count == eavesdropper.packets.count)
    var decryption = LinkDecryption(
      keys: [0x55, Self.key ^ 1, Self.key].map { SMPValue(number: $0) })
    let plain = recorded.map { decryption.decrypted($0) }
    #expect(decryption.failureCount == 0)
    let found = payloads(plain)
    #expect(found[.toPeripheral] == pair.received.peripheral)
    #expect(found[.toCentral] == pair.received.central)
    #expect(plain.contains { $0.isDecrypted })
    #expect(plain.allSatisfy { Int($0.bytes[1]) == $0.bytes.count - 2 })
    // Written and read again they are the same.
    let file = LinkLayerCapture.header + plain.flatMap { LinkLayerCapture.record($0) }
    #expect(try read(file) == plain)
    // Without the keys nothing is.
    var other = LinkDecryption(keys: [SMPValue(number: 7)])
    let unread = recorded.map { other.decrypted($0) }
    #expect(unread == recorded && other.failureCount > 80)
  }

  @Test("a record is laid out as libpcap's type 256 has it")
  func layout() {
    let packet = LinkLayerPacket(
      microseconds: 3_000_005, accessAddress: 0x1234_5678, direction: .toCentral, phy: .le2M,
      bytes: [0x02, 1, 0xEE], isDecrypted: true)
    #expect(
      LinkLayerCapture.record(packet) == [
        3, 0, 0, 0, 5, 0, 0, 0, 20, 0, 0, 0, 20, 0, 0, 0,
        0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12, 0x99, 0x71, 0x78, 0x56, 0x34, 0x12, 2, 1, 0xEE, 0, 0, 0,
      ])
    #expect(LinkLayerCapture.header.count == 24 && LinkLayerCapture.header[20] == 0)
  }

  @Test("a cut, glued or altered file is refused or read, and nothing is read past its end")
  func hostile() throws {
    let pair = try #require(ConnectedPair(seed: 4))
    let eavesdropper = Eavesdropper(pair.world)
    #expect(pair.encrypt(Self.key))
    pair.central.sendData([1, 2, 3], on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    let file = capture(Array(eavesdropper.packets.prefix(60)))
    for count in stride(from: 0, to: file.count, by: 7) { _ = try? read(Array(file[..<count])) }
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      var altered = file
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let index = Int.random(in: 0..<altered.count, using: &random)
        altered[index] = UInt8.random(in: 0...255, using: &random)
      }
      guard let packets = try? read(altered) else { continue }
      var decryption = LinkDecryption(keys: [SMPValue(number: Self.key)])
      for packet in packets { _ = decryption.decrypted(packet) }
    }
    // The header of the second reads as one of an empty record.
    #expect(throws: WireError.truncated(needed: 8, available: 0)) { try read(file + file) }
  }
}
