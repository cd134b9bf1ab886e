#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// Drives the machines of one account: its stream, and its messages. Used on its event loop only.
  ///
  /// All that one input brings is one transaction of the store: changes first, then what the machines want done. While
  /// the store can't be written, nothing is read from the server, and the same transaction is tried again.
  final class AccountDriver {
    enum Input {
      case request(Request)
      case channel(ServerChannel, ServerChannel.Event)
      case wake
    }

    /// What comes from other threads.
    enum Request: Sendable {
      case stream(StreamMachine.Event)
      case messages(MessageEvent)
      /// The app has taken a row of the inbox; the closure is called when that is on disk.
      case acknowledge(Int64, @Sendable () -> Void)
    }

    /// The pause before a transaction that failed is tried again.
    private static let retryPause = TimeAmount.seconds(1)

    let loop: any EventLoop
    let observer: AccountObserver
    let account: JID
    private let settings: ServerSettings
    private let password: String
    private let store: any AccountStore
    private var stream: StreamMachine
    private var messages: MessageMachine
    private let parser = XMLStreamParser()
    private var exchange: AccountExchange
    private var channel: ServerChannel?
    private var isAtBarrier = false

    private var inputs: [Input] = []
    private var isRunning = false
    private var batch = Batch()
    private var isStuck = false
    /// Stanzas for which the stream had no room.
    private var waiting: [OutgoingStanza] = []
    private var session: UInt64?
    /// The session as the store has it, and the number of the server's stanzas up to the latest.
    private var stored: StoredSession?
    private var inboundCount: UInt64 = 0
    private var timer: (due: Instant, scheduled: Scheduled<Void>)?

    init(_ start: AccountStart, observer: AccountObserver, on loop: any EventLoop) {
      self.loop = loop
      self.observer = observer
      account = start.stream.account
      settings = start.settings
      password = start.password
      store = start.store
      stream = StreamMachine(
        start.stream, session: start.session, unacknowledged: start.unacknowledged)
      messages = MessageMachine(
        account: account.description, stored: start.messages, seed: start.stream.seed, now: .now,
        wall: WallClock.now)
      exchange = AccountExchange(account: account)
      stored = start.messages.session
      inboundCount = stored?.inboundCount ?? 0
    }

    // MARK: The inbox

    func inbox(after sequence: Int64, limit: Int) throws -> [IncomingRow] {
      try store.inbox(after: sequence, limit: limit)
    }

    func peers() throws -> [String] { try store.peers() }

    // MARK: Inputs

    func handle(_ input: Input) {
      inputs.append(input)
      run()
    }

    func handle(_ requests: [Request]) {
      inputs += requests.map(Input.request)
      run()
    }

    private func run() {
      guard !isRunning, !isStuck else { return }
      isRunning = true
      while !inputs.isEmpty, !isStuck {
        let taken = inputs
        inputs = []
        for (index, input) in taken.enumerated() {
          perform(input)
          // A connection that has changed hands, or enough for one transaction.
          guard isAtBarrier || batch.changes.count > Batch.countMax else { continue }
          flush()
          guard isStuck else { continue }
          inputs = taken[(index + 1)...] + inputs
          break
        }
        flush()
      }
      isRunning = false
      setTimer()
    }

    private func perform(_ input: Input) {
      switch input {
      case .channel(let source, let event): if source === channel { take(event) }
      case .request(.stream(let event)): handle(event)
      case .request(.messages(let event)): handle(event)
      case .request(.acknowledge(let sequence, let done)):
        handle(.acknowledge(sequence: sequence))
        batch.later.append(.call(done))
      case .wake:
        timer = nil
        let now = Instant.now
        var actions: [StreamMachine.Action] = []
        if let due = stream.nextWake, due <= now { stream.wake(now: now, into: &actions) }
        take(actions)
        var commit = MessageCommit()
        messages.wake(now: now, into: &commit)
        take(commit)
      }
    }

    private func parse(_ bytes: [UInt8]) {
      let connection = channel
      parser.append(bytes)
      while connection != nil, connection === channel {
        do {
          guard let item = try parser.next() else { return }
          handle(.received(item))
        } catch {
          return handle(.invalid(error))
        }
        // The parser or the connection is another one afterwards.
        if isAtBarrier { flush() }
      }
    }

    private func handle(_ event: StreamMachine.Event) {
      var actions: [StreamMachine.Action] = []
      stream.handle(event, now: .now, into: &actions)
      take(actions)
    }

    private func handle(_ event: MessageEvent) {
      var commit = MessageCommit()
      messages.handle(event, now: .now, into: &commit)
      take(commit)
    }

    // MARK: What the machines want

    private func take(_ actions: [StreamMachine.Action]) {
      for action in actions {
        switch action {
        case .record(let record): take(record)
        case .deliver(let element, let count): deliver(element, count)
        case .acknowledged(let rows): handle(.handled(rows.map(RowID.init(stream:))))
        case .online(let online): begin(online)
        case .lost: break
        case .offline(let failure, let retryAt): end(failure, retryAt: retryAt)
        case .open, .startTLS, .restartParser, .close:
          isAtBarrier = true
          batch.later.append(.stream(action))
        case .write, .compute: batch.later.append(.stream(action))
        }
      }
    }

    /// Records of the stream are changes of the same store.
    private func take(_ record: StreamRecord) {
      switch record {
      case .began(let session):
        stored = StoredSession(session)
        handle(.session(stored))
      case .sent(let row, let position):
        batch.changes.append(.setPosition(RowID(stream: row), position))
      case .acknowledged(let position):
        stored?.outboundCount = position
        stored?.inboundCount = inboundCount
        handle(.session(stored))
      case .ended:
        stored = nil
        handle(.session(nil))
      case .proven(let mechanism): batch.changes.append(.setMechanism(mechanism.rawValue))
      }
    }

    private func take(_ commit: MessageCommit) {
      batch.changes += commit.changes
      for action in commit.then {
        switch action {
        case .transmit(let stanza):
          guard let element = MessageWriter.element(stanza) else { continue }
          waiting.append(OutgoingStanza(row: stanza.row?.streamRow, element))
        case .query(let query):
          guard let element = exchange.begin(query) else { continue }
          waiting.append(OutgoingStanza(row: nil, element))
        default: batch.later.append(.messages(action, session: session))
        }
      }
    }

    /// Gives the stream the stanzas for which it has room. Its positions belong to the transaction of the rows.
    private func sendWaiting() {
      while !waiting.isEmpty, stream.room > 0 {
        let next = Array(waiting.prefix(stream.room))
        waiting.removeFirst(next.count)
        handle(.send(next))
      }
    }

    private func deliver(_ element: XMLElement, _ count: UInt64) {
      do throws(StoreError) {
        try take(exchange.take(element, wall: WallClock.now), count)
        inboundCount = count
      } catch {
        // The server delivers it again when the session is resumed.
        observer.committed(error.sentence)
        handle(.undelivered(count))
        drop("the store can't be read")
      }
    }

    private func take(_ item: AccountExchange.Item, _ count: UInt64) throws(StoreError) {
      switch item {
      case .message(let message): handle(.received(try lookedUp(message), count: count))
      case .page(let query, let entries, let isComplete):
        var found: [ArchivePage.Entry] = []
        for entry in entries {
          let message = try entry.message.map { message throws(StoreError) in
            try lookedUp(message)
          }
          found.append(ArchivePage.Entry(mark: entry.mark, message: message))
        }
        handle(.counted(count))
        handle(.page(ArchivePage(query: query, entries: found, isComplete: isComplete)))
      case .queryFailed(let query, let isUnknownItem):
        handle(.counted(count))
        handle(.queryFailed(query, isUnknownItem: isUnknownItem))
      case .ready(let isResumed, let hasArchive):
        handle(.counted(count))
        handle(.connected(isResumed: isResumed, hasArchive: hasArchive, wall: WallClock.now))
      case .nothing: handle(.counted(count))
      }
    }

    private func lookedUp(_ message: InboundMessage) throws(StoreError) -> LookedUp {
      LookedUp(message, try store.lookup(message, account: account.description))
    }

    /// Ends the connection; it is established again.
    private func drop(_ reason: String) {
      channel?.close()
      channel = nil
      inputs.append(.request(.stream(.closed(.transport(reason)))))
    }

    private func begin(_ online: StreamOnline) {
      session = online.session
      if !online.isResumed { inboundCount = 0 }
      if !online.isResumed { waiting = [] }
      switch exchange.begin(online) {
      case .query(let element): waiting.append(OutgoingStanza(row: nil, element))
      case .ready(let isResumed, let hasArchive):
        handle(.connected(isResumed: isResumed, hasArchive: hasArchive, wall: WallClock.now))
      }
      observer.changed(.online(address: online.jid.description, isResumed: online.isResumed))
    }

    private func end(_ failure: StreamFailure, retryAt: Instant?) {
      session = nil
      exchange.end()
      handle(.disconnected(streamError: failure.blamedCondition))
      observer.changed(.offline(failure, isFinal: retryAt == nil))
    }

    // MARK: Transactions

    private func flush() {
      isAtBarrier = false
      while true {
        sendWaiting()
        guard !batch.isEmpty else { return }
        guard write(batch) else { return }
        let later = batch.later
        batch = Batch()
        for action in later {
          switch action {
          case .stream(let action): perform(action)
          case .messages(let action, let session): perform(action, session)
          case .call(let body): body()
          }
        }
      }
    }

    /// Writes a transaction; false if it has to be tried again.
    private func write(_ batch: Batch) -> Bool {
      guard !batch.changes.isEmpty else { return true }
      do throws(StoreError) {
        try store.apply(batch.changes)
        observer.committed(nil)
        return true
      } catch {
        isStuck = true
        observer.committed(error.sentence)
        channel?.setReading(false)
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.scheduleTask(in: Self.retryPause) { bound.value.tryAgain() }
        return false
      }
    }

    private func tryAgain() {
      isStuck = false
      isRunning = true
      flush()
      isRunning = false
      guard !isStuck else { return }
      channel?.setReading(true)
      run()
    }

    // MARK: Actions

    private func perform(_ action: StreamMachine.Action) {
      switch action {
      case .open(let target): open(target)
      case .startTLS:
        parser.restart()
        channel?.startTLS()
      case .restartParser: parser.restart()
      case .write(let bytes): channel?.write(bytes)
      case .close:
        channel?.close()
        channel = nil
      case .compute(let request): compute(request)
      default: break
      }
    }

    private func perform(_ action: MessageAction, _ session: UInt64?) {
      switch action {
      case .confirm(let count):
        if let session { handle(.handled(through: count, session: session)) }
      case .load(let stream, let range):
        do throws(StoreError) {
          handle(.loaded(try store.outgoing(stream: stream, range: range)))
        } catch {
          observer.committed(error.sentence)
        }
      case .fate(let row, .failed):
        waiting.removeAll { $0.row == row.streamRow }
        handle(.abandoned([row.streamRow]))
        observer.perform(action)
      default: observer.perform(action)
      }
    }

    private func open(_ target: StreamTarget) {
      channel?.close()
      parser.restart()
      observer.changed(.connecting)
      let new = ServerChannel(settings.at(target), on: loop) { [weak self] channel, event in
        self?.handle(.channel(channel, event))
      }
      channel = new
      new.start()
    }

    private func take(_ event: ServerChannel.Event) {
      switch event {
      case .connected:
        handle(.opened(isEncrypted: false, ChannelBindings(), nonce: RandomText.nonce()))
      case .encrypted(isDirect: true):
        handle(.opened(isEncrypted: true, ChannelBindings(), nonce: RandomText.nonce()))
      case .encrypted(isDirect: false): handle(.encrypted(ChannelBindings()))
      case .bytes(let bytes): parse(bytes)
      case .ended(let error):
        channel = nil
        handle(.closed(error.streamFailure))
      }
    }

    private func compute(_ request: CredentialRequest) {
      let password = password
      let bound = NIOLoopBound(self, eventLoop: loop)
      NIOThreadPool.singleton.runIfActive(eventLoop: loop) { Credentials.answer(request, password) }
        .whenComplete { result in
          let answer = (try? result.get()) ?? .unavailable
          bound.value.handle([.stream(.credentials(answer, for: request))])
        }
    }

    // MARK: Time

    private func setTimer() {
      let due = [stream.nextWake, messages.nextWake].compactMap(\.self).min()
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

  /// One transaction of the store, and the actions after it.
  private struct Batch {
    /// The maximum number of changes in one transaction, as far as they come from different inputs.
    static let countMax = 512

    enum Later {
      case stream(StreamMachine.Action)
      /// With the session in which it came up.
      case messages(MessageAction, session: UInt64?)
      case call(@Sendable () -> Void)
    }

    var changes: [MessageChange] = []
    var later: [Later] = []

    var isEmpty: Bool { changes.isEmpty && later.isEmpty }
  }

  extension StoredSession {
    fileprivate init(_ session: StreamSession) {
      self.init(
        id: session.id ?? "", jid: session.jid.description, location: session.location,
        inboundCount: session.handled, outboundCount: session.acknowledged)
    }
  }

  extension RowID {
    /// The row as the stream's machine numbers it.
    fileprivate init(stream row: UInt64) { self.init(rawValue: Int64(clamping: row)) }
    fileprivate var streamRow: UInt64 { UInt64(clamping: rawValue) }
  }

  extension StreamFailure {
    /// The condition of a stream error that may be about a stanza that was sent.
    fileprivate var blamedCondition: String? {
      guard case .stream(let error) = self else { return nil }
      switch error.condition {
      case .conflict, .systemShutdown, .hostGone, .hostUnknown, .notAuthorized, .seeOtherHost,
        .connectionTimeout, .reset, .remoteConnectionFailed, .internalServerError:
        return nil
      default: return error.condition.rawValue
      }
    }
  }
#endif
