#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Messages to rooms that were left, and other nicknames")
  struct RoomEndTests {
    private static func joined() throws -> RoomRun {
      var run = try RoomRun()
      run.connect()
      run.join()
      run.settle()
      #expect(run.state == .joined)
      return run
    }

    private static func failed(_ reason: String) -> MessageFate { .failed(.refused(reason)) }

    private static func remove(_ content: String, from run: inout RoomRun) throws {
      run.up = []
      run.service.nickname = nil
      try run.receive(
        """
        <presence type='unavailable' from='lab@rooms.example/ann'>
          <x xmlns='\(Namespace.roomUser)'><status code='110'/>\(content)</x></presence>
        """)
    }

    @Test(
      "Messages fail with the reason for which the room has ended the stay for good",
      arguments: [
        ("<status code='301'/>", "banned"),
        ("<destroy><reason>Old</reason></destroy>", "destroyed"),
      ])
    func endings(content: String, reason: String) throws {
      var run = try Self.joined()
      let rows = (1...70).map { run.send("m\($0)") }
      try Self.remove(content, from: &run)
      #expect(rows.allSatisfy { run.fates[$0] == Self.failed(reason) })
      #expect(run.outgoing.isEmpty)
    }

    @Test func `After a kick messages wait until the app joins the room again, or leaves it`()
      throws
    {
      var run = try Self.joined()
      let row = run.send("m1")
      try Self.remove("<status code='307'/>", from: &run)
      #expect(run.fates[row] == nil)
      run.join(2)
      run.settle()
      #expect(run.fates[row] == .received)

      let second = run.send("m2")
      try Self.remove("<status code='307'/>", from: &run)
      run.request(3, .leave(run.room))
      #expect(run.answers[3] == .some(nil))
      // It is unknown whether a message of an earlier stay has arrived.
      #expect(run.fates[second] == Self.failed("unconfirmed") && run.outgoing.isEmpty)
    }

    @Test func `Messages that wait for a room fail when the app leaves it`() throws {
      var run = try Self.joined()
      run.disconnect()
      let row = run.send("m1")
      run.request(2, .leave(run.room))
      #expect(run.fates[row] == Self.failed("left") && run.outgoing.isEmpty)
      // One that is under way has arrived if its reflection comes.
      var quick = try Self.joined()
      let sent = quick.send("m1")
      quick.request(2, .leave(quick.room))
      quick.settle()
      #expect(quick.fates[sent] == .received && quick.state == .ended(.left))
    }

    @Test func `Messages of a process that ended before they failed fail in the next one`() throws {
      var run = try Self.joined()
      run.disconnect()
      let row = run.send("m1")
      run.stored[run.room]?.isWanted = false
      run.stored[run.room]?.ending = .banned(nil)
      run.kill()
      run.connect()
      #expect(run.fates[row] == Self.failed("banned") && run.outgoing.isEmpty)
    }

    // MARK: Nicknames

    private static func rejoin(_ nickname: String, _ ticket: UInt64, _ run: inout RoomRun) {
      run.request(
        ticket, .join(run.room, nickname: nickname, password: nil, isBookmarked: false))
    }

    @Test func `A join under another nickname changes the nickname`() throws {
      var run = try Self.joined()
      Self.rejoin("anna", 2, &run)
      #expect(run.answers[2] == nil)
      run.settle()
      #expect(run.answers[2] == .some(nil))
      #expect(run.machine.infos.first?.nickname == "anna" && run.state == .joined)
      let change = run.sent.last { $0.name == "presence" }
      #expect(change?["to"] == "lab@rooms.example/anna" && change?.children.isEmpty == true)
    }

    @Test func `A nickname that is taken is an error, and the one before stays`() throws {
      var run = try Self.joined()
      run.service.takenNicknames = ["bob"]
      Self.rejoin("bob", 2, &run)
      run.settle()
      #expect(run.answers[2] == .some(.ended(.nicknameTaken)))
      #expect(run.machine.infos.first?.nickname == "ann" && run.state == .joined)
      #expect(run.stored[run.room]?.nickname == "ann")
    }

    @Test func `A room that doesn't answer, or a connection that ends, holds up no join`() throws {
      var silent = try Self.joined()
      Self.rejoin("anna", 2, &silent)
      silent.up = []
      silent.wait(silent.limits.answerTime)
      #expect(silent.answers[2] == .some(.ended(.noAnswer)))
      #expect(silent.stored[silent.room]?.nickname == "ann")

      var cut = try Self.joined()
      Self.rejoin("anna", 2, &cut)
      cut.endSession(handling: 0)
      #expect(cut.answers[2] == .some(.offline))
      cut.connect()
      cut.settle()
      #expect(cut.machine.infos.first?.nickname == "anna" && cut.state == .joined)
    }

    @Test func `Another nickname that is wished for during a join follows it`() throws {
      var run = try RoomRun()
      run.connect()
      run.join()
      Self.rejoin("anna", 2, &run)
      run.settle()
      #expect(run.answers[1] == .some(nil) && run.answers[2] == .some(nil))
      #expect(run.machine.infos.first?.nickname == "anna")
    }
  }
#endif
