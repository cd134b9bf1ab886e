#if BlueZ
  import BlueZMachines
  import BluetoothInterface
  import Essentials
  import EventLoop
  import Logging
  import Synchronization

  /// Feeds a `BlueZMachine` with requests, messages and time, and performs its actions.
  final class BlueZDriver: @unchecked Sendable {
    // Sendable because state in a `Mutex` has a lock of its own, and everything else is accessed on `loop` only.
    let loop: EpollLoop
    private let address: String?
    private let logger: Logger
    private let inbox = Mutex(Inbox())
    private let currentProblem = CurrentValue<String?>(nil)

    private var runner: MachineRunner<BlueZMachine>
    private var slots: [BlueZSessionID: BlueZSlot] = [:]
    private var bus: MessageBus?
    private var controller: ControllerSocket?
    private lazy var channels = ChannelSockets(on: loop) { [weak self] id, event in
      self?.handle(.channel(id, event))
    }
    /// The calls of other programs without an answer.
    private var incoming: [IncomingCallID: IncomingCall] = [:]
    private var lastIncoming: UInt64 = 0
    private var isStopped = false

    private enum Entry: Sendable {
      case opened(BlueZSlot)
      case event(BlueZMachine.Event)
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

    init(adapter: String?, address: String?, loop: EpollLoop, logger: Logger) {
      self.address = address
      self.loop = loop
      self.logger = logger
      runner = MachineRunner(BlueZMachine(adapter: adapter))
    }

    // MARK: From any thread

    var problem: String? { currentProblem.value }

    /// The current problem, or nil, and each change; the latest one for a slow consumer.
    func problems() -> AsyncStream<String?> { currentProblem.values() }

    /// Reads the state of the machine on the loop.
    func readSnapshot(_ completion: @escaping @Sendable (BlueZSnapshot) -> Void) {
      loop.execute { [self] in completion(runner.machine.snapshot) }
    }

    func open(
      acknowledgesEvents: Bool, program: BlueZProgramID? = nil,
      onEvents: @escaping @Sendable ([HostEvent]) -> Void
    ) -> BlueZSlot {
      // Under one lock, so that the identifiers arrive in their order.
      let (slot, isFirst) = inbox.withLock { inbox in
        inbox.lastSession += 1
        let slot = BlueZSlot(
          id: BlueZSessionID(rawValue: inbox.lastSession), acknowledgesEvents: acknowledgesEvents,
          program: program, onEvents: onEvents)
        return (slot, inbox.append(.opened(slot)))
      }
      if isFirst { scheduleDrain() }
      return slot
    }

    func post(_ event: BlueZMachine.Event) {
      if inbox.withLock({ $0.append(.event(event)) }) { scheduleDrain() }
    }

    /// Ends all sessions, and with them the links and the discovery of this program, and leaves the bus. Then calls
    /// `completion`.
    func stop(_ completion: @escaping @Sendable () -> Void = {}) {
      loop.execute { [self] in
        if !isStopped {
          drainInbox()
          let now = Instant.now
          for id in slots.keys.sorted() { runner.handle(.closed(id), now: now) }
          slots = [:]
          perform(now)
          isStopped = true
          bus?.close()
          bus = nil
          controller?.close()
          controller = nil
          runner.cancelTimer()
          currentProblem.finish()
        }
        channels.closeAll(completion)
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
      for entry in entries {
        switch entry {
        case .opened(let slot):
          slots[slot.id] = slot
          runner.handle(
            .opened(
              slot.id, acknowledgesEvents: slot.acknowledgesEvents, program: slot.program),
            now: now)
        case .event(let event):
          runner.handle(event, now: now)
          if case .closed(let id) = event { slots[id] = nil }
        }
      }
      perform(now)
    }

    private func handle(_ event: BlueZMachine.Event) {
      guard !isStopped else { return }
      let now = Instant.now
      runner.handle(event, now: now)
      perform(now)
    }

    private func wake() {
      guard !isStopped else { return }
      let now = Instant.now
      runner.wake(now: now)
      perform(now)
    }

    /// Performs the machine's actions, until none is left, and sets the timer.
    private func perform(_ now: Instant) {
      var batches: [BlueZSessionID: [HostEvent]] = [:]
      while case let actions = runner.takeActions(), !actions.isEmpty {
        for action in actions {
          switch action {
          case .openBus: openBus()
          case .closeBus:
            bus?.close()
            bus = nil
            incoming = [:]
          case .call(let id, let call): bus?.send(call, id)
          case .answer(let id, let result):
            if let call = incoming.removeValue(forKey: id) { bus?.answer(call, result) }
          case .emit(let signal):
            bus?.emit(
              signal.path, signal.interface, signal.member, signal.arguments,
              to: signal.destination)
          case .deliver(let id, let event): batches[id, default: []].append(event)
          case .readBlock(let adapter):
            runner.handle(.block(RadioBlock.read(adapter: adapter)), now: now)
          case .watchController(let adapter): watchController(adapter)
          case .readConnections:
            if let controller {
              runner.handle(.connections(controller.connections()), now: now)
            }
          case .readRSSI(let handle): controller?.readRSSI(handle)
          case .channel(let action):
            for (id, event) in channels.perform(action) {
              runner.handle(.channel(id, event), now: now)
            }
          case .problem(let sentence): report(sentence)
          case .warning(let sentence): logger.warning("\(sentence)")
          }
        }
      }
      for id in batches.keys.sorted() { slots[id]?.deliver(batches[id] ?? []) }
      guard !isStopped else { return }
      runner.setTimer(now: now, loop.makeTimer { [weak self] in self?.wake() })
    }

    private func watchController(_ adapter: String?) {
      controller?.close()
      controller = adapter.flatMap { adapter in
        ControllerSocket(adapter: adapter, on: loop) { [weak self] in
          self?.handle(.controller($0))
        }
      }
    }

    private func openBus() {
      bus?.close()
      let bus = MessageBus(address: address, on: loop) { [weak self] in self?.received($0) }
      self.bus = bus
      bus.open()
    }

    private func received(_ event: MessageBus.Event) {
      switch event {
      case .opened: handle(.busOpened)
      case .reply(let id, let result): handle(.reply(id, result))
      case .signal(let signal):
        guard !isStopped else { return }
        // The kernel's event for the end of a link is there before bluetoothd's signal, and has its reason.
        if signal.concernsDevices { controller?.drain() }
        runner.handle(.signal(signal), now: .now)
      case .signalsDelivered:
        if !isStopped { perform(.now) }
      case .closed(let reason):
        incoming = [:]
        handle(.busClosed(reason))
      case .call(let call): received(call)
      }
    }

    private func received(_ call: IncomingCall) {
      guard incoming.count < BlueZLimits.incomingCallCountMax else {
        let error = BusError(
          "org.freedesktop.DBus.Error.LimitsExceeded", "Too many calls have no answer yet.")
        bus?.answer(call, .failure(error))
        return
      }
      lastIncoming += 1
      let id = IncomingCallID(rawValue: lastIncoming)
      incoming[id] = call
      handle(
        .call(
          id,
          BusMethodCall(
            sender: call.sender, path: call.path, interface: call.interface,
            member: call.member, arguments: call.arguments)))
    }

    private func report(_ sentence: String?) {
      currentProblem.set(sentence)
      if let sentence {
        logger.warning("\(sentence)")
      } else {
        logger.info("bluetoothd's radio is used.")
      }
    }
  }

  /// The driver's state of a session.
  final class BlueZSlot: Sendable {
    let id: BlueZSessionID
    let acknowledgesEvents: Bool
    /// The program that it is of; nil for this one.
    let program: BlueZProgramID?
    private let onEvents: @Sendable ([HostEvent]) -> Void
    private let isOpenStorage = Atomic(true)

    init(
      id: BlueZSessionID, acknowledgesEvents: Bool, program: BlueZProgramID?,
      onEvents: @escaping @Sendable ([HostEvent]) -> Void
    ) {
      self.id = id
      self.acknowledgesEvents = acknowledgesEvents
      self.program = program
      self.onEvents = onEvents
    }

    var isOpen: Bool { isOpenStorage.load(ordering: .acquiring) }

    /// Delivers events unless the session was closed.
    func deliver(_ events: [HostEvent]) {
      if isOpen { onEvents(events) }
    }

    /// Closes the slot; returns true for the first call.
    func close() -> Bool { isOpenStorage.exchange(false, ordering: .acquiringAndReleasing) }
  }
#endif
