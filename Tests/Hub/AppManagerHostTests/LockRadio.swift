import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import SimulatedRadio
import Simulation
import Synchronization

/// A simulated radio in real time, with the lock of a door that goes out of range and comes back.
final class LockRadio: Sendable {
  let host: BluetoothHost
  /// Where other hosts get a controller on the same air.
  let path: String
  /// How often the door was opened, each time.
  let openings: AsyncStream<Int>
  private let server: RadioServer
  private let device: DeviceBox

  /// A device of the world.
  private final class DeviceBox: @unchecked Sendable {
    // Sendable because it is used under the world's lock only.
    var device: SimulatedDevice?
    var openingCount = 0
    var strap: SimulatedDevice?
  }

  init(in folder: String) async throws {
    SimulatedRadio.install()
    let (openings, opening) = AsyncStream.makeStream(of: Int.self)
    let box = DeviceBox()
    let path = folder + "/radio"
    self.path = path
    server = try await RadioServer.start(at: [.unix(path: path)]) {
      let world = World(seed: 1)
      box.device = world.addDevice(named: "Lock", at: Position(x: 1, y: 0)) { lock in
        let command = lock.addService(0xFFF0).addCharacteristic(0xFFF1, [.write])
        command.onWrite { _, value in
          guard value == [1] else { return .success(()) }
          box.openingCount += 1
          opening.yield(box.openingCount)
          return .success(())
        }
      }
      return world
    }
    host = try BluetoothHost(radio: .unix(path: path))
    self.openings = openings
    device = box
  }

  /// Adds the beacon of a shop, which is in range from now on.
  func addBeacon(_ uuid: BluetoothUUID) {
    server.withWorld { world in
      _ = world.addBeacon(uuid: uuid, major: 7, minor: 2, at: Position(x: 1, y: 0))
    }
  }

  /// Adds a heart rate strap, which sends a rate of 71 beats and then a malformed value, fifty times a second each.
  func addStrap() {
    server.withWorld { [device] world in
      device.strap = world.addDevice(named: "Strap", at: Position(x: 1, y: 0)) { strap in
        let rate = strap.addService(0x180D).addCharacteristic(0x2A37, [.notify])
        strap.every(.milliseconds(20)) {
          rate.notify([1, 71, 0])
          rate.notify([1, 71])
        }
      }
    }
  }

  func moveStrap(intoRange isNear: Bool) {
    server.withWorld { [device] _ in
      device.strap?.controller.position = Position(x: isNear ? 1 : 100_000, y: 0)
    }
  }

  func moveOutOfRange() { move(to: Position(x: 100_000, y: 0)) }
  func moveIntoRange() { move(to: Position(x: 1, y: 0)) }

  private func move(to position: Position) {
    server.withWorld { [device] _ in device.device?.controller.position = position }
  }

  func close() async {
    await host.close()
    await server.close()
  }
}
