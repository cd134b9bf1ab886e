import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubClientMachines
import HubWire
import Logging
import Synchronization

/// Feeds a `HubClientMachine` with requests, bytes and time, and performs its actions.
final class HubDriver: @unchecked Sendable {
  // Sendable because state in a `Mutex` has a lock of its own, and everything else is accessed on `loop` only.
  let loop: EpollLoop
  let path: String
  let app: String
  private let logger: Logger
  private let inbox = Mutex(Inbox())
  private let shown: Mutex<Shown>

  private var machine: HubClientMachine
  private var actions: [HubClientMachine.Action] = []
  private var slots: [HubSessionID: HubSessionSlot] = [:]
  private var socket: HubSocket?
  /// The clock of the hub's radio.
  let clock = HubClock()
  private let settling: HubSettling
  private lazy var timer = DeadlineTimer(loop.makeTimer { [weak self] in self?.wake() })
  private var isStopped = false
  /// Whether timers that are due have a turn of the loop.
  private var isDueScheduled = false

  /// What clients put into the inbox.
  private enum Entry: Sendable {
    case opened(HubSessionSlot)
    case input(HubClientMachine.Input)
  }

  private struct Inbox {
    var entries: [Entry] = []
    var isDrainScheduled = false
    var lastSession: UInt64 = 0

    /// Appends an entry; returns whether the inbox must be drained.
    mutating func append(_ entry: Entry) -> Bool {
      entries.append(entry)
      defer { isDrainScheduled = true }
      return !isDrainScheduled
    }
  }

  private struct Shown {
    var problem: String?
    var welcome: HubWelcome?
    /// Whether a hub has answered, or none was reached.
    var isDecided = false
    /// Whether the last answer about it was that this program may not use the hub.
    var isDenied = false
  }

  init(
    path: String, app: String, problem: HostError?, reportsSilence: Bool = false,
    outage: TimeSpan? = nil, loop: EpollLoop, logger: Logger
  ) {
    self.path = path
    self.app = app
    self.loop = loop
    self.logger = logger
    machine = HubClientMachine(
      app: app, problem: problem,
      idleSilence: reportsSilence ? HubClientLimits.silence : HubClientLimits.idleSilence,
      outage: outage ?? Self.outage(of: path))
    let sentence = problem.map { HubFailure.unusable($0).sentence }
    shown = Mutex(Shown(problem: sentence, isDecided: problem != nil))
    settling = HubSettling(on: loop)
    if let sentence { logger.error("\(sentence)") }
    connectSettling()
  }

  private func connectSettling() {
    clock.onDue = { [weak self] in self?.scheduleDue() }
    // Inputs of clients go first: the machine may answer them at once.
    settling.onTurn = { [weak self] in self?.drainInbox() }
    settling.hasDue = { [weak self] in self?.clock.hasDue ?? false }
    settling.onSettled = { [weak self] number in
      guard let self else { return }
      handle(.settled(number, wake: clock.firstTimer))
    }
  }

  /// A manager of apps that is started again takes its apps over: to them, the radio was there all the time. It listens
  /// for Core Bluetooth beside its own socket, which `AMBIT_APPS` names.
  private static func outage(of path: String) -> TimeSpan {
    guard let place = ProcessEnvironment.value("AMBIT_APPS"), path == place + ".hub" else {
      return .zero
    }
    return .seconds(30)
  }

  // MARK: From any thread

  var problem: String? { shown.withLock(\.problem) }
  var welcome: HubWelcome? { shown.withLock(\.welcome) }
  var isDecided: Bool { shown.withLock(\.isDecided) }
  var isDenied: Bool { shown.withLock(\.isDenied) }

  func open(
    name: String, keptFor: TimeSpan, acknowledgesEvents: Bool, settle: (@Sendable () -> Void)?,
    onAttached: (@Sendable (SessionAttachment) -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> HubSessionSlot {
    // Under one lock, so that the identifiers arrive in their order.
    let (slot, isFirst) = inbox.withLock { inbox in
      inbox.lastSession += 1
      let slot = HubSessionSlot(
        id: HubSessionID(rawValue: inbox.lastSession), name: name, keptFor: keptFor,
        acknowledgesEvents: acknowledgesEvents, settle: settle, onAttached: onAttached,
        onEvents: onEvents)
      return (slot, inbox.append(.opened(slot)))
    }
    if isFirst { scheduleDrain() }
    return slot
  }

  /// The client of a session has work that no event caused.
  func hasWork(_ slot: HubSessionSlot) {
    guard clock.virtualNow != nil else { return }
    loop.execute { [self] in
      guard slot.isOpen else { return }
      settling.add(slot)
      handle(.hasWork(slot.id))
    }
  }

  func post(_ input: HubClientMachine.Input) {
    if inbox.withLock({ $0.append(.input(input)) }) { scheduleDrain() }
  }

  /// Ends the connection and all sessions, then calls `completion`.
  func stop(_ completion: @escaping @Sendable () -> Void = {}) {
    loop.execute { [self] in
      isStopped = true
      endVirtualTime()
      socket?.close()
      socket = nil
      timer.cancel()
      slots = [:]
      completion()
    }
  }

  // MARK: On the loop

  private func scheduleDrain() { loop.execute { [self] in drainInbox() } }

  private func drainInbox() {
    var entries: [Entry] = []
    inbox.withLock { inbox in
      swap(&inbox.entries, &entries)
      inbox.isDrainScheduled = false
    }
    guard !isStopped else { return }
    let now = Instant.now
    var batch: [HubClientMachine.Input] = []
    batch.reserveCapacity(entries.count)
    for entry in entries {
      switch entry {
      case .opened(let slot):
        slots[slot.id] = slot
        batch.append(
          .sessionOpened(
            slot.id, name: slot.name, acknowledgesEvents: slot.acknowledgesEvents,
            keptFor: slot.keptFor))
      case .input(let input): batch.append(input)
      }
    }
    machine.handle(batch, now: now, into: &actions)
    for case .sessionClosed(let id) in batch { slots[id] = nil }
    perform(now)
  }

  private func handle(_ input: HubClientMachine.Input) {
    guard !isStopped else { return }
    let now = Instant.now
    machine.handle(input, now: now, into: &actions)
    perform(now)
  }

  private func wake() {
    timer.fired()
    guard !isStopped else { return }
    let now = Instant.now
    machine.wake(now: now, into: &actions)
    perform(now)
  }

  /// Performs the machine's actions, and sets the timer for its next wake. Nothing that it calls gives the
  /// machine another input at once.
  private func perform(_ now: Instant) {
    var taken: [HubClientMachine.Action] = []
    swap(&taken, &actions)
    for action in taken {
      switch action {
      case .open: openSocket()
      case .close:
        socket?.close()
        socket = nil
        endVirtualTime()
      case .send(let bytes): socket?.send(bytes)
      case .deliver(let id, let events):
        slots[id]?.deliver(events)
        if clock.virtualNow != nil, let slot = slots[id] { settling.add(slot) }
      case .attached(let id, let attachment): slots[id]?.attach(attachment)
      case .failed(let failure):
        endVirtualTime()
        report(failure)
      case .connected(let welcome):
        shown.withLock { $0 = Shown(problem: nil, welcome: welcome, isDecided: true) }
        if !welcome.abilities.contains(.virtualTime) { endVirtualTime() }
        if welcome.isSimulated {
          logger.notice(
            "The radio of the hub at \(path) is simulated, and so are the devices around it.")
        } else {
          logger.info("The hub at \(path) is used.")
        }
      case .lost(let sentence): logger.warning("\(sentence)")
      case .time(let time): advance(to: time)
      case .settle(let number): beginSettling(number)
      }
    }
    guard !isStopped else { return }
    timer.set(machine.nextWake, after: now)
  }

  // MARK: Virtual time

  private func advance(to time: Instant) {
    clock.advance(to: time)
    fireTimers()
  }

  /// Fires the timers that are due, except those that they set themselves, which have a turn of their own. Returns
  /// whether one fired.
  @discardableResult private func fireTimers() -> Bool {
    let order = clock.currentOrder
    var hasFired = false
    while let timer = clock.takeFirstDue(upTo: order) {
      hasFired = true
      timer.onFire()
    }
    guard hasFired else { return false }
    for id in slots.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      if let slot = slots[id] { settling.add(slot) }
    }
    return true
  }

  /// Fires timers that were set for a time that has come, in a turn of their own.
  private func scheduleDue() {
    guard !isDueScheduled else { return }
    isDueScheduled = true
    loop.execute { [weak self] in
      guard let self else { return }
      isDueScheduled = false
      let hasFired = fireTimers()
      guard !isStopped else { return }
      if settling.isAsked { return settling.settle() }
      // No question of the hub waits for their work.
      if hasFired, let first = slots.keys.min(by: { $0.rawValue < $1.rawValue }) {
        handle(.hasWork(first))
      }
    }
  }

  private func beginSettling(_ number: UInt64) {
    // In a turn of its own: the machine is not given an input from within an action.
    loop.execute { [settling = LoopConfined(settling, to: loop)] in settling.value.begin(number) }
  }

  private func endVirtualTime() {
    clock.becomeReal()
    settling.reset()
  }

  private func openSocket() {
    socket?.close()
    let socket = HubSocket(
      path: path, on: loop, onOpen: { [weak self] in self?.handle(.opened) },
      onBytes: { [weak self] in self?.handle(.received($0)) },
      onEnd: { [weak self] in self?.handle(.closed($0)) })
    self.socket = socket
    socket.open()
  }

  private func report(_ failure: HubFailure) {
    let sentence = failure.sentence
    let isNew = shown.withLock { shown in
      defer {
        shown.problem = sentence
        shown.isDecided = true
        // A hub that is gone takes nothing back.
        if failure.radioState == .unauthorized { shown.isDenied = true }
      }
      return shown.problem != sentence
    }
    if isNew { logger.warning("\(sentence)") }
  }
}

/// The driver's state of a session.
final class HubSessionSlot: Sendable {
  let id: HubSessionID
  let name: String
  let keptFor: TimeSpan
  let acknowledgesEvents: Bool
  let settle: (@Sendable () -> Void)?
  private let onAttached: (@Sendable (SessionAttachment) -> Void)?
  private let onEvents: @Sendable ([HostEvent]) -> Void
  private let isOpenStorage = Atomic(true)

  init(
    id: HubSessionID, name: String, keptFor: TimeSpan, acknowledgesEvents: Bool,
    settle: (@Sendable () -> Void)?, onAttached: (@Sendable (SessionAttachment) -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) {
    self.id = id
    self.name = name
    self.keptFor = keptFor
    self.onAttached = onAttached
    self.acknowledgesEvents = acknowledgesEvents
    self.settle = settle
    self.onEvents = onEvents
  }

  var isOpen: Bool { isOpenStorage.load(ordering: .acquiring) }

  /// Delivers events unless the session was closed.
  func deliver(_ events: [HostEvent]) {
    if isOpen { onEvents(events) }
  }

  /// Tells the client the hub's answer to the opening, unless the session was closed.
  func attach(_ attachment: SessionAttachment) {
    if isOpen { onAttached?(attachment) }
  }

  /// Closes the slot; returns true for the first call.
  func close() -> Bool { isOpenStorage.exchange(false, ordering: .acquiringAndReleasing) }
}
