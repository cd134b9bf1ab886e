#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Messages that a room returns")
  struct ReturnedMessageTests {
    private static func joined() throws -> RoomRun {
      var run = try RoomRun()
      run.connect()
      run.join()
      run.settle()
      return run
    }

    @Test func `A room that ejects its sender with each message has it once that ends`() throws {
      var run = try Self.joined()
      run.service.ejectsSpeakers = true
      let rows = [run.send("a1"), run.send("a2")]
      run.settle()
      let start = run.now
      run.wait(.seconds(86_400))
      #expect(run.fates.isEmpty && run.outgoing.count == 2)
      // The pauses between the attempts grow up to ten minutes.
      let attempts = run.sent.count { $0.name == "message" }
      #expect((10...200).contains(attempts), "\(attempts) attempts")
      #expect(run.now - start >= .seconds(86_400))
      run.service.ejectsSpeakers = false
      run.wait(.seconds(600))
      #expect(run.bodies == ["a1", "a2"])
      #expect(rows.allSatisfy { run.fates[$0] == .received } && run.outgoing.isEmpty)
    }

    @Test func `An occupant whose message the room finds unacceptable is told so`() throws {
      var run = try Self.joined()
      run.service.returns = (StanzaError(.modify, .notAcceptable), 1)
      let rows = [run.send("refused"), run.send("taken")]
      run.settle()
      #expect(run.fates[rows[0]] == .failed(.refused("not-acceptable")))
      #expect(run.fates[rows[1]] == .received && run.bodies == ["taken"])
      #expect(run.state == .joined)
    }

    @Test(
      arguments: [
        StanzaError(.wait, .resourceConstraint), StanzaError(.wait, .policyViolation),
        StanzaError(.wait, .unexpectedRequest), StanzaError(.cancel, .remoteServerNotFound),
        StanzaError(.wait, .remoteServerTimeout), StanzaError(.wait, .recipientUnavailable),
      ])
    func `A message that the room returns for a while leaves again, before later ones`(
      error: StanzaError
    ) throws {
      var run = try Self.joined()
      run.service.returns = (error, 12)
      let first = run.send("a1")
      run.settle()
      let second = run.send("a2")
      run.settle()
      #expect(run.fates.isEmpty)
      run.wait(.seconds(7_200))
      #expect(run.fates[first] == .received && run.fates[second] == .received)
      #expect(run.bodies == ["a1", "a2"] && run.state == .joined)
    }

    @Test func `A message that a later process finds returned leaves with the next join`() throws {
      var run = try Self.joined()
      run.service.ejectsSpeakers = true
      let row = run.send("a1")
      // The room's word that this account is no occupant doesn't come.
      run.service.answersPings = false
      run.settle()
      run.endSession(handling: 0)
      run.kill()
      run.service.ejectsSpeakers = false
      run.connect()
      run.settle()
      #expect(run.fates[row] == .received && run.bodies == ["a1"])
    }

    @Test func `A message that the room's service fails at three times holds up no others`() throws
    {
      var run = try Self.joined()
      run.service.returns = (StanzaError(.cancel, .internalServerError), 3)
      let row = run.send("a1")
      let next = run.send("a2")
      run.settle()
      run.wait(.seconds(7_200))
      let fates = [run.fates[row], run.fates[next]]
      #expect(fates.contains(.received), "\(fates)")
      #expect(run.outgoing.isEmpty && run.state == .joined)
    }
  }
#endif
