#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Liveness and the end of a stream")
  struct LivenessTests {
    @Test("a silent server is asked for an acknowledgement, and left if nothing at all comes")
    func silence() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.wait(.seconds(59))
      #expect(stream.actions.isEmpty)
      stream.wait(.seconds(1))
      #expect(stream.written == [StreamManagement.request.element])
      stream.wait(.seconds(20))
      #expect(stream.failure == .silent && stream.retryAt != nil)
      // A server that is only slow must not read the end of the stream: it would end the session.
      #expect(stream.text.isEmpty && stream.actions.first == .close)
      // The session is kept for the next connection.
      stream.reconnect()
      #expect(stream.written.first?.name == "resume")
    }

    @Test("a server that sends other things has more time to acknowledge, but not for ever")
    func busyServer() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...1)
      var span = 0
      while stream.failure == nil, span < 1_000 {
        stream.receive(ScriptedStream.incoming("x"))
        stream.wait(.seconds(10))
        span += 10
      }
      #expect(stream.failure == .silent && span == 120)
    }

    @Test("a server that is too slow for a resumption reads no end of the session")
    func slowResumption() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.closed(.transport("reset")))
      for _ in 0..<3 {
        stream.reconnect()
        #expect(stream.written.first?.name == "resume")
        stream.wait(.seconds(30))
        #expect(stream.failure == .silent && stream.text.isEmpty)
      }
    }

    /// From the last sign of a server that has become silent at a stage of the connection to the next attempt, at most.
    private func timeToNextAttempt(
      _ times: StreamTimes, seed: UInt64, _ reach: (inout ScriptedStream) -> Void
    ) throws -> TimeSpan {
      var stream = try ScriptedStream {
        $0.times = times
        $0.seed = seed
      }
      reach(&stream)
      let silent = stream.now
      for _ in 0..<100 {
        let due = try #require(stream.machine.nextWake)
        stream.wait(due - stream.now)
        if stream.actions.contains(.open(.domain)) { return stream.now - silent }
      }
      throw StreamFailure.silent
    }

    private static let stages: [@Sendable (inout ScriptedStream) -> Void] = [
      { $0.handle(.start) },
      { stream in
        stream.handle(.start)
        stream.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
      },
      { stream in
        stream.handle(.start)
        stream.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
        stream.sendFeatures([XMLElement("starttls", Namespace.tls)])
      },
      { $0.open() },
      { stream in
        stream.open()
        stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      },
      { stream in
        stream.open()
        stream.authenticate()
      },
      { stream in
        stream.open()
        stream.authenticate()
        stream.sendFeatures(ScriptedStream.features)
      },
      { $0.goOnline() },
      { stream in
        stream.goOnline()
        stream.send(1...3)
      },
      { stream in
        stream.goOnline()
        stream.handle(.closed(.transport("reset")))
        stream.reconnect()
      },
    ]

    @Test(
      "a server that is silent at any stage is replaced within the stated times",
      arguments: stages.indices)
    func stagesOfSilence(stage: Int) throws {
      for seed in 1...20 as ClosedRange<UInt64> {
        let quick = StreamTimes(
          silence: .seconds(1), answer: .seconds(1), longestPause: .seconds(1))
        let span = try timeToNextAttempt(quick, seed: seed, Self.stages[stage])
        #expect(span <= .milliseconds(2_500), "seed \(seed)")
        let standard = try timeToNextAttempt(StreamTimes(), seed: seed, Self.stages[stage])
        #expect(standard <= .seconds(82), "seed \(seed)")
      }
    }

    @Test("the host's computation is no silence of the server")
    func slowComputation() throws {
      var stream = try ScriptedStream { $0.times = StreamTimes(answer: .seconds(1)) }
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge()
      let actions = stream.actions
      stream.wait(.seconds(20))
      #expect(stream.failure == nil)
      for case .compute(let request) in actions {
        stream.handle(.credentials(.scram(ScriptedStream.proof), for: request))
      }
      stream.wait(.milliseconds(999))
      #expect(stream.failure == nil)
      stream.wait(.milliseconds(1))
      #expect(stream.failure == .silent)
    }

    @Test("a server that needs longer for its answers gets more time with each attempt")
    func slowServer() throws {
      var stream = try ScriptedStream { $0.times = StreamTimes(answer: .seconds(1)) }
      stream.handle(.start)
      var spans: [TimeSpan] = []
      for _ in 0..<7 {
        stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
        let opened = stream.now
        stream.wait(try #require(stream.machine.nextWake) - stream.now)
        #expect(stream.failure == .silent)
        spans.append(stream.now - opened)
        stream.wait(try #require(stream.retryAt) - stream.now)
      }
      #expect(spans == [1, 2, 4, 8, 16, 30, 30].map { TimeSpan.seconds($0) })
    }

    @Test(
      "a session with a slow server is given up less and less early, and with a quick one early again"
    )
    func slowSession() throws {
      var stream = try ScriptedStream {
        $0.times = StreamTimes(silence: .seconds(1), answer: .seconds(1), longestPause: .seconds(1))
      }
      func timeToSilence() throws -> TimeSpan {
        stream.send(1...1)
        let sent = stream.now
        while stream.failure == nil {
          stream.wait(try #require(stream.machine.nextWake) - stream.now)
        }
        return stream.now - sent
      }
      func resume() {
        stream.reconnect()
        stream.receive(.resumed(previous: "id1", handled: 0))
      }
      stream.goOnline()
      var spans: [TimeSpan] = []
      for _ in 0..<6 {
        spans.append(try timeToSilence())
        resume()
      }
      #expect(spans == [1, 2, 4, 8, 16, 20].map { TimeSpan.seconds($0) })
      for _ in 0..<6 {
        stream.receive(.answer(handled: 0))
        stream.handle(.networkChanged)
      }
      #expect(try timeToSilence() == .seconds(1))
    }

    @Test("a change of the network examines a connection, and ends a pause")
    func network() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.networkChanged)
      #expect(stream.written == [StreamManagement.request.element])
      stream.wait(.seconds(20))
      #expect(stream.failure == .silent)
      stream.handle(.networkChanged)
      #expect(stream.actions == [.open(.domain)])
      stream.handle(.networkChanged)
      #expect(stream.actions == [.close, .open(.domain)])
    }

    @Test("after a conflict only the app connects again")
    func conflict() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.receive(StreamError(.conflict).element)
      #expect(stream.failure == .stream(StreamError(.conflict)))
      #expect(stream.retryAt == nil && stream.machine.nextWake == nil)
      stream.wait(.seconds(100_000))
      #expect(stream.actions.isEmpty)
      stream.handle(.start)
      #expect(stream.actions == [.open(.domain)])
    }

    /// A session after connections that were abandoned while they began one.
    private func afterAbandoned(_ count: Int) throws -> ScriptedStream {
      var stream = try ScriptedStream { $0.resource = "desk" }
      for _ in 0..<count {
        stream.handle(.start)
        stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
        stream.authenticate()
        stream.sendFeatures(ScriptedStream.features)
        #expect(stream.text.contains("<resource>desk</resource>"))
        stream.handle(.closed(.transport("reset")))
      }
      stream.goOnline()
      return stream
    }

    @Test(
      "an abandoned connection whose request is read late ends the session, not the account",
      arguments: 1...3)
    func lateRequest(count: Int) throws {
      var stream = try afterAbandoned(count)
      for _ in 0..<count {
        stream.receive(StreamError(.conflict).element)
        let retryAt = try #require(stream.retryAt)
        stream.wait(retryAt - stream.now)
        #expect(stream.actions == [.open(.domain)])
        stream.reconnect()
        #expect(stream.written.first?.name == "resume")
        stream.receive(.failed(.itemNotFound, handled: nil))
        // It takes the place of no other client.
        #expect(!stream.text.contains("<resource>"))
        stream.bind()
        stream.receive(.enabled(.init(id: "id1")))
        #expect(stream.online?.isResumed == false)
      }
      // Another client.
      stream.receive(StreamError(.conflict).element)
      #expect(stream.retryAt == nil)
    }

    @Test("a conflict long after an abandoned connection is another client's")
    func lateConflict() throws {
      var stream = try afterAbandoned(1)
      stream.receive(ScriptedStream.incoming("x"))
      stream.now = stream.now + .seconds(121)
      stream.receive(StreamError(.conflict).element)
      #expect(stream.failure != nil && stream.retryAt == nil)
    }

    @Test(
      "a connection that the server has ended itself, or that had a session, excuses no conflict")
    func endedByServer() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.authenticate()
      stream.sendFeatures(ScriptedStream.features)
      stream.handle(.received(.end))
      stream.goOnline()
      stream.handle(.closed(.transport("reset")))
      stream.reconnect()
      stream.receive(.resumed(previous: "id1", handled: 0))
      stream.receive(StreamError(.conflict).element)
      #expect(stream.failure != nil && stream.retryAt == nil)
    }

    @Test(
      "pauses grow to their bound with chance, and begin anew after a session that brought something"
    )
    func pauses() throws {
      var stream = try ScriptedStream()
      stream.handle(.start)
      var spans: [TimeSpan] = []
      for _ in 0..<12 {
        stream.handle(.closed(.transport("refused")))
        let retryAt = try #require(stream.retryAt)
        spans.append(retryAt - stream.now)
        stream.wait(retryAt - stream.now)
        #expect(stream.actions == [.open(.domain)])
      }
      #expect(spans[0] <= .seconds(1))
      for (index, span) in spans.enumerated().dropFirst() {
        let longest = min(TimeSpan.seconds(120), .seconds(1 << Int64(index)))
        #expect(span <= longest && span + span >= longest, "pause \(index): \(span)")
      }
      stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
      stream.authenticate()
      stream.sendFeatures(ScriptedStream.features)
      stream.bind()
      stream.receive(.enabled(.init(id: "id1")))
      stream.handle(.closed(.transport("reset")))
      let unused = try #require(stream.retryAt) - stream.now
      #expect(unused >= .seconds(60))
      stream.reconnect()
      stream.receive(.resumed(previous: "id1", handled: 0))
      stream.send(1...1)
      stream.receive(.answer(handled: 1))
      stream.handle(.closed(.transport("reset")))
      #expect(try #require(stream.retryAt) - stream.now <= .seconds(1))
    }

    @Test("clients of different seeds come back at different times")
    func jitter() throws {
      let times = try (1...50).map { seed in
        var stream = try ScriptedStream { $0.seed = UInt64(seed) }
        stream.handle(.start)
        stream.handle(.closed(.transport("refused")))
        return try #require(stream.retryAt)
      }
      #expect(Set(times).count == 50)
      let last = try #require(times.max())
      let first = try #require(times.min())
      #expect(last - first > .milliseconds(700))
    }

    @Test("a location is tried first for a resumption, and the domain after it")
    func location() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.authenticate()
      stream.sendFeatures(ScriptedStream.features)
      stream.bind()
      stream.receive(.enabled(.init(id: "id1", location: "node2:5222")))
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      #expect(stream.actions == [.open(.host("node2", port: 5_222))])
      stream.handle(.closed(.transport("refused")))
      stream.handle(.start)
      #expect(stream.actions == [.open(.domain)])
    }

    @Test("a stop that keeps the session acknowledges what was committed, and closes at once")
    func suspend() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.receive(ScriptedStream.incoming("a"))
      stream.handle(.handled(through: 1, session: 1))
      stream.handle(.stop(keepsSession: true))
      #expect(stream.written == [StreamManagement.answer(handled: 1).element])
      #expect(!stream.text.contains("</stream") && stream.actions.contains(.close))
      #expect(stream.failure == .stopped && stream.retryAt == nil && stream.records.isEmpty)
    }

    @Test(
      "a stop waits for acknowledgements, then for the server's end, and each only for a moment")
    func graceful() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.send(1...2)
      stream.handle(.stop(keepsSession: false))
      #expect(
        stream.written.first?.name == "a" && stream.failure == nil && stream.machine.room == 0)
      stream.receive(.answer(handled: 2))
      #expect(
        stream.actions.contains(.acknowledged([1, 2])) && stream.text.hasSuffix("</stream:stream>"))
      stream.handle(.received(.end))
      #expect(stream.failure == .stopped && stream.records == [.ended])

      var silent = try ScriptedStream()
      silent.goOnline()
      silent.send(1...2)
      silent.handle(.stop(keepsSession: false))
      silent.wait(.seconds(3))
      #expect(silent.text.hasSuffix("</stream:stream>") && silent.failure == nil)
      silent.wait(.seconds(3))
      #expect(silent.failure == .stopped && silent.actions.contains(.lost([1, 2])))
    }

    @Test("a start during a stop is remembered")
    func restart() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.stop(keepsSession: false))
      stream.handle(.start)
      stream.handle(.received(.end))
      #expect(stream.failure == .stopped && stream.retryAt == stream.now)
      stream.wait(.zero)
      #expect(stream.actions == [.open(.domain)])
    }

    @Test(
      "bytes that XMPP forbids end the stream with the error that names them, and the session goes on later"
    )
    func invalidXML() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.invalid(.restricted))
      #expect(stream.written.first.flatMap { StreamError($0) }?.condition == .restrictedXML)
      #expect(stream.failure == .invalidXML(.restricted) && stream.retryAt != nil)
      stream.reconnect()
      #expect(stream.written.first?.name == "resume")
    }

    @Test(
      "the app's state goes to the server when it changes, with an acknowledgement, and after each connection"
    )
    func clientState() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.clientState(.inactive))
      #expect(
        stream.written == [
          StreamManagement.answer(handled: 0).element, ClientState.inactive.element,
          StreamManagement.request.element,
        ])
      stream.handle(.clientState(.inactive))
      #expect(stream.actions.isEmpty)
      stream.handle(.closed(.transport("reset")))
      stream.reconnect()
      stream.receive(.resumed(previous: "id1", handled: 0))
      #expect(stream.written == [ClientState.inactive.element, StreamManagement.request.element])
    }

    @Test("events at the wrong time change nothing", arguments: 0..<6)
    func wrongTime(stage: Int) throws {
      let steps: [(inout ScriptedStream) -> Void] = [
        { _ in }, { $0.handle(.start) }, { $0.open() },
        { stream in
          stream.open(); stream.authenticate()
        }, { $0.goOnline() },
        { stream in
          stream.goOnline(); stream.handle(.closed(.ended))
        },
      ]
      var stream = try ScriptedStream()
      steps[stage](&stream)
      stream.handle(.credentials(.unavailable, for: .password))
      #expect(stream.actions.isEmpty)
      stream.handle(.encrypted(ChannelBindings()))
      #expect(stream.actions.isEmpty)
      stream.handle(.handled(through: 5, session: 3))
      #expect(stream.actions.isEmpty)
      if stage != 1 {
        stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "n"))
        #expect(stream.actions.isEmpty)
      }
      if stage != 4 {
        stream.send(1...1)
        #expect(stream.actions.isEmpty)
      }
      if ![2, 3, 4].contains(stage) {
        stream.handle(.received(.element(ScriptedStream.incoming("x"))))
        stream.handle(.received(.end))
        stream.handle(.invalid(.restricted))
        #expect(stream.actions.isEmpty)
      }
    }
  }
#endif
