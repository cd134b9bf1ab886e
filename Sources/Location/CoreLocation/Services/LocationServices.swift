internal import AppSessions
internal import BeaconMachines
internal import BluetoothInterface
internal import BluetoothSessions
internal import Essentials
internal import EventLoop
internal import LocationFiles
internal import Logging
internal import Synchronization

/// The implementation of all location managers and monitors of a process: the authorization, the
/// monitored regions and ranged constraints, and a session with the Bluetooth host, which shares
/// its scan among clients.
///
/// The machines run on the session's event loop, to which all requests are passed in order.
final class LocationServices: @unchecked Sendable {
  // Unchecked: `shown` and `hostSessionStorage` are guarded by `lock`, `loop` is touched on the
  // session's event loop only, the rest is constant.

  /// What properties show, from any thread.
  struct PublicState {
    /// The status by the policy.
    var status: CLAuthorizationStatus
    /// Whether a hub's rules deny Bluetooth to this program, and so all that is located by it.
    var isDenied = false
    var radio = RadioState.unknown
    var regions: [String: CLBeaconRegion] = [:]
    var sessions: [WeakSession] = []
    /// The monitors that there are, by name.
    var monitors: [String: WeakMonitor] = [:]
    /// The conditions under all names, also of monitors that there are none of now.
    var conditions: [String: [MonitorCore.Entry]] = [:]
    var lastCondition = 0
    /// The snapshot of the regions that was kept last.
    var keptRegions: [UInt8] = []
    /// What happened to regions while there was no manager, for the next one.
    var undelivered: ArraySlice<DelegateCall> = []
  }

  struct WeakSession {
    weak var session: ManagerSession?
  }

  struct WeakMonitor: Sendable {
    weak var core: MonitorCore?
  }

  private let host: any HostSessionProvider
  let policy: LocationPolicy
  /// The calls of the machines, and what they answered.
  var loop = LocationLoop()
  let lock = SharedLock()
  var shown: PublicState
  private var hostSessionStorage: (any HostSession)?
  /// Where regions and conditions outlive the process; nil where they don't.
  let store: LocationStore?
  /// The system that monitors them for an app; nil where this process does it.
  let system: SystemRegions?

  /// The services of the host that is current in this task; created when first used. Those of the
  /// process's shared host exist until the process ends, others as long as a manager or monitor uses
  /// them.
  static var current: LocationServices {
    let host = CurrentHost.provider
    return registry.withLock { registry in
      // Services retain their host, so that no other one gets its identity.
      if let services = registry[ObjectIdentifier(host)]?.services { return services }
      registry = registry.filter { $0.value.services != nil }
      let services = LocationServices(
        host, policy: LocationPolicy.current,
        store: LocationStore.current(isSimulated: host.isSimulated))
      registry[ObjectIdentifier(host)] = Entry(
        services: services, kept: CurrentHost.isShared ? services : nil)
      services.open()
      return services
    }
  }

  private struct Entry: Sendable {
    weak var services: LocationServices?
    let kept: LocationServices?
  }

  private static let registry = Mutex<[ObjectIdentifier: Entry]>([:])

  private init(_ host: any HostSessionProvider, policy: LocationPolicy, store: LocationStore?) {
    self.host = host
    self.policy = policy
    let isOfApp = CurrentHost.isShared || CurrentHost.ofApp.map { $0 === host } ?? false
    system = isOfApp ? AppSession.current.flatMap(SystemRegions.init) : nil
    self.store = system == nil ? store : nil
    shown = PublicState(
      status: policy.initialStatus, isDenied: CurrentHost.authorization(by: host) != .allowed)
    if let system { restore(system) } else if let store { restore(store.load()) }
  }

  private func open() {
    let session = host.openSession(
      name: SessionName.location, settle: { [weak self] in self?.settle() },
      onEvent: { [weak self] in self?.handle($0) })
    lock.withLock { hostSessionStorage = session }
    // Events may have come before there was a session to scan with.
    perform { $0.update() }
  }

  /// The session with the host.
  var hostSession: (any HostSession)? { lock.withLock { hostSessionStorage } }

  /// Runs `body` on the event loop, after earlier calls.
  func perform(_ body: @escaping @Sendable (LocationServices) -> Void) {
    hostSession?.loop.execute { [weak self] in
      guard let self else { return }
      body(self)
      update()
    }
  }

  // MARK: Shown

  var status: CLAuthorizationStatus {
    lock.withLock { shown.isDenied ? .denied : shown.status }
  }
  var monitoredRegions: [CLBeaconRegion] { lock.withLock { Array(shown.regions.values) } }
  var radio: RadioState { lock.withLock { shown.radio } }

  func show(_ radio: RadioState) { lock.withLock { shown.radio = radio } }
  func show(_ status: CLAuthorizationStatus) { lock.withLock { shown.status = status } }

  /// Shows whether the host's rules deny Bluetooth to this program; returns whether that changes the status.
  func showDenial() -> Bool {
    let isDenied = CurrentHost.authorization(by: host) != .allowed
    return lock.withLock {
      defer { shown.isDenied = isDenied }
      return shown.isDenied != isDenied && shown.status != .denied
    }
  }

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
  func post(_ notice: DelegateCall) {
    let sessions = self.sessions
    if sessions.isEmpty, notice.region != nil {
      lock.withLock { notice.add(to: &shown.undelivered) }
    }
    for session in sessions { session.inbox.post(notice) }
    hostSession?.hasWork()
  }

  /// Logs that a manager's delegate isn't called, if its first call still waits after some seconds.
  func watchDelivery(to session: ManagerSession) {
    guard let eventLoop = hostSession?.loop else { return }
    let timer = eventLoop.makeTimer { [weak session] in
      guard let session, session.inbox.isUnserved else { return }
      Logger(label: "CoreLocation").error(
        """
        A location manager's delegate is not called: the run loop of the thread that created the \
        manager does not run, or its queue is blocked. Run the loop, or create the manager with \
        init(queue:).
        """)
    }
    timer.set(eventLoop.now + Limits.firstCallMax)
  }

  /// What waited for a manager, of regions that are still monitored.
  func takeUndelivered() -> [DelegateCall] {
    lock.withLock {
      defer { shown.undelivered = [] }
      return shown.undelivered.filter { notice in
        notice.region.map { shown.regions[$0.identifier] === $0 } ?? false
      }
    }
  }

  /// Has one manager call its delegate.
  func post(_ notice: DelegateCall, to session: ManagerSession) {
    session.inbox.post(notice)
    hostSession?.hasWork()
  }

  private func settle() {
    for session in sessions { session.inbox.settle() }
    guard let system else { return }
    let monitors = lock.withLock { shown.monitors.values.compactMap(\.core) }
    for monitor in monitors { monitor.settle() }
    system.settle()
  }
}

extension LocationPolicy {
  /// Overrides the environment, in tests.
  @TaskLocal package static var override: LocationPolicy?

  static var current: LocationPolicy {
    override ?? named(ProcessEnvironment.value("AMBIT_LOCATION_AUTHORIZATION"))
  }
}
