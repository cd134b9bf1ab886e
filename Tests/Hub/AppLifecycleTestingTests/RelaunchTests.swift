import AppLifecycleTesting
import Essentials
import Testing

/// Apple's rules on launching an app whose pending connection is established: QA1962, TN3115, and the Core Bluetooth
/// Programming Guide.
@Suite(.serialized)
struct RelaunchTests {
  /// Something that happens to a suspended app with a pending connection.
  struct Fate: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var isLaunched: Bool
    /// Whether the next process gets a restored state.
    var isRestored = true
    var happen: @Sendable (SimulatedPhone, InstalledApp) -> Void
  }

  static let fates: [Fate] = [
    Fate(testDescription: "its memory is needed", isLaunched: true) {
      $1.terminate(.memoryPressure)
    },
    Fate(testDescription: "it crashes", isLaunched: true) { $1.terminate(.crash) },
    Fate(testDescription: "the phone is started again and unlocked", isLaunched: true) { phone, _ in
      phone.reboot()
      phone.unlock()
    },
    Fate(testDescription: "the phone is started again and not unlocked", isLaunched: false) {
      phone, _ in phone.reboot()
    },
    Fate(testDescription: "Bluetooth is switched off and on in Settings", isLaunched: false) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.settings)
      $0.advance(by: .seconds(10))
      $0.switchBluetoothOn()
    },
    Fate(testDescription: "the same, and the phone is started again", isLaunched: true) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.settings)
      $0.advance(by: .seconds(10))
      $0.switchBluetoothOn()
      $0.reboot()
      $0.unlock()
    },
    Fate(testDescription: "Bluetooth is switched off and on in Control Center", isLaunched: true) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.controlCenter)
      $0.advance(by: .seconds(10))
      $0.switchBluetoothOn()
    },
    Fate(testDescription: "airplane mode leaves Bluetooth on", isLaunched: true) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.airplaneMode(switchesBluetooth: false))
    },
    Fate(testDescription: "airplane mode switches Bluetooth off, and then on", isLaunched: false) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.airplaneMode(switchesBluetooth: true))
      $0.advance(by: .seconds(10))
      $0.switchBluetoothOn()
    },
    Fate(testDescription: "the radio fails and recovers", isLaunched: true) {
      $1.terminate(.memoryPressure)
      $0.switchBluetoothOff(.radioFailure)
      $0.advance(by: .seconds(10))
      $0.switchBluetoothOn()
    },
    Fate(testDescription: "its person ends it", isLaunched: false, isRestored: false) {
      $1.forceQuit()
    },
    Fate(
      testDescription: "its person ends it after it was terminated", isLaunched: false,
      isRestored: false
    ) {
      $1.terminate(.memoryPressure)
      $1.forceQuit()
    },
    Fate(
      testDescription: "its person ends it, and the phone is started again", isLaunched: false,
      isRestored: false
    ) {
      $1.forceQuit()
      $0.reboot()
      $0.unlock()
    },
  ]

  typealias Run = (rules: SimulatedPhone.Rules, isolation: SimulatedPhone.Isolation)

  static let runs: [Run] = [(.iOS18, .inProcess), (.iOS26, .process), (.iOS26, .inProcess)]

  @Test(arguments: fates, runs)
  func `A pending connection launches an app unless a person or a setting forbids it`(
    _ fate: Fate, _ run: Run
  ) async throws {
    try await SimulatedPhone.run(
      seed: 7, apps: [.doorLock], rules: run.rules, isolation: run.isolation
    ) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      try suspend(app, on: phone, away: lock)
      fate.happen(phone, app)
      #expect(app.launches.count == 1)
      phone.advance(by: .minutes(1))
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect((app.launches.count == 2) == fate.isLaunched)
      #expect(lock.openedCount == (fate.isLaunched ? 1 : 0))
      if fate.isLaunched { #expect(app.launches.last?.bluetoothCentrals == ["lock"]) }
    }
  }

  @Test(arguments: fates.filter { !$0.isLaunched }, isolations)
  func
    `An app that is not launched gets its state back when its person opens it, unless she ended it`(
      _ fate: Fate, _ isolation: SimulatedPhone.Isolation
    ) async throws
  {
    try await SimulatedPhone.run(seed: 8, apps: [.doorLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      try suspend(app, on: phone, away: lock)
      fate.happen(phone, app)
      phone.advance(by: .minutes(1))
      #expect(app.state == .notRunning)
      app.open()
      phone.advance(by: .seconds(1))
      #expect(app.state == .active)
      #expect(app.launches.last?.isInForeground == true)
      #expect(app.launches.last?.bluetoothCentrals == nil)
      #expect(app.callbackNames.contains("willRestoreState") == fate.isRestored)
    }
  }

  /// Opens the app, lets it connect, and suspends it with a pending connection.
  private func suspend(
    _ app: InstalledApp, on phone: SimulatedPhone, away lock: LockDevice
  ) throws {
    app.open()
    try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
    phone.advance(by: .seconds(1))
    app.sendToBackground()
    lock.moveOutOfRange()
    phone.advance(by: .seconds(60))
    #expect(app.state == .suspended)
    #expect(app.pendingConnectionCount == 1)
  }
}
