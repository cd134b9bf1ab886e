#if Messaging
  import NIOCore
  import NIOPosix
  import Testing
  import XMPPWire

  @testable import MessagingHost
  @testable import XMPPMachines

  @Suite("Queries of the archives of rooms")
  struct RoomQueryTests {
    private static let room = "lab@rooms.x"

    /// Joins a room with an archive; returns the stanzas that wait for a transaction, and the queries that don't.
    private static func join(_ driver: AccountDriver) throws -> (
      waiting: [XMLElement], ahead: [XMLElement]
    ) {
      let jid = try #require(JID(room))
      driver.handle(
        RoomEvent.connected(
          StreamOnline(
            jid: try #require(JID("ann@x/desk")), session: 1, isResumed: false, isManaged: true)))
      driver.handle(
        RoomEvent.request(
          ticket: 1, .join(jid, nickname: "ann", password: nil, isBookmarked: false)))
      let status = XMLElement("status", Namespace.roomUser, ["code": "110"])
      try driver.takeOfRoom(
        XMLElement(
          "presence", Namespace.client, ["from": room + "/ann"],
          children: [XMLElement("x", Namespace.roomUser, children: [status])]))
      let question = try #require(
        driver.waiting.map(\.element).first { $0["to"] == room && $0.name == "iq" })
      let abilities = DiscoInfo(
        identities: [.init(category: "conference", type: "text", name: nil)],
        features: [Namespace.archive])
      var answer = try #require(IQStanza(question)?.result(abilities.element).element)
      (answer["from"], answer["to"]) = (room, "ann@x/desk")
      try driver.takeOfRoom(answer)
      return (driver.waiting.map(\.element), driver.queries.map(\.element))
    }

    @Test func `A page of a room's archive is requested before the changes before it are on disk`()
      async throws
    {
      let folder = try TestFolder()
      let start = try AccountStart(
        account: try #require(JID("ann@x")), password: "", settings: ServerSettings(domain: "x"),
        store: try MessageStore(path: folder.path("messages")), program: "test")
      let observer = AccountObserver(
        changed: { _ in }, perform: { _ in }, rejected: { _, _ in }, ended: { _ in },
        committed: { _ in })
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let closed = loop.makePromise(of: Void.self)
      let (waiting, ahead) = try await loop.submit {
        let driver = AccountDriver(start, observer: observer, on: loop)
        defer { driver.handle([.close(keepsSession: false) { _ in closed.succeed() }]) }
        return try Self.join(driver)
      }.get()
      try await closed.futureResult.get()
      #expect(ahead.map { $0["to"] } == [Self.room])
      #expect(ahead.allSatisfy { $0.child("query", Namespace.archive) != nil })
      // What must not overtake a change waits for it.
      #expect(waiting.contains { $0.name == "presence" })
      #expect(!waiting.contains { $0.child("query", Namespace.archive) != nil })
    }
  }
#endif
