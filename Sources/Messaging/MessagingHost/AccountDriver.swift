#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// Drives the machines of one account: its stream, and its messages. Used on its event loop only.
  ///
  /// All that comes while a transaction of the store is written is the next transaction: changes first, then what the
  /// machines want done. A thread for disks writes it; meanwhile only messages of the app are numbered for the next
  /// one. While the store can't be written, nothing is read from the server, and the same transaction is tried again.
  final class AccountDriver {
    enum Input {
      case request(Request)
      case channel(ServerChannel, ServerChannel.Event)
      case wake
      /// The pause before the next connection is over.
      case connect
    }

    /// What comes from other threads.
    enum Request: Sendable {
      case stream(StreamMachine.Event)
      case messages(MessageEvent)
      /// The app has taken a row of the inbox; the closure is called when that is on disk, or can't be. Without a
      /// closure the app doesn't wait.
      case acknowledge(Int64, Completion?)
      /// A request about contacts; the closure is called with the answer, or without one in time.
      case contacts(ContactRequest, @Sendable (ContactFailure?) -> Void)
      /// The same about rooms.
      case rooms(RoomRequest, @Sendable (RoomFailure?) -> Void)
      case sendToRoom(ticket: UInt64, JID, MessageContent)
      case uploads(UploadEvent)
      /// A message that a remote notification has brought, with the number for the answer.
      case pushed(ticket: UInt64, InboundMessage)
      /// The app is about to be suspended; the closure is called when all that came before is handled.
      case settle(@Sendable () -> Void)
      /// Messages that wait for the archive go to the app.
      case endWaiting
      /// The account is no longer used. The closure is called when another one may open the store, with an error if
      /// changes could not be written.
      case close(keepsSession: Bool, Completion)
    }

    typealias Completion = @Sendable (StoreError?) -> Void

    /// The bytes of the server that wait for a transaction, before no more are read.
    private static let heldByteCountMax = 1 << 20

    let loop: any EventLoop
    let observer: AccountObserver
    let account: JID
    var start: AccountStart
    var settings: ServerSettings { start.settings }
    var password: String { start.password }
    var store: any AccountStore { start.store }
    var stream: StreamMachine
    var messages: MessageMachine
    var parser = StreamReader()
    var exchange: AccountExchange
    var contacts: ContactMachine
    var contactCalls = ContactCalls()
    var rooms: RoomMachine
    var roomCalls = RoomCalls()
    var uploads: UploadMachine
    /// The requests that put files, while they are on their way.
    var uploadTasks = UploadTasks()
    /// A session whose messages wait for the list of blocked addresses.
    var blockedSession: (isResumed: Bool, hasArchive: Bool)?
    var channel: ServerChannel?
    var failedServers = FailedServers()
    var isAtBarrier = false

    private var inputs: [Input] = []
    private var firstInput = 0
    private var heldByteCount = 0
    var isReading = true
    private var isRunning = false
    var isParsing = false
    var batch = Batch()
    /// When the batch is written, if nothing comes that can't wait.
    var batchDue: Instant?
    /// Messages of the app in the batch that were handled while an earlier transaction was written.
    var ahead: [MessageEvent] = []
    /// The transaction that is being written, or is tried again.
    var written: Batch?
    var isFailing = false
    /// Failures in sequence, for the pauses between them.
    var failureCount = 0
    var rejections = Rejections()
    var clientState = ClientState.active
    /// Whether the app wants a connection: its last request was to start.
    var isWanted = false
    /// Stanzas for which the stream had no room.
    var waiting: [OutgoingStanza] = []
    /// Queries of the archive, which may leave before the page before them is on disk.
    var queries: [OutgoingStanza] = []
    var session: UInt64?
    /// The session as the store has it, and the number of the server's stanzas up to the latest.
    var stored: StoredSession?
    var inboundCount: UInt64 = 0
    private var timer: (due: Instant, scheduled: Scheduled<Void>)?
    var pruning: Scheduled<Void>?
    var closing = Closing()
    var holder: ConnectionHolder?
    var wakes = Wakes()

    init(_ start: AccountStart, observer: AccountObserver, on loop: any EventLoop) {
      self.loop = loop
      self.observer = observer
      self.start = start
      account = start.stream.account
      stream = start.makeStream()
      messages = start.makeMessages()
      exchange = AccountExchange(account: account)
      contacts = start.makeContacts()
      uploads = start.makeUploads()
      exchange.blocks = contacts.blocks
      rooms = start.makeRooms()
      exchange.rooms = rooms.addresses
      stored = start.messages.session
      inboundCount = stored?.inboundCount ?? 0
      prune()
      makeHolder()
    }

    // MARK: The inbox

    func inbox(after sequence: Int64, limit: Int) throws(StoreError) -> [IncomingRow] {
      guard !closing.isStoreClosed else { throw .closed }
      return try store.inbox(after: sequence, limit: limit)
    }

    func incoming(sequence: Int64) throws(StoreError) -> IncomingRow? {
      guard !closing.isStoreClosed else { throw .closed }
      return try store.incoming(sequence: sequence)
    }

    /// The latest rows of a conversation, those of the inbox and those of the outbox, each the newest first.
    func history(
      with peer: String, limit: Int
    ) throws(StoreError) -> (incoming: [IncomingRow], outgoing: [OutgoingRow]) {
      guard !closing.isStoreClosed else { throw .closed }
      return (try store.history(of: peer, limit: limit), try store.outgoing(to: peer, limit: limit))
    }

    func peers() throws(StoreError) -> [String] {
      guard !closing.isStoreClosed else { throw .closed }
      return try store.peers()
    }

    // MARK: Inputs

    func handle(_ input: Input) {
      add(input)
      run()
    }

    func handle(_ requests: [Request]) {
      for request in requests {
        switch request {
        case .close(_, let done):
          closing.join(done)
          setCloseDeadline()
          add(.request(request))
        case .acknowledge(_, let done) where closing.isStoreClosed: done?(.closed)
        case .settle(let done) where closing.isStoreClosed: done()
        case .contacts(_, let done) where closing.isStoreClosed: done(.ended)
        case .rooms(_, let done) where closing.isStoreClosed: done(.closed)
        default: add(.request(request))
        }
      }
      run()
    }

    func add(_ input: Input) {
      guard !closing.isStoreClosed else { return }
      inputs.append(input)
      if case .channel(_, .bytes(let bytes)) = input { heldByteCount += bytes.count }
      updateReading()
    }

    private func nextInput() -> Input? {
      guard firstInput < inputs.count else { return nil }
      let input = inputs[firstInput]
      firstInput += 1
      if firstInput == inputs.count {
        inputs.removeAll(keepingCapacity: inputs.count < 4_096)
        firstInput = 0
      }
      if case .channel(_, .bytes(let bytes)) = input { heldByteCount -= bytes.count }
      return input
    }

    /// The machine begins anew without these messages: they are handled again.
    func returnAhead() {
      inputs.insert(contentsOf: ahead.map { .request(.messages($0)) }, at: firstInput)
      ahead = []
    }

    var hasNoInputs: Bool { firstInput == inputs.count }

    /// Removes what waits.
    func takeInputs() -> [Input] {
      defer {
        inputs = []
        firstInput = 0
        heldByteCount = 0
      }
      return Array(inputs[firstInput...])
    }

    /// Reads from the server, or lets it wait.
    func updateReading() {
      let isWanted = !isFailing && heldByteCount < Self.heldByteCountMax
      guard isWanted != isReading else { return }
      isReading = isWanted
      channel?.setReading(isWanted)
    }

    func run() {
      guard !isRunning else { return }
      isRunning = true
      repeat {
        while mayRun, written == nil ? step() : stepAhead() {}
        // A write that fails ends the connection, which is another input.
        channel?.flush()
      } while mayRun && written == nil && !hasNoInputs
      isRunning = false
      closeIfDone()
      endWakesIfHandled()
      setTimer()
    }

    private var mayRun: Bool { !closing.isStoreClosed && !rejections.isReloading }

    /// Does the next thing; false without one.
    private func step() -> Bool {
      // A connection that has changed hands, or enough for one transaction.
      if isAtBarrier || batch.changes.count > Batch.countMax { return flush() }
      if isParsing {
        parseNext()
        return true
      }
      guard let input = nextInput() else { return flush() }
      updateReading()
      perform(input)
      return true
    }

    /// Does what needs nothing of the transaction that is being written: parses what the server has sent in a session,
    /// and handles a message of the app for the next transaction, if it is the next input. That reads nothing of the
    /// store, and nothing of it leaves before the transaction that is being written is on disk.
    private func stepAhead() -> Bool {
      guard !isFailing, !isAtBarrier, !closing.isRequested, batch.changes.count <= Batch.countMax
      else { return false }
      if isParsing, session != nil, parser.readAhead() { return true }
      guard firstInput < inputs.count else { return false }
      switch inputs[firstInput] {
      case .channel(let source, .bytes(let bytes)):
        guard source === channel, session != nil, parser.hasRoomAhead else { return false }
        _ = nextInput()
        updateReading()
        parse(bytes)
      case .request(.messages(let event)):
        guard !isParsing, case .send = event else { return false }
        _ = nextInput()
        ahead.append(event)
        handle(event)
      default: return false
      }
      return true
    }

    private func perform(_ input: Input) {
      switch input {
      case .channel(let source, let event): if source === channel { take(event) }
      case .request(.stream(let event)):
        switch event {
        case .clientState(let state): clientState = state
        case .start:
          isWanted = true
          holder?.releaseEarlier()
          if session == nil { holder?.requestReconnection() }
        case .stop: isWanted = false
        default: break
        }
        handle(event)
      // The end of the account answers it.
      case .request(.messages(.send)) where closing.isRequested: break
      case .request(.uploads(.add)) where closing.isRequested: break
      case .request(.messages(let event)): handle(event)
      case .request(.acknowledge(let sequence, let done)):
        handle(.acknowledge(sequence: sequence))
        if let done { batch.later.append(.call(done)) }
      case .request(.contacts(let request, let done)): perform(request, done)
      case .request(.rooms(let request, let done)): perform(request, done)
      case .request(.sendToRoom(let ticket, let room, let content)):
        sendToRoom(ticket, room, content)
      case .request(.uploads(let event)): handle(event)
      case .request(.pushed(let ticket, let message)): takePushed(ticket, message)
      case .request(.settle(let done)): settle(done)
      case .request(.endWaiting):
        handle(MessageEvent.endWaiting)
        handle(RoomEvent.endWaiting)
      case .request(.close(let keepsSession, _)): close(keepsSession: keepsSession)
      case .connect: if isWanted, stream.isPausing { handle(StreamMachine.Event.start) }
      case .wake:
        timer = nil
        let now = Instant.now
        var actions: [StreamMachine.Action] = []
        if let due = stream.nextWake, due <= now { stream.wake(now: now, into: &actions) }
        take(actions)
        if case .presumed(let isResumed) = exchange.wake(now: now) { presume(isResumed: isResumed) }
        var commit = MessageCommit()
        messages.wake(now: now, into: &commit)
        take(commit)
        wakeContacts(now)
        wakeRooms(now)
        wakeUploads(now)
      }
    }

    func parse(_ bytes: [UInt8]) {
      parser.append(bytes)
      isParsing = true
    }

    /// The parser or the connection may be another one after each part.
    private func parseNext() {
      do {
        guard channel != nil, let item = try parser.next() else {
          isParsing = false
          return
        }
        handle(.received(item))
      } catch {
        isParsing = false
        handle(.invalid(error))
      }
    }

    func handle(_ event: StreamMachine.Event) {
      var actions: [StreamMachine.Action] = []
      stream.handle(event, now: .now, into: &actions)
      take(actions)
    }

    func handle(_ event: MessageEvent) {
      var commit = MessageCommit()
      messages.handle(event, now: .now, into: &commit)
      take(commit)
    }

    /// Performs the actions of a transaction that is on disk.
    func perform(_ later: [Batch.Later]) {
      let wasRunning = isRunning
      isRunning = true
      defer { isRunning = wasRunning }
      for action in later {
        switch action {
        case .stream(let action): perform(action)
        case .messages(let action, let session): perform(action, session)
        case .call(let body): body(nil)
        case .contacts(let action): perform(action)
        case .rooms(let action): perform(action)
        case .uploads(let action): perform(action)
        }
      }
    }

    // MARK: Time

    private func setTimer() {
      let due =
        closing.isStoreClosed
        ? nil
        : [
          stream.nextWake, messages.nextWake, exchange.nextWake, contacts.nextWake, rooms.nextWake,
          uploads.nextWake, batchDue,
        ].compactMap { $0 }.min()
      guard due != timer?.due else { return }
      timer?.scheduled.cancel()
      timer = nil
      guard let due else { return }
      let bound = NIOLoopBound(self, eventLoop: loop)
      let delay = max(0, (due - .now).nanoseconds)
      timer = (
        due, loop.scheduleTask(in: .nanoseconds(delay)) { bound.value.handle(.wake) }
      )
    }
  }
#endif
