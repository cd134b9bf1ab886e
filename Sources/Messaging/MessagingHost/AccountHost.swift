#if Messaging
  internal import EventLoop
  package import Essentials
  package import NIOCore
  internal import NIOPosix
  internal import Synchronization
  package import XMPPMachines
  package import XMPPWire

  /// The times of an account's driver.
  package struct DriverTimes: Sendable {
    /// For the server and the disk to take the rest, before the account's use ends without.
    package var close: TimeSpan = .seconds(10)
    /// Before a transaction that failed is tried again; it doubles up to ten seconds, or the longest pause between
    /// connections.
    package var retry: TimeSpan = .seconds(1)
    /// Before the next connection after a change that the store has rejected; it doubles up to a minute.
    package var rejection: TimeSpan = .seconds(1)

    /// The time after which a suspended app that was woken may be suspended again, whether or not it has taken its messages.
    /// The system gives it ten seconds.
    package var wake = TimeSpan.seconds(5)
    /// How long messages wait in a wake for the archive, or for the account's abilities before it: the app needs the rest
    /// to take them.
    package var wakePatience = TimeSpan.seconds(3)

    package init() {}
  }

  /// What the host of an account begins with.
  package struct AccountStart: Sendable {
    var settings: ServerSettings
    var password: String
    var store: any AccountStore
    package var stream: StreamConfiguration
    var messages: StoredMessages
    var contacts = StoredContacts()
    var rooms = StoredRooms()
    var uploads = StoredUploads()
    var session: StreamSession?
    var unacknowledged: [SentStanza]
    /// Whether accounts get receipts to which the app has never sent a message.
    package var confirmsToStrangers = false
    /// How servers of files are reached.
    package var files = FileServerSettings()
    /// The app's name for its connection, which the system is to hold while the app is suspended; nil for none.
    package var restoreIdentifier: String?
    /// Times that tests make short.
    package var times = DriverTimes()

    /// Reads the store.
    ///
    /// - Parameters:
    ///   - account: The account's bare address.
    ///   - resource: The resource that is wished for; the server chooses one if nil.
    ///   - program: The name under which the program shows itself to other clients.
    package init(
      account: JID, password: String, settings: ServerSettings, store: any AccountStore,
      resource: String? = nil, program: String
    ) throws(StoreError) {
      self.settings = settings
      self.password = password
      self.store = store
      messages = StoredMessages()
      stream = StreamConfiguration(account: account, seed: 0)
      stream.resource = resource
      stream.unacknowledgedMax = 1_024
      stream.abilities = DiscoInfo(
        identities: [.init(category: "client", type: "pc", name: program)],
        features: [
          Namespace.discoInfo, Namespace.ping, Namespace.receipts, Namespace.order,
          Namespace.chatStates, Namespace.chatMarkers, Namespace.outOfBand,
          Namespace.fileMetadata, Namespace.fileSharing, Namespace.hashes,
        ])
      stream.presence = nil
      stream.answeredAbove = ContactMachine.namespaces
      unacknowledged = []
      try load()
    }

    /// Reads the store again.
    mutating func load() throws(StoreError) {
      messages = try store.load()
      contacts = try store.loadContacts()
      rooms = try store.loadRooms()
      uploads = try store.loadUploads()
      // Machines that begin anew must not repeat the names of streams and the numbers of queries.
      var generator = SystemRandomNumberGenerator()
      stream.seed = generator.next()
      stream.provenMechanism = messages.mechanism.flatMap { SASLMechanism(rawValue: $0) }
      stream.client = messages.clientID.map {
        ExtensibleRequest.Client(id: $0, software: stream.abilities.identities.first?.name)
      }
      stream.token = messages.token
      session = nil
      unacknowledged = []
      guard let stored = messages.session, let jid = JID(stored.jid) else { return }
      var session = StreamSession(
        number: 1, id: stored.id.isEmpty ? nil : stored.id, location: stored.location, jid: jid)
      session.handled = stored.inboundCount
      session.acknowledged = stored.outboundCount
      self.session = session
      unacknowledged = try store.sentRows().compactMap { row in
        SentStanza(row.id, row.position, MessageWriter.element(row))
      }
      unacknowledged += try store.sentReceipts().compactMap { receipt in
        SentStanza(receipt.id, receipt.position, MessageWriter.element(receipt))
      }
    }
  }

  extension AccountStart {
    /// The same for a connection that only withdraws the token.
    package var forWithdrawal: AccountStart {
      var start = self
      start.stream.withdrawsToken = true
      start.session = nil
      start.unacknowledged = []
      start.restoreIdentifier = nil
      return start
    }

    /// Closes the store of an account that doesn't begin.
    package func closeStore() { store.close() }

    func makeStream() -> StreamMachine {
      StreamMachine(stream, session: session, unacknowledged: unacknowledged)
    }

    func makeContacts() -> ContactMachine {
      ContactMachine(account: stream.account, stored: contacts, seed: stream.seed)
    }

    func makeRooms() -> RoomMachine {
      RoomMachine(account: stream.account, stored: rooms, seed: stream.seed)
    }

    func makeMessages() -> MessageMachine {
      MessageMachine(
        account: stream.account.description, stored: messages,
        confirmsToStrangers: confirmsToStrangers, seed: stream.seed, now: .now, wall: WallClock.now)
    }
  }

  extension SentStanza {
    /// Nil if it has no position, or can't be written.
    fileprivate init?(_ row: RowID, _ position: UInt64?, _ element: XMLElement?) {
      guard let position, let element else { return nil }
      self.init(
        position: position, OutgoingStanza(row: UInt64(clamping: row.rawValue), element))
    }
  }

  /// One account with its connection, its machines and its store. May be used from any thread.
  ///
  /// Everything happens on one event loop, also the writing of the store: a message leaves, and is confirmed to the
  /// server, only after the transaction that has it.
  package final class AccountHost: Sendable {
    private let driver: NIOLoopBound<AccountDriver>
    private let loop: any EventLoop
    private let storePath: String
    private let inbox = Mutex<[AccountDriver.Request]>([])

    /// Creates a host that isn't connected, and has the store until it is closed. Blocks until its event loop has taken it.
    ///
    /// - Parameter loop: Nil for one of the process's own.
    package init(
      _ start: AccountStart, observer: AccountObserver, on loop: (any EventLoop)? = nil
    ) throws {
      let loop = loop ?? MultiThreadedEventLoopGroup.singleton.next()
      self.loop = loop
      storePath = start.store.path
      driver = try loop.submit {
        NIOLoopBound(AccountDriver(start, observer: observer, on: loop), eventLoop: loop)
      }.wait()
    }

    /// Connects, and stays connected.
    package func start() { post(.stream(.start)) }

    /// Ends the connection. With `keepsSession` the server keeps messages for this session for some minutes.
    package func stop(keepsSession: Bool) { post(.stream(.stop(keepsSession: keepsSession))) }

    /// Tells the server whether the app is in use.
    package func setInUse(_ isInUse: Bool) {
      post(.stream(.clientState(isInUse ? .active : .inactive)))
    }

    /// Tells the server that the app isn't in use, with a last acknowledgement. Returns when all that came before is
    /// handled.
    package func settle() async {
      await withCheckedContinuation { continuation in
        post([.stream(.clientState(.inactive)), .settle { continuation.resume() }])
      }
    }

    /// A message to be sent, and the number by which its sender knows it.
    package struct Sending: Sendable {
      var ticket: UInt64
      var peer: JID
      var content: MessageContent
      var patience: TimeSpan?

      /// - Parameter peer: A bare address, or that of an occupant of a room.
      package init(ticket: UInt64, to peer: JID, _ content: MessageContent, patience: TimeSpan?) {
        self.ticket = ticket
        self.peer = peer
        self.content = content
        self.patience = patience
      }
    }

    /// Sends messages in their order. The observer hears `accepted` or `refused` with each ticket.
    package func send(_ messages: [Sending]) {
      let now = WallClock.now
      post(
        zip(messages, RandomText.ids(messages.count, at: now)).map { message, id in
          .messages(
            .send(
              ticket: message.ticket, peer: message.peer.description, originID: id,
              message.content, patience: message.patience, wall: now))
        })
    }

    /// The app has taken a row of the inbox. Returns when that is on disk.
    package func acknowledge(sequence: Int64) async throws(StoreError) {
      let error = await withCheckedContinuation { continuation in
        acknowledge(sequence: sequence) { continuation.resume(returning: $0) }
      }
      if let error { throw error }
    }

    /// The same without waiting; `done` is called on the event loop.
    package func acknowledge(
      sequence: Int64, done: @escaping @Sendable (StoreError?) -> Void
    ) { post(.acknowledge(sequence, done)) }

    /// The same for rows whose app doesn't wait: it is on disk with the next transaction, within twenty milliseconds.
    package func acknowledgeSoon(sequences: [Int64]) {
      post(sequences.map { .acknowledge($0, nil) })
    }

    /// Ends the connection, completes earlier requests, and closes the store. Returns when another host may open
    /// it, after ten seconds at most.
    ///
    /// - Throws: If the last changes could not be written. The store is closed all the same.
    package func close(keepsSession: Bool) async throws(StoreError) {
      let error = await withCheckedContinuation { continuation in
        close(keepsSession: keepsSession) { continuation.resume(returning: $0) }
      }
      if let error { throw error }
    }

    /// The same without waiting. A host of this process that opens the store waits.
    ///
    /// - Parameter done: Called on the event loop at the end, with an error if changes could not be written.
    package func close(
      keepsSession: Bool, done: @escaping @Sendable (StoreError?) -> Void
    ) {
      let closed = loop.makePromise(of: Void.self)
      ClosingStores.add(storePath, closed.futureResult)
      post(
        .close(keepsSession: keepsSession) { error in
          closed.succeed()
          done(error)
        })
    }

    /// Rows of the inbox above a place that the app has not acknowledged, in their order.
    package func inbox(
      after sequence: Int64, limit: Int
    ) async throws(StoreError) -> [IncomingRow] {
      try await read { driver throws(StoreError) in
        try driver.inbox(after: sequence, limit: limit)
      }
    }

    /// The row of the inbox with a sequence; nil if the store doesn't keep it.
    package func incoming(sequence: Int64) async throws(StoreError) -> IncomingRow? {
      try await read { driver throws(StoreError) in try driver.incoming(sequence: sequence) }
    }

    /// A remote notification has brought a message. The observer hears `pushed` with the ticket.
    package func take(pushed message: PushedContent, ticket: UInt64) {
      post(
        .pushed(
          ticket: ticket,
          InboundMessage(
            sender: message.sender.bare.description, recipient: message.recipient.bare.description,
            id: message.id, originID: message.id,
            kind: .content(MessageContent(body: message.body)), date: WallClock.now)))
    }

    /// A message as a remote notification has it.
    package struct PushedContent: Sendable {
      var id: String
      var sender: JID
      var recipient: JID
      var body: String

      package init(id: String, from sender: JID, to recipient: JID, body: String) {
        self.id = id
        self.sender = sender
        self.recipient = recipient
        self.body = body
      }
    }

    /// Changes something about contacts. `done` is called on the event loop when the server has answered, and always.
    package func perform(
      _ request: ContactRequest, done: @escaping @Sendable (ContactFailure?) -> Void
    ) { post(.contacts(request, done)) }

    /// What is known of contacts now.
    package func contacts<Value: Sendable>(
      _ body: @escaping @Sendable (ContactMachine) -> Value
    ) async throws(StoreError) -> Value {
      try await read { driver throws(StoreError) in try driver.contacts(body) }
    }

    /// Changes something about rooms. `done` is called on the event loop when the room has answered, and always.
    package func perform(
      _ request: RoomRequest, done: @escaping @Sendable (RoomFailure?) -> Void
    ) { post(.rooms(request, done)) }

    /// Sends a message to a room. The observer hears `accepted` or `refused` with the ticket.
    package func send(ticket: UInt64, toRoom room: JID, _ content: MessageContent) {
      post(.sendToRoom(ticket: ticket, room, content))
    }

    /// Reads the machine of rooms.
    package func rooms<Value: Sendable>(
      _ body: @escaping @Sendable (RoomMachine) -> Value
    ) async throws(StoreError) -> Value {
      try await read { driver throws(StoreError) in try driver.rooms(body) }
    }

    /// Uploads a file and sends it. The observer hears `accepted` or `refused` with the ticket.
    package func send(
      ticket: UInt64, file path: String, _ metadata: FileMetadata, to peer: JID,
      patience: TimeSpan?
    ) {
      let now = WallClock.now
      post(
        .uploads(
          .add(
            ticket: ticket, peer: peer.bare.description, originID: RandomText.id(at: now),
            path: path, metadata, patience: patience, wall: now)))
    }

    /// Gives up an upload that has not ended.
    package func cancel(_ upload: UploadID) { post(.uploads(.cancel(upload))) }

    /// Uploads that have not ended, and the latest that have.
    package func uploads() async throws(StoreError) -> [UploadRow] {
      try await read { driver throws(StoreError) in try driver.uploadRows() }
    }

    /// The latest rows of a conversation, those of the inbox and those of the outbox, each the newest first.
    package func history(
      with peer: String, limit: Int
    ) async throws(StoreError) -> (incoming: [IncomingRow], outgoing: [OutgoingRow]) {
      try await read { driver throws(StoreError) in try driver.history(with: peer, limit: limit) }
    }

    /// The peers of all conversations.
    package func peers() async throws(StoreError) -> [String] {
      try await read { driver throws(StoreError) in try driver.peers() }
    }

    private func read<Value: Sendable>(
      _ body: @escaping @Sendable (AccountDriver) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
      let result = try? await loop.submit { [driver] () -> Result<Value, StoreError> in
        do throws(StoreError) {
          return .success(try body(driver.value))
        } catch {
          return .failure(error)
        }
      }.get()
      return try (result ?? .failure(.closed)).get()
    }

    /// All that is posted until the event loop takes it is one transaction.
    private func post(_ request: AccountDriver.Request) { post([request]) }

    private func post(_ new: [AccountDriver.Request]) {
      guard !new.isEmpty else { return }
      let isFirst = inbox.withLock { requests in
        defer { requests += new }
        return requests.isEmpty
      }
      guard isFirst else { return }
      loop.execute { [self] in
        let requests = inbox.withLock { requests in
          defer { requests = [] }
          return requests
        }
        driver.value.handle(requests)
      }
    }
  }
#endif
