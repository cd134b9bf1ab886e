import AppLifecycle
import AppLifecycleTesting
import CoreBluetooth
import Essentials
import Foundation
import SimulatedRadio
import Simulation
import Testing

@testable import DoorLock

private final class RestoredManagers: NSObject {
  private let central = CBCentralManager(
    delegate: nil, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "a"])
  private let peripheral = CBPeripheralManager(
    delegate: nil, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "b"])
}

@MainActor
private final class BusyDelegate: UIResponder, UIApplicationDelegate {
  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    var count = 0
    for _ in 0..<1_000 {
      let task = application.beginBackgroundTask {}
      if task != .invalid { count += 1 }
      application.endBackgroundTask(task)
    }
    AppNotes.write("begun: \(count)")
    return true
  }
}

extension SimulatedApp {
  /// An app without a manager.
  fileprivate static let idle = SimulatedApp("com.example.idle") { _ in NSObject() }

  /// An app that begins a thousand background tasks, one after the other.
  fileprivate static let busy = SimulatedApp("com.example.busy", delegate: { BusyDelegate() })

  /// An app with restore identifiers whose Info.plist has no background modes.
  fileprivate static let withoutModes = SimulatedApp("com.example.without-modes") { _ in
    RestoredManagers()
  }
}

@Suite(.serialized)
struct BackgroundTests {
  @Test(
    arguments: [
      SimulatedPhone.BluetoothOff.settings, .controlCenter, .airplaneMode(switchesBluetooth: true),
    ], isolations)
  func `The lock connects again when Bluetooth is switched on`(
    _ way: SimulatedPhone.BluetoothOff, _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 31, apps: [.doorLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      phone.switchBluetoothOff(way)
      phone.advance(by: .minutes(1))
      #expect(!lock.isConnected)
      phone.switchBluetoothOn()
      try phone.until("connected again", limit: .seconds(60)) { lock.isConnected }
    }
  }

  @Test(arguments: isolations)
  func `A suspended app without the mode gets its events in the foreground`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 3, apps: [.foregroundLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.foregroundLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      #expect(app.state == .suspended)
      lock.moveOutOfRange()
      phone.advance(by: .hours(1))
      #expect(app.state == .suspended)
      #expect(app.callbackNames.contains("didDisconnect") == false)
      #expect(app.waitingEventCount == 1)
      app.open()
      #expect(app.callbackNames.last == "didDisconnect")
      #expect(app.waitingEventCount == 0)
    }
  }

  @Test(arguments: isolations)
  func `A suspended app without the mode is not launched after its termination`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 3, apps: [.foregroundLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.foregroundLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      app.sendToBackground()
      app.terminate(.memoryPressure)
      #expect(app.pendingConnectionCount == 0)
      #expect(app.connectionCount == 0)
      phone.advance(by: .seconds(5))
      #expect(!lock.isConnected)
      lock.moveOutOfRange()
      lock.moveIntoRange()
      phone.advance(by: .hours(1))
      #expect(app.launches.count == 1)
    }
  }

  @Test(arguments: isolations) func `An alert is shown for a connection that was requested with it`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 3, apps: [.doorLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      #expect(app.alerts.isEmpty)
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect(app.alerts.count == 1)
      app.open(try #require(app.alerts.first))
      #expect(app.state == .active)
    }
  }

  @Test(arguments: isolations)
  func `An app that ends each background task before the next one may begin any number`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 13, apps: [.busy], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.busy]
      app.open()
      phone.advance(by: .seconds(1))
      #expect(AppNotes.all(of: app, isolation) == ["begun: 1000"])
      #expect(phone.reports.isEmpty)
      app.sendToBackground()
      phone.advance(by: .seconds(6))
      #expect(app.state == .suspended)
    }
  }

  @Test func `A manager that is restored without its mode is logged with Apple's text`()
    async throws
  {
    try await SimulatedPhone.run(seed: 14, apps: [.withoutModes]) { phone in
      let app = phone[.withoutModes]
      app.open()
      phone.advance(by: .seconds(1))
      let lines = app.output.map(\.line)
      for (name, mode) in [
        ("CBCentralManager", "bluetooth-central"), ("CBPeripheralManager", "bluetooth-peripheral"),
      ] {
        let text =
          "State restoration of \(name) is only allowed for applications that have specified the "
          + "\"\(mode)\" background mode"
        #expect(lines.count { $0.hasSuffix(text) } == 1, "\(lines)")
      }
      #expect(app.state == .active)
    }
  }

  @Test func `Without its mode, a manager with a restore identifier is not restored`() async throws
  {
    try await SimulatedPhone.run(seed: 15, apps: [.withoutModes]) { phone in
      let app = phone[.withoutModes]
      app.open()
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      phone.advance(by: .seconds(10))
      app.terminate(.memoryPressure)
      phone.advance(by: .days(1))
      #expect(app.launches.count == 1)
      app.open()
      phone.advance(by: .seconds(1))
      #expect(!app.callbackNames.contains("willRestoreState"))
    }
  }

  @Test(arguments: isolations) func `The same seed gives the same run`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    var runs: [[SimulatedCallback]] = []
    for _ in 0..<2 {
      let run = try await SimulatedPhone.run(seed: 11, apps: [.doorLock], isolation: isolation) {
        phone in
        let lock = LockDevice(of: phone)
        let app = phone[.doorLock]
        app.open()
        phone.advance(by: .seconds(20))
        app.sendToBackground()
        for _ in 0..<2 {
          lock.moveOutOfRange()
          phone.advance(by: .minutes(10))
          app.terminate(.memoryPressure)
          lock.moveIntoRange()
          phone.advance(by: .minutes(10))
        }
        #expect(lock.openedCount == 2)
        return app.callbacks
      }
      runs.append(run)
    }
    #expect(runs[0] == runs[1])
    #expect(runs[0].count > 15)
  }

  @Test(arguments: isolations)
  func `A manager that is made late in a launch gets its state and its events`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 12, apps: [.lateLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.lateLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect(lock.openedCount == 1)
      #expect(app.callbackNames.first == "willRestoreState")
      #expect(app.state == .suspended)
    }
  }

  @Test(arguments: isolations)
  func `An app that makes no manager runs for ten seconds and is not launched again`(
    _ isolation: SimulatedPhone.Isolation
  )
    async throws
  {
    let forgetful = SimulatedApp(
      "com.example.forgetful", infoPlist: ["UIBackgroundModes": ["bluetooth-central"]]
    ) { launch in launch.isInForeground ? LockManager() : NSObject() }
    try await SimulatedPhone.run(seed: 13, apps: [forgetful], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[forgetful]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      lock.moveIntoRange()
      phone.advance(by: .hours(1))
      #expect(app.launches.count == 2)
      #expect(app.state == .suspended)
      #expect(app.backgroundTime >= .seconds(10))
      #expect(app.backgroundTime < .seconds(12))
      #expect(phone.reports.contains { $0.contains("a manager that it didn't make") })
    }
  }

  @Test func `An app that is started while another one is suspended ends that one`() async throws {
    try await SimulatedPhone.run(
      seed: 14, apps: [.doorLock, .foregroundLock], isolation: .inProcess
    ) { phone in
      let app = phone[.doorLock]
      app.open()
      app.sendToBackground()
      phone.advance(by: .seconds(1))
      #expect(app.state == .suspended)
      phone[.foregroundLock].open()
      phone.advance(by: .seconds(1))
      #expect(phone[.foregroundLock].state == .active)
      #expect(app.state == .notRunning)
    }
  }

  @Test func `An app that another one replaces in the foreground keeps its connection`()
    async throws
  {
    let other = SimulatedApp("com.example.other") { _ in NSObject() }
    try await SimulatedPhone.run(seed: 16, apps: [.doorLock, other], isolation: .inProcess) {
      phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      phone[other].open()
      phone.advance(by: .seconds(1))
      #expect(phone[other].state == .active)
      #expect(app.state == .notRunning)
      #expect(app.connectionCount == 1)
      #expect(!phone.reports.contains { $0.contains("crashed") })
    }
  }

  @Test(arguments: isolations)
  func `An event that launches an app is no crash of the one in the foreground`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 17, apps: [.doorLock, .idle], isolation: isolation) {
      phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      phone[.idle].open()
      #expect(phone[.idle].state == .active)
      lock.moveIntoRange()
      phone.advance(by: .minutes(1))
      #expect(lock.openedCount == 1)
      #expect(app.launches.count == 2)
      #expect(phone[.idle].state == (isolation == .inProcess ? .notRunning : .active))
      let words = ["crashed", "not launched for"]
      #expect(!phone.reports.contains { report in words.contains { report.contains($0) } })
    }
  }

  @Test(arguments: isolations) func `A year in which nothing happens costs nothing`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 15, apps: [.doorLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      app.sendToBackground()
      lock.moveOutOfRange()
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      phone.advance(by: .hours(1))
      // Neither the phone nor the device checks its silent controller.
      let next = phone.radio.withWorld { $0.nextEventTime } ?? .distantFuture
      #expect(next - phone.now > .days(1))
      phone.advance(by: .days(365))
      #expect(app.pendingConnectionCount == 1)
    }
  }
}
