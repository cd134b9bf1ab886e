import BluetoothWire
import Essentials
import Simulation

/// An attacker in range that records every packet of every connection, and may replace some.
final class Eavesdropper {
  private(set) var packets: [AirPacket] = []
  /// Returns the replacement of a packet; nil leaves it.
  var forge: ((AirPacket) -> [UInt8]?)?

  init(_ world: World) {
    world.onAirPacket = { [weak self] in self?.packets.append($0) }
    world.forgeAirPacket = { [weak self] in self?.forge?($0) }
  }

  func forget() { packets = [] }

  /// Whether anything heard holds these bytes.
  func heard(_ bytes: [UInt8]) -> Bool {
    packets.contains { packet in
      packet.bytes.indices.contains {
        packet.bytes[$0...].starts(with: bytes)
      }
    }
  }

  /// The control PDUs that are not encrypted, by opcode, those sent again left out.
  var plainOpcodes: [UInt8] {
    var opcodes: [UInt8] = []
    for recorded in Recording(packets).fresh where recorded.bytes[0] & 3 == 3 {
      if recorded.bytes.count - 2 == Self.lengths[recorded.bytes[2]] {
        opcodes.append(recorded.bytes[2])
      }
    }
    return opcodes
  }

  /// How long the PDUs of encryption are: LL_ENC_REQ, LL_ENC_RSP, LL_START_ENC_REQ,
  /// LL_START_ENC_RSP, LL_PAUSE_ENC_REQ, LL_PAUSE_ENC_RSP.
  private static let lengths: [UInt8: Int] = [3: 23, 4: 13, 5: 1, 6: 1, 0x0A: 1, 0x0B: 1]
}

/// What can be made of a recording of one connection, given its keys.
struct Recording {
  /// The packets that carry something, without those that are sent again.
  var fresh: [AirPacket] = []

  init(_ packets: [AirPacket]) {
    var last: [LinkCipher.Direction: AirPacket] = [:]
    for packet in packets {
      defer { last[packet.direction] = packet }
      // Neither the kind nor the sequence number, which is bit 3, nor the content is another.
      if let last = last[packet.direction], last.bytes.dropFirst() == packet.bytes.dropFirst(),
        last.bytes[0] & 0x0B == packet.bytes[0] & 0x0B
      {
        continue
      }
      if packet.bytes.count > 2 { fresh.append(packet) }
    }
  }

  /// The L2CAP payload of each direction, decrypted with the keys in the order in which the link was
  /// encrypted with them; nil if an integrity check fails.
  func payloads(_ keys: [UInt128]) -> [LinkCipher.Direction: [[UInt8]]]? {
    var follower = Follower(keys: keys)
    for packet in fresh where !follower.take(packet) { return nil }
    return follower.payloads
  }

  /// Follows the encryption of a link by the PDUs that start and pause it.
  private struct Follower {
    var keys: [UInt128]
    var payloads: [LinkCipher.Direction: [[UInt8]]] = [:]
    private var cipher: LinkCipher?
    private var central = LinkCipher.SessionHalf(keyDiversifier: 0, initializationVector: 0)
    private var counts: [LinkCipher.Direction: UInt64] = [:]
    /// Which directions are encrypted.
    private var encrypted: Set<LinkCipher.Direction> = []

    init(keys: [UInt128]) { self.keys = keys }

    mutating func take(_ packet: AirPacket) -> Bool {
      var bytes = packet.bytes
      if encrypted.contains(packet.direction) {
        do throws(MICFailure) {
          try cipher?.decrypt(
            &bytes, from: 2, header: bytes[0], counter: counts[packet.direction, default: 0],
            direction: packet.direction)
        } catch {
          return false
        }
        counts[packet.direction, default: 0] += 1
      }
      guard bytes[0] & 3 == 3 else {
        payloads[packet.direction, default: []].append(Array(bytes[2...]))
        return true
      }
      takeControl(bytes, packet.direction)
      return true
    }

    private mutating func takeControl(_ bytes: [UInt8], _ direction: LinkCipher.Direction) {
      func number(_ range: Range<Int>) -> UInt64 {
        bytes[range].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
      switch bytes[2] {
      case 0x03:
        central = .init(
          keyDiversifier: number(13..<21),
          initializationVector: UInt32(truncatingIfNeeded: number(21..<25)))
      case 0x04:
        let peripheral = LinkCipher.SessionHalf(
          keyDiversifier: number(3..<11),
          initializationVector: UInt32(truncatingIfNeeded: number(11..<15)))
        guard !keys.isEmpty else { return }
        cipher = LinkCipher(
          longTermKey: keys.removeFirst(), central: central, peripheral: peripheral)
      case 0x05:
        counts = [:]
        encrypted = [.toPeripheral]
      case 0x06:
        encrypted = [.toPeripheral, .toCentral]
      case 0x0B:
        encrypted = encrypted == [.toCentral] ? [] : [.toCentral]
      default:
        break
      }
    }
  }
}

// Encryption as two hosts do it.
extension ConnectedPair {
  /// Encrypts the link, or refreshes its key; whether both hosts got the event.
  func encrypt(_ centralKey: UInt128, peripheralKey: UInt128? = nil) -> Bool {
    guard requestEncryption(centralKey) else { return false }
    peripheral.perform(
      LELongTermKeyRequestReply(
        handle: peripheralHandle, longTermKey: peripheralKey ?? centralKey))
    return [central, peripheral].allSatisfy { host in
      host.wait(atMost: .seconds(5)) { event -> Bool? in
        switch event {
        case .encryptionChange(let change): change.encryption == .on
        case .encryptionKeyRefreshComplete(let complete): complete.status == .success
        case .disconnectionComplete: false
        default: nil
        }
      } == true
    }
  }

  /// Starts encryption; whether the peripheral's host got the request for the key.
  func requestEncryption(_ key: UInt128) -> Bool {
    central.perform(
      LEEnableEncryption(handle: centralHandle, random: 5, diversifier: 6, longTermKey: key))
    return peripheral.wait {
      if case .leLongTermKeyRequest = $0 { true } else { nil }
    } == true
  }

  /// The payloads that both hosts received, each joined into one.
  var received: (central: [UInt8], peripheral: [UInt8]) {
    (central.data.flatMap { Array($0.payload) }, peripheral.data.flatMap { Array($0.payload) })
  }
}
