#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  /// A machine of rooms with its store, its clock, and a service at the other end.
  struct RoomRun {
    static let nickname = "ann"

    var machine: RoomMachine
    var service: RoomService
    let limits: RoomLimits
    private let account: JID
    var now = Instant.zero + .seconds(1_000)
    var wall: WallTime { 1_700_000_000_000 + now.nanoseconds / 1_000_000 }

    // The store.
    var stored: [JID: StoredRoom] = [:]
    var outgoing: [RowID: OutgoingRoomRow] = [:]
    var fates: [RowID: MessageFate] = [:]
    var keys: Set<SeenKey> = []
    var delivered: [RoomDelivery] = []

    var isOnline = false
    var up: [XMLElement] = []
    var down: [XMLElement] = []
    /// The stanzas that the machine has sent, with those that were lost.
    var sent: [XMLElement] = []
    var answers: [UInt64: RoomFailure?] = [:]
    var notices: [RoomNotice] = []
    var acceptedCount = 0
    private var lastRow: Int64 = 0
    private var seed: UInt64

    init(seed: UInt64 = 1, limits: RoomLimits = RoomLimits()) throws {
      let room = try #require(JID("lab@rooms.example"))
      let client = try #require(JID("ann@chat.example/a"))
      self.seed = seed
      self.limits = limits
      account = client.bare
      service = RoomService(room: room, client: client)
      machine = RoomMachine(account: account, stored: StoredRooms(), limits: limits, seed: seed)
    }

    var room: JID { service.room }

    // MARK: The machine

    private mutating func take(_ actions: [RoomAction]) {
      for action in actions {
        switch action {
        case .change(let change): apply(change)
        case .send(let element):
          sent.append(element)
          if isOnline { up.append(element) }
        case .deliver(let delivery): delivered.append(delivery)
        case .fate(let row, let fate): fates[row] = fate
        case .accepted: acceptedCount += 1
        case .refused: break
        case .answer(let ticket, let failure): answers[ticket] = .some(failure)
        case .notice(let notice): notices.append(notice)
        }
      }
    }

    private mutating func apply(_ change: RoomChange) {
      switch change {
      case .setRoom(let room):
        var new = room
        if let old = stored[room.jid] {
          (new.marks, new.hasReadArchive, new.historyEnd) =
            (old.marks, old.hasReadArchive, old.historyEnd)
        }
        stored[room.jid] = new
      case .forgetRoom(let jid): stored[jid] = nil
      case .setArchive(let jid, let marks, let end):
        stored[jid]?.marks = marks
        stored[jid]?.historyEnd = end
        stored[jid]?.hasReadArchive = true
      case .setArchiveBehind(let jid, let isBehind): stored[jid]?.isArchiveBehind = isBehind
      case .insertOutgoing(let row): outgoing[row.id] = row
      case .setSent(let row, let isSent): outgoing[row]?.isSent = isSent
      case .settle(let row, _): outgoing[row] = nil
      case .addKey(let key): keys.insert(key)
      }
    }

    mutating func handle(_ event: RoomEvent) {
      var actions: [RoomAction] = []
      machine.handle(event, now: now, wall: wall, into: &actions)
      take(actions)
    }

    mutating func connect(isResumed: Bool = false) {
      isOnline = true
      handle(
        .connected(
          StreamOnline(
            jid: service.client, session: 1, isResumed: isResumed, isManaged: true)))
    }

    /// The connection ends; the session can be resumed.
    mutating func disconnect() {
      guard isOnline else { return }
      isOnline = false
      handle(.disconnected)
    }

    /// The session ends at the server after it has handled some stanzas.
    mutating func endSession(handling count: Int) {
      disconnect()
      for element in up.prefix(count) { _ = service.take(element, date: wall) }
      (up, down) = ([], [])
      service.nickname = nil
    }

    /// Another process begins with the store.
    mutating func kill() {
      isOnline = false
      seed += 1
      var rooms = StoredRooms()
      rooms.rooms = stored.values.sorted { $0.jid.precedes($1.jid) }
      rooms.outgoing = outgoing.values.sorted { $0.id < $1.id }
      machine = RoomMachine(account: account, stored: rooms, limits: limits, seed: seed)
    }

    mutating func request(_ ticket: UInt64, _ request: RoomRequest) {
      handle(.request(ticket: ticket, request))
    }

    mutating func join(_ ticket: UInt64 = 1, isBookmarked: Bool = false) {
      request(
        ticket,
        .join(room, nickname: Self.nickname, password: nil, isBookmarked: isBookmarked))
    }

    @discardableResult
    mutating func send(_ body: String) -> RowID {
      lastRow += 1
      let row = OutgoingRoomRow(
        id: RowID(rawValue: lastRow), room: room, originID: "o\(lastRow)",
        content: MessageContent(body: body), date: wall)
      handle(.send(ticket: UInt64(lastRow), row))
      return row.id
    }

    // MARK: The network

    mutating func receive(_ element: XMLElement) {
      guard machine.takes(element) else { return }
      let known = keys.intersection(machine.keys(of: element))
      handle(.received(element, known: known))
    }

    /// A stanza comes, as text.
    mutating func receive(_ text: String) throws {
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader(from: "chat.example", id: "s"))[...])
      parser.append(Array(text.utf8)[...])
      while let item = try parser.next() {
        if case .element(let element) = item { receive(element) }
      }
    }

    /// One stanza reaches its end; false without one.
    mutating func step() -> Bool {
      guard isOnline else { return false }
      if !up.isEmpty {
        down += service.take(up.removeFirst(), date: wall)
        return true
      }
      guard !down.isEmpty else { return false }
      receive(down.removeFirst())
      return true
    }

    mutating func settle() { while step() {} }

    mutating func wait(_ time: TimeSpan) {
      let end = now + time
      while let due = machine.nextWake, due <= end {
        now = max(now, due)
        var actions: [RoomAction] = []
        machine.wake(now: now, wall: wall, into: &actions)
        take(actions)
        settle()
      }
      now = end
    }

    /// An occupant's message.
    mutating func say(_ body: String, id: String = "") {
      down += service.say(body, "bob", id: id, wall)
    }

    // MARK: What the app has

    var messages: [RoomMessage] {
      delivered.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var bodies: [String] { messages.map(\.content.body) }
    var state: RoomState? { machine.infos.first?.state }
  }
#endif
