import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation

/// Bytes that show by themselves whether any of them was lost, doubled or mixed up.
enum Pattern {
  /// What a constant characteristic has: its length and bytes follow from its UUID.
  static func value(of uuid: BluetoothUUID) -> [UInt8] {
    let number = Int(uuid.short ?? 7)
    return (0..<(number & 0xFF) * 3).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ number) }
  }

  /// Part of the stream that every channel carries.
  static func stream(from position: Int, count: Int) -> [UInt8] {
    (position..<position + count).map { UInt8($0 % 251) }
  }

  /// A value to write: its length, then bytes that follow from it.
  static func written(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &+ count) }
  }

  /// A value to notify: a number, then bytes that follow from it.
  static func counted(_ number: UInt32) -> [UInt8] {
    var writer = ByteWriter(capacity: 16)
    writer.uint32(number)
    for index in 0..<12 { writer.uint8(UInt8(truncatingIfNeeded: Int(number) &+ index)) }
    return writer.bytes
  }

  /// The number in a notified value; nil if it is torn.
  static func count(in value: ArraySlice<UInt8>) -> UInt32? {
    var reader = ByteReader(value)
    guard let number = try? reader.uint32(), Array(value) == counted(number) else { return nil }
    return number
  }
}

/// A device whose every byte can be checked.
enum Probe {
  static let name = "Probe"
  static let service: BluetoothUUID = 0xFF00
  static let constants: [BluetoothUUID] = [0xFF05, 0xFF20, 0xFF80]
  /// Asked each time instead of served by the host.
  static let register: BluetoothUUID = 0xFF03
  static let counter: BluetoothUUID = 0xFF04
  static let psm: UInt16 = 0x0090

  static func address(_ index: Int) -> DeviceAddress {
    DeviceAddress(bits: 0xC0FF_EE00_0000 | UInt64(index), kind: .random)
  }

  static func isProbe(_ peer: DeviceAddress) -> Bool { peer.bits >> 24 == 0xC0FFEE }

  /// Adds a probe to the world; `complain` hears of writes that arrived torn.
  @discardableResult
  static func add(
    _ index: Int, to world: World, at position: Position, complain: @escaping (String) -> Void
  ) -> SimulatedDevice {
    world.addDevice(named: name + " \(index)", address: address(index), at: position) { probe in
      let service = probe.addService(Self.service)
      for uuid in constants {
        service.addCharacteristic(uuid, [.read], value: Pattern.value(of: uuid))
      }
      let register = service.addCharacteristic(
        Self.register, [.read, .write, .writeWithoutResponse])
      register.onWrite { _, value in
        // Two bytes may be meant for a configuration that is not there.
        if value.count != 2, value != Pattern.written(value.count) {
          complain("a write arrived torn: \(value)")
        }
        return value.count == 3 ? .failure(.valueNotAllowed) : .success(())
      }
      let counter = service.addCharacteristic(
        Self.counter, [.read, .notify, .indicate], value: Pattern.counted(0))
      var count: UInt32 = 0
      probe.every(.milliseconds(150)) {
        count += 1
        counter.notify(Pattern.counted(count))
      }
      probe.addChannel(psm: psm) { Array($0) }
    }
  }
}
