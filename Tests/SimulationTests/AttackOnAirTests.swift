import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Attacks on the air")
struct AttackOnAirTests {
  private static let key: UInt128 = 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10
  private static let radios = [RadioModel(), .ideal]

  /// An attack on a packet to the peripheral.
  enum Attack: CaseIterable, Sendable {
    /// One bit of the data is another.
    case altered
    /// One bit of the MIC is another.
    case alteredCheck
    /// The packet before is sent again, with the number that is due.
    case replayed
    /// What the peripheral itself sent comes back to it.
    case reflected
    /// Data that isn't encrypted.
    case plain
    /// Less than a MIC.
    case short
    /// The same bytes, as another kind of packet.
    case otherKind
  }

  private func forged(
    _ attack: Attack, _ packet: AirPacket, earlier: [AirPacket]
  ) -> [UInt8]? {
    var bytes = packet.bytes
    switch attack {
    case .altered:
      bytes[4] ^= 0x10
    case .alteredCheck:
      bytes[bytes.count - 1] ^= 0x01
    case .replayed, .reflected:
      let direction: LinkCipher.Direction = attack == .replayed ? .toPeripheral : .toCentral
      guard
        let last = earlier.last(where: { $0.direction == direction && $0.bytes.count > 10 })
      else { return nil }
      bytes = last.bytes
    case .plain:
      bytes = [0x02, 5, 1, 2, 3, 4, 5]
    case .short:
      bytes = [0x02, 3, 1, 2, 3]
    case .otherKind:
      bytes[0] ^= 0x03
    }
    return bytes
  }

  @Test(
    "any packet sent over an encrypted one is a MIC failure, and reaches no host",
    arguments: Attack.allCases, radios)
  func encrypted(_ attack: Attack, _ radio: RadioModel) throws {
    var radio = radio
    radio.packetLoss = 0
    let pair = try #require(ConnectedPair(seed: 1, radio: radio))
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    pair.central.sendData([1, 1, 1, 1, 1, 1], on: pair.centralHandle)
    pair.peripheral.sendData([2, 2, 2, 2, 2, 2], on: pair.peripheralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.received.peripheral == [1, 1, 1, 1, 1, 1])
    let earlier = eavesdropper.packets
    eavesdropper.forge = { packet in
      guard packet.direction == .toPeripheral, packet.bytes.count > 10 else { return nil }
      return forged(attack, packet, earlier: earlier)
    }
    pair.central.sendData([3, 3, 3, 3, 3, 3], on: pair.centralHandle)
    #expect(pair.central.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.waitForDisconnection() == .micFailure)
    #expect(pair.received.peripheral == [1, 1, 1, 1, 1, 1])
  }

  @Test(
    "a packet that is replayed while nothing is sent is a MIC failure, in both directions",
    arguments: LinkCipher.Direction.allCases)
  func replayed(_ direction: LinkCipher.Direction) throws {
    let pair = try #require(ConnectedPair(seed: 2))
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    pair.central.sendData([1, 1], on: pair.centralHandle)
    pair.peripheral.sendData([2, 2], on: pair.peripheralHandle)
    pair.world.run(for: .seconds(1))
    let earlier = try #require(
      eavesdropper.packets.last { $0.direction == direction && $0.bytes.count > 2 })
    eavesdropper.forge = { $0.direction == direction ? earlier.bytes : nil }
    #expect(pair.central.waitForDisconnection() == .micFailure)
    #expect(pair.peripheral.waitForDisconnection() == .micFailure)
    #expect(pair.received.peripheral == [1, 1])
    #expect(pair.received.central == [2, 2])
  }

  @Test("a packet sent again under its number is taken once, and sequence numbers may be altered")
  func sequenceNumbers() throws {
    let pair = try #require(ConnectedPair(seed: 3, interval: 8, timeout: 400))
    pair.world.radio.packetLoss = 0.4
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    eavesdropper.forge = { packet in [packet.bytes[0] ^ 0x10] + packet.bytes.dropFirst() }
    for number in UInt8(0)..<30 { pair.central.sendData([number], on: pair.centralHandle) }
    pair.world.run(for: .seconds(5))
    #expect(pair.received.peripheral == Array(0..<30))
    let toPeripheral = eavesdropper.packets.filter {
      $0.direction == .toPeripheral && $0.bytes.count > 2
    }
    #expect(toPeripheral.count > 30, "some were sent again")
  }

  @Test("without a key altered data is taken for the peer's")
  func plain() throws {
    let pair = try #require(ConnectedPair(seed: 4))
    let eavesdropper = Eavesdropper(pair.world)
    eavesdropper.forge = { packet in
      packet.bytes.suffix(3) == [1, 2, 3] ? [0x02, 2, 9, 9] : nil
    }
    pair.central.sendData([1, 2, 3], on: pair.centralHandle)
    pair.central.sendData([4], on: pair.centralHandle)
    pair.world.run(for: .seconds(1))
    #expect(pair.received.peripheral == [9, 9, 4])
  }

  @Test("a packet whose CRC is made wrong is sent again")
  func jammed() throws {
    let pair = try #require(ConnectedPair(seed: 5))
    #expect(pair.encrypt(Self.key))
    let eavesdropper = Eavesdropper(pair.world)
    var left = 5
    eavesdropper.forge = { packet in
      guard packet.bytes.count > 2, left > 0 else { return nil }
      left -= 1
      return left.isMultiple(of: 2) ? [] : [0x02, 9, 1]
    }
    pair.central.sendData([1, 2, 3], on: pair.centralHandle)
    pair.world.run(for: .seconds(2))
    #expect(left == 0)
    #expect(pair.received.peripheral == [1, 2, 3])
  }
}
