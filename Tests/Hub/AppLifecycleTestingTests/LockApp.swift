import AppLifecycleTesting
import BluetoothInterface
import BluetoothWire
import Dispatch
import Essentials
import SimulatedRadio
import Simulation

@testable import DoorLock

/// Where the apps of most stories run: in each of the ways.
let isolations: [SimulatedPhone.Isolation] = [.process, .inProcess]

extension SimulatedApp {
  static let doorLock = SimulatedApp(
    "com.example.lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in LockManager() }

  /// The same app, which makes its manager after its launch.
  static let lateLock = SimulatedApp(
    "com.example.late-lock", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
  ) { _ in LateLock() }

  /// The same app without the background mode, and so without a restore identifier.
  static let foregroundLock = SimulatedApp("com.example.foreground-lock") { _ in
    LockManager(restoreIdentifier: nil)
  }
}

@MainActor
private final class LateLock {
  private var manager: LockManager?

  init() {
    DispatchQueue.main.async { [weak self] in
      MainActor.assumeIsolated { self?.manager = LockManager() }
    }
  }
}

/// The lock of a door, which counts how often it was opened.
final class LockDevice {
  private let phone: SimulatedPhone
  private let device: SimulatedDevice
  private let opened: Counter

  /// Counts under the radio's lock.
  private final class Counter {
    var count = 0
  }

  init(of phone: SimulatedPhone) {
    let opened = Counter()
    self.phone = phone
    self.opened = opened
    device = phone.addDevice(named: "Lock") { lock in
      let service = lock.addService(0xFFF0)
      let command = service.addCharacteristic(0xFFF1, [.write])
      command.onWrite { _, value in
        if value == [1] { opened.count += 1 }
        return .success(())
      }
    }
  }

  var openedCount: Int { phone.radio.withWorld { _ in opened.count } }
  var isConnected: Bool { phone.radio.withWorld { _ in !device.centrals.isEmpty } }

  func moveOutOfRange() { move(to: Position(x: 100_000, y: 0)) }
  func moveIntoRange() { move(to: Position(x: 1, y: 0)) }

  private func move(to position: Position) {
    phone.radio.withWorld { _ in device.controller.position = position }
  }
}
