public import BluetoothWire
import Essentials

/// The default devices of a simulated world.
public enum Population: String, Sendable, CaseIterable {
  /// None.
  case empty
  /// A flat with one of each ready-made device and three beacons.
  case home
}

extension World {
  /// Adds a device, configures it with a closure, and switches it on.
  @discardableResult
  public func addDevice(
    named name: String, address: DeviceAddress? = nil, at position: Position,
    describe: (SimulatedDevice) -> Void
  ) -> SimulatedDevice {
    var random = makeRandom(for: name)
    let device = SimulatedDevice(
      name: name, address: address ?? .randomStatic(using: &random), at: position, in: self,
      random: random)
    describe(device)
    devices.append(device)
    device.switchOn()
    return device
  }

  /// A generator of its own for something with a name, so that one device's use of it does not shift
  /// another's.
  func makeRandom(for name: String) -> SeededGenerator {
    SeededGenerator(seed: HashedRandom.mix(seed, HashedRandom.number(for: name)))
  }

  /// Adds devices around the origin, the default position of a host's own controller.
  public func populate(with population: Population) {
    switch population {
    case .empty: return
    case .home:
      addHeartRateStrap(at: Position(x: 1, y: 0.5))
      addThermostat(at: Position(x: 4, y: 2))
      addBattery(at: Position(x: 6, y: -3))
      addUARTEcho(at: Position(x: 2, y: -2))
      addLock(at: Position(x: -3, y: 1))
      let uuid = BluetoothUUID(high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)
      for (index, position) in [
        Position(x: 3, y: 4), Position(x: -5, y: 1), Position(x: -2, y: -6),
      ].enumerated() {
        addBeacon(uuid: uuid, major: 1, minor: UInt16(index + 1), at: position)
      }
    }
  }
}
