#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  /// A machine of contacts with a clock, and what it has sent and reported. The next machine begins with the stored contacts.
  struct ContactRun {
    var machine: ContactMachine
    var now = Instant.zero
    var wall: WallTime { now.nanoseconds / 1_000_000 }
    var stored = StoredContacts()
    var sent: [XMLElement] = []
    var notices: [ContactNotice] = []
    var answers: [UInt64: ContactFailure?] = [:]
    private let limits: ContactLimits
    private var seed: UInt64 = 1

    static func jid(_ text: String) throws -> JID { try #require(JID(text)) }

    init(limits: ContactLimits = ContactLimits()) throws {
      self.limits = limits
      machine = ContactMachine(
        account: try Self.jid("ann@chat.example"), stored: stored, limits: limits, seed: seed)
    }

    private mutating func take(_ actions: [ContactAction]) {
      for action in actions {
        switch action {
        case .change(let change): apply(change)
        case .send(let element): sent.append(element)
        case .answer(let ticket, let failure): answers[ticket] = .some(failure)
        case .notice(let notice): notices.append(notice)
        }
      }
    }

    private mutating func apply(_ change: ContactChange) {
      switch change {
      case .setContact(let item):
        stored.roster.removeAll { $0.jid == item.jid }
        stored.roster.append(item)
      case .removeContact(let jid): stored.roster.removeAll { $0.jid == jid }
      case .clearContacts: stored.roster = []
      case .setRosterVersion(let version): stored.rosterVersion = version
      case .setRequest(let request):
        stored.requests.removeAll { $0.jid == request.jid }
        stored.requests.append(request)
      case .removeRequest(let jid): stored.requests.removeAll { $0.jid == jid }
      case .setResource(let resource):
        stored.resources.removeAll { $0.jid == resource.jid }
        stored.resources.append(resource)
      case .removeResource(let jid): stored.resources.removeAll { $0.jid == jid }
      case .clearResources: stored.resources = []
      case .setBlocked(let entry):
        stored.blocked.removeAll { $0.jid == entry.jid }
        stored.blocked.append(entry)
      case .setChatPeer(let peer):
        stored.chatPeers.removeAll { $0.address == peer.address }
        stored.chatPeers.append(peer)
      case .forgetChatPeer(let address): stored.chatPeers.removeAll { $0.address == address }
      case .forgetBlocked(let jid): stored.blocked.removeAll { $0.jid == jid }
      }
    }

    mutating func handle(_ event: ContactEvent) {
      var actions: [ContactAction] = []
      machine.handle(event, now: now, wall: wall, into: &actions)
      take(actions)
    }

    /// A session begins, or goes on. The request for the blocked addresses is answered, and isn't kept.
    mutating func connect(
      isResumed: Bool = false, hasVersions: Bool = true, blocked: [String]? = []
    ) throws {
      var online = StreamOnline(
        jid: try Self.jid("ann@chat.example/a"), session: 1, isResumed: isResumed, isManaged: true)
      online.offersRosterVersions = hasVersions
      handle(.connected(online))
      guard let blocked,
        let place = sent.lastIndex(where: { $0.child("blocklist", Namespace.blocking) != nil })
      else { return }
      let id = try #require(sent.remove(at: place)["id"])
      let items = blocked.map { "<item jid='\($0)'/>" }.joined()
      try receive(
        "<iq type='result' id='\(id)'><blocklist xmlns='urn:xmpp:blocking'>\(items)</blocklist></iq>"
      )
    }

    /// Another process begins with the stored contacts.
    mutating func restart() {
      seed += 1
      machine = ContactMachine(
        account: machine.account, stored: stored, limits: limits, seed: seed)
    }

    /// A stanza comes, as text.
    mutating func receive(_ text: String) throws {
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader(from: "chat.example", id: "s"))[...])
      parser.append(Array(text.utf8)[...])
      while let item = try parser.next() {
        if case .element(let element) = item { handle(.received(element)) }
      }
    }

    /// The id of the last request that was sent.
    func lastRequest() throws -> String {
      try #require(sent.last { $0.name == "iq" && $0["type"] != "result" }?["id"])
    }

    /// The server gives the roster.
    mutating func receiveRoster(_ items: String, version: String? = "1") throws {
      let attribute = version.map { " ver='\($0)'" } ?? ""
      try receive(
        "<iq type='result' id='\(try lastRequest())'><query xmlns='jabber:iq:roster'\(attribute)>"
          + items + "</query></iq>")
    }

    mutating func receivePush(_ items: String, from: String = "", version: String = "2") throws {
      try receive(
        "<iq type='set' id='push' \(from)><query xmlns='jabber:iq:roster' ver='\(version)'>"
          + items + "</query></iq>")
    }

    mutating func wait(_ time: TimeSpan) {
      now = now + time
      var actions: [ContactAction] = []
      machine.wake(now: now, wall: wall, into: &actions)
      take(actions)
    }

    var addresses: [String] { machine.contacts.map(\.jid.description) }
  }
#endif
