#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("The beginning of a session, and queries of the archive")
  struct AccountExchangeTests {
    private func account() throws -> JID { try #require(JID("ann@chat.example")) }

    private func online(isResumed: Bool) throws -> StreamOnline {
      StreamOnline(
        jid: try #require(JID("ann@chat.example/a")), session: 1, isResumed: isResumed,
        isManaged: true)
    }

    private func answer(
      _ id: String, from: String? = "ann@chat.example", _ payload: XMLElement? = nil
    ) throws -> XMLElement {
      IQStanza(
        .result, id: try #require(StanzaID(id)), from: from.flatMap { JID($0) },
        payload: payload.map { [$0] } ?? []
      ).element
    }

    private let abilities = DiscoInfo(features: [Namespace.archive, Namespace.stanzaIDs]).element

    @Test("a session is ready when the account's server has told its abilities")
    func abilitiesOfAccount() throws {
      var exchange = AccountExchange(account: try account())
      guard case .query(let query) = exchange.begin(try online(isResumed: false), now: .zero) else {
        Issue.record("nothing is asked")
        return
      }
      let id = try #require(query["id"])
      let forged = exchange.take(try answer(id, from: "eve@x", abilities), wall: 0)
      #expect(forged == .nothing)
      let first = exchange.take(try answer(id, abilities), wall: 0)
      #expect(first == .ready(isResumed: false, hasArchive: true))
      let second = exchange.take(try answer(id, abilities), wall: 0)
      #expect(second == .nothing)
      exchange.end()
      let resumed = exchange.begin(try online(isResumed: true), now: .zero)
      #expect(resumed == .ready(isResumed: true, hasArchive: true))
    }

    @Test("a session that is resumed before it was ready is ready as a new one")
    func resumedBeforeReady() throws {
      var exchange = AccountExchange(account: try account())
      for hasKnownAbilities in [false, true] {
        _ = exchange.begin(try online(isResumed: false), now: .zero)
        exchange.end()
        switch exchange.begin(try online(isResumed: true), now: .zero) {
        case .query(let query):
          #expect(!hasKnownAbilities)
          let item = exchange.take(try answer(try #require(query["id"]), abilities), wall: 0)
          #expect(item == .ready(isResumed: false, hasArchive: true))
        case let ready:
          #expect(hasKnownAbilities && ready == .ready(isResumed: false, hasArchive: true))
        }
        exchange.end()
        let again = exchange.begin(try online(isResumed: true), now: .zero)
        #expect(again == .ready(isResumed: true, hasArchive: true))
        exchange.end()
      }
    }

    @Test("a server that knows no abilities of accounts has no archive")
    func noAbilities() throws {
      var exchange = AccountExchange(account: try account())
      guard case .query(let query) = exchange.begin(try online(isResumed: false), now: .zero) else {
        return
      }
      var error = query
      error["type"] = "error"
      error["from"] = "ann@chat.example"
      let item = exchange.take(error, wall: 0)
      #expect(item == .ready(isResumed: false, hasArchive: false))
    }

    @Test("A server that does not tell its abilities in time is used as one with an archive")
    func silence() throws {
      var exchange = AccountExchange(account: try account())
      guard case .query(let query) = exchange.begin(try online(isResumed: false), now: .zero)
      else { return }
      let due = try #require(exchange.nextWake)
      #expect(due == Instant.zero + AccountExchange.patience)
      #expect(exchange.wake(now: .zero + .seconds(9)) == nil)
      #expect(exchange.wake(now: due) == .presumed(isResumed: false))
      #expect(exchange.nextWake == nil)
      // The next session asks again, and a late answer means nothing.
      let late = try answer(try #require(query["id"]), abilities)
      #expect(exchange.take(late, wall: 0) == .nothing)
      exchange.end()
      guard case .query(let next) = exchange.begin(try online(isResumed: true), now: due) else {
        Issue.record("the abilities are not requested again")
        return
      }
      #expect(exchange.take(late, wall: 0) == .nothing)
      let answer = try answer(try #require(next["id"]), abilities)
      #expect(exchange.take(answer, wall: 0) == .ready(isResumed: true, hasArchive: true))
    }

    @Test("A server that is too busy to tell its abilities is used as one with an archive")
    func busy() throws {
      var exchange = AccountExchange(account: try account())
      guard case .query(let query) = exchange.begin(try online(isResumed: false), now: .zero)
      else { return }
      let refusal = try #require(IQStanza(query)).refusal(StanzaError(.wait, .resourceConstraint))
      var element = refusal.element
      element["from"] = "ann@chat.example"
      #expect(exchange.take(element, wall: 0) == .presumed(isResumed: false))
    }

    @Test("the results of a query are a page when its answer has come, and those of others are not")
    func page() throws {
      var exchange = AccountExchange(account: try account())
      let begun = exchange.begin(ArchiveRequest(id: 4, start: .after("last"), countMax: 2))
      let query = try #require(begun)
      let text = String(decoding: XMLWriter.bytes(of: query), as: UTF8.self)
      #expect(text.contains("<max>2</max>") && text.contains("<after>last</after>"))
      for (queryID, id) in [
        ("ambit-archive-4", "a"), ("ambit-archive-3", "x"), ("ambit-archive-4", "b"),
      ] {
        let inner = MessageStanza(.chat, payload: [XMLElement("body", Namespace.client, text: id)])
        let result = ArchiveResult(
          query: queryID, id: try #require(StanzaID(id)), Forwarded(inner))
        let stanza = MessageStanza(.normal, from: try account(), payload: [result.element])
        let item = exchange.take(stanza.element, wall: 5)
        #expect(item == .nothing)
      }
      let end = ArchiveEnd(isComplete: true, page: ResultSet()).element
      guard
        case .page(4, let entries, true) = exchange.take(
          try answer("ambit-archive-4", end), wall: 5)
      else {
        Issue.record("no page")
        return
      }
      #expect(entries.map(\.mark.id) == ["a", "b"])
    }

    @Test("a query whose start the archive doesn't know has failed because of that")
    func unknownStart() throws {
      var exchange = AccountExchange(account: try account())
      _ = exchange.begin(ArchiveRequest(id: 1, start: .after("gone"), countMax: 2))
      let refusal = IQStanza(
        .error, id: try #require(StanzaID("ambit-archive-1")),
        payload: [StanzaError(.cancel, .itemNotFound).element])
      let item = exchange.take(refusal.element, wall: 0)
      #expect(item == .queryFailed(query: 1, isUnknownItem: true))
    }

    @Test("an archive that sends more than was requested fills no memory")
    func flood() throws {
      var exchange = AccountExchange(account: try account())
      _ = exchange.begin(ArchiveRequest(id: 1, start: .beginning, countMax: 10))
      for number in 0..<1_000 {
        let result = ArchiveResult(
          query: "ambit-archive-1", id: try #require(StanzaID("\(number)")),
          Forwarded(MessageStanza(.chat)))
        let stanza = MessageStanza(.normal, from: try account(), payload: [result.element])
        _ = exchange.take(stanza.element, wall: 0)
      }
      let end = ArchiveEnd(isComplete: false, page: ResultSet()).element
      guard
        case .page(_, let entries, false) = exchange.take(
          try answer("ambit-archive-1", end), wall: 0)
      else {
        Issue.record("no page")
        return
      }
      #expect(entries.count == 20)
    }
  }
#endif
