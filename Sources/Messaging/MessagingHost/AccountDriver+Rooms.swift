#if Messaging
  internal import EventLoop
  internal import Essentials
  internal import XMPPMachines
  internal import XMPPWire

  /// The app's requests about rooms that wait for answers.
  struct RoomCalls {
    typealias Answer = @Sendable (RoomFailure?) -> Void

    private var waiting: [UInt64: Answer] = [:]
    private var last: UInt64 = 0

    mutating func add(_ done: @escaping Answer) -> UInt64 {
      last += 1
      waiting[last] = done
      return last
    }

    mutating func finish(_ ticket: UInt64, _ failure: RoomFailure?) {
      waiting.removeValue(forKey: ticket)?(failure)
    }

    /// Nothing answers any more.
    mutating func end() {
      let ended = waiting
      waiting = [:]
      for done in ended.values { done(.closed) }
    }
  }

  /// Rooms: their messages become rows of the inbox in the transaction of the stanza.
  extension AccountDriver {
    /// Stanzas that wait for room in the stream. The machine repeats those beyond.
    private static let waitingCountMax = 4_096

    func rooms<Value>(_ body: (RoomMachine) -> Value) throws(StoreError) -> Value {
      guard !closing.isStoreClosed else { throw .closed }
      return body(rooms)
    }

    func perform(_ request: RoomRequest, _ done: @escaping RoomCalls.Answer) {
      guard !closing.isRequested else { return done(.closed) }
      handle(RoomEvent.request(ticket: roomCalls.add(done), request))
      exchange.rooms = rooms.addresses
    }

    func sendToRoom(_ ticket: UInt64, _ room: JID, _ content: MessageContent) {
      // The end of the account answers it.
      guard !closing.isRequested else { return }
      let now = WallClock.now
      let row = OutgoingRoomRow(
        id: messages.makeOutgoingID(), room: room, originID: RandomText.id(at: now),
        content: content, date: now)
      handle(RoomEvent.send(ticket: ticket, row))
    }

    /// Stores a message that no request of the app answers; false where the room takes no more.
    func send(_ row: OutgoingRoomRow) -> Bool {
      var actions: [RoomAction] = []
      rooms.handle(.send(ticket: 0, row), now: .now, wall: WallClock.now, into: &actions)
      let isTaken = actions.contains { action in
        if case .accepted = action { true } else { false }
      }
      take(
        actions.filter { action in
          switch action {
          case .accepted, .refused: false
          default: true
          }
        })
      return isTaken
    }

    func takeOfRoom(_ element: XMLElement) throws(StoreError) {
      let keys = rooms.keys(of: element)
      let known = keys.isEmpty ? [] : try store.known(keys)
      let isAnswer = element.name == "iq"
      handle(RoomEvent.received(element, known: known))
      // Bookmarks may have brought a room.
      if isAnswer { exchange.rooms = rooms.addresses }
    }

    func handle(_ event: RoomEvent) {
      var actions: [RoomAction] = []
      rooms.handle(event, now: .now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    func wakeRooms(_ now: Instant) {
      var actions: [RoomAction] = []
      rooms.wake(now: now, wall: WallClock.now, into: &actions)
      take(actions)
    }

    private func take(_ actions: [RoomAction]) {
      for action in actions {
        switch action {
        case .change(let change): batch.changes.append(.rooms(change))
        case .send(let element):
          guard waiting.count + queries.count < Self.waitingCountMax else { continue }
          let stanza = OutgoingStanza(row: nil, element)
          if element.child("query", Namespace.archive) != nil {
            queries.append(stanza)
          } else {
            waiting.append(stanza)
          }
        case .deliver(let delivery): handle(MessageEvent.room(delivery))
        case .fate(let row, let fate):
          batch.later.append(.messages(.fate(row, fate), session: session))
        case .accepted(let ticket, let row):
          batch.accepted.append(.accepted(ticket: ticket, row))
        case .refused(let ticket):
          batch.later.append(.messages(.refused(ticket: ticket), session: session))
        case .answer, .notice: batch.later.append(.rooms(action))
        }
      }
    }

    /// Changes before the action are on disk.
    func perform(_ action: RoomAction) {
      switch action {
      case .answer(let ticket, let failure): roomCalls.finish(ticket, failure)
      case .notice(let notice): observer.rooms(notice)
      default: break
      }
    }
  }
#endif
