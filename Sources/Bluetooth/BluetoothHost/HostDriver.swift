import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import EventLoop
import Logging
import Synchronization

/// Feeds a `HostMachine` with packets, requests and time, and performs its actions.
///
/// Inputs are handled in batches: all packets of one read, or all requests that were queued since
/// the last batch. The actions of a batch are performed in order; the transport is flushed once
/// after it.
final class HostDriver: @unchecked Sendable {
  // Sendable because state in a `Mutex` has a lock of its own and everything else is accessed on
  // `loop` only.
  let loop: any HostLoop
  private let makeTransport: TransportFactory
  private let logger: Logger
  private let security: SecurityServices
  private let inbox = Mutex(Inbox())
  private let currentProblem = CurrentValue<String?>(nil)
  private let firstCaptureFailure = Mutex<CaptureError?>(nil)
  private let bondFailures = Mutex(BondFailures())
  private let bondWatch = Mutex(BondWatch())

  private var runner: MachineRunner<HostMachine>
  /// Consecutive events of one client, until they are delivered.
  private var events: [HostEvent] = []
  private var spareEntries: [Entry] = []
  private var clients: [ClientID: ClientSlot] = [:]
  private var capture: Capture?

  private var transport: (any HCITransport)?
  private var isTransportOpen = false
  private var isStopped = false
  private var bondQueue: BondStoreQueue?
  /// The logged reasons for bonds that are not kept.
  private var unkeptBonds: Set<BondRejection> = []
  private var evictionCount = 0
  /// Whether there is a current problem, without its lock.
  private var hasProblem = false

  init(
    machine: HostMachine, loop: any HostLoop, capture: Capture?, security: SecurityServices,
    logger: Logger, makeTransport: @escaping TransportFactory
  ) {
    runner = MachineRunner(machine)
    self.security = security
    self.loop = loop
    self.capture = capture
    self.logger = logger
    self.makeTransport = makeTransport
  }

  /// What clients put into the inbox.
  enum Entry: Sendable {
    case clientOpened(ClientSlot)
    case clientClosed(ClientID)
    case eventsHandled(ClientID, count: Int)
    case request(ClientID, HostRequest)
  }

  private struct BondFailures {
    /// What holds until the host is started again.
    var lasting: BondStoreError?
    /// What holds until the bonds can be written and read.
    var passing: BondStoreError?
    /// The kinds of errors that were logged.
    var kinds: Set<BondStoreError.Kind> = []
    var queue: BondStoreQueue?
  }

  /// Observes changes of the bonds by other processes; created, used and closed on the shared loop.
  private struct BondWatch {
    var watch: LoopConfined<BondFileWatch>?
    var isClosed = false
  }

  private struct Inbox {
    var entries: [Entry] = []
    var isDrainScheduled = false
    var lastClient: UInt32 = 0
  }

  // MARK: From any thread

  var problem: String? { currentProblem.value }
  func problems() -> AsyncStream<String?> { currentProblem.values() }
  var captureFailure: CaptureError? { firstCaptureFailure.withLock { $0 } }
  var bondPath: String? { security.bonds?.path }
  var bondFailure: BondStoreError? { bondFailures.withLock { $0.lasting ?? $0.passing } }
  var unwrittenBondCount: Int { bondFailures.withLock(\.queue)?.unwrittenCount ?? 0 }
  var unwrittenNewBondCount: Int { bondFailures.withLock(\.queue)?.unwrittenNewBondCount ?? 0 }

  func start() {
    loop.execute { [self] in
      loadBonds()
      openTransport()
    }
  }

  /// Lets go of everything, then calls `completion`.
  func stop(_ completion: @escaping @Sendable () -> Void) {
    loop.execute { [self] in
      shutDown()
      guard let bondQueue else { return completion() }
      bondQueue.finish { [self] in
        reportUnwritten(bondQueue.unwrittenCount)
        completion()
      }
    }
    loop.runPending()
  }

  /// Reads the machine's snapshot on the loop.
  func readSnapshot(_ completion: @escaping @Sendable (HostSnapshot) -> Void) {
    loop.execute { [self] in completion(runner.machine.snapshot) }
    loop.runPending()
  }

  func open(
    acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?, program: ProgramID? = nil,
    publisher: PublisherID? = nil, handler: EventHandler
  ) -> ClientSlot {
    let number = inbox.withLock { inbox in
      inbox.lastClient += 1
      return inbox.lastClient
    }
    let slot = ClientSlot(
      id: ClientID(rawValue: number), acknowledgesEvents: acknowledgesEvents, settle: settle,
      program: program, publisher: publisher, handler: handler)
    post(.clientOpened(slot))
    return slot
  }

  /// The client has something to do of its own.
  func hasWork(_ slot: ClientSlot) { loop.hasWork(slot) }

  func post(_ entry: Entry) {
    let isFirst = inbox.withLock { inbox in
      inbox.entries.append(entry)
      defer { inbox.isDrainScheduled = true }
      return !inbox.isDrainScheduled
    }
    if isFirst { loop.execute { [self] in drainInbox() } }
  }

  // MARK: On the loop

  private func drainInbox() {
    var entries = spareEntries
    spareEntries = []
    inbox.withLock { inbox in
      swap(&inbox.entries, &entries)
      inbox.isDrainScheduled = false
    }
    guard !isStopped else { return }
    let now = loop.now
    for entry in entries {
      switch entry {
      case .clientOpened(let slot):
        clients[slot.id] = slot
        runner.handle(
          .clientOpened(
            slot.id, acknowledgesEvents: slot.acknowledgesEvents, program: slot.program,
            publisher: slot.publisher),
          now: now)
      case .clientClosed(let id):
        runner.handle(.clientClosed(id), now: now)
        perform(now)
        clients[id] = nil
      case .eventsHandled(let id, let count):
        runner.handle(.eventsHandled(id, count: count), now: now)
      case .request(let id, let request):
        runner.handle(.request(id, request), now: now)
      }
    }
    entries.removeAll(keepingCapacity: true)
    spareEntries = entries
    finish(now)
  }

  private func wake() {
    let now = loop.now
    runner.wake(now: now)
    finish(now)
  }

  /// Performs the machine's actions, flushes the transport and sets the timer for its next wake.
  private func finish(_ now: Instant) {
    // Before clients hear that the radio is on.
    if hasProblem, runner.machine.state == .poweredOn { setProblem(nil) }
    perform(now)
    flushCapture()
    transport?.flush()
    guard !isStopped else { return }
    runner.setTimer(now: now, loop.makeTimer { [weak self] in self?.wake() })
  }

  private func perform(_ now: Instant) {
    var reopening: HostError?
    var computations: [KeyAgreementRequest] = []
    var slot: ClientSlot?
    let transport = transport
    var taken = runner.takeActions()
    taken.takeEach { (action: consuming HostMachine.Action) in
      switch consume action {
      case .send(let packet):
        capture?.record(packet, .hostToController)
        transport?.send(packet)
      case .deliver(let id, let event):
        if slot?.id != id {
          deliverEvents(to: slot)
          slot = clients[id]
        }
        guard slot != nil else { return }
        logLoss(event, of: id)
        events.append(event)
      case .pauseReceiving: transport?.isReceiving = false
      case .resumeReceiving: transport?.isReceiving = true
      case .reopenTransport(let error):
        reopening = error
      case .computeKey(let request): computations.append(request)
      case .storeBond(let bond, let identity): change(.store(bond, identity))
      case .bondNotKept(let peer, let reason): logRejectedBond(reason, of: peer)
      case .bondEvicted(let peer): reportEviction(of: peer)
      case .clientLate(let id): logLateness(of: id)
      case .updateBonds(let bonds): for bond in bonds { change(.update(bond)) }
      case .removeBond(let bond): change(.remove(bond))
      }
    }
    runner.reuse(consume taken)
    deliverEvents(to: slot)
    if let reopening { openTransport(because: reopening) }
    guard !computations.isEmpty else { return }
    for request in computations {
      let result = security.keyAgreement?.perform(request.operation) ?? .invalidKey
      runner.handle(.keyComputed(id: request.id, result), now: now)
    }
    perform(now)
  }

  private func deliverEvents(to slot: ClientSlot?) {
    guard let slot, !events.isEmpty else { return }
    // The client may keep the array.
    let batch = events
    events = []
    flushCapture()
    slot.deliver(batch)
    loop.delivered(to: slot)
  }

  /// Logs once for a burst that a client was too slow.
  private func logLoss(_ event: HostEvent, of client: ClientID) {
    switch event {
    case .valuesDropped(let peer, let handle, let count):
      logger.warning(
        "Client \(client.rawValue) was too slow: \(count) notifications of \(peer), handle \(handle), were dropped."
      )
    case .writesDropped(let peer, let handle, let count):
      logger.warning(
        "Client \(client.rawValue) was too slow: \(count) writes of \(peer) to handle \(handle) were dropped."
      )
    case .requestsExpired(let peer, let handle, let count):
      logger.warning(
        "Client \(client.rawValue) was too slow: \(count) requests of \(peer) for handle \(handle) were answered with an error."
      )
    default: break
    }
  }

  private func logLateness(of client: ClientID) {
    logger.warning(
      "Client \(client.rawValue) held its peers' links up for 5 s: they go on without it."
    )
  }

  private func setProblem(_ sentence: String?) {
    hasProblem = sentence != nil
    let isNew = currentProblem.set(sentence)
    if isNew, let sentence { logger.warning("\(sentence)") }
  }

  private func shutDown() {
    guard !isStopped else { return }
    isStopped = true
    currentProblem.finish()
    for bond in runner.machine.takeUnstoredBonds() { change(.update(bond)) }
    bondWatch.withLock { $0.isClosed = true }
    if security.bonds != nil {
      EpollLoop.shared.execute { [self] in bondWatch.withLock { $0.watch.take() }?.value.close() }
    }
    clients = [:]
    transport?.close()
    transport = nil
    runner.cancelTimer()
    capture?.close()
    reportCaptureFailure()
    capture = nil
  }

  // MARK: The transport

  /// Opens a way to the controller in place of the one there is, if any.
  private func openTransport(because error: HostError? = nil) {
    guard !isStopped else { return }
    if let error { setProblem(error.sentence) }
    transport?.close()
    isTransportOpen = false
    let fresh = makeTransport()
    transport = fresh
    fresh.open(self)
  }

  // MARK: Bonds

  private func loadBonds() {
    guard let store = security.bonds else { return }
    let queue = BondStoreQueue(store) { [weak self] report in
      self?.take(report)
    }
    bondQueue = queue
    bondFailures.withLock { $0.queue = queue }
    do throws(BondStoreError) {
      let bonds = try store.load()
      let (identities, problem) = try store.loadIdentities()
      runner.handle(.bondsLoaded(bonds, identities), now: loop.now)
      if let problem { logBondFailure(problem, isLasting: true) }
    } catch {
      runner.handle(.bondsUnavailable, now: loop.now)
      logBondFailure(
        error,
        consequence: " Pairing is disabled until this is fixed; the file is read again until then.")
      queue.load()
    }
    EpollLoop.shared.execute { [weak self] in self?.watchBonds(of: store, queue) }
  }

  /// Notices what other processes do with the file of bonds. On the shared loop.
  ///
  /// - Parameter pause: How long to wait before another attempt, for any but the first one.
  private func watchBonds(
    of store: BondStore, _ queue: BondStoreQueue, after pause: TimeSpan? = nil
  ) {
    guard !bondWatch.withLock(\.isClosed) else { return }
    do throws(SystemError) {
      let watch = try BondFileWatch(
        path: store.path, on: .shared, onChange: { queue.read() })
      bondWatch.withLock { $0.watch = LoopConfined(watch, to: .shared) }
      // Changes were missed.
      if pause != nil { queue.read() }
    } catch {
      // The limit is the process's, the machine's, or that of the user's watches (fs.inotify.max_user_instances).
      if pause == nil {
        logBonds(
          .warning,
          "Changes of the bonds in \"\(store.path)\" by other programs are not noticed until the system gives a "
            + "descriptor for it (\(error.text)).")
      }
      let next = pause.map { min($0 * 2, Self.bondWatchPauses.upperBound) }
      let span = next ?? Self.bondWatchPauses.lowerBound
      EpollLoop.shared.schedule(in: span) { [weak self] in
        self?.watchBonds(of: store, queue, after: span)
      }
    }
  }

  private static let bondWatchPauses = TimeSpan.seconds(1)...TimeSpan.seconds(60)

  /// Takes a report on the queue's thread. Failures count also while the host closes: a program that ends
  /// once it has read a value stores its bond then.
  private func take(_ report: BondStoreQueue.Report) {
    switch report {
    case .failed(let error):
      switch error.kind {
      case .stronger, .replaced, .dropped: logBondFailure(error, isLasting: true)
      default: logBondFailure(error, consequence: " It is tried again until it succeeds.")
      }
    case .recovered: reportRecovery()
    case .loaded(let bonds, let identities, let problem):
      reportLoading()
      if let problem { logBondFailure(problem, isLasting: true) }
      loop.execute { [weak self] in self?.load(bonds, identities) }
    case .damagedFileKept(let path):
      logBonds(.warning, "The damaged file of bonds was kept as \"\(path)\".")
    case .read(let bonds, let changeCount):
      loop.execute { [weak self] in self?.take(bonds, changeCount) }
    }
  }

  /// Takes the bonds that could not be read when the host was started.
  private func load(_ bonds: [Bond], _ identities: [HostIdentity]) {
    guard !isStopped else { return }
    let now = loop.now
    runner.handle(.bondsLoaded(bonds, identities), now: now)
    finish(now)
  }

  private func take(_ bonds: [Bond], _ changeCount: UInt64) {
    guard !isStopped else { return }
    // Bonds that were read before this host's latest change would undo it.
    guard let bondQueue, changeCount == bondQueue.changeCount else {
      bondQueue?.read()
      return
    }
    let now = loop.now
    runner.handle(.bondsChanged(bonds), now: now)
    finish(now)
  }

  /// Bonds cannot be kept, or read again. They are good as long as this process runs. From any thread.
  private func logBondFailure(
    _ error: BondStoreError, isLasting: Bool = false, consequence: String = ""
  ) {
    let isNews = bondFailures.withLock { failures in
      if isLasting {
        failures.lasting = failures.lasting ?? error
      } else {
        failures.passing = failures.passing ?? error
      }
      return failures.kinds.insert(error.kind).inserted
    }
    if isNews { logBonds(.error, "\(error)\(consequence)") }
  }

  /// The bonds can be written and read again, and are. From any thread.
  private func reportRecovery() {
    let error = bondFailures.withLock { failures in
      failures.kinds = failures.lasting.map { [$0.kind] } ?? []
      return failures.passing.take()
    }
    if let error { logBonds(.notice, "The bonds in \"\(error.path)\" are written again.") }
  }

  /// The bonds could not be read when the host was started, and can be now. From any thread.
  private func reportLoading() {
    let error = bondFailures.withLock { failures in
      failures.kinds = []
      return failures.passing.take()
    }
    if let error {
      logBonds(
        .notice, "The bonds in \"\(error.path)\" are read: pairing is enabled as configured.")
    }
  }

  /// Changes that are not written when the host has closed are lost. From any thread.
  private func reportUnwritten(_ count: Int) {
    guard count > 0 else { return }
    logBonds(.error, "\(count) change\(count == 1 ? "" : "s") of bonds could not be written.")
  }

  /// Logs why a peer has to be paired with again next time; once for each reason, because peers
  /// determine how often they pair.
  private func logRejectedBond(_ reason: BondRejection, of peer: DeviceAddress) {
    guard unkeptBonds.insert(reason).inserted else { return }
    let cause =
      switch reason {
      case .full:
        "the store is full; remove a bond first"
      case .weaker: "the existing bond with its identity is stronger; remove that first"
      case .unconfirmed:
        "it is bonded already, and no user agreed to replace the bond; remove that first"
      case .claimed:
        "it names the identity of another bonded device; remove that bond first"
      case .changingAddress: "its address changes, and it distributed no identity resolving key"
      }
    logBonds(.warning, "The bond with \(peer) is not kept: \(cause).")
  }

  /// Logs that a bond was evicted for another; at increasing intervals, because peers determine how
  /// often they pair.
  private func reportEviction(of peer: DeviceAddress) {
    evictionCount += 1
    guard evictionCount & (evictionCount - 1) == 0 else { return }
    let total = evictionCount == 1 ? "" : " \(evictionCount - 1) others were removed before."
    logBonds(
      .warning,
      "The bond with \(peer), which was never used again, was removed because the store is full.\(total)"
    )
  }

  /// Programs that filter the log recognize messages about bonds by the metadata.
  private func logBonds(_ level: Logger.Level, _ sentence: String) {
    logger.log(level: level, "\(sentence)", metadata: ["about": "bonds"])
  }

  private func change(_ change: BondStoreQueue.Change) { bondQueue?.change(change) }

  // MARK: Capture

  /// Writes the recorded packets before clients or the controller get them, so that the packet which ends the
  /// process is in the file: one write for a batch of packets.
  private func flushCapture() {
    guard let capture else { return }
    capture.flush()
    reportCaptureFailure()
  }

  private func reportCaptureFailure() {
    guard let failure = capture?.failure else { return }
    capture?.close()
    capture = nil
    firstCaptureFailure.withLock { $0 = failure }
    logger.error("\(failure.description)")
  }
}

extension HostDriver: TransportReceiver {
  func transportOpened(_ source: any HCITransport) {
    guard source === transport, !isTransportOpen else { return }
    isTransportOpen = true
    let now = loop.now
    runner.handle(.transportOpened, now: now)
    finish(now)
  }

  func transport(_ source: any HCITransport, received packets: [HCIPacket]) {
    guard source === transport else { return }
    let now = loop.now
    if let capture {
      for packet in packets { capture.record(packet, .controllerToHost) }
      flushCapture()
    }
    for packet in packets {
      runner.handle(.packet(packet), now: now)
    }
    finish(now)
  }

  func transport(_ source: any HCITransport, closed error: HostError) {
    guard source === transport else { return }
    transport = nil
    isTransportOpen = false
    setProblem(error.sentence)
    let now = loop.now
    runner.handle(.transportClosed(error), now: now)
    finish(now)
  }
}
