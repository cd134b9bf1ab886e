package import AppMachines
import BluetoothInterface
package import Essentials
import HubMachines
import HubWire

/// A hub whose programs are apps: it keeps their sessions with the radio while they don't run, and decides with an
/// `AppMachine` when each app is launched, woken and given the events of its managers.
///
/// A process talks to it as any program does to a hub. Events of the host wait in the `AppMachine`, and reach the
/// `HubMachine` when they are delivered to a process. So the notes of a kept session are what its last process has
/// heard, and the events that wait follow them.
package struct AppHubMachine: Sendable {
  package internal(set) var life: AppMachine
  var hub: HubMachine
  var processes: [AppProcessID: AppHubProcess] = [:]
  /// By their own numbers, which events for apps carry.
  var sessions: [UInt64: AppRadioSession] = [:]
  /// The numbers of sessions, by the host's sessions.
  var numbers: [HubSessionKey: UInt64] = [:]
  private var lastNumber: UInt64 = 0
  /// Requests of centrals that are not answered.
  var requests: [AppEventID: AppHubRequest] = [:]
  /// Sessions whose wishes may have changed.
  var touched: Set<UInt64> = []
  /// What the system monitors for each app.
  var regions: [AppID: AppRegions] = [:]
  var regionScan = RegionScan()
  let serviceLimits: AppServiceLimits
  /// Tasks and notifications of apps.
  var services: [AppID: AppServices] = [:]
  var surroundings = Surroundings()
  var modes: [AppID: BackgroundModes] = [:]
  /// The apps that the person has ended and has not opened since.
  package internal(set) var forceQuitApps: Set<AppID> = []
  /// Apps whose process has opened its receiver of regions, until it has got the events that waited.
  var regionsOpened: Set<AppID> = []
  /// What is to be kept over a restart of the system, by the numbers of sessions.
  var preserved: [UInt64: SessionHoldings] = [:]
  /// Services of preserved managers that the host has not published again, by the numbers of sessions.
  var republications: [UInt64: Republication] = [:]
  /// When sessions request again what the host has refused, by their numbers.
  var retries: [UInt64: Instant] = [:]
  /// Whether an advertiser has ended.
  var hasFreePlace = false
  /// Whether requests are those of the system for a preserved manager.
  var isPreserving = false
  /// Counts the changes of all that is preserved.
  package internal(set) var preservedChangeCount: UInt64 = 0
  /// How many events without a callback of their own were dropped at the bound.
  package internal(set) var droppedCount = 0

  private var lifeActions: [AppMachine.Action] = []
  private var hubActions: [HubMachine.Action] = []
  var outputs: [Action] = []

  /// The hub's deadlines are for programs at sockets. Here the `AppMachine` has the times, and the hub's time doesn't pass.
  private static let hubTime = Instant.zero
  /// All processes belong to the same user.
  static let userID: UInt32 = 0
  /// Longer than any test: the `AppMachine` ends the keeping of sessions.
  static let keptTimeMax = TimeSpan.seconds(100 * 365 * 86_400)

  /// - Parameters:
  ///   - limits: Times and bounds of apps.
  ///   - rules: The release of iOS whose rules apply.
  ///   - serviceLimits: Times of tasks and notifications.
  ///   - isSimulated: Whether the radio is simulated.
  package init(
    limits: AppLimits = AppLimits(), rules: AppRules = .iOS26,
    serviceLimits: AppServiceLimits = AppServiceLimits(), isSimulated: Bool = true
  ) {
    self.serviceLimits = serviceLimits
    life = AppMachine(limits: limits, rules: rules)
    var hubLimits = HubLimits()
    hubLimits.keptTimeMax = Self.keptTimeMax
    hub = HubMachine(
      HubMachine.Configuration(userID: Self.userID, isSimulated: isSimulated, limits: hubLimits))
  }

  /// When to report `wake`; nil while nothing is waited for.
  package var nextWake: Instant? {
    [life.nextWake, nextRegionWake, nextServiceWake, retries.values.min()].compactMap(\.self).min()
  }

  /// Handles an event.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .life(let event): handle(event, now: now)
    case .connected(let process):
      let peer = HubPeer(process, of: processes[process]?.app, userID: Self.userID)
      handle(.connected(process.connection, peer))
    case .received(let process, let bytes): received(bytes, from: process, now: now)
    case .disconnected(let process): handle(.disconnected(process.connection))
    case .handled(let process, let number): handled(number, by: process, now: now)
    case .delivered(Self.regionKey, let events): arrivedForRegions(events, now: now)
    case .preserved(let manager): preserve(manager, now: now)
    case .preservedRegions(let regions): preserve(regions, now: now)
    case .preservedServices(let app, let record): preserve(record, of: app, now: now)
    case .delivered(let key, let events): arrived(events, at: key, now: now)
    }
    serveIfDue(now: now)
    finish(now: now, into: &actions)
    assert(violations(perTable: 8).isEmpty, "\(violations(perTable: 8)) after \(event)")
  }

  /// Does what follows from an event, and appends the actions.
  mutating func finish(now: Instant, into actions: inout [Action]) {
    settle(now: now)
    swap(&actions, &outputs)
    if !outputs.isEmpty {
      actions.insert(contentsOf: outputs, at: 0)
      outputs = []
    }
  }

  // MARK: The two machines

  /// Handles an event of an app's life.
  private mutating func handle(_ event: AppMachine.Event, now: Instant) {
    switch event {
    case .process(let process, .exited), .process(let process, .gone),
      .process(let process, .reclaimed):
      ended(process, now: now)
    case .rebooted:
      for process in processes.keys.sorted() {
        outputs.append(.life(.kill(process)))
        ended(process, now: now)
      }
    case .adopted(let app, let process, _):
      guard life.state(of: app) == .notRunning, processes[process] == nil else { return }
      processes[process] = AppHubProcess(app: app)
    case .wake:
      wakeRegions(now: now)
      tryAgain(now: now)
    case .process(let process, .opened(.location)):
      if let app = processes[process]?.app { regionsOpened.insert(app) }
    default: break
    }
    followServices(event)
    report(event, now: now)
  }

  /// Has the machine of apps handle an event.
  mutating func report(_ event: AppMachine.Event, now: Instant) {
    life.handle(event, now: now, into: &lifeActions)
    switch event {
    case .arrived(let app, _), .person(let app, _):
      for event in life.takeDisplacedEvents(of: app) { noteDisplaced(event, of: app) }
    default: break
    }
  }

  /// Has the hub's machine handle an event, and write its messages.
  mutating func handle(_ event: HubMachine.Event) {
    hub.handle(event, now: Self.hubTime, into: &hubActions)
    hub.handle(.turnEnded, now: Self.hubTime, into: &hubActions)
  }

  /// Does what follows from an event.
  private mutating func settle(now: Instant) {
    while true {
      performHubActions(now: now)
      takeHeld(now: now)
      var due: [AppMachine.Action] = []
      swap(&due, &lifeActions)
      for action in due {
        perform(action, now: now)
        performHubActions(now: now)
      }
      guard due.isEmpty else { continue }
      followStates(now: now)
      giveMissedRegionEvents(now: now)
      if lifeActions.isEmpty, hubActions.isEmpty { return }
    }
  }

  /// Performs the hub's actions, in their order.
  mutating func performHubActions(now: Instant) {
    while !hubActions.isEmpty {
      var due: [HubMachine.Action] = []
      swap(&due, &hubActions)
      for action in due { perform(action, now: now) }
    }
  }

  private mutating func perform(_ action: HubMachine.Action, now: Instant) {
    switch action {
    case .write(let id, let bytes):
      outputs.append(.write(id.process, bytes))
      hub.handle(.written(id, waitingByteCount: 0), now: Self.hubTime, into: &hubActions)
    case .setReading: break
    case .close(let id): outputs.append(.close(id.process))
    case .openSession(let key, let identity): outputs.append(.openSession(key, identity))
    case .send(let key, let request): send(request, of: key, now: now)
    // The host's events were acknowledged when they came.
    case .acknowledge(let key, let count): acknowledged(count, at: key, now: now)
    case .closeSession(let key):
      if let number = numbers.removeValue(forKey: key) { forget(number) }
      outputs.append(.closeSession(key))
    case .readStatus, .report, .settled, .hasWork: break
    }
  }

  private mutating func perform(_ action: AppMachine.Action, now: Instant) {
    switch action {
    case .start(let app, let process, _):
      processes[process] = AppHubProcess(app: app)
      outputs.append(.life(action))
    case .deliver(let process, let deliveries): deliver(deliveries, to: process, now: now)
    case .freeze(let process):
      processes[process]?.isFrozen = true
      outputs.append(.life(action))
    case .thaw(let process):
      outputs.append(.life(action))
      thaw(process, now: now)
    case .refuse(_, let event): refuse(event)
    case .disconnect(let app, let receiver, let peer):
      for session in sessions(of: app, receiver) {
        sessions[session.number]?.sent(.disconnect(peer.address))
        outputs.append(.send(session.hostKey, .disconnect(peer.address)))
      }
    case .release(let app, .location): forgetRegions(of: app, now: now)
    case .release(_, .heldSocket): outputs.append(.life(action))
    case .release(let app, let receiver): release(app, receiver)
    case .reportRegionStates(let app): reportRegionStates(of: app, now: now)
    case .terminate, .kill, .expire, .refuseBackgroundTask, .expireTask, .alert, .report:
      outputs.append(.life(action))
    }
  }

  // MARK: Sessions

  /// The sessions of a receiver, in the order in which they were opened.
  func sessions(of app: AppID, _ receiver: AppReceiver) -> [AppRadioSession] {
    sessions.values.filter { $0.app == app && $0.receiver == receiver }.sorted {
      $0.number < $1.number
    }
  }

  /// Finds out which sessions a process has opened and closed.
  mutating func updateSessions(of id: AppProcessID, now: Instant) {
    guard let process = processes[id] else { return }
    let open = hub.sessions(of: id.connection)
    for (session, number) in process.sessions.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where open[session] == nil {
      processes[id]?.sessions[session] = nil
      guard let receiver = sessions[number]?.receiver else { continue }
      report(.process(id, .closed(receiver)), now: now)
    }
    for (session, state) in open.sorted(by: { $0.key.rawValue < $1.key.rawValue })
    where process.sessions[session] == nil {
      let number = opened(state, by: id, process.app)
      processes[id]?.sessions[session] = number
      report(.process(id, .opened(sessions[existing: number].receiver)), now: now)
    }
  }

  /// A process has opened a session, perhaps one that was kept. Returns its number.
  private mutating func opened(
    _ state: HubMachine.OpenSession, by process: AppProcessID, _ app: AppID
  ) -> UInt64 {
    if let number = numbers[state.hostKey] {
      sessions[number]?.process = process
      // What is left waits for a radio; the app publishes it again, as it isn't restored with it.
      republications[number] = nil
      noteRetry(number)
      touched.insert(number)
      return number
    }
    lastNumber += 1
    let receiver = AppReceiver(sessionName: state.manager, number: lastNumber)
    sessions[lastNumber] = AppRadioSession(
      number: lastNumber, hostKey: state.hostKey, app: app, receiver: receiver,
      isOfLocation: state.manager == SessionName.location, process: process)
    // Those of a session before it, which its process has begun anew.
    sessions[existing: lastNumber].wants = life.wants(of: app, receiver)
    numbers[state.hostKey] = lastNumber
    touched.insert(lastNumber)
    return lastNumber
  }

  /// Forgets a session that has ended.
  private mutating func forget(_ number: UInt64) {
    guard let session = sessions.removeValue(forKey: number) else { return }
    if session.radio.isAdvertising { hasFreePlace = true }
    touched.remove(number)
    republications[number] = nil
    retries[number] = nil
    preserve(nil, of: number)
    requests = requests.filter { $0.value.session != number }
  }

  // MARK: The end of a process

  /// A process has ended: the hub keeps its sessions, or closes them.
  mutating func ended(_ id: AppProcessID, now: Instant) {
    guard let process = processes.removeValue(forKey: id) else { return }
    let own = process.sessions.values.sorted()
    for number in own { sessions[number]?.processEnded() }
    outputs.append(.close(id))
    handle(.disconnected(id.connection))
    performHubActions(now: now)
    for number in own where sessions[number]?.isReleased == true {
      if let key = sessions[number]?.hostKey { handle(.keepingEnded(key)) }
    }
    performHubActions(now: now)
  }

  /// The wishes of a receiver are no longer fulfilled.
  private mutating func release(_ app: AppID, _ receiver: AppReceiver) {
    for session in sessions(of: app, receiver) {
      if session.process == nil {
        handle(.keepingEnded(session.hostKey))
      } else {
        // When its process is gone.
        sessions[session.number]?.isReleased = true
      }
    }
  }

  // MARK: Invariants

  /// The rules of the machine that don't hold.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found = life.violations(perTable: limit)
    for table in regions.values.prefix(limit) { found += table.violations() }
    for table in services.values.prefix(limit) { found += table.violations() }
    if regionScan.isOpen != regions.values.contains(where: { !$0.isEmpty }) {
      found.append("the scan for regions is on without one, or off")
    }
    for (key, number) in numbers.prefix(limit) where sessions[number]?.hostKey != key {
      found.append("session \(number) has another key with the host")
    }
    if numbers.count != sessions.count { found.append("a session has no key with the host") }
    for id in processes.keys.prefix(limit) where needlesslyHolds(id) {
      found.append("the bytes of process \(id.rawValue) wait for nothing")
    }
    for session in sessions.values.prefix(limit) {
      if session.process == nil, !hub.isKept(session.hostKey) {
        found.append("session \(session.number) has no process and is not kept")
      }
      if let process = session.process, processes[process]?.app != session.app {
        found.append("session \(session.number) has the process of another app")
      }
      if session.radio.policy != policy(of: session) {
        found.append("session \(session.number) has the radio of another state of its app")
      }
      if let republication = republications[session.number] {
        found += republication.violations()
        if session.process != nil { found.append("a process lacks services of its session") }
      }
      if session.heldBack.count > AppRadioSession.heldBackCountMax {
        found.append("session \(session.number) holds too many events back")
      }
    }
    return found + violationsOfRetries(perTable: limit)
  }
}
