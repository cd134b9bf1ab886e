internal import BeaconMachines
internal import BluetoothHost
internal import BluetoothInterface
internal import CoreBluetooth
internal import EventLoop
internal import Synchronization

/// The implementation of all location managers and monitors of a process: the authorization, the
/// monitored regions and ranged constraints, and a client of the Bluetooth host, whose scan it
/// shares with other clients.
///
/// The machines run on the host's event loop, to which all requests are passed in order.
final class LocationServices: @unchecked Sendable {
  // Unchecked: `shown` and `clientStorage` are guarded by `lock`, `loop` is touched on the host's event
  // loop only, the rest is constant.

  /// What properties show, from any thread.
  struct Shown {
    var status: CLAuthorizationStatus
    var radio = RadioState.unknown
    var regions: [String: CLBeaconRegion] = [:]
    var sessions: [WeakSession] = []
    /// The monitors that there are, by name.
    var monitors: [String: WeakMonitor] = [:]
    /// The conditions under all names, also of monitors that there are none of now.
    var conditions: [String: [MonitorCore.Entry]] = [:]
    var lastCondition = 0
    /// Whether conditions have changed since they were kept.
    var areConditionsChanged = false
    /// What happened to regions while there was no manager, for the next one.
    var undelivered: ArraySlice<Notice> = []
  }

  struct WeakSession {
    weak var session: ManagerSession?
  }

  struct WeakMonitor: Sendable {
    weak var core: MonitorCore?
  }

  let policy: LocationPolicy
  /// The calls of the machines, and what they answered.
  var loop = LocationLoop()
  let lock = SharedLock()
  var shown: Shown
  private var clientStorage: HostClient?
  /// Where regions and conditions outlive the process; nil where they don't.
  let store: LocationStore?

  /// Those of the host that is current in this task; made when first used. Where none is, those of `BluetoothHost.shared`
  /// are made, and stay for the life of the process; others stay as long as a manager or monitor uses them.
  static var current: LocationServices {
    let host = BluetoothHost.currentWithPlugIns
    return registry.withLock { registry in
      if let services = registry[host.identity]?.services { return services }
      registry = registry.filter { $0.value.services != nil }
      let services = LocationServices(
        policy: LocationPolicy.current, store: LocationStore.current(for: host.radio))
      // Not by comparing hosts: where another one is current, that would make the shared one, which
      // takes a radio.
      let isShared = BluetoothHost.current == nil
      registry[host.identity] = Entry(services: services, kept: isShared ? services : nil)
      services.open(host)
      return services
    }
  }

  private struct Entry: Sendable {
    weak var services: LocationServices?
    let kept: LocationServices?
  }

  private static let registry = Mutex<[ObjectIdentifier: Entry]>([:])

  private init(policy: LocationPolicy, store: LocationStore?) {
    self.policy = policy
    self.store = store
    shown = Shown(status: policy.initialStatus)
    if let store { restore(store.load()) }
  }

  private func open(_ host: BluetoothHost) {
    let client = host.makeClient(
      settle: { [weak self] in self?.settle() }, onEvent: { [weak self] in self?.handle($0) })
    lock.withLock { clientStorage = client }
    // Events may have come before there was a client to scan with.
    perform { $0.update() }
  }

  /// The way to the host.
  var client: HostClient? { lock.withLock { clientStorage } }

  /// Runs `body` on the event loop, after earlier calls.
  func perform(_ body: @escaping @Sendable (LocationServices) -> Void) {
    client?.execute { [weak self] in
      guard let self else { return }
      body(self)
      update()
    }
  }

  // MARK: Shown

  var status: CLAuthorizationStatus { lock.withLock { shown.status } }
  var monitoredRegions: [CLBeaconRegion] { lock.withLock { Array(shown.regions.values) } }
  var radio: RadioState { lock.withLock { shown.radio } }

  func show(_ radio: RadioState) { lock.withLock { shown.radio = radio } }
  func show(_ status: CLAuthorizationStatus) { lock.withLock { shown.status = status } }

  func region(_ identifier: String) -> CLBeaconRegion? {
    lock.withLock { shown.regions[identifier] }
  }

  /// Adds a region, or puts it in the place of one of its name; false if there are too many.
  func add(_ region: CLBeaconRegion) -> Bool {
    lock.withLock {
      let isKnown = shown.regions[region.identifier] != nil
      guard isKnown || shown.regions.count < Limits.regionsMax else { return false }
      shown.regions[region.identifier] = region
      return true
    }
  }

  /// Removes the region of this name; returns false if it wasn't monitored.
  func removeRegion(_ identifier: String) -> Bool {
    lock.withLock { shown.regions.removeValue(forKey: identifier) != nil }
  }

  // MARK: Managers

  func add(_ session: ManagerSession) {
    lock.withLock {
      shown.sessions.removeAll { $0.session == nil }
      shown.sessions.append(WeakSession(session: session))
    }
  }

  func remove(_ session: ManagerSession) {
    lock.withLock { shown.sessions.removeAll { $0.session == nil || $0.session === session } }
  }

  /// The managers that there are.
  var sessions: [ManagerSession] { lock.withLock { shown.sessions }.compactMap(\.session) }

  /// Has all managers call their delegates. Without a manager, a region's notice waits for the next
  /// one.
  func post(_ notice: Notice) {
    let sessions = self.sessions
    if sessions.isEmpty, notice.region != nil {
      lock.withLock { notice.add(to: &shown.undelivered) }
    }
    for session in sessions { session.inbox.post(notice) }
    client?.hasWork()
  }

  /// What waited for a manager, of regions that are still monitored.
  func takeUndelivered() -> [Notice] {
    lock.withLock {
      defer { shown.undelivered = [] }
      return shown.undelivered.filter { notice in
        notice.region.map { shown.regions[$0.identifier] === $0 } ?? false
      }
    }
  }

  /// Has one manager call its delegate.
  func post(_ notice: Notice, to session: ManagerSession) {
    session.inbox.post(notice)
    client?.hasWork()
  }

  private func settle() {
    for session in sessions { session.inbox.settle() }
  }
}

extension LocationPolicy {
  /// Overrides the environment, in tests.
  @TaskLocal package static var override: LocationPolicy?

  static var current: LocationPolicy {
    override ?? named(BluetoothHost.environment("AMBIT_LOCATION_AUTHORIZATION"))
  }
}
