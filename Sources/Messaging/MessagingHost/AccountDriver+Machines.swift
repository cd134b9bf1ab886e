#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import NIOCore
  internal import NIOPosix
  internal import XMPPMachines
  internal import XMPPWire

  /// The wishes of an account's machines, and the actions for them.
  extension AccountDriver {
    // MARK: What the machines want

    func take(_ actions: [StreamMachine.Action]) {
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
    func take(_ record: StreamRecord) {
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
      case .token(let token): batch.changes.append(.setToken(token))
      case .proven(let mechanism): batch.changes.append(.setMechanism(mechanism.rawValue))
      }
    }

    func take(_ commit: MessageCommit) {
      batch.changes += commit.changes
      for action in commit.then {
        switch action {
        case .transmit(let stanza):
          guard let element = MessageWriter.element(stanza) else { continue }
          waiting.append(OutgoingStanza(row: stanza.row?.streamRow, element))
          if case .message = stanza.kind, contacts.isComposing(to: stanza.recipient) {
            handle(.sent(to: stanza.recipient))
          }
        case .query(let query):
          guard let element = exchange.begin(query) else { continue }
          queries.append(OutgoingStanza(row: nil, element))
        case .accepted: batch.accepted.append(action)
        default: batch.later.append(.messages(action, session: session))
        }
      }
    }

    /// Sends queries of the archive, and of those of rooms, at once, so that the server prepares a page while the disk writes
    /// the one before. They have positions in the session, too: nothing may wait for the disk that has an earlier one.
    func sendQueries() {
      guard !queries.isEmpty else { return }
      let next = queries
      queries = []
      guard waiting.isEmpty, stream.room >= next.count, !batch.hasStreamActions else {
        waiting += next
        return
      }
      var actions: [StreamMachine.Action] = []
      stream.handle(.send(next), now: .now, into: &actions)
      for action in actions {
        if case .write = action { perform(action) } else { take([action]) }
      }
    }

    /// Gives the stream the stanzas for which it has room. Its positions belong to the transaction of the rows.
    func sendWaiting() {
      while !waiting.isEmpty, stream.room > 0 {
        let next = Array(waiting.prefix(stream.room))
        waiting.removeFirst(next.count)
        handle(.send(next))
      }
    }

    func deliver(_ element: XMLElement, _ count: UInt64) {
      do throws(StoreError) {
        if rooms.takes(element) {
          try takeOfRoom(element)
          handle(.counted(count))
        } else {
          try take(exchange.take(element, wall: WallClock.now), count)
          handle(ContactEvent.received(element))
          handle(UploadEvent.received(element))
        }
        inboundCount = count
      } catch {
        // The server delivers it again when the session is resumed.
        observer.committed(error.sentence)
        handle(.undelivered(count))
        drop("the store can't be read")
      }
    }

    func take(_ item: AccountExchange.Item, _ count: UInt64) throws(StoreError) {
      switch item {
      case .message(let message):
        handle(.received(try lookedUp(message), count: count))
        if case .receipt = message.kind, !messages.awaitsReceipts(of: message.sender) {
          batch.hasLastReceipt = true
        }
      case .page(let query, let entries, let isComplete):
        let messages = entries.compactMap(\.message)
        var lookups = try store.lookup(messages, account: account.description)[...]
        for message in messages where contacts.learns(from: message) { handle(.message(message)) }
        let found = entries.map { entry in
          ArchivePage.Entry(
            mark: entry.mark,
            message: entry.message.map { LookedUp($0, lookups.popFirst() ?? StoreLookup()) })
        }
        handle(.counted(count))
        handle(.page(ArchivePage(query: query, entries: found, isComplete: isComplete)))
      case .queryFailed(let query, let isUnknownItem):
        handle(.counted(count))
        handle(.queryFailed(query, isUnknownItem: isUnknownItem))
      case .ready(let isResumed, let hasArchive):
        handle(.counted(count))
        connect(isResumed: isResumed, hasArchive: hasArchive)
      case .presumed(let isResumed):
        handle(.counted(count))
        presume(isResumed: isResumed)
      case .nothing: handle(.counted(count))
      }
    }

    /// The server has not told the abilities of the account.
    func presume(isResumed: Bool) {
      batch.later.append(.messages(.report(.abilitiesUnknown), session: session))
      connect(isResumed: isResumed, hasArchive: true)
    }

    func lookedUp(_ message: InboundMessage) throws(StoreError) -> LookedUp {
      var lookup: StoreLookup?
      if !messages.knowsAll(about: message) {
        lookup = try store.lookup([message], account: account.description).first
      }
      if contacts.learns(from: message) { handle(.message(message)) }
      return LookedUp(message, lookup ?? StoreLookup())
    }

    /// Ends the connection; it is established again.
    func drop(_ reason: String) {
      closeChannel()
      add(.request(.stream(.closed(.transport(reason)))))
    }

    func begin(_ online: StreamOnline) {
      session = online.session
      failedServers.forget()
      if let holder { channel?.hold(by: holder) }
      if !online.isResumed { inboundCount = 0 }
      if !online.isResumed { (waiting, queries) = ([], []) }
      handle(ContactEvent.connected(online))
      handle(RoomEvent.connected(online))
      handle(UploadEvent.connected(isResumed: online.isResumed))
      switch exchange.begin(online, now: .now) {
      case .query(let element): waiting.append(OutgoingStanza(row: nil, element))
      case .ready(let isResumed, let hasArchive):
        connect(isResumed: isResumed, hasArchive: hasArchive)
      }
      observer.changed(.online(address: online.jid.description, isResumed: online.isResumed))
    }

    /// The server that is connected, or is being connected, is of no use.
    private func addFailedServer() {
      if session == nil, let server = channel?.endpoint { failedServers.add(server) }
    }

    func end(_ failure: StreamFailure, retryAt: Instant?) {
      if failure.isOfServer { addFailedServer() }
      session = nil
      blockedSession = nil
      exchange.end()
      handle(.disconnected(streamError: failure.blamedCondition))
      handle(.disconnected(isTooLong: failure.isTooLong))
      handle(RoomEvent.disconnected)
      handle(UploadEvent.disconnected)
      if retryAt == nil { holder?.endReconnection() } else { holder?.requestReconnection() }
      observer.changed(.offline(failure, isFinal: retryAt == nil))
    }

    // MARK: Actions

    func perform(_ action: StreamMachine.Action) {
      switch action {
      case .open(let target): open(target)
      case .startTLS:
        parser.restart()
        channel?.startTLS()
      case .restartParser: parser.restart()
      case .write(let bytes): channel?.write(bytes)
      case .close: closeChannel()
      case .compute(let request): compute(request)
      default: break
      }
    }

    func perform(_ action: MessageAction, _ session: UInt64?) {
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

    func open(_ target: StreamTarget) {
      closeChannel()
      parser.restart()
      observer.changed(.connecting)
      let new = ServerChannel(settings.at(target), after: failedServers, on: loop) {
        [weak self] channel, event in
        self?.handle(.channel(channel, event))
      }
      channel = new
      isReading = true
      updateReading()
      new.start()
    }

    func take(_ event: ServerChannel.Event) {
      let bindings = channel?.bindings ?? ChannelBindings()
      switch event {
      case .connected:
        handle(.opened(isEncrypted: false, ChannelBindings(), nonce: RandomText.nonce()))
      case .encrypted(isDirect: true):
        handle(.opened(isEncrypted: true, bindings, nonce: RandomText.nonce()))
      case .encrypted(isDirect: false): handle(.encrypted(bindings))
      case .bytes(let bytes): parse(bytes)
      case .unreachable(let server): failedServers.add(server)
      case .ended(let error):
        let candidates = channel?.candidates ?? []
        addFailedServer()
        channel = nil
        handle(
          session == nil && failedServers.leave(candidates)
            ? .serverFailed(error.streamFailure) : .closed(error.streamFailure))
      }
    }

    func compute(_ request: CredentialRequest) {
      let password = password
      let bound = NIOLoopBound(self, eventLoop: loop)
      NIOThreadPool.singleton.runIfActive(eventLoop: loop) { Credentials.answer(request, password) }
        .whenComplete { result in
          let answer = (try? result.get()) ?? .unavailable
          bound.value.handle([.stream(.credentials(answer, for: request))])
        }
    }
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
    /// Whether another server of the domain may do better.
    fileprivate var isOfServer: Bool {
      switch self {
      case .transport, .tls, .noTLS, .silent, .ended, .invalidXML, .unexpected, .noMechanism: true
      case .stream, .overrun, .downgrade, .offerChanged, .invalidExchange, .serverNotAuthenticated,
        .refused,
        .noCredentials,
        .bindingRefused, .tooManyRedirects, .wrongAcknowledgement, .stopped:
        false
      }
    }

    /// Whether the server has sent a stanza beyond a bound.
    fileprivate var isTooLong: Bool {
      if case .invalidXML(.tooLong) = self { true } else { false }
    }
  }
#endif
