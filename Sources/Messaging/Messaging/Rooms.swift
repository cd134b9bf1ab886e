#if Messaging
  internal import MessagingHost
  internal import Synchronization
  internal import XMPPMachines
  internal import XMPPWire

  extension MessagingAccount {
    /// The rooms of the account.
    public var rooms: Rooms { Rooms(account: self) }
  }

  /// The rooms of an account (XEP-0045): joined in each session until ``leave(_:)``, also by later objects with its store.
  ///
  ///     try await account.rooms.join("lab@rooms.example", nickname: "Ann")
  ///     try await account.rooms.send("Good morning", to: "lab@rooms.example")
  ///
  /// Messages of rooms are entries of ``MessagingAccount/inbox()`` with a ``InboxItem/nickname``. Their order is that of the
  /// room's archive, which is read after each join from where it was read last, so that each message comes once. Those of
  /// this account come at their places, too, as ``InboxItem/Kind-swift.enum/sentElsewhere``.
  public struct Rooms: Sendable {
    let account: MessagingAccount

    // MARK: Joining

    /// Joins a room, and creates it if its service allows that. Returns when the archive was read and messages are sent.
    ///
    /// Without a connection it throws ``MessagingError/offline``, and the room is joined with the next one. Reasons that can
    /// pass are tried again. In a room that is joined already, another nickname takes the place of the one before (§7.6), unless
    /// another occupant has it.
    ///
    /// - Parameters:
    ///   - room: The room's address.
    ///   - nickname: The name in the room. If another occupant has it, one that is like it is used.
    ///   - password: The room's password; nil without one.
    ///   - isBookmarked: Whether other devices of the account join the room, too (XEP-0402).
    /// - Throws: ``MessagingError/room(_:)`` with the reason.
    public func join(
      _ room: String, nickname: String, password: String? = nil, isBookmarked: Bool = true
    ) async throws(MessagingError) {
      let jid = try jid(room)
      for text in [nickname, password ?? ""] where !text.isXMLText { throw .invalidText }
      guard JID(local: jid.local, domain: jid.domain, resource: nickname) != nil else {
        throw .invalidText
      }
      try await request(
        .join(jid, nickname: nickname, password: password, isBookmarked: isBookmarked))
    }

    /// Leaves a room, on all devices of the account if it is bookmarked. Messages that wait to be sent stay on the disk.
    public func leave(_ room: String) async throws(MessagingError) {
      try await request(.leave(try jid(room)))
    }

    /// The rooms that are joined, or were before.
    public func list() async throws(MessagingError) -> [Room] {
      try await known { $0.infos.map { Room($0) } }
    }

    /// Changes of rooms from now on. If one changes again before it was read, only the latest is kept.
    public func updates() -> Updates<Room> { account.reports.rooms.updates() }

    // MARK: Occupants

    /// The occupants of a room, by nickname; 10,000 at most.
    public func occupants(of room: String) async throws(MessagingError) -> [Occupant] {
      let jid = try jid(room)
      guard let found = try await known({ $0.occupants(of: jid)?.map { Occupant($0) } }) else {
        throw .notInRoom
      }
      return found
    }

    /// Changes of the occupants of all rooms from now on.
    public func occupantUpdates() -> Updates<OccupantUpdate> {
      account.reports.occupants.updates()
    }

    // MARK: Messages

    /// Sends a message to all occupants. Returns when it is on disk. Its state is ``MessageState/received`` once the room has
    /// sent it to all; a room without an archive can leave it open whether it did, which is a failure.
    public func send(
      _ body: String, to room: String
    ) async throws(MessagingError) -> MessageID {
      let jid = try jid(room)
      try Self.check(body)
      guard try await known({ $0.isWanted(jid) }) else { throw .notInRoom }
      do throws(MessagingError) {
        return try await accepted { account.host.send(ticket: $0, toRoom: jid, .init(body: body)) }
      } catch {
        // The stay may have ended meanwhile.
        guard error == .outboxFull, try await !known({ $0.isWanted(jid) }) else { throw error }
        throw .notInRoom
      }
    }

    /// Uploads a file and sends it to all occupants, as ``MessagingAccount/send(file:to:deadline:)`` does to an account. A file
    /// whose room was left meanwhile fails.
    public func send(
      file path: String, to room: String
    ) async throws(MessagingError) -> FileTransferID {
      let jid = try jid(room)
      guard try await known({ $0.isWanted(jid) }) else { throw .notInRoom }
      return try await account.send(file: path, to: jid.description)
    }

    /// Sends a private message to an occupant (§7.5). Another person may have the nickname when it arrives.
    public func send(
      _ body: String, toOccupant nickname: String, of room: String
    ) async throws(MessagingError) -> MessageID {
      let jid = try jid(room)
      try Self.check(body)
      guard let occupant = JID(local: jid.local, domain: jid.domain, resource: nickname) else {
        throw .invalidAddress(nickname)
      }
      guard try await known({ $0.isRoom(jid) }) else { throw .notInRoom }
      return try await accepted { ticket in
        account.host.send([.init(ticket: ticket, to: occupant, .init(body: body), patience: nil)])
      }
    }

    /// Requests another subject. The room changes it if this account has the right.
    public func setSubject(_ subject: String, of room: String) async throws(MessagingError) {
      guard subject.isXMLText else { throw .invalidText }
      try await request(.setSubject(try jid(room), subject))
    }

    /// Invites an account, by way of the room (§7.8.2): it then also may join a room for members only.
    public func invite(
      _ address: String, to room: String, reason: String? = nil
    ) async throws(MessagingError) {
      guard reason?.isXMLText ?? true else { throw .invalidText }
      try await request(
        .invite(try jid(room), to: try account.jid(address), reason: reason))
    }

    // MARK: The host

    private static func check(_ body: String) throws(MessagingError) {
      let (count, most) = (body.utf8.count, MessagingAccount.bodyByteCountMax)
      guard count <= most else { throw .tooLarge(byteCount: count, byteCountMax: most) }
      guard body.isXMLText else { throw .invalidText }
    }

    private func jid(_ address: String) throws(MessagingError) -> JID {
      guard let jid = JID(typed: address), jid.local != nil else {
        throw .invalidAddress(address)
      }
      return jid.bare
    }

    private func accepted(
      _ send: @escaping @Sendable (UInt64) -> Void
    ) async throws(MessagingError) -> MessageID {
      let reports = account.reports
      let result: Result<MessageID, MessagingError> = await withCheckedContinuation {
        continuation in
        let ticket = reports.shared.withLock { shared in
          shared.makeTicket { continuation.resume(returning: $0) }
        }
        switch ticket {
        case .success(let ticket): send(ticket)
        case .failure(let error): continuation.resume(returning: .failure(error))
        }
      }
      return try result.get()
    }

    private func known<Value: Sendable>(
      _ body: @escaping @Sendable (RoomMachine) -> Value
    ) async throws(MessagingError) -> Value {
      do throws(StoreError) {
        return try await account.host.rooms(body)
      } catch {
        throw MessagingError(error)
      }
    }

    private func request(_ request: RoomRequest) async throws(MessagingError) {
      let host = account.host
      let failure = await withCheckedContinuation { continuation in
        host.perform(request) { continuation.resume(returning: $0) }
      }
      if let failure { throw MessagingError(failure) }
    }

    static func take(_ notice: RoomNotice, _ reports: MessagingAccount.Reports) {
      switch notice {
      case .room(let info): reports.rooms.send(Room(info), for: info.jid.description)
      case .occupant(let jid, let nickname, let occupant):
        let update = OccupantUpdate(
          room: jid.description, nickname: nickname, occupant: occupant.map { Occupant($0) })
        reports.occupants.send(
          update, for: OccupantUpdate.Key(room: update.room, nickname: nickname))
      case .problem(let problem):
        let reported = AccountProblem(problem)
        reports.problems.send(reported, for: reported)
      case .forged: reports.shared.withLock { $0.statistics.forged += 1 }
      }
    }
  }

  extension AccountProblem {
    init(_ problem: XMPPMachines.RoomProblem) {
      self =
        switch problem {
        case .tooManyOccupants(let jid): .room(address: jid.description, .tooManyOccupants)
        case .archiveStalled(let jid): .room(address: jid.description, .archiveStalled)
        case .flooded(let jid): .room(address: jid.description, .flooded)
        case .bookmarksUnavailable(let condition): .bookmarksUnavailable(condition.rawValue)
        case .tooManyRooms: .tooManyRooms
        }
    }
  }
#endif
