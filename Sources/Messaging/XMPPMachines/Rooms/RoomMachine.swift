#if Messaging
  package import Essentials
  package import XMPPWire

  /// The rooms of one account (XEP-0045): joined in each session until the app leaves them.
  ///
  /// A room's messages come in the order of its archive (XEP-0313), also those of this account, which the reflection
  /// releases. A room is joined first, then its archive is read from where it was read last; what comes meanwhile waits.
  /// A message that left in a session that has ended is sent again if the archive does not have it.
  package struct RoomMachine: Sendable {
    var rooms: [JID: Room] = [:]
    var shared: RoomShared
    var bookmarks = RoomBookmarks()
    /// When ``wake(now:wall:into:)`` has something to do.
    package private(set) var nextWake: Instant?

    package init(
      account: JID, stored: StoredRooms, limits: RoomLimits = RoomLimits(), seed: UInt64
    ) {
      shared = RoomShared(account: account.bare, limits: limits, seed: seed)
      for room in stored.rooms.prefix(limits.roomCountMax) {
        rooms[room.jid] = Room(room, shared: &shared)
      }
      for row in stored.outgoing.sorted(by: { $0.id < $1.id }) {
        rooms[row.room]?.load(row, &shared)
      }
      shared.actions = []
    }

    /// Whether an address is that of a room which this account has joined, or did before.
    package func isRoom(_ jid: JID) -> Bool { rooms[jid.bare] != nil }

    /// Whether the app wants to be in a room, so that messages to it are taken.
    package func isWanted(_ jid: JID) -> Bool { rooms[jid]?.stored.isWanted ?? false }

    package var addresses: Set<JID> { Set(rooms.keys) }

    /// Whether messages have come that the app gets when a room's archive was read, or when waiting for it ends.
    package var holdsMessagesBack: Bool { rooms.values.contains { !$0.held.isEmpty } }

    /// The rooms by address.
    package var infos: [RoomInfo] {
      rooms.values.map(\.info).sorted { $0.jid.precedes($1.jid) }
    }

    /// The occupants of a room, by nickname; nil if the account isn't in it.
    package func occupants(of jid: JID) -> [Occupant]? {
      guard let room = rooms[jid], room.phase.isInside else { return nil }
      return room.occupants.values.sorted {
        $0.nickname.utf8.lexicographicallyPrecedes($1.nickname.utf8)
      }
    }

    /// Whether a stanza is this machine's: of a room, or the answer to one of its requests. Private messages of occupants
    /// and invitations are not.
    package func takes(_ element: XMLElement) -> Bool {
      guard let from = element["from"].flatMap({ JID($0) }) else {
        return bookmarks.isAnswer(element)
      }
      guard let room = rooms[from.bare] else { return bookmarks.isAnswer(element) }
      switch element.name {
      case "presence":
        return element["type"].map { ["error", "unavailable"].contains($0) } ?? true
      case "message":
        switch element["type"] {
        case "groupchat": return true
        case "error": return from.isBare
        default: return from.isBare && element.child("result", Namespace.archive) != nil
        }
      case "iq":
        guard let iq = IQStanza(element), !iq.isRequest else { return false }
        return room.awaited?.id == iq.id.text || room.isAnswer(iq)
      default: return false
      }
    }

    /// The keys by which the store is searched before a stanza comes to the machine.
    package func keys(of element: XMLElement) -> [SeenKey] {
      guard let from = element["from"].flatMap({ JID($0) }), let room = rooms[from.bare] else {
        return []
      }
      if let iq = IQStanza(element) { return room.isAnswer(iq) ? room.pageKeys : [] }
      guard let message = MessageStanza(element), message.kind == .groupchat else { return [] }
      return ServerID.only(by: from.bare, in: message.payload).map {
        [.room(from.bare.description, $0.text)]
      } ?? []
    }

    package mutating func handle(
      _ event: RoomEvent, now: Instant, wall: WallTime, into actions: inout [RoomAction]
    ) {
      begin(now, wall)
      switch event {
      case .connected(let online): connect(online)
      case .disconnected:
        shared.isOnline = false
        bookmarks.disconnect()
        for jid in sortedRooms { rooms[jid]?.disconnect(&shared) }
      case .received(let element, let known): receive(element, known)
      case .request(let ticket, let request): perform(request, ticket)
      case .send(let ticket, let row): send(row, ticket)
      case .endWaiting:
        for jid in sortedRooms where rooms[jid]?.held.isEmpty == false {
          rooms[jid]?.endWaiting(&shared)
        }
      }
      finish(&actions)
    }

    package mutating func wake(now: Instant, wall: WallTime, into actions: inout [RoomAction]) {
      guard let due = nextWake, due <= now else { return }
      begin(now, wall)
      for jid in sortedRooms { rooms[jid]?.wake(&shared) }
      if shared.isOnline { wakeBookmarks() }
      finish(&actions)
    }

    private mutating func begin(_ now: Instant, _ wall: WallTime) {
      shared.now = now
      shared.wall = wall
    }

    private mutating func finish(_ actions: inout [RoomAction]) {
      if shared.isOnline {
        joinNext()
        publishBookmark()
      }
      let current = shared
      let isAnyIdle = current.isOnline && rooms.values.contains { $0.phase == .idle }
      nextWake = rooms.values.compactMap { room in
        let place = isAnyIdle ? room.placeEnd(current) : nil
        return [room.nextWake(current), place.flatMap { $0 > current.now ? $0 : nil }]
          .compactMap { $0 }.min()
      }.min()
      if current.isOnline, let due = bookmarks.nextWake { nextWake = min(nextWake ?? due, due) }
      actions += shared.actions
      shared.actions = []
      assert(violations().isEmpty, "\(violations())")
    }

    private var sortedRooms: [JID] { rooms.keys.sorted { $0.precedes($1) } }

    // MARK: Sessions

    private mutating func connect(_ online: StreamOnline) {
      shared.isOnline = true
      for jid in sortedRooms { rooms[jid]?.connect(isResumed: online.isResumed, &shared) }
      if !online.isResumed || !bookmarks.isKnown { requestBookmarks() }
    }

    /// Joins rooms, a few at a time: a server answers each with all occupants.
    private mutating func joinNext() {
      let idle = rooms.values.filter { $0.phase == .idle }.map(\.jid)
      guard !idle.isEmpty else { return }
      let busy = rooms.values.count { room in
        room.placeEnd(shared).map { shared.now < $0 } ?? false
      }
      let places = max(0, shared.limits.joiningCountMax - busy)
      for jid in idle.sorted(by: { $0.precedes($1) }).prefix(places) { rooms[jid]?.join(&shared) }
    }

    // MARK: Requests

    private mutating func perform(_ request: RoomRequest, _ ticket: UInt64) {
      switch request {
      case .join(let jid, let nickname, let password, let isBookmarked):
        join(jid, nickname, password, isBookmarked: isBookmarked, ticket)
      case .leave(let jid):
        guard rooms[jid] != nil else { return answer(ticket, .notJoined) }
        rooms[jid]?.leave(ticket, &shared)
      case .setSubject(let jid, let subject):
        guard rooms[jid]?.phase == .ready, shared.isOnline else {
          return answer(ticket, .notJoined)
        }
        shared.send(RoomSubject.message(subject, to: jid).element)
        answer(ticket, nil)
      case .invite(let jid, let account, let reason):
        guard rooms[jid]?.phase == .ready, shared.isOnline else {
          return answer(ticket, .notJoined)
        }
        let invitation = RoomUser(invitation: .init(to: account, reason: reason))
        shared.send(MessageStanza(.normal, to: jid, payload: [invitation.element]).element)
        answer(ticket, nil)
      }
    }

    private mutating func answer(_ ticket: UInt64, _ failure: RoomFailure?) {
      shared.actions.append(.answer(ticket: ticket, failure))
    }

    private mutating func join(
      _ jid: JID, _ nickname: String, _ password: String?, isBookmarked: Bool, _ ticket: UInt64
    ) {
      guard rooms[jid] != nil || makePlace() else { return answer(ticket, .tooMany) }
      var room = rooms[jid] ?? Room(StoredRoom(jid, nickname: nickname), shared: &shared)
      let isRenamed = room.stored.nickname != nickname && room.nickname != nickname
      room.stored.nickname = nickname
      room.stored.password = password
      room.stored.isWanted = true
      room.stored.ending = nil
      room.stored.isBookmarkDue = isBookmarked
      shared.change(.setRoom(room.stored))
      if !room.phase.isInside, room.phase != .joining {
        room.phase = .idle
        room.nickname = nickname
        room.pauseStep = 0
      }
      if isRenamed, shared.isOnline, room.phase.isInside || room.phase == .joining,
        room.phase != .leaving
      {
        room.rename(nickname, ticket, &shared)
      } else if room.phase == .ready {
        answer(ticket, nil)
      } else if shared.isOnline {
        room.joinTickets.append(ticket)
      } else {
        answer(ticket, .offline)
      }
      rooms[jid] = room
      shared.notice(.room(room.info))
    }

    /// Forgets a room that was left, if there are too many.
    mutating func makePlace() -> Bool {
      guard rooms.count >= shared.limits.roomCountMax else { return true }
      let left = rooms.values.filter {
        !$0.stored.isWanted && !$0.stored.isBookmarkDue && $0.outgoing.isEmpty && $0.held.isEmpty
          && $0.phase != .leaving
      }
      guard let jid = left.map(\.jid).min(by: { $0.precedes($1) }) else {
        shared.notice(.problem(.tooManyRooms))
        return false
      }
      rooms[jid] = nil
      shared.change(.forgetRoom(jid))
      return true
    }

    private mutating func send(_ row: OutgoingRoomRow, _ ticket: UInt64) {
      guard let room = rooms[row.room], room.stored.isWanted,
        shared.outgoingCount < shared.limits.outgoingCountMax,
        shared.outgoingByteCount + row.content.byteCount <= shared.limits.outgoingByteCountMax
      else { return shared.actions.append(.refused(ticket: ticket)) }
      rooms[row.room]?.send(row, &shared)
      shared.actions.append(.accepted(ticket: ticket, row.id))
    }

    // MARK: Stanzas

    private mutating func receive(_ element: XMLElement, _ known: Set<SeenKey>) {
      if bookmarks.isAnswer(element), let iq = IQStanza(element) { return takeBookmarks(iq) }
      guard let from = element["from"].flatMap({ JID($0) })?.bare, rooms[from] != nil else {
        return
      }
      switch Stanza(element) {
      case .presence(let presence): rooms[from]?.take(presence, &shared)
      case .message(let message): rooms[from]?.take(message, known: known, &shared)
      case .iq(let iq):
        if rooms[from]?.isAnswer(iq) ?? false {
          guard iq.from?.isBare ?? false else { return }
          rooms[from]?.takePage(iq, known: known, &shared)
        } else {
          rooms[from]?.answered(iq, &shared)
        }
      case nil: break
      }
    }

    /// The rules of the machine that don't hold.
    package func violations() -> [String] {
      var found = rooms.values.flatMap { $0.violations(shared.limits) }
      if rooms.count > shared.limits.roomCountMax { found.append("too many rooms") }
      if shared.occupantCount != rooms.values.reduce(0, { $0 + $1.occupants.count }) {
        found.append("occupants are counted wrongly")
      }
      if shared.heldByteCount != rooms.values.reduce(0, { $0 + $1.heldByteCount }) {
        found.append("waiting messages are counted wrongly")
      }
      if shared.outgoingCount != rooms.values.reduce(0, { $0 + $1.outgoing.count }) {
        found.append("messages to rooms are counted wrongly")
      }
      return found
    }
  }
#endif
