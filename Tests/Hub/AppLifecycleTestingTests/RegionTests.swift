import AppLifecycle
import AppLifecycleTesting
import BluetoothWire
import CoreLocation
import Essentials
import SimulatedRadio
import Simulation
import Testing

/// An app that greets the visitors of a shop, as in guides to beacons: it monitors one region.
@MainActor
private final class ShopApp: NSObject, CLLocationManagerDelegate {
  nonisolated static let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
  private let manager = CLLocationManager()

  /// - Parameter turnsBeforeDelegate: How many turns of the main queue pass before the delegate is set.
  init(turnsBeforeDelegate: Int = 0, ranges: Bool = false) {
    self.ranges = ranges
    super.init()
    setDelegate(after: turnsBeforeDelegate)
    manager.requestAlwaysAuthorization()
    guard manager.monitoredRegions.isEmpty else {
      AppNotes.write("goes on")
      return
    }
    guard let uuid = UUID(uuidString: Self.uuid) else { return }
    let region = CLBeaconRegion(uuid: uuid, identifier: "shop")
    region.notifyEntryStateOnDisplay = true
    manager.startMonitoring(for: region)
  }

  private let ranges: Bool
  private var rangedCount = 0

  private func setDelegate(after turnCount: Int) {
    guard turnCount > 0 else {
      manager.delegate = self
      return
    }
    DispatchQueue.main.async { [weak self] in
      MainActor.assumeIsolated { self?.setDelegate(after: turnCount - 1) }
    }
  }

  nonisolated func locationManager(
    _ manager: CLLocationManager, didStartMonitoringFor region: CLRegion
  ) { AppNotes.write("monitors \(region.identifier)") }

  nonisolated func locationManager(_ manager: CLLocationManager, didEnterRegion region: CLRegion) {
    AppNotes.write("entered \(region.identifier)")
    MainActor.assumeIsolated {
      guard ranges, let region = region as? CLBeaconRegion else { return }
      manager.startRangingBeacons(satisfying: region.beaconIdentityConstraint)
      _ = UIApplication.shared.beginBackgroundTask {}
    }
  }

  nonisolated func locationManager(_ manager: CLLocationManager, didExitRegion region: CLRegion) {
    AppNotes.write("exited \(region.identifier)")
  }

  nonisolated func locationManager(
    _ manager: CLLocationManager, didDetermineState state: CLRegionState, for region: CLRegion
  ) { AppNotes.write("state \(state.rawValue)") }

  nonisolated func locationManager(
    _ manager: CLLocationManager, didRange beacons: [CLBeacon],
    satisfying constraint: CLBeaconIdentityConstraint
  ) {
    guard let beacon = beacons.first else { return }
    MainActor.assumeIsolated {
      rangedCount += 1
      if rangedCount == 1 { AppNotes.write("ranges \(beacon.major).\(beacon.minor)") }
    }
  }
}

/// An app with a delegate, which ranges the beacons of its region when it is entered.
@MainActor
private final class RangingDelegate: UIResponder, UIApplicationDelegate {
  private var shop: ShopApp?

  func application(
    _ application: UIApplication,
    didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
  ) -> Bool {
    shop = ShopApp(ranges: true)
    return true
  }
}

/// An app whose monitor's events are handled in a task, as in Apple's "Meet Core Location Monitor".
@MainActor
private final class MuseumApp {
  private let isFirstLaunch: Bool

  init() {
    isFirstLaunch = !UserDefaults.standard.bool(forKey: "launched")
    UserDefaults.standard.set(true, forKey: "launched")
    let adds = isFirstLaunch
    Task { await Self.follow(adds: adds) }
  }

  private static func follow(adds: Bool) async {
    let monitor = await CLMonitor("museum")
    if adds, let uuid = UUID(uuidString: ShopApp.uuid) {
      let condition = CLMonitor.BeaconIdentityCondition(uuid: uuid, major: 7)
      await monitor.add(condition, identifier: "hall", assuming: .unsatisfied)
      AppNotes.write("added")
    } else {
      AppNotes.write("knows \(await monitor.identifiers)")
    }
    do {
      for try await event in await monitor.events {
        let beacon = event.refinement as? CLMonitor.BeaconIdentityCondition
        AppNotes.write("\(event.identifier) \(event.state.rawValue) \(beacon?.minor ?? 0)")
      }
    } catch { AppNotes.write("\(error)") }
  }
}

extension SimulatedApp {
  fileprivate static let shop = SimulatedApp("com.example.shop") { _ in ShopApp() }
  fileprivate static let lateShop = SimulatedApp("com.example.late-shop") { _ in
    ShopApp(turnsBeforeDelegate: 3)
  }
  fileprivate static let rangingShop = SimulatedApp(
    "com.example.ranging-shop", delegate: { RangingDelegate() })
  fileprivate static let museum = SimulatedApp("com.example.museum") { _ in MuseumApp() }
}

@Suite(.serialized)
struct RegionTests {
  private static let near = Position(x: 0, y: 0)
  private static let far = Position(x: 100_000, y: 0)

  private func addBeacon(to phone: SimulatedPhone) throws {
    let uuid = try #require(UUID(uuidString: ShopApp.uuid)?.uuid)
    let bytes = withUnsafeBytes(of: uuid) { Array($0) }
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    let own = BluetoothUUID(high: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
    phone.radio.withWorld {
      _ = $0.addBeacon(uuid: own, major: 7, minor: 2, at: Position(x: 1, y: 0))
    }
  }

  /// Opens an app away from its beacon, and lets the system end it.
  private func terminate(_ app: InstalledApp, on phone: SimulatedPhone) throws {
    try addBeacon(to: phone)
    phone.position = Self.far
    app.open()
    phone.advance(by: .minutes(1))
    app.sendToBackground()
    phone.advance(by: .minutes(1))
    #expect(app.state == .suspended)
    app.terminate(.memoryPressure)
    #expect(app.monitoredRegionCount == 1)
    phone.advance(by: .days(1))
    #expect(app.launches.count == 1)
  }

  @Test(arguments: isolations)
  func `A beacon launches an app that doesn't run, and its delegate gets the entry and the exit`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 61, apps: [.shop], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.shop]
      try terminate(app, on: phone)
      #expect(AppNotes.all(of: app, isolation) == ["monitors shop", "state 2"])
      phone.position = Self.near
      try phone.until("launched", limit: .seconds(10)) { app.launches.count == 2 }
      #expect(app.launchOptions?[.location] as? Bool == true)
      phone.advance(by: .minutes(1))
      #expect(
        AppNotes.all(of: app, isolation).dropFirst(2) == ["goes on", "entered shop", "state 1"])
      #expect(app.callbackNames == ["didEnterRegion", "didDetermineState"])
      #expect(app.state == .suspended)
      phone.position = Self.far
      phone.advance(by: .minutes(5))
      #expect(AppNotes.all(of: app, isolation).suffix(2) == ["exited shop", "state 2"])
      #expect(app.launches.count == 2)
      #expect(app.state == .suspended)
      #expect(app.unhandledEventCount == 0)
    }
  }

  @Test(arguments: isolations)
  func `The first event of a region waits for a delegate that is set late`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 62, apps: [.lateShop], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.lateShop]
      try terminate(app, on: phone)
      phone.position = Self.near
      phone.advance(by: .minutes(1))
      #expect(AppNotes.all(of: app, isolation).suffix(2) == ["entered shop", "state 1"])
      #expect(app.state == .suspended)
    }
  }

  @Test(arguments: [SimulatedPhone.Rules.iOS18, .iOS26])
  func `After a force-quit, a region launches the app up to iOS 18`(
    _ rules: SimulatedPhone.Rules
  ) async throws {
    try await SimulatedPhone.run(seed: 63, apps: [.shop], rules: rules) { phone in
      let app = phone[.shop]
      try terminate(app, on: phone)
      app.forceQuit()
      phone.position = Self.near
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == (rules == .iOS18 ? 2 : 1))
      // Its regions are still those of the app.
      #expect(app.monitoredRegionCount == 1)
    }
  }

  @Test(arguments: isolations)
  func `The display has an app launched that is inside a region and wants it`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 64, apps: [.shop], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.shop]
      try terminate(app, on: phone)
      phone.switchDisplayOn()
      phone.advance(by: .seconds(10))
      #expect(app.launches.count == 1)
      phone.position = Self.near
      phone.advance(by: .minutes(1))
      app.terminate(.memoryPressure)
      #expect(app.state == .notRunning)
      phone.switchDisplayOn()
      phone.advance(by: .seconds(10))
      #expect(app.launches.count == 3)
      #expect(app.launchOptions?[.location] as? Bool == true)
      #expect(AppNotes.all(of: app, isolation).suffix(2) == ["goes on", "state 1"])
    }
  }

  @Test(arguments: isolations)
  func `A condition of a monitor launches its app, and the next process goes on with it`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    UserDefaults.standard.removeObject(forKey: "launched")
    defer { UserDefaults.standard.removeObject(forKey: "launched") }
    try await SimulatedPhone.run(seed: 65, apps: [.museum], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.museum]
      try addBeacon(to: phone)
      phone.position = Self.far
      app.open()
      // The task of the app runs by the computer's time.
      try await eventually(phone) { AppNotes.all(of: app, isolation) == ["added"] }
      phone.advance(by: .seconds(1))
      app.terminate(.crash)
      phone.advance(by: .days(1))
      #expect(app.launches.count == 1)
      phone.position = Self.near
      phone.advance(by: .seconds(5))
      try await eventually(phone) {
        AppNotes.all(of: app, isolation) == ["added", "knows [\"hall\"]", "hall 1 2"]
      }
      #expect(app.launches.count == 2)
      #expect(app.launchOptions?[.location] as? Bool == true)
      phone.advance(by: .minutes(1))
      #expect(app.state == .suspended)
      phone.position = Self.far
      // Time stands still until the task has handled the event.
      try phone.until("left", limit: .minutes(5)) {
        app.callbackNames.count { $0 == "CLMonitor.Event" } == 2
      }
      try await eventually(phone) { AppNotes.all(of: app, isolation).last == "hall 2 0" }
      #expect(app.launches.count == 2)
    }
  }

  @Test(arguments: isolations)
  func `An app that was launched for a region ranges its beacons while it has time`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 66, apps: [.rangingShop], isolation: isolation) { phone in
      AppNotes.reset()
      let app = phone[.rangingShop]
      try terminate(app, on: phone)
      phone.position = Self.near
      phone.advance(by: .seconds(10))
      #expect(AppNotes.all(of: app, isolation).contains("ranges 7.2"))
    }
  }

  @Test func `Regions outlive a restart of the phone, and wait for it to be unlocked`() async throws
  {
    try await SimulatedPhone.run(seed: 67, apps: [.shop]) { phone in
      let app = phone[.shop]
      try terminate(app, on: phone)
      phone.reboot()
      phone.position = Self.near
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 1)
      phone.unlock()
      phone.advance(by: .seconds(10))
      #expect(app.launches.count == 2)
      #expect(app.callbackNames == ["didEnterRegion", "didDetermineState"])
    }
  }

  @Test func `An app that was removed is monitored no more`() async throws {
    try await SimulatedPhone.run(seed: 68, apps: [.shop]) { phone in
      let app = phone[.shop]
      try terminate(app, on: phone)
      app.remove()
      #expect(app.monitoredRegionCount == 0)
      phone.position = Self.near
      phone.advance(by: .minutes(1))
      #expect(app.launches.count == 1)
    }
  }

  /// Waits for something that a task of an app does.
  private func eventually(_ phone: SimulatedPhone, _ condition: () -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
      try #require(ContinuousClock.now < end, "a task of an app didn't do it")
      phone.advance(by: .zero)
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
