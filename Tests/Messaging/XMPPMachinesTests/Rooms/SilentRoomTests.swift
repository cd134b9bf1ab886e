#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Rooms and bookmarks without an answer")
  struct SilentRoomTests {
    private static func gaps(_ run: RoomRun) -> Int {
      run.delivered.count { if case .archiveGap = $0 { true } else { false } }
    }

    /// A room whose archive was read, and that has another message since the session has ended.
    private static func left() throws -> RoomRun {
      var run = try RoomRun()
      run.connect()
      run.join()
      run.settle()
      run.say("before", id: "1")
      run.settle()
      run.endSession(handling: 0)
      run.say("missed", id: "2")
      run.down = []
      return run
    }

    /// The same, joined again while its archive is silent.
    private static func joinedAgain() throws -> RoomRun {
      var run = try left()
      run.service.isArchiveSilent = true
      run.connect()
      run.settle()
      run.say("live", id: "3")
      run.settle()
      return run
    }

    @Test func `A room is used after ten seconds of its archive's silence, and a gap is reported`()
      throws
    {
      var run = try Self.joinedAgain()
      run.send("own")
      run.wait(.seconds(9))
      #expect(run.bodies == ["before"] && run.state == .joining)
      run.wait(.seconds(1))
      #expect(run.bodies == ["before", "live", "own"] && run.state == .joined)
      #expect(Self.gaps(run) == 1)
      run.down += run.service.answerAll()
      run.settle()
      #expect(run.bodies == ["before", "live", "own", "missed"])
      #expect(run.messages.last?.arrival == .late)
      #expect(Self.gaps(run) == 1)
    }

    @Test func `A resumed session reads on what a cut has interrupted in a room that is used`()
      throws
    {
      var run = try Self.joinedAgain()
      run.wait(.seconds(10))
      #expect(run.bodies == ["before", "live"] && run.state == .joined)
      run.disconnect()
      _ = run.service.answerAll()
      run.connect(isResumed: true)
      run.settle()
      #expect(run.bodies == ["before", "live", "missed"])
    }

    @Test func `A resumed session reads the archive of a room at the time that was set before`()
      throws
    {
      var run = try RoomRun()
      run.connect()
      run.join()
      run.settle()
      run.service.losesNext = true
      run.say("lost", id: "1")
      run.disconnect()
      run.connect(isResumed: true)
      run.settle()
      #expect(run.bodies == [])
      run.wait(run.limits.archive.archiveInterval)
      run.settle()
      #expect(run.bodies == ["lost"])
    }

    @Test func `What waits for a room's archive goes to the app ten seconds after the connection`()
      throws
    {
      var run = try Self.joinedAgain()
      run.disconnect()
      run.wait(.seconds(9))
      #expect(run.bodies == ["before"] && run.machine.holdsMessagesBack)
      run.wait(.seconds(1))
      #expect(run.bodies == ["before", "live"] && Self.gaps(run) == 1)
      run.endSession(handling: 0)
      run.service.isArchiveSilent = false
      run.connect()
      run.settle()
      #expect(run.bodies == ["before", "live", "missed"] && run.state == .joined)
      #expect(run.messages.last?.arrival == .late)
      #expect(Self.gaps(run) == 1)
    }

    @Test
    func `A session that is back in time keeps the order, and what waits though it's joined anew`()
      throws
    {
      var run = try Self.joinedAgain()
      run.endSession(handling: 0)
      run.wait(.seconds(9))
      run.connect()
      run.settle()
      #expect(run.bodies == ["before"])
      run.down += run.service.answerAll()
      run.settle()
      #expect(run.bodies == ["before", "missed", "live"] && Self.gaps(run) == 0)
    }

    @Test func `Sessions that end again and again hold a room's message back for a minute at most`()
      throws
    {
      var run = try Self.joinedAgain()
      let start = run.now
      while run.bodies.last != "live", run.now - start < .seconds(120) {
        run.wait(.seconds(8))
        run.endSession(handling: 0)
        run.wait(.seconds(1))
        run.connect()
        run.settle()
      }
      #expect(run.bodies == ["before", "live"] && Self.gaps(run) == 1)
      #expect(run.now - start <= .seconds(63))
    }

    @Test func `A gap precedes the first message after the silence, too, and later processes know`()
      throws
    {
      var run = try Self.left()
      run.service.isArchiveSilent = true
      run.connect()
      run.settle()
      run.wait(.seconds(10))
      #expect(run.state == .joined && Self.gaps(run) == 0)
      run.say("live", id: "3")
      run.settle()
      #expect(run.bodies == ["before", "live"] && Self.gaps(run) == 1)
      run.endSession(handling: 0)
      run.kill()
      run.service.isArchiveSilent = false
      run.connect()
      run.settle()
      #expect(run.bodies == ["before", "live", "missed"])
      #expect(run.messages.last?.arrival == .late && Self.gaps(run) == 1)
    }

    @Test func `Each stay in a room whose archive is silent reports its own gap`() throws {
      var run = try Self.left()
      run.service.isArchiveSilent = true
      for number in 1...3 {
        run.connect()
        run.settle()
        run.wait(.seconds(10))
        run.say("live \(number)", id: "l\(number)")
        run.say("more \(number)", id: "m\(number)")
        run.settle()
        #expect(Self.gaps(run) == number)
        run.endSession(handling: 0)
        if number == 2 { run.kill() }
      }
    }

    @Test func `An app that is about to be suspended gets what waits for a room's archive`() throws
    {
      var run = try Self.joinedAgain()
      run.handle(.endWaiting)
      #expect(run.bodies == ["before", "live"] && run.state == .joined && Self.gaps(run) == 1)
      #expect(!run.machine.holdsMessagesBack)
    }

    @Test(arguments: [false, true])
    func `A room that is silent about its settings or abilities is joined again after a pause`(
      isNew: Bool
    ) throws {
      var run = try RoomRun()
      run.service.isRoomSilent = true
      run.service.isNew = isNew
      run.connect()
      run.join()
      run.settle()
      run.wait(.seconds(29))
      #expect(run.answers[1] == nil && run.state == .joining)
      run.wait(.seconds(1))
      #expect(run.answers[1] == .some(.ended(.noAnswer)) && run.state == .waiting(.noAnswer))
      run.service.isRoomSilent = false
      run.wait(run.limits.firstPause)
      #expect(run.state == .joined)
    }

    @Test func `What comes while a room is silent about its abilities waits for ten seconds`()
      throws
    {
      var run = try Self.left()
      run.service.isRoomSilent = true
      run.connect()
      run.settle()
      run.say("live", id: "3")
      run.settle()
      run.wait(.seconds(9))
      #expect(run.bodies == ["before"])
      run.wait(.seconds(1))
      #expect(run.bodies == ["before", "live"] && Self.gaps(run) == 1)
      run.wait(.seconds(20))
      #expect(run.state == .waiting(.noAnswer))
      run.service.isRoomSilent = false
      run.wait(run.limits.firstPause)
      #expect(run.bodies == ["before", "live", "missed"] && run.state == .joined)
      #expect(run.messages.last?.arrival == .late && Self.gaps(run) == 1)
    }

    @Test func `An archive of a room that is read slowly holds messages up for a minute at most`()
      throws
    {
      var limits = RoomLimits()
      limits.archive.pageCount = 1
      var run = try RoomRun(limits: limits)
      run.connect()
      run.join()
      run.settle()
      run.say("before", id: "1")
      run.settle()
      run.endSession(handling: 0)
      for number in 2...30 { run.say("missed \(number)", id: "\(number)") }
      run.down = []
      run.service.isArchiveSilent = true
      run.connect()
      run.settle()
      run.say("live", id: "31")
      let start = run.now
      while !run.bodies.contains("live"), run.now - start < .seconds(200) {
        run.wait(.seconds(8))
        run.down += run.service.answerAll()
        run.service.isArchiveSilent = true
        run.settle()
      }
      #expect(run.now - start <= .seconds(64) && run.state == .joined && Self.gaps(run) == 1)
      run.down += run.service.answerAll()
      run.settle()
      #expect(run.bodies.count == 31 && run.messages.last?.arrival == .late)
    }

    @Test func `What went ahead of a room's first archive comes once, also to a later process`()
      throws
    {
      var run = try RoomRun()
      run.connect()
      run.join()
      while run.machine.rooms[run.room]?.phase != .discovering, run.step() {}
      run.say("live", id: "1")
      while run.machine.rooms[run.room]?.held.isEmpty == true, run.step() {}
      #expect(run.machine.holdsMessagesBack)
      run.endSession(handling: 0)
      run.wait(.seconds(10))
      #expect(run.bodies == ["live"])
      run.kill()
      run.connect()
      run.settle()
      #expect(run.state == .joined && run.bodies == ["live"])
      #expect(run.stored[run.room]?.isArchiveBehind == false)
    }

    @Test func `Rooms that don't answer keep another one from being joined for ten seconds`() throws
    {
      var run = try RoomRun()
      run.connect()
      run.settle()
      let count = run.limits.joiningCountMax
      for number in 0..<count {
        let silent = try #require(JID("silent-\(number)@gone.example"))
        run.request(
          UInt64(100 + number), .join(silent, nickname: "ann", password: nil, isBookmarked: false))
      }
      run.up = []
      run.join()
      run.wait(.seconds(9))
      #expect(run.answers[1] == nil)
      run.wait(.seconds(1))
      #expect(run.answers[1] == .some(nil))
      run.wait(.seconds(60))
      #expect(run.answers[100] == .some(.ended(.noAnswer)))
    }

    @Test func `A list of bookmarks that doesn't come is reported, and requested again`() throws {
      var run = try RoomRun()
      run.service.isBookmarkSilent = true
      run.connect()
      run.join(isBookmarked: true)
      run.settle()
      #expect(run.answers[1] == .some(nil))
      run.wait(.seconds(30))
      #expect(run.notices.contains(.problem(.bookmarksUnavailable(.remoteServerTimeout))))
      #expect(run.service.bookmarks.isEmpty)
      run.service.isBookmarkSilent = false
      run.wait(.seconds(600))
      #expect(run.service.bookmarks.count == 1)
    }

    @Test func `A bookmark that the server doesn't confirm holds up no other one`() throws {
      var run = try RoomRun()
      run.connect()
      run.settle()
      run.service.isBookmarkSilent = true
      run.join(isBookmarked: true)
      run.settle()
      let other = try #require(JID("other@rooms.example"))
      run.request(2, .leave(run.room))
      run.request(3, .join(other, nickname: "ann", password: nil, isBookmarked: true))
      run.request(4, .leave(other))
      run.settle()
      run.service.isBookmarkSilent = false
      run.wait(.seconds(31))
      #expect(run.notices.contains(.problem(.bookmarksUnavailable(.remoteServerTimeout))))
      #expect(run.service.bookmarks.map { $0["id"] } == ["other@rooms.example"])
    }
  }
#endif
