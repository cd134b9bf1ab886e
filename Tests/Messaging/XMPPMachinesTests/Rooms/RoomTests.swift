#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Rooms")
  struct RoomTests {
    private static func joined(_ limits: RoomLimits = RoomLimits()) throws -> RoomRun {
      var run = try RoomRun(limits: limits)
      run.connect()
      run.join()
      run.settle()
      #expect(run.state == .joined)
      return run
    }

    // MARK: Joining and leaving

    @Test func `A new room gets the default configuration before it is used`() throws {
      var run = try RoomRun()
      run.service.isNew = true
      run.connect()
      run.join()
      run.settle()
      #expect(run.sent.contains { $0.child("query", Namespace.roomOwner) != nil })
      #expect(run.answers[1] == .some(nil))
      #expect(run.machine.occupants(of: run.room)?.map(\.nickname) == ["ann", "bob"])
      #expect(run.machine.infos.first?.subject == "Work")
    }

    @Test func `A nickname of another occupant is replaced, and given up after three tries`() throws
    {
      var run = try RoomRun()
      run.service.takenNicknames = ["ann"]
      run.connect()
      run.join()
      run.settle()
      #expect(run.machine.infos.first?.nickname == "ann_")
      run.say("ann said this", id: "x")
      run.settle()
      #expect(run.messages.map(\.isOwn) == [false])
      var refused = try RoomRun()
      refused.service.takenNicknames = ["ann", "ann_", "ann__"]
      refused.connect()
      refused.join()
      refused.settle()
      #expect(refused.answers[1] == .some(.ended(.nicknameTaken)))
      #expect(refused.stored[refused.room]?.isWanted == false)
    }

    @Test(
      "A refused join has its reason",
      arguments: [
        (StanzaError(.auth, .notAuthorized), RoomEnd.passwordRequired),
        (StanzaError(.auth, .forbidden), .banned(nil)),
        (StanzaError(.auth, .registrationRequired), .membersOnly),
        (StanzaError(.cancel, .itemNotFound), .notFound),
        (StanzaError(.cancel, .notAllowed), .creationRefused),
        (StanzaError(.cancel, .gone), .moved(nil)),
      ])
    func refusals(error: StanzaError, end: RoomEnd) throws {
      var run = try RoomRun()
      run.service.refusal = error
      run.connect()
      run.join()
      run.settle()
      #expect(run.answers[1] == .some(.ended(end)))
      run.wait(.seconds(3_600))
      #expect(run.sent.count { $0.name == "presence" } == 1, "it is not joined again")
    }

    @Test func `A full room is joined again after growing pauses`() throws {
      var run = try RoomRun()
      run.service.refusal = StanzaError(.wait, .serviceUnavailable)
      run.connect()
      run.join()
      run.settle()
      #expect(run.state == .waiting(.full))
      run.wait(.seconds(120))
      let count = run.sent.count { $0.name == "presence" }
      #expect((4...7).contains(count), "\(count) joins in two minutes")
      run.service.refusal = nil
      run.wait(.seconds(600))
      #expect(run.state == .joined)
    }

    @Test(
      "The end of a stay has its reason, and the room is not joined again",
      arguments: [
        ("<status code='307'/><item role='none'><reason>No</reason></item>", RoomEnd.kicked("No")),
        ("<status code='301'/>", .banned(nil)),
        ("<status code='321'/>", .affiliationChanged),
        ("<status code='322'/>", .membersOnly),
        (
          "<destroy jid='new@rooms.example'><reason>Old</reason></destroy>",
          .destroyed(alternate: JID("new@rooms.example"), "Old")
        ),
      ])
    func endings(content: String, end: RoomEnd) throws {
      var run = try Self.joined()
      try run.receive(
        """
        <presence type='unavailable' from='lab@rooms.example/ann'>
          <x xmlns='\(Namespace.roomUser)'><status code='110'/>\(content)</x></presence>
        """)
      #expect(run.state == .ended(end))
      #expect(run.machine.occupants(of: run.room) == nil)
      let count = run.sent.count
      run.disconnect()
      run.kill()
      run.connect()
      run.settle()
      #expect(run.sent.count == count + 1, "only the bookmarks are requested")
    }

    @Test(
      "A bookmark does not join a room again that has removed the account, also in later processes",
      arguments: [
        ("<status code='307'/><item role='none'><reason>No</reason></item>", RoomEnd.kicked("No")),
        ("<status code='301'/><item><reason>Never</reason></item>", .banned("Never")),
        ("<destroy><reason>Old</reason></destroy>", .destroyed(alternate: nil, "Old")),
      ])
    func lastingEnd(content: String, end: RoomEnd) throws {
      var run = try RoomRun()
      run.connect()
      run.join(isBookmarked: true)
      run.settle()
      #expect(run.service.bookmarks.count == 1)
      try run.receive(
        """
        <presence type='unavailable' from='lab@rooms.example/ann'>
          <x xmlns='\(Namespace.roomUser)'><status code='110'/>\(content)</x></presence>
        """)
      run.service.nickname = nil
      for isOtherProcess in [false, true] {
        run.endSession(handling: 0)
        if isOtherProcess { run.kill() }
        #expect(run.state == .ended(end), "\(isOtherProcess)")
        run.connect()
        run.settle()
        #expect(run.state == .ended(end) && run.service.nickname == nil)
      }
      // The app may join it, and the end is forgotten.
      run.join(7)
      run.settle()
      #expect(run.state == .joined && run.stored[run.room]?.ending == nil)
    }

    @Test func `Leaving a room that has removed the account takes the room out of the bookmarks`()
      throws
    {
      var run = try RoomRun()
      run.connect()
      run.join(isBookmarked: true)
      run.settle()
      try run.receive(
        """
        <presence type='unavailable' from='lab@rooms.example/ann'>
          <x xmlns='\(Namespace.roomUser)'><status code='110'/><status code='301'/></x></presence>
        """)
      run.request(5, .leave(run.room))
      run.settle()
      #expect(run.answers[5] == .some(nil) && run.state == .ended(.left))
      let bookmark = try #require(run.service.bookmarks.first)
      #expect(bookmark.child("conference", Namespace.bookmarks)?["autojoin"] == nil)
      #expect(run.stored[run.room]?.ending == nil)
    }

    @Test func `A ban that a join meets is kept, and a room that is full is not`() throws {
      var run = try RoomRun()
      run.service.refusal = StanzaError(.auth, .forbidden)
      run.connect()
      run.join()
      run.settle()
      #expect(run.stored[run.room]?.ending == .banned(nil))
      run.service.refusal = StanzaError(.wait, .serviceUnavailable)
      run.join(2)
      run.settle()
      #expect(run.state == .waiting(.full) && run.stored[run.room]?.ending == nil)
    }

    @Test func `A join while the room is being left joins it after that`() throws {
      var run = try Self.joined()
      run.request(2, .leave(run.room))
      run.request(3, .join(run.room, nickname: "anna", password: nil, isBookmarked: false))
      #expect(run.state == .joining)
      run.settle()
      #expect(run.answers[2] == .some(nil) && run.answers[3] == .some(nil))
      #expect(run.state == .joined && run.machine.infos.first?.nickname == "anna")
      #expect(run.stored[run.room]?.isWanted == true)
    }

    @Test
    func `A join while the room is being left outlasts the connection and the room's silence`()
      throws
    {
      var cut = try Self.joined()
      cut.request(2, .leave(cut.room))
      cut.request(3, .join(cut.room, nickname: "ann", password: nil, isBookmarked: false))
      cut.endSession(handling: 0)
      #expect(cut.answers[3] == .some(.offline))
      cut.connect()
      cut.settle()
      #expect(cut.state == .joined)

      var silent = try Self.joined()
      silent.request(2, .leave(silent.room))
      silent.request(3, .join(silent.room, nickname: "ann", password: nil, isBookmarked: false))
      silent.up = []
      silent.wait(silent.limits.answerTime)
      silent.settle()
      #expect(silent.answers[2] == .some(nil) && silent.state == .joined)

      var undone = try Self.joined()
      undone.request(2, .leave(undone.room))
      undone.request(3, .join(undone.room, nickname: "ann", password: nil, isBookmarked: false))
      undone.request(4, .leave(undone.room))
      undone.settle()
      #expect(undone.answers[3] == .some(.ended(.left)) && undone.answers[4] == .some(nil))
      #expect(undone.state == .ended(.left) && undone.stored[undone.room]?.isWanted == false)
    }

    @Test func `A message to a room has the elements of its content, such as those of a file`()
      throws
    {
      var run = try Self.joined()
      let file = SharedFile(FileMetadata(name: "plan.pdf"), sources: ["https://x/plan.pdf"])
      let row = OutgoingRoomRow(
        id: RowID(rawValue: 1), room: run.room, originID: "o1",
        content: MessageContent(
          body: "https://x/plan.pdf", elements: XMLFragment.text(of: file.elements)), date: 1)
      run.handle(.send(ticket: 1, row))
      let sent = try #require(run.sent.last.flatMap { MessageStanza($0) })
      #expect(sent.kind == .groupchat && SharedFile.files(in: sent.payload) == [file])
    }

    @Test func `A room whose service has ended is joined again`() throws {
      var run = try Self.joined()
      run.service.nickname = nil
      try run.receive(
        """
        <presence type='unavailable' from='lab@rooms.example/ann'>
          <x xmlns='\(Namespace.roomUser)'><status code='110'/><status code='332'/></x></presence>
        """)
      #expect(run.state == .waiting(.interrupted))
      run.say("meanwhile")
      run.wait(.seconds(10))
      #expect(run.state == .joined)
      #expect(run.bodies == ["meanwhile"])
    }

    @Test func `A room that was left stays so in later sessions`() throws {
      var run = try Self.joined()
      run.request(2, .leave(run.room))
      run.settle()
      #expect(run.answers[2] == .some(nil))
      #expect(run.service.nickname == nil)
      run.endSession(handling: 0)
      run.connect()
      run.settle()
      #expect(run.state == .ended(.left))
    }

    // MARK: Presence of this account

    @Test func `After silence and after a resumption a lost place is noticed and taken again`()
      throws
    {
      var run = try Self.joined()
      run.service.nickname = nil
      run.say("first")
      run.wait(run.limits.silence + .seconds(1))
      #expect(run.bodies == ["first"])
      run.service.nickname = nil
      run.say("second")
      run.disconnect()
      run.connect(isResumed: true)
      run.settle()
      #expect(run.bodies == ["first", "second"])
      #expect(run.service.nickname == "ann")
    }

    @Test func `A room that answers no pings is joined again`() throws {
      var run = try Self.joined()
      run.service.answersPings = false
      run.wait(run.limits.silence + .seconds(120))
      #expect(run.sent.count { $0.name == "presence" } == 2)
    }

    // MARK: Messages

    @Test func `Messages that come while the archive is read follow it`() throws {
      var run = try Self.joined()
      run.endSession(handling: 0)
      for number in 1...3 { run.say("old \(number)") }
      run.connect()
      while run.service.nickname == nil, run.step() {}
      run.say("live")
      run.settle()
      #expect(run.bodies == ["old 1", "old 2", "old 3", "live"])
    }

    @Test(
      "A process that is killed before the reflection sends nothing twice and loses nothing",
      arguments: [0, 1, 2])
    func killed(handledCount: Int) throws {
      var run = try Self.joined()
      let rows = [run.send("one"), run.send("two")]
      run.endSession(handling: handledCount)
      run.kill()
      run.connect()
      run.settle()
      #expect(run.service.archive.map(\.body) == ["one", "two"])
      #expect(run.bodies == ["one", "two"])
      #expect(rows.map { run.fates[$0] } == [.received, .received])
    }

    @Test func `A lost reflection is found in the archive`() throws {
      var run = try Self.joined()
      run.service.losesNext = true
      let row = run.send("quiet")
      run.settle()
      #expect(run.fates[row] == nil)
      run.wait(run.limits.reflectionTime + .seconds(1))
      #expect(run.fates[row] == .received)
      #expect(run.service.archive.count == 1)
    }

    @Test func `Without an archive, a message whose reflection is lost fails`() throws {
      var run = try RoomRun()
      run.service.hasArchive = false
      run.connect()
      run.join()
      run.settle()
      let row = run.send("perhaps")
      run.endSession(handling: 0)
      run.connect()
      run.settle()
      #expect(run.fates[row] == .failed(.refused("unconfirmed")))
      run.send("now")
      run.settle()
      #expect(run.bodies == ["now"])
    }

    @Test func `A refused message fails with the room's reason`() throws {
      var run = try Self.joined()
      let row = run.send("may I speak")
      run.up = []
      try run.receive(
        """
        <message type='error' id='o1' from='lab@rooms.example'><error type='auth'>
          <forbidden xmlns='\(Namespace.stanzaErrors)'/></error></message>
        """)
      #expect(run.fates[row] == .failed(.refused("forbidden")))
    }

    @Test func `An archive that has lost its end is a gap, and brings nothing twice`() throws {
      var run = try Self.joined()
      for number in 1...5 { run.say("m\(number)", id: "i\(number)") }
      run.settle()
      run.wait(.seconds(301))
      run.endSession(handling: 0)
      run.service.archive.removeLast(5)
      run.say("new", id: "i9")
      run.connect()
      run.settle()
      #expect(run.bodies == ["m1", "m2", "m3", "m4", "m5", "new"])
      let gaps = run.delivered.count { if case .archiveGap = $0 { true } else { false } }
      #expect(gaps == 1)
    }

    @Test func `A flood while the archive is read is bounded, and comes from the archive`() throws {
      var limits = RoomLimits()
      limits.heldCountMax = 10
      var run = try RoomRun(limits: limits)
      run.connect()
      run.join()
      while run.service.nickname == nil, run.step() {}
      for number in 1...50 { run.say("\(number)") }
      run.settle()
      #expect(run.bodies == (1...50).map { "\($0)" })
      #expect(run.notices.contains(.problem(.flooded(run.room))))
    }

    @Test func `Beyond the bound occupants are counted`() throws {
      var limits = RoomLimits()
      limits.occupantsPerRoomMax = 1_000
      var run = try RoomRun(limits: limits)
      run.service.others = (0..<1_100).map { "o\($0)" }
      run.connect()
      run.join()
      run.settle()
      let info = try #require(run.machine.infos.first)
      #expect(info.state == .joined)
      #expect(info.occupantCount == 1_000)
      #expect(info.uncountedOccupants == 101)
      #expect(run.notices.count { $0 == .problem(.tooManyOccupants(run.room)) } == 1)
    }

    @Test func `Messages and results of others than the room have no effect`() throws {
      var run = try Self.joined()
      try run.receive(
        "<message type='groupchat' from='evil@rooms.example/bob'><body>x</body></message>")
      try run.receive(
        """
        <message from='evil@chat.example'><result xmlns='\(Namespace.archive)' queryid='1' id='1'>
          <forwarded xmlns='\(Namespace.forward)'><message type='groupchat'
            from='lab@rooms.example/bob' xmlns='jabber:client'><body>x</body></message>
          </forwarded></result></message>
        """)
      try run.receive(
        """
        <message type='chat' from='lab@rooms.example/bob'><sent xmlns='\(Namespace.carbons)'>
          <forwarded xmlns='\(Namespace.forward)'><message type='groupchat'
            from='lab@rooms.example/bob' xmlns='jabber:client'><body>x</body></message>
          </forwarded></sent></message>
        """)
      #expect(run.delivered.isEmpty)
      run.say("real")
      run.settle()
      #expect(run.bodies == ["real"])
    }

    @Test func `Without an archive, identifiers that an occupant forges hide no message`() throws {
      var run = try RoomRun()
      run.service.hasArchive = false
      run.connect()
      run.join()
      run.settle()
      for body in ["forged", "real"] {
        try run.receive(
          """
          <message type='groupchat' from='lab@rooms.example/bob'><body>\(body)</body>
            <stanza-id xmlns='\(Namespace.stanzaIDs)' id='1' by='lab@rooms.example'/></message>
          """)
      }
      #expect(run.bodies == ["forged", "real"])
    }

    // MARK: Bookmarks

    @Test func `A joined room is bookmarked, and a left one no longer joined by others`() throws {
      var run = try RoomRun()
      run.service.refusesOptions = true
      run.connect()
      run.join(isBookmarked: true)
      run.settle()
      let bookmark = try #require(run.service.bookmarks.first)
      #expect(bookmark.child("conference", Namespace.bookmarks)?["autojoin"] == "true")
      run.endSession(handling: 0)
      run.request(2, .leave(run.room))
      run.kill()
      run.connect()
      run.settle()
      #expect(run.state == .ended(.left))
      let left = try #require(run.service.bookmarks.first)
      #expect(left.child("conference", Namespace.bookmarks)?["autojoin"] == nil)
    }

    @Test func `A room that another device has bookmarked is joined under its nickname`() throws {
      var run = try RoomRun()
      run.service.bookmarks = [
        XMLElement(
          "item", Namespace.pubSub, ["id": "lab@rooms.example"],
          children: [
            XMLElement(
              "conference", Namespace.bookmarks, ["autojoin": "true"],
              children: [XMLElement("nick", Namespace.bookmarks, text: "anna")])
          ])
      ]
      run.connect()
      run.settle()
      #expect(run.state == .joined)
      #expect(run.service.nickname == "anna")
    }
  }
#endif
