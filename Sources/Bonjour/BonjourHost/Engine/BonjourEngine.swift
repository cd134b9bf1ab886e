import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
import PortSharing

/// Connects a host to the hub of this machine, which runs the machines for it, or runs them itself. A hub's
/// engine runs them for other processes. Confined to one event loop.
final class BonjourEngine: @unchecked Sendable {
  // Sendable because everything that changes is touched on `loop` only.

  typealias QueryHandler = @Sendable (FoundEvent) -> Void
  typealias RegistrationHandler = @Sendable (RegistrationEvent) -> Void
  typealias Connection = MessageConnection<OwnerMessage>

  /// How a host takes part.
  enum Role: Hashable, Sendable {
    /// Runs the machines for other processes: a hub.
    case owner
    /// Runs the machines for itself.
    case alone
    /// A hub runs the machines for it.
    case client
    /// Not served, because the owner has too many clients. The next request tries again.
    case refused
    /// Closed.
    case closed
  }

  let configuration: BonjourConfiguration
  let loop: EpollLoop
  let log: (@Sendable (String) -> Void)?
  let trust = OwnerMachine.Trust(userID: geteuid())
  /// The socket and rules of a hub's engine, which searches for no other one; nil for all others.
  let service: HubService?
  /// The hubs that this host uses; nil if it uses none.
  let hub: HubAddresses?

  private var queries: [QueryID: QueryHandler] = [:]
  private var registrations: [RegistrationID: RegistrationHandler] = [:]
  /// The interfaces that take part, once they are known.
  private var knownInterfaces: [InterfaceIndex: String]?
  /// The query whose results are being reported from the cache.
  private var queryAnsweredFromCache: QueryID?
  private var awaitingInterfaces: [([InterfaceIndex: String]?) -> Void] = []
  private var awaitingRole: [(Role) -> Void] = []
  private var awaitingEnd: [@Sendable () -> Void] = []
  var awaitingAvailability: [AvailabilityWait] = []

  var state = State.searching(.nothing)
  /// The search for a hub, also while the host follows one; nil while the host does without.
  var search: OwnerSearch?
  /// Looks for a hub that was left.
  var hubLookout: HubLookout?
  /// How many requests this host had when a hub refused one more of them; nil if it was left for another reason.
  var limitedRequestCount: Int?
  var client = PortSharingClient()
  /// Whether the search knows that an owner has something to do for this host.
  private(set) var isOwnerNeeded = false
  /// Whether the owners that this host followed have handled its requests.
  var answers = OwnerAnswers()
  private lazy var resolver = SystemResolver(on: loop) { [weak self] id, event, moreComing in
    self?.queries[id]?(FoundEvent(event: event, interface: nil, moreComing: moreComing))
  }
  private lazy var searchTimer = loop.makeTimer { [weak self] in self?.wakeSearch() }
  private lazy var clientTimer = loop.makeTimer { [weak self] in self?.wakeClient() }
  lazy var availabilityTimer = loop.makeTimer { [weak self] in self?.wakeAvailability() }

  init(
    configuration: BonjourConfiguration, serving service: HubService? = nil, on loop: EpollLoop,
    log: (@Sendable (String) -> Void)?
  ) {
    self.configuration = configuration
    self.service = service
    self.loop = loop
    self.log = log
    hub = service == nil ? configuration.hub.flatMap { HubAddresses($0) } : nil
  }

  /// The system's names of the interfaces that take part, with their numbers.
  var interfaceNames: [InterfaceIndex: String] { knownInterfaces ?? [:] }

  var isStopped: Bool { state.role == .closed }

  /// Enqueues work on the event loop, after work enqueued earlier. May be called from any thread.
  func onLoop(_ work: @escaping @Sendable (BonjourEngine) -> Void) {
    loop.execute { [self] in work(self) }
  }

  // MARK: On the loop

  /// Starts the search for a hub, or to serve as one, or by itself.
  func start() {
    if let service { return serve(service) }
    if let note = configuration.standaloneNote { log?(note) }
    if hub == nil { runLocally() } else { beginSearch() }
  }

  /// Unregisters everything and ends; calls `completion` when everything was sent. What other processes
  /// registered with a hub gets no goodbye, since they go on.
  func stop(_ completion: @escaping @Sendable () -> Void) {
    if case .ended = state { return completion() }
    awaitingEnd.append(completion)
    guard !isStopped else { return }
    let last = state
    state = .stopping(last.driver)
    settled()
    interfacesSettled()
    answered(.silent)
    queries = [:]
    resolver.stopAll()
    registrations = [:]
    searchTimer.cancel()
    clientTimer.cancel()
    hubLookout?.stop()
    switch last {
    case .searching(.nothing), .refused, .stopping, .ended: ended()
    case .searching(.connected(let descriptor)):
      close(descriptor)
      ended()
    case .searching(.greeting(let owner)), .following(let owner):
      owner.connection.close()
      ended()
    case .alone(let driver): driver.stop(handingOver: nil) { self.ended() }
    case .owning(let ownership):
      let isServing = ownership.machine.clientCount > 0
      stop(ownership, handingOver: isServing ? ownership.machine.clientRegistrations : nil) {
        self.ended()
      }
    }
  }

  private func ended() {
    state = .ended
    let waiting = awaitingEnd
    awaitingEnd = []
    for completion in waiting { completion() }
  }

  /// Calls back, now or later, once it is clear how the host takes part.
  func whenSettled(_ onRole: @escaping @Sendable (Role) -> Void) {
    if let role = state.role { onRole(role) } else { awaitingRole.append(onRole) }
  }

  /// Calls back, now or later, once the interfaces are known, or will not be.
  func whenInterfacesKnown(_ body: @escaping @Sendable ([InterfaceIndex: String]?) -> Void) {
    awaitingInterfaces.append(body)
    if knownInterfaces != nil || state.role == .refused || isStopped { interfacesSettled() }
  }

  /// Lets the search know whether this host has to notice soon that an owner doesn't answer.
  func updateNeed() {
    let isNeeded = !client.isIdle
    guard isNeeded != isOwnerNeeded else { return }
    isOwnerNeeded = isNeeded
    handle(OwnerSearch.Event.needed(isNeeded))
  }

  private func interfacesSettled() {
    let waiting = awaitingInterfaces
    awaitingInterfaces = []
    for body in waiting { body(knownInterfaces) }
  }

  private func settled() {
    guard let role = state.role else { return }
    let waiting = awaitingRole
    awaitingRole = []
    for onRole in waiting { onRole(role) }
  }

  // MARK: Requests of the host

  func start(
    _ id: QueryID, _ request: QueryRequest, on interface: InterfaceIndex?,
    _ options: QueryOptions, _ onEvent: @escaping QueryHandler
  ) {
    guard !isStopped else { return }
    queries[id] = onEvent
    if resolver.start(id, request, options) { return }
    pass(.startQuery(id, request, on: interface, options: options))
    searchAgain()
  }

  func stop(_ id: QueryID) {
    guard queries.removeValue(forKey: id) != nil, !resolver.stop(id) else { return }
    pass(.stopQuery(id))
  }

  func reconfirm(_ record: DNSRecord, on interface: InterfaceIndex?) {
    pass(.reconfirm(record, on: interface))
  }

  func register(
    _ id: RegistrationID, _ service: ServiceRegistration, _ onEvent: @escaping RegistrationHandler
  ) {
    let type = service.name.type
    if !type.conformsToRFC6335 {
      log?("some clients may not find \(type): its name is longer than 15 or has other characters")
    }
    register(id, .registerService(id, service), onEvent)
  }

  func register(
    _ id: RegistrationID, _ record: RecordRegistration, _ onEvent: @escaping RegistrationHandler
  ) {
    register(id, .registerRecord(id, record), onEvent)
  }

  private func register(
    _ id: RegistrationID, _ request: DiscoveryRequest, _ onEvent: @escaping RegistrationHandler
  ) {
    guard !isStopped else { return }
    registrations[id] = onEvent
    pass(request)
    searchAgain()
  }

  func update(_ id: RegistrationID, _ text: TXTRecord) {
    change(id, .updateText(id, text))
  }

  func update(_ id: RegistrationID, _ data: DNSRecordData, ttlSeconds: UInt32) {
    change(id, .updateRecord(id, data, ttlSeconds: ttlSeconds))
  }

  func setRecord(
    _ id: RegistrationID, _ number: UInt32, _ data: DNSRecordData?, ttlSeconds: UInt32
  ) {
    change(id, .setRecord(id, number, data, ttlSeconds: ttlSeconds))
  }

  private func change(_ id: RegistrationID, _ request: DiscoveryRequest) {
    guard registrations[id] != nil else { return }
    pass(request)
  }

  func unregister(_ id: RegistrationID) {
    guard registrations.removeValue(forKey: id) != nil else { return }
    pass(.unregister(id))
  }

  /// Passes a request on: to the machines directly, where they run here and nothing has to be kept for
  /// a hub.
  private func pass(_ request: DiscoveryRequest) {
    guard !isStopped else { return }
    if client.isTransparent {
      forward(CollectionOfOne(request))
    } else {
      handle(.request(request))
    }
  }

  private func notify(_ report: DiscoveryReport) {
    switch report {
    case .found(let id, let event, let interface, let moreComing):
      var found = FoundEvent(event: event, interface: interface, moreComing: moreComing)
      found.isFromCache = queryAnsweredFromCache == id
      queries[id]?(found)
    case .answersFromCache(let id): queryAnsweredFromCache = id
    case .registered(let id, let name): registrations[id]?(.registered(name))
    case .refused(let id, let name): registrations.removeValue(forKey: id)?(.refused(name))
    case .interfaces(let names):
      knownInterfaces = names
      interfacesSettled()
    }
  }

  // MARK: The client's machine

  func handle(_ event: PortSharingClient.Event) {
    guard !isStopped else { return }
    var actions: [PortSharingClient.Action] = []
    client.handle(event, now: .now, into: &actions)
    finish(actions)
  }

  /// Takes a report of the machines, here or in another process.
  func take(_ report: DiscoveryReport) {
    if client.isTransparent {
      notify(report)
    } else {
      handle(PortSharingClient.Event.report(report))
    }
    if case .found(_, _, _, moreComing: false) = report { queryAnsweredFromCache = nil }
  }

  private func wakeClient() {
    guard !isStopped else { return }
    var actions: [PortSharingClient.Action] = []
    client.wake(now: .now, into: &actions)
    finish(actions)
  }

  private func finish(_ actions: [PortSharingClient.Action]) {
    var requests: [DiscoveryRequest] = []
    for action in actions {
      switch action {
      case .forward(let request): requests.append(request)
      case .notify(let report): notify(report)
      case .fail(let id): registrations.removeValue(forKey: id)?(.failed(.tooManyClients))
      case .disconnect: handle(OwnerSearch.Event.distrusted)
      }
    }
    if !requests.isEmpty { forward(requests) }
    if let wake = client.nextWake { clientTimer.set(wake) } else { clientTimer.cancel() }
    updateNeed()
  }

  private func forward(_ requests: some Collection<DiscoveryRequest>) {
    switch state {
    case .alone(let driver): driver.handle(requests)
    case .following(let owner):
      for request in requests where !owner.connection.send(ClientMessage.request(request)) {
        // Longer than a message may be: the machines here can have it.
        return handle(OwnerSearch.Event.rejected(.tooManyRequests))
      }
      flush(requests, to: owner)
    case .searching, .refused, .owning, .stopping, .ended: break
    }
  }

  // MARK: The search for a hub

  func handle(_ event: OwnerSearch.Event) {
    guard !isStopped else { return }
    var actions: [OwnerSearch.Action] = []
    search?.handle(event, now: .now, into: &actions)
    finish(actions)
  }

  private func wakeSearch() {
    guard !isStopped else { return }
    var actions: [OwnerSearch.Action] = []
    search?.wake(now: .now, into: &actions)
    finish(actions)
  }

  private func finish(_ actions: [OwnerSearch.Action]) {
    for action in actions {
      switch action {
      case .connect(let address):
        guard let result = hub?.all[address].connect(trust: trust) else { break }
        state = .searching(result.descriptor.map { .connected($0) } ?? .nothing)
        handle(.connected(result.outcome))
      case .greet: greet()
      case .ping:
        guard case .following(let owner) = state else { break }
        ping(owner)
      case .check:
        state.otherOwner?.connection.readNow()
        handle(OwnerSearch.Event.checked)
      case .disconnect: disconnect()
      case .leave: leave()
      case .reportShortage:
        log?("Bonjour waits until this program has a free file descriptor (ulimit -n).")
      case .follow:
        guard let owner = state.otherOwner else { break }
        state = .following(owner)
        handle(PortSharingClient.Event.began(.another))
        settled()
      case .refuse: refuse()
      case .runLocally(let reason): leaveHub(reason)
      }
    }
    if let wake = search?.nextWake { searchTimer.set(wake) } else { searchTimer.cancel() }
  }

  // MARK: Another process

  private func greet() {
    guard case .searching(.connected(let descriptor)) = state else {
      return handle(.lost)
    }
    state = .searching(.nothing)
    let connection = Connection(descriptor, on: loop) { [weak self] connection, event in
      self?.handle(event, connection)
    }
    guard let connection else { return handle(.lost) }
    state = .searching(.greeting(OwnerConnection(connection: connection)))
    _ = connection.send(
      ClientMessage.hello(versions: PortSharingProtocol.versions, configuration.shared))
    connection.flush()
  }

  private func handle(_ event: Connection.Event, _ connection: Connection) {
    guard connection === state.otherOwner?.connection else { return }
    switch event {
    case .incomplete: break
    case .message(let message):
      handle(OwnerSearch.Event.messageReceived)
      take(message)
    case .invalidMessage: handle(OwnerSearch.Event.distrusted)
    case .closed:
      disconnect()
      answered(.works)
      handle(OwnerSearch.Event.lost)
    }
  }

  private func take(_ message: OwnerMessage) {
    switch message {
    case .welcome(let version):
      guard PortSharingProtocol.versions.contains(version) else { return handle(.distrusted) }
      state.noteVersion(version)
      handle(OwnerSearch.Event.welcomed)
    case .rejected(let reason): handle(OwnerSearch.Event.rejected(reason))
    case .report(let report): if state.role == .client { take(report) }
    case .pong: takePong()
    }
  }

  private func disconnect() {
    guard let owner = state.otherOwner else { return }
    let wasFollowing = state.role == .client
    owner.connection.close()
    state = .searching(.nothing)
    guard wasFollowing else { return }
    answers.ended(now: .now)
    handle(PortSharingClient.Event.ended)
  }

  /// Disconnects from an owner that may go on, and informs it that this host continues its
  /// registrations.
  func leave() {
    if let owner = state.otherOwner, state.role == .client,
      owner.version >= PortSharingProtocol.leavingVersion
    {
      _ = owner.connection.send(ClientMessage.leaving)
    }
    disconnect()
  }

  /// Fails all requests; the next one starts another search.
  private func refuse() {
    log?("Bonjour is not available: the hub of this machine serves as many programs as it can.")
    state = .refused
    handle(PortSharingClient.Event.refused)
    answered(.works)
    settled()
    interfacesSettled()
  }

  private func searchAgain() {
    guard case .refused = state else { return }
    state = .searching(.nothing)
    handle(OwnerSearch.Event.begin)
  }

  // MARK: This process

  /// Runs the machines here, for this program.
  func runLocally() {
    answered(.silent)
    let driver = driver()
    state = .alone(driver)
    driver.start {}
    handle(PortSharingClient.Event.began(.thisProcess))
    settled()
  }

  /// Machines whose reports this engine takes.
  private func driver() -> BonjourDriver {
    BonjourDriver(configuration: configuration, on: loop, log: log) { [weak self] in self?.take($0)
    }
  }

  /// Runs the machines here, for other programs.
  private func serve(_ service: HubService) {
    let driver = driver()
    let ownership = ownership(of: driver, service)
    state = .owning(ownership)
    driver.beforeEvents = { [weak self] in self?.noteRunning() }
    driver.now = { [weak ownership] in ownership?.time() ?? .now }
    // Requests of clients would only queue up before; if it never starts, they do without the hub.
    driver.start { [weak self] in self?.acceptClients() }
    settled()
  }
}
