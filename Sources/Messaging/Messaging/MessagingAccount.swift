#if Messaging
  internal import Essentials
  internal import MessagingHost
  internal import Synchronization
  internal import XMPPMachines
  internal import XMPPWire

  /// An account of XMPP. Each of its messages is on this machine's disk before it leaves, and until the
  /// app has taken it.
  ///
  ///     let account = try MessagingAccount(
  ///       .init(address: "ann@chat.example", password: password, storePath: path))
  ///     account.start()
  ///     let id = try await account.send("Good morning", to: "bob@chat.example")
  ///     for try await item in account.inbox() {
  ///       print(item.peer, item.body)
  ///       try await account.acknowledge(item)
  ///     }
  ///
  /// It connects by itself, and again after a pause when the connection fails. One object of one process at a time uses
  /// the store of an account, until ``close(keepsSession:)``. Methods and sequences may be used from any thread.
  public final class MessagingAccount: Sendable {
    /// A server's address.
    public struct Server: Hashable, Sendable {
      /// A host name or an IP address.
      public var host: String
      /// The port.
      public var port: UInt16
      /// Whether TLS begins with the first byte (XEP-0368) instead of inside the stream.
      public var isDirectTLS: Bool

      /// Creates an address.
      public init(host: String, port: UInt16, isDirectTLS: Bool = false) {
        self.host = host
        self.port = port
        self.isDirectTLS = isDirectTLS
      }
    }

    /// The settings of an account.
    public struct Configuration: Sendable {
      /// The account's address, such as `ann@chat.example`.
      public var address: String
      /// The account's password. It isn't stored.
      public var password: String
      /// The path of the file of messages, which is created with its folders, for this user only.
      public var storePath: String
      /// A server to be used instead of those that the domain names. Its certificate must be valid for the domain.
      public var server: Server?
      /// A PEM file of authorities that are trusted besides the system's, by the account's server and by servers of files.
      public var authorityFile: String?
      /// Whether files of messages may be at addresses that aren't public: at this machine, or in its private networks. Files
      /// are then downloaded from where any contact's message leads.
      public var allowsPrivateFileServers = false
      /// The largest file that is downloaded, in bytes.
      public var fileByteCountMax: Int64 = 256 << 20
      /// The largest file that ``mayDownload(_:)`` allows, in bytes.
      public var automaticByteCountMax: Int64 = 10 << 20
      /// The bytes of downloaded files beyond which those that were used least recently are removed.
      public var cacheByteCountMax: Int64 = 512 << 20
      /// The SHA-256 digest of the server's public key (SubjectPublicKeyInfo), 32 bytes; nil for any key.
      public var pin: [UInt8]?
      /// The resource of the account's address that is wished for; nil for one that the server chooses.
      public var resource: String?
      /// How soon a connection that is dead is noticed, and replaced.
      public var liveness = Liveness.standard
      /// The app's name for the connection, if the system is to hold it while the app is suspended: on a machine with
      /// `ambit apps`, for an app with the background mode `voip`. The server's bytes wake the app then, and an app without a
      /// connection is woken from time to time to connect. A process that follows connects anew and resumes the session.
      /// See ``MessagingAccount/prepareForSuspension()``.
      public var restoreIdentifier: String?
      /// The accounts that get receipts for their messages, if they request them.
      public var receipts = ReceiptPolicy.knownPeers
      /// The name under which other clients show this program.
      public var programName = "Ambit"

      /// Creates settings for an account whose domain names its servers.
      public init(address: String, password: String, storePath: String) {
        self.address = address
        self.password = password
        self.storePath = storePath
      }
    }

    /// The longest text of a message in bytes: servers close the connection on larger stanzas.
    public static let bodyByteCountMax = 200_000

    /// Calls of `send` that wait for the disk at a time, at most.
    private static let waitingCountMax = 100_000

    typealias Acceptance = @Sendable (Result<MessageID, MessagingError>) -> Void

    struct Shared {
      var tickets: [UInt64: Acceptance] = [:]
      var fileTickets: [UInt64: FileAcceptance] = [:]
      var pushTickets: [UInt64: PushAcceptance] = [:]
      var lastTicket: UInt64 = 0
      var statistics = MessagingStatistics()
      var storeProblem: String?
      var isClosed = false
      var connection = ConnectionState.stopped

      mutating func makeTicket(_ done: @escaping Acceptance) -> Result<UInt64, MessagingError> {
        if isClosed { return .failure(.ended) }
        if let storeProblem { return .failure(.store(storeProblem)) }
        guard tickets.count < waitingCountMax else { return .failure(.outboxFull) }
        lastTicket += 1
        tickets[lastTicket] = done
        return .success(lastTicket)
      }
    }

    /// What the host's reports change.
    final class Reports: Sendable {
      let shared = Mutex(Shared())
      let connections = UpdateFeed<Bool, ConnectionState>()
      let states = UpdateFeed<MessageID, MessageStateChange>()
      let catchUps = UpdateFeed<Bool, CatchUp>()
      let arrivals = UpdateFeed<Bool, Int64>()
      let problems = UpdateFeed<AccountProblem, AccountProblem>()
      let contacts = ContactFeeds()
      let rooms = UpdateFeed<String, Room>()
      let occupants = UpdateFeed<OccupantUpdate.Key, OccupantUpdate>()
      let files = UpdateFeed<FileTransferID, FileTransferChange>()
      let confirmations = UpdateFeed<Int64, Int64>()

      /// Ends the sequences of readers that have outlived the account, and requests that were not handled.
      func end() {
        let waiting = shared.withLock { shared in
          defer { shared.tickets = [:] }
          return shared.tickets.values
        }
        for acceptance in waiting { acceptance(.failure(.ended)) }
        let files = shared.withLock { shared in
          defer { shared.fileTickets = [:] }
          return shared.fileTickets.values
        }
        for acceptance in files { acceptance(.failure(.ended)) }
        let pushes = shared.withLock { shared in
          defer { shared.pushTickets = [:] }
          return shared.pushTickets.values
        }
        for acceptance in pushes { acceptance(.failure(.ended)) }
        confirmations.end()
        self.files.end()
        connections.end()
        states.end()
        catchUps.end()
        arrivals.end()
        problems.end()
        contacts.end()
        rooms.end()
        occupants.end()
      }
    }

    /// The account's address.
    public let address: String
    let host: AccountHost
    let files: FileCache
    /// The largest file that ``mayDownload(_:)`` allows.
    let automaticByteCountMax: Int64
    let reports = Reports()

    /// Opens the store of an account. It isn't connected before ``start()``.
    public init(_ configuration: Configuration) throws(MessagingError) {
      guard let jid = JID(typed: configuration.address), jid.local != nil else {
        throw .invalidAddress(configuration.address)
      }
      address = jid.bare.description
      let start = try Self.makeStart(configuration, jid)
      var limits = DownloadLimits()
      limits.byteCountMax = configuration.fileByteCountMax
      files = FileCache(
        folder: configuration.storePath + ".files", byteCountMax: configuration.cacheByteCountMax,
        settings: start.files, limits: limits)
      automaticByteCountMax = configuration.automaticByteCountMax
      let reports = reports
      do {
        var observer = AccountObserver(
          changed: { Self.take($0, reports) }, perform: { Self.take($0, reports) },
          rejected: { Self.finish($0, .failure(.store($1)), reports) },
          ended: { Self.end($0, reports) }, committed: { Self.tookCommit($0, reports) },
          contacts: { Self.take($0, reports) }, uploads: { Self.take($0, reports) })
        observer.rooms = { Rooms.take($0, reports) }
        observer.notHeld = { reports.problems.send(.notHeld($0), for: .notHeld($0)) }
        host = try AccountHost(start, observer: observer)
      } catch {
        throw (error as? StoreError).map { MessagingError($0) } ?? .store("\(error)")
      }
    }

    /// Closes the account without waiting: the server keeps the session. Another account with this store waits.
    deinit {
      let reports = reports
      host.close(keepsSession: true) { _ in }
      reports.end()
    }

    /// Ends the use of the account, so that another one, here or in another process, can open its store.
    ///
    /// The server gets a last acknowledgement and the end of the stream; earlier requests are completed. Sequences
    /// end, and later requests throw ``MessagingError/ended``. Messages that have not left by then leave when the store is
    /// opened again. Closing an account that is closed does nothing.
    ///
    /// - Parameter keepsSession: Whether the server keeps this session for a process that follows soon. Otherwise
    ///   acknowledgements of sent messages are waited for, for a few seconds.
    /// - Throws: After ten seconds, if the disk has not taken the last changes. The account is closed all the same.
    public func close(keepsSession: Bool = true) async throws(MessagingError) {
      reports.shared.withLock { $0.isClosed = true }
      defer { reports.end() }
      do throws(StoreError) {
        try await host.close(keepsSession: keepsSession)
      } catch {
        throw MessagingError(error)
      }
    }

    /// The form in which an address is used; nil if the text is no address of an account.
    public static func normalizedAddress(_ text: String) -> String? {
      guard let jid = JID(typed: text), jid.local != nil else { return nil }
      return jid.bare.description
    }

    // MARK: The connection

    /// Connects, and stays connected. After ``ConnectionState/offline(reason:isFinal:)`` with `isFinal`, tries again.
    public func start() { host.start() }

    /// Ends the connection.
    ///
    /// - Parameter keepsSession: Whether the server keeps this session for a process that follows soon.
    public func stop(keepsSession: Bool = true) {
      host.stop(keepsSession: keepsSession)
    }

    /// Tells the server whether a person uses the app, so that it may hold back what can wait (XEP-0352).
    public func setInUse(_ isInUse: Bool) { host.setInUse(isInUse) }

    /// Tells the server that the app isn't in use, with a last acknowledgement. Returns when the disk has all that came
    /// before, and the app has acknowledged the new entries of its inbox; after five seconds in any case.
    ///
    /// An app calls it in a background task when it enters the background, and when an account that was started there is
    /// online; and ``setInUse(_:)`` when it returns. With a ``Configuration/restoreIdentifier`` the connection stays, and the
    /// app is woken for what comes; it is suspended again under the same conditions. Otherwise an app calls
    /// ``stop(keepsSession:)`` and starts again when it returns: the server keeps what came meanwhile.
    public func prepareForSuspension() async { await host.settle() }

    /// The connection at this moment.
    public var connectionState: ConnectionState { reports.shared.withLock(\.connection) }

    /// Changes of the connection from now on.
    public func connectionStates() -> Updates<ConnectionState> { reports.connections.updates() }

    /// What hinders the account from now on, and isn't the connection.
    public func problems() -> Updates<AccountProblem> { reports.problems.updates() }

    /// Each time that the server's archive was read from now on: everything that was sent before is in the inbox.
    public func catchUps() -> Updates<CatchUp> { reports.catchUps.updates() }

    // MARK: Sending

    /// Sends a message. Returns when it is on disk: it is then sent even if this process is killed now.
    ///
    /// - Parameters:
    ///   - body: The text.
    ///   - recipient: The address of the recipient's account.
    ///   - deadline: The time after which the message fails if the server doesn't have it; nil for never.
    public func send(
      _ body: String, to recipient: String, deadline: Duration? = nil
    ) async throws(MessagingError) -> MessageID {
      let message = OutgoingMessage(body, to: recipient, deadline: deadline)
      let result = await withCheckedContinuation { continuation in
        begin([message]) { continuation.resume(returning: $1) }
      }
      return try result.get()
    }

    /// Sends messages in their order, as few transactions of the store as possible. Returns when all are on disk.
    ///
    /// - Returns: For each message its number, or the reason why it is not sent.
    public func send(
      _ messages: [OutgoingMessage]
    ) async -> [Result<MessageID, MessagingError>] {
      await Gathering.collect(messages.count) { done in begin(messages, done) }
    }

    /// - Parameter done: Called once for each message, with its place.
    private func begin(
      _ messages: [OutgoingMessage],
      _ done: @escaping @Sendable (Int, Result<MessageID, MessagingError>) -> Void
    ) {
      let peers = messages.map(Self.recipient)
      let tickets = reports.shared.withLock { shared in
        peers.enumerated().map { place, peer -> Result<UInt64, MessagingError> in
          if case .failure(let error) = peer { return .failure(error) }
          return shared.makeTicket { done(place, $0) }
        }
      }
      var sendings: [AccountHost.Sending] = []
      sendings.reserveCapacity(messages.count)
      for (place, message) in messages.enumerated() {
        do throws(MessagingError) {
          sendings.append(
            AccountHost.Sending(
              ticket: try tickets[place].get(), to: try peers[place].get(),
              MessageContent(body: message.body), patience: message.deadline.map(Self.span)))
        } catch {
          done(place, .failure(error))
        }
      }
      host.send(sendings)
    }

    /// The recipient of a message that can be sent.
    private static func recipient(_ message: OutgoingMessage) -> Result<JID, MessagingError> {
      guard let peer = JID(typed: message.recipient), peer.local != nil else {
        return .failure(.invalidAddress(message.recipient))
      }
      let count = message.body.utf8.count
      guard count <= bodyByteCountMax else {
        return .failure(.tooLarge(byteCount: count, byteCountMax: bodyByteCountMax))
      }
      return message.body.isXMLText ? .success(peer.bare) : .failure(.invalidText)
    }

    /// A time of up to ten years.
    static func span(_ duration: Duration) -> TimeSpan {
      let limited = max(.zero, min(duration, .seconds(10 * 365 * 86_400))).components
      return TimeSpan(
        nanoseconds: limited.seconds * 1_000_000_000 + limited.attoseconds / 1_000_000_000)
    }

    /// Changes of the fates of messages from now on.
    public func stateChanges() -> Updates<MessageStateChange> { reports.states.updates() }

    // MARK: Receiving

    /// The entries of the inbox that were not acknowledged, and those that come. Iterate one at a time.
    public func inbox() -> Inbox { Inbox(host: host, arrivals: reports.arrivals.updates()) }

    /// The first entries of the inbox that were not acknowledged, at most `limit`.
    public func waitingItems(limit: Int = 256) async throws(MessagingError) -> [InboxItem] {
      do throws(StoreError) {
        return try await host.inbox(after: 0, limit: limit).map { InboxItem($0) }
      } catch {
        throw MessagingError(error)
      }
    }

    /// The entry of the inbox with this row, also one that was acknowledged; nil if the store doesn't keep it.
    public func item(row: Int64) async throws(MessagingError) -> InboxItem? {
      do throws(StoreError) {
        return try await host.incoming(sequence: row).map { InboxItem($0) }
      } catch {
        throw MessagingError(error)
      }
    }

    /// The app has taken an entry: it is not handed over again. Returns when that is on disk.
    ///
    /// - Throws: If the account was closed before that: the entry is handed over again.
    public func acknowledge(_ item: InboxItem) async throws(MessagingError) {
      try await acknowledge(row: item.row)
    }

    /// The same for the entry with this row.
    public func acknowledge(row: Int64) async throws(MessagingError) {
      do throws(StoreError) {
        try await host.acknowledge(sequence: row)
      } catch {
        throw MessagingError(error)
      }
    }

    /// The same for the entries with these rows, in as few transactions of the store as possible.
    public func acknowledge(rows: [Int64]) async throws(MessagingError) {
      let host = host
      let errors = await Gathering.collect(rows.count) { done in
        for (place, row) in rows.enumerated() {
          host.acknowledge(sequence: row) { done(place, $0) }
        }
      }
      for case let error? in errors { throw MessagingError(error) }
    }

    /// The same for an app that doesn't wait until that is on disk, which is a moment later: with the next transaction. An
    /// entry is handed over again if this process is killed before.
    package func acknowledgeSoon(rows: [Int64]) { host.acknowledgeSoon(sequences: rows) }

    /// The conversations that the store has.
    public func conversations() async throws(MessagingError) -> [Conversation] {
      do throws(StoreError) {
        return try await host.peers().map { Conversation(peer: $0) }
      } catch {
        throw MessagingError(error)
      }
    }

    /// The counts since this account was opened.
    public var statistics: MessagingStatistics { reports.shared.withLock(\.statistics) }

    // MARK: Reports of the host

    private static func take(_ connection: AccountObserver.Connection, _ reports: Reports) {
      let state: ConnectionState =
        switch connection {
        case .connecting: .connecting
        case .online(let address, let isResumed): .online(address: address, isResumed: isResumed)
        case .offline(.stopped, _): .stopped
        case .offline(let failure, let isFinal):
          .offline(reason: failure.sentence, isFinal: isFinal)
        }
      reports.shared.withLock { shared in
        shared.connection = state
        guard case .online(_, let isResumed) = state else { return }
        shared.statistics.sessions += 1
        if isResumed { shared.statistics.resumedSessions += 1 }
      }
      reports.connections.send(state, for: true)
    }

    private static func take(_ action: MessageAction, _ reports: Reports) {
      switch action {
      case .accepted(let ticket, let row):
        finish(ticket, .success(MessageID(rawValue: row.rawValue)), reports)
      case .refused(let ticket): finish(ticket, .failure(.outboxFull), reports)
      case .fate(let row, let fate):
        let id = MessageID(rawValue: row.rawValue)
        reports.states.send(MessageStateChange(id: id, state: MessageState(fate)), for: id)
      case .deliver(let sequence): reports.arrivals.send(sequence, for: true)
      case .confirmed(let sequence): reports.confirmations.send(sequence, for: sequence)
      case .pushed(let ticket, let outcome): finishPush(ticket, outcome, reports)
      case .caughtUp(let isWhole): reports.catchUps.send(CatchUp(isWhole: isWhole), for: true)
      case .report(let report): take(report, reports)
      default: break
      }
    }

    private static func take(_ report: MessageReport, _ reports: Reports) {
      reports.shared.withLock { shared in
        switch report {
        case .forgedCarbon, .forgedReceipt: shared.statistics.forged += 1
        case .changeRejected: shared.statistics.keptAside += 1
        default: break
        }
      }
      if let problem = AccountProblem(report) { reports.problems.send(problem, for: problem) }
    }

    /// The store can't be used any more.
    private static func end(_ error: StoreError, _ reports: Reports) {
      reports.shared.withLock { $0.storeProblem = error.sentence }
      reports.problems.send(.store(error.sentence), for: .store(error.sentence))
      reports.end()
    }

    private static func finish(
      _ ticket: UInt64, _ result: Result<MessageID, MessagingError>, _ reports: Reports
    ) {
      let waiting = reports.shared.withLock { shared in
        if case .success = result { shared.statistics.accepted += 1 }
        return shared.tickets.removeValue(forKey: ticket)
      }
      waiting?(result)
    }

    private static func tookCommit(_ problem: String?, _ reports: Reports) {
      let isNew = reports.shared.withLock { shared in
        defer { shared.storeProblem = problem }
        if problem == nil {
          shared.statistics.commits += 1
        } else {
          shared.statistics.failedCommits += 1
        }
        return problem != shared.storeProblem
      }
      if isNew, let problem { reports.problems.send(.store(problem), for: .store(problem)) }
    }
  }
#endif
