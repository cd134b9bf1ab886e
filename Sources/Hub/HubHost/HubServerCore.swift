import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubMachines
import HubWire

/// The part of a hub that lives on its event loop: sockets and sessions of the machine's connections.
final class HubServerCore {
  let radio: any HubRadio
  private let history: RadioHistory
  /// Hears of the states of the radio.
  private let radioWatch: any HostSession
  private var claim: SocketClaim?
  private let fileCheckSpan: TimeSpan
  private let loop: EpollLoop
  private let version: String
  private let startedAt = Instant.now
  private let onReport: @Sendable (HubReport) -> Void
  private let rules: HubRules
  private let peers: PeerReader
  private var machine: HubMachine
  /// How many programs it serves at most.
  let connectionCountMax: Int
  private var listeners: [StreamListener] = []
  private var file: (path: String, identity: UNIXSocketFile.Identity)?
  private var fileTimer: (any LoopTimer)?
  /// The reason why the hub can't listen again that was reported.
  private var reportedObstacle: HubServerError?
  private var channels: [HubConnectionID: ByteChannel] = [:]
  private var processes: [HubConnectionID: PeerProcessWatch] = [:]
  private var sessions: [HubSessionKey: any HostSession] = [:]
  /// The times at which programs are asked again, where time is virtual.
  private var wakes: [HubSessionKey: ProgramWake] = [:]
  private var lastNumber: UInt64 = 0
  /// What waits for programs before virtual time advances, by the numbers of the questions.
  private var settlings: [UInt64: (Instant?) -> Void] = [:]
  private var lastSettling: UInt64 = 0
  private var actions: [HubMachine.Action] = []
  private var isPerforming = false
  private var isTurnEndScheduled = false
  private var isClosed = false
  /// Reads the state of the hub's Multicast DNS; nil without it.
  var readNetwork: @Sendable () async -> HubNetworkStatus? = { nil }
  /// The reason why the hub runs no Multicast DNS although no option leaves it out.
  var networkProblem: String?
  private var lastStatusRead: Instant?
  private var shortages: DescriptorShortage.Observation?
  private var wakeTimer: (any LoopTimer)?
  private var wakeSetFor: Instant?

  /// How much of a program's requests is handled before those of others: some 200 of the shortest.
  private static let readByteCountMax = 2 * 1024

  init(
    _ radio: any HubRadio, _ claim: SocketClaim?, limits: HubLimits, rules: HubRules,
    peers: PeerReader, version: String, fileCheckSpan: TimeSpan, on loop: EpollLoop,
    onReport: @escaping @Sendable (HubReport) -> Void
  ) {
    self.radio = radio
    let history = RadioHistory()
    self.history = history
    radioWatch = radio.openSession { event in
      if case .stateChanged(let state) = event { history.record(state) }
    }
    self.claim = claim
    self.loop = loop
    self.version = version
    self.fileCheckSpan = fileCheckSpan
    self.onReport = onReport
    self.rules = rules
    self.peers = peers
    var limits = limits
    // A program takes two descriptors: of its connection and of its process. A quarter of all is for programs of
    // the hub's Multicast DNS, which take two as well.
    limits.connectionCountMax = min(limits.connectionCountMax, DescriptorLimit.freeMax / 8 * 3)
    connectionCountMax = limits.connectionCountMax
    machine = HubMachine(
      HubMachine.Configuration(
        userID: geteuid(), isSimulated: radio.isSimulated,
        hasVirtualTime: radio.hasVirtualTime, limits: limits, rules: rules))
    wakeTimer = loop.makeTimer { [weak self] in self?.wake() }
    shortages = DescriptorShortage.observe { [onReport] shortage in
      loop.execute { onReport(.descriptorsExhausted(shortage.text)) }
    }
  }

  var counts: HubCounts { machine.counts }

  // MARK: Listening

  /// Begins to accept connections.
  func listen(at socket: HubSocket) -> Result<Void, HubServerError> {
    do throws(HubServerError) {
      try makeListeners(socket)
      watchFile(of: socket)
      return .success(())
    } catch {
      close()
      return .failure(error)
    }
  }

  private func makeListeners(_ socket: HubSocket) throws(HubServerError) {
    switch socket {
    case .open(let sockets):
      for socket in sockets {
        do throws(SystemError) {
          listeners.append(
            try StreamListener(owning: socket.descriptor, on: loop, onAccept: accept(socket.name)))
        } catch { throw HubServerError(error, at: "the socket of the service manager") }
      }
    case .path(let path), .ownFolder(let path):
      guard let address = SocketAddress(path: path) else {
        throw HubServerError(
          .failed,
          "The hub cannot listen at \(path): a path of a socket has at most "
            + "\(SocketAddress.unixPathByteCountMax) bytes.")
      }
      do throws(SystemError) {
        let listener = try StreamListener(
          at: address, permissions: 0o600, on: loop, onAccept: accept(nil))
        file = UNIXSocketFile.Identity(at: path).map { (path, $0) }
        for listener in listeners { listener.close() }
        listeners = [listener]
        if rules.mayAllowOthers { try UNIXSocketFile.setPermissions(0o666, of: path) }
      } catch {
        throw error.number == EADDRINUSE ? .taken(path) : HubServerError(error, at: path)
      }
    }
  }

  /// Looks from time to time whether the path still names the hub's socket. If it was removed, programs don't
  /// find the hub, and use a radio of their own.
  private func watchFile(of socket: HubSocket) {
    guard file != nil else { return }
    fileTimer = loop.makeTimer { [weak self] in self?.checkFile(of: socket) }
    fileTimer?.set(.now + fileCheckSpan)
  }

  private func checkFile(of socket: HubSocket) {
    guard !isClosed, let file else { return }
    if UNIXSocketFile.Identity(at: file.path) != file.identity {
      listenAgain(at: socket, file.path)
    }
    fileTimer?.set(.now + fileCheckSpan)
  }

  private func listenAgain(at socket: HubSocket, _ path: String) {
    do throws(HubServerError) {
      claim = try claim?.renewed(socket, servesOthers: rules.mayAllowOthers)
      try makeListeners(socket)
      reportedObstacle = nil
      onReport(.listensAgain(path: path))
    } catch {
      // It is tried again, and the same reason is not reported each time.
      if error != reportedObstacle { onReport(.unreachable(error.description)) }
      reportedObstacle = error
    }
  }

  /// Accepts connections of the socket with this name.
  private func accept(_ socket: String?) -> (Int32) -> Void {
    { [weak self] in self?.accept($0, at: socket) }
  }

  private func accept(_ descriptor: Int32, at socket: String?) {
    // The soft limit is raised if need be; without room the machine's limit is reached before.
    _ = DescriptorLimit.hasRoom()
    guard !Self.isLeft(descriptor), var peer = peers.peer(descriptor, rules) else {
      Glibc.close(descriptor)
      return
    }
    peer.socket = socket
    lastNumber += 1
    let id = HubConnectionID(rawValue: lastNumber)
    do throws(SystemError) {
      channels[id] = try ByteChannel(
        owning: descriptor, on: loop, readByteCountMax: Self.readByteCountMax,
        expectsPromptEvents: true,
        onRead: { [weak self] in self?.handle(.received(id, $0)) },
        onEnd: { [weak self] _ in self?.ended(id) })
    } catch { return }
    processes[id] = PeerProcessWatch(of: descriptor, on: loop) { [weak self] in
      self?.channels[id]?.shutDown()
    }
    channels[id]?.onDrain = { [weak self] in self?.handle(.written(id, waitingByteCount: 0)) }
    handle(.connected(id, peer))
  }

  /// Whether the program has closed its end already: a hub that was frozen finds the attempts of a minute, each
  /// with a greeting, and would serve and report them all.
  private static func isLeft(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: 0, revents: 0)
    return unsafe poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0
  }

  private func ended(_ id: HubConnectionID) {
    channels[id] = nil
    processes.removeValue(forKey: id)?.close()
    handle(.disconnected(id))
  }

  // MARK: The machine

  private func handle(_ event: HubMachine.Event) {
    machine.handle(event, now: .now, into: &actions)
    scheduleTurnEnd()
    guard !isPerforming else { return }
    isPerforming = true
    // Performing may append more.
    while !actions.isEmpty {
      var due: [HubMachine.Action] = []
      swap(&due, &actions)
      for action in due { perform(action) }
    }
    isPerforming = false
    setTimer()
  }

  private func perform(_ action: HubMachine.Action) {
    switch action {
    case .write(let id, let bytes):
      guard let channel = channels[id] else { return }
      channel.write(bytes)
      machine.handle(
        .written(id, waitingByteCount: channel.pendingByteCount), now: .now, into: &actions)
    case .setReading(let id, let isReading): channels[id]?.isReading = isReading
    case .close(let id):
      channels.removeValue(forKey: id)?.close()
      processes.removeValue(forKey: id)?.close()
    case .openSession(let key, let identity): open(key, identity)
    case .send(let key, let request): sessions[key]?.send(request)
    case .acknowledge(let key, let count): sessions[key]?.eventsHandled(count)
    case .closeSession(let key):
      wakes.removeValue(forKey: key)?.set(nil)
      sessions.removeValue(forKey: key)?.close()
    case .readStatus: scheduleStatus()
    case .report(let report): onReport(report)
    case .settled(let number, let wake): settlings.removeValue(forKey: number)?(wake)
    case .hasWork(let key): sessions[key]?.hasWork()
    }
  }

  private func open(_ key: HubSessionKey, _ identity: SessionIdentity) {
    let core = LoopConfined(WeakCore(self), to: loop)
    let loop = loop
    let clock = radio.hasVirtualTime ? radioWatch.loop : nil
    let wake = ProgramWakeBox()
    // A connection is a program: it answers the pairings that it causes, and hears of no others.
    let session = radio.openSession(
      of: key.connection, identity, settle: clock.map { Self.settling(core, loop, key, $0, wake) }
    ) { events in
      if loop.isCurrent {
        core.value.core?.delivered(events, to: key)
      } else {
        let time = clock?.now
        loop.execute { core.value.core?.delivered(events, to: key, at: time) }
      }
    }
    if clock != nil {
      let programWake = ProgramWake(of: session)
      wake.set(programWake)
      wakes[key] = programWake
    }
    sessions[key] = session
  }

  private func delivered(_ events: [HostEvent], to key: HubSessionKey, at time: Instant? = nil) {
    if let time { handle(.time(time)) }
    // Another thread may have delivered them before the session was closed.
    if sessions[key] != nil { handle(.delivered(key, events)) }
  }

  // MARK: Virtual time

  /// Waits, on the thread that advances virtual time, until the program of a session has handled its events.
  private static func settling(
    _ core: LoopConfined<WeakCore>, _ loop: EpollLoop, _ key: HubSessionKey,
    _ clock: any SessionLoop, _ wake: ProgramWakeBox
  ) -> @Sendable () -> Void {
    {
      if loop.isCurrent {
        // A host whose last user is a hub that has closed ends on the hub's loop, and settles its sessions.
        precondition(
          core.value.core?.isClosed ?? true,
          "virtual time was advanced on the loop of a hub that waits for it")
        return
      }
      let (answer, time) = (SettlingAnswer(), clock.now)
      loop.execute {
        guard let core = core.value.core else { return answer.arrived(nil) }
        core.handle(.time(time))
        core.settle(key) { answer.arrived($0) }
      }
      wake.value?.set(answer.wait())
    }
  }

  /// Has the program of a session report that it has handled its events. The closure is called with the time at which
  /// it is to be asked again, in any case.
  private func settle(_ key: HubSessionKey, _ completion: @escaping (Instant?) -> Void) {
    guard !isClosed, sessions[key] != nil else { return completion(nil) }
    lastSettling += 1
    settlings[lastSettling] = completion
    handle(.settle(key, lastSettling))
    // No other event writes it soon.
    handle(.turnEnded)
  }

  /// Settles all programs, one after the other, so that their requests have the same order in each run.
  func settleAll(_ completion: @escaping @Sendable () -> Void) {
    let keys = sessions.keys.sorted {
      ($0.connection.rawValue, $0.session.rawValue) < ($1.connection.rawValue, $1.session.rawValue)
    }
    settle(keys[...], completion)
  }

  private func settle(
    _ keys: ArraySlice<HubSessionKey>, _ completion: @escaping @Sendable () -> Void
  ) {
    guard let key = keys.first else { return completion() }
    settle(key) { [self] wake in
      wakes[key]?.set(wake)
      // In a turn of its own: an answer that comes at once would go as deep as there are sessions.
      let core = LoopConfined(self, to: loop)
      loop.execute { core.value.settle(keys.dropFirst(), completion) }
    }
  }

  /// All messages of one turn of the loop are written together, after all simultaneous events.
  private func scheduleTurnEnd() {
    guard !isTurnEndScheduled, machine.schedule().hasUnwritten else { return }
    isTurnEndScheduled = true
    let core = LoopConfined(WeakCore(self), to: loop)
    loop.execute { core.value.core?.endTurn() }
  }

  private func endTurn() {
    isTurnEndScheduled = false
    handle(.turnEnded)
  }

  private func setTimer() {
    let (nextWake, _) = machine.schedule()
    guard nextWake != wakeSetFor else { return }
    wakeSetFor = nextWake
    if let wakeSetFor { wakeTimer?.set(wakeSetFor) } else { wakeTimer?.cancel() }
  }

  private func wake() {
    wakeSetFor = nil
    // After a look at the sockets: a process that was stopped finds the greetings of the time unread, and would
    // refuse their programs.
    loop.schedule(in: .zero) { [weak self] in self?.handle(.wake) }
  }

  // MARK: The state

  /// The shortest time between two readings of the state, which take longer than other messages.
  private static let statusSpacing = TimeSpan.milliseconds(50)

  /// Reads the radio's part of the state, in a turn of its own.
  private func scheduleStatus() {
    let due = lastStatusRead.map { $0 + Self.statusSpacing } ?? .now
    loop.schedule(in: max(.zero, due - .now)) { [weak self] in self?.readStatus() }
  }

  private func readStatus() {
    guard !isClosed else { return }
    lastStatusRead = .now
    let core = LoopConfined(WeakCore(self), to: loop)
    Task { [radio, loop, readNetwork] in
      let snapshot = await radio.readHubSnapshot()
      let network = await readNetwork()
      loop.execute { core.value.core?.statusRead(snapshot, network) }
    }
  }

  private func statusRead(_ snapshot: any HubRadioSnapshot, _ network: HubNetworkStatus?) {
    if !isClosed { handle(.statusRead(hostStatus(snapshot, network))) }
  }

  /// The numbers for monitoring, with a snapshot of the radio.
  func metrics(_ snapshot: any HubRadioSnapshot, _ network: HubNetworkStatus?) -> HubMetrics {
    machine.metrics(hostStatus(snapshot, network), radioRestartCount: history.restartCount)
  }

  /// The radio's part of the state.
  private func hostStatus(
    _ snapshot: any HubRadioSnapshot, _ network: HubNetworkStatus?
  ) -> HubHostStatus {
    var status = HubHostStatus(
      version: version, processID: Int(getpid()), uptime: .now - startedAt,
      radio: HubStatus.Radio(
        snapshot, name: radio.radioName, problem: radio.problem ?? snapshot.radioRefusals,
        isSimulated: radio.isSimulated))
    status.descriptorShortageCount = DescriptorShortage.count
    status.network = network
    status.networkProblem = networkProblem
    status.bondFile = radio.bondFile
    snapshot.add(to: &status, sessions, of: radio)
    return status
  }

  // MARK: The end

  /// Ends all connections, and removes the socket.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    radioWatch.close()
    shortages = nil
    for listener in listeners { listener.close() }
    listeners = []
    handle(.ending)
    for completion in settlings.values { completion(nil) }
    settlings = [:]
    if let file { UNIXSocketFile.remove(file.path, if: file.identity) }
    claim?.release()
    wakeTimer?.cancel()
    fileTimer?.cancel()
  }
}

/// A reference that closures of sessions may keep.
private final class WeakCore {
  weak let core: HubServerCore?
  init(_ core: HubServerCore) { self.core = core }
}
