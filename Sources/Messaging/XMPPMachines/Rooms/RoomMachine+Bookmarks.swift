#if Messaging
  import Essentials
  import XMPPWire

  /// The bookmarks at the server (XEP-0402), as far as this session knows them.
  struct RoomBookmarks: Sendable {
    /// The request for all that is awaited.
    var request: String?
    /// The bookmark that is being written.
    var publication: (id: String, room: JID)?
    /// When the answer to the request or to the publication is overdue.
    var deadline: Instant?
    /// When the bookmarks are requested again.
    var again: Instant?
    var isKnown = false
    /// The account's bookmarks, for the parts that this machine doesn't change.
    var entries: [JID: RoomBookmark] = [:]
    /// Whether the server has refused the options of a bookmark, of which earlier servers know a part.
    var isCompatible = false
    /// Rooms whose bookmarks the server has refused in this session.
    var refused: Set<JID> = []

    mutating func disconnect() {
      request = nil
      publication = nil
      deadline = nil
      again = nil
    }

    var nextWake: Instant? { deadline ?? again }

    func isAnswer(_ element: XMLElement) -> Bool {
      guard element.name == "iq", let id = element["id"] else { return false }
      return id == request || id == publication?.id
    }
  }

  /// Bookmarks: rooms that all clients of the account join.
  extension RoomMachine {
    private func isOwnServer(_ from: JID?) -> Bool { from.map { $0 == shared.account } ?? true }

    mutating func requestBookmarks() {
      let id = shared.makeID()
      guard let stanzaID = StanzaID(id) else { return }
      bookmarks = RoomBookmarks()
      bookmarks.request = id
      bookmarks.deadline = shared.now + shared.limits.bookmarkTime
      shared.send(IQStanza(.get, id: stanzaID, payload: [RoomBookmark.request]).element)
    }

    mutating func takeBookmarks(_ iq: IQStanza) {
      guard isOwnServer(iq.from), !iq.isRequest else { return }
      if iq.id.text == bookmarks.request {
        bookmarks.request = nil
        bookmarks.deadline = nil
        bookmarks.again = nil
        bookmarks.isKnown = true
        // An account without bookmarks has no node for them.
        if let error = iq.error, error.condition != .itemNotFound {
          return shared.notice(.problem(.bookmarksUnavailable(error.condition)))
        }
        for element in iq.payload {
          for entry in RoomBookmark.list(in: element) ?? [] { take(entry) }
        }
      } else if let written = bookmarks.publication, written.id == iq.id.text {
        bookmarks.publication = nil
        bookmarks.deadline = nil
        if let error = iq.error {
          guard bookmarks.isCompatible else {
            bookmarks.isCompatible = true
            return
          }
          bookmarks.refused.insert(written.room)
          return shared.notice(.problem(.bookmarksUnavailable(error.condition)))
        }
        guard var stored = rooms[written.room]?.stored else { return }
        stored.isBookmarkDue = false
        rooms[written.room]?.stored.isBookmarkDue = false
        shared.change(.setRoom(stored))
      }
    }

    /// A server that doesn't answer holds up no other bookmark: one that it has not confirmed is written again in the next
    /// session, and the list is requested again after a while.
    mutating func wakeBookmarks() {
      if let again = bookmarks.again, again <= shared.now { return requestBookmarks() }
      guard let deadline = bookmarks.deadline, deadline <= shared.now else { return }
      bookmarks.deadline = nil
      shared.notice(.problem(.bookmarksUnavailable(.remoteServerTimeout)))
      if let written = bookmarks.publication {
        bookmarks.publication = nil
        bookmarks.refused.insert(written.room)
      } else {
        // A late answer is taken.
        bookmarks.again = shared.now + shared.limits.longestPause
      }
    }

    private mutating func take(_ entry: RoomBookmark) {
      guard bookmarks.entries.count < shared.limits.roomCountMax else { return }
      bookmarks.entries[entry.room] = entry
      if let room = rooms[entry.room] {
        // What the app has decided since is written.
        guard !room.stored.isBookmarkDue, room.stored.isWanted != entry.isJoined else { return }
        guard room.stored.ending == nil else { return }
        guard entry.isJoined else {
          rooms[entry.room]?.leaveElsewhere(&shared)
          return
        }
      } else {
        guard entry.isJoined, makePlace() else { return }
      }
      let name = entry.nickname ?? shared.account.local ?? "ambit"
      var room =
        rooms[entry.room] ?? Room(StoredRoom(entry.room, nickname: name), shared: &shared)
      room.stored.nickname = name
      room.nickname = name
      room.stored.password = entry.password
      room.stored.isWanted = true
      room.phase = .idle
      rooms[entry.room] = room
      shared.change(.setRoom(room.stored))
      shared.notice(.room(room.info))
    }

    /// Writes one bookmark that is not as its room is, after all were read: others' parts are kept.
    mutating func publishBookmark() {
      guard bookmarks.isKnown, bookmarks.publication == nil else { return }
      let due = rooms.values.filter { room in
        room.stored.isBookmarkDue && !bookmarks.refused.contains(room.jid)
          && room.renaming == nil && (room.phase == .ready || !room.stored.isWanted)
      }
      guard let room = due.min(by: { $0.jid.precedes($1.jid) }) else { return }
      let id = shared.makeID()
      guard let stanzaID = StanzaID(id) else { return }
      var entry = bookmarks.entries[room.jid] ?? RoomBookmark(room.jid, isJoined: true)
      entry.isJoined = room.stored.isWanted
      entry.nickname = room.stored.nickname
      entry.password = room.stored.password
      bookmarks.entries[room.jid] = entry
      bookmarks.publication = (id, room.jid)
      bookmarks.deadline = shared.now + shared.limits.bookmarkTime
      shared.send(
        IQStanza(
          .set, id: stanzaID,
          payload: [bookmarks.isCompatible ? entry.compatiblePublication : entry.publication]
        ).element)
    }
  }

  extension RoomBookmark {
    /// The publication without the options that earlier servers refuse.
    fileprivate var compatiblePublication: XMLElement {
      var element = publication
      element.content = element.children.map { child in
        guard var form = DataForm.first(in: child.children) else { return .element(child) }
        form.fields.removeAll {
          ["pubsub#max_items", "pubsub#send_last_published_item"].contains($0.name)
        }
        return .element(XMLElement(child.name, child.namespace, children: [form.element]))
      }
      return element
    }
  }

  extension Room {
    /// Another device of the account has left the room for all.
    mutating func leaveElsewhere(_ shared: inout RoomShared) {
      guard stored.isWanted else { return }
      if shared.isOnline, phase.isInside || phase == .joining,
        let occupant = JID(local: jid.local, domain: jid.domain, resource: nickname)
      {
        shared.send(PresenceStanza(.unavailable, to: occupant).element)
      }
      doubt(shared.now)
      end(.left, &shared)
    }
  }
#endif
