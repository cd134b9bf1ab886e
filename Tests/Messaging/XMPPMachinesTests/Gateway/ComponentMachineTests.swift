#if Messaging
  import Essentials
  import Testing
  @testable import XMPPMachines
  import XMPPWire

  @Suite("The stream of a component")
  struct ComponentMachineTests {
    private struct Run {
      let domain: JID
      var machine: ComponentMachine
      var now = Instant.zero
      var actions: [ComponentMachine.Action] = []

      init() throws {
        domain = try #require(JID("push.example"))
        machine = ComponentMachine(domain: domain, seed: 1)
        handle(.start)
      }

      mutating func handle(_ event: ComponentMachine.Event) {
        machine.handle(event, now: now, into: &actions)
      }

      /// The actions since the last call.
      mutating func take() -> [ComponentMachine.Action] {
        defer { actions = [] }
        return actions
      }

      mutating func wake() {
        now = max(now, machine.nextWake ?? now)
        machine.wake(now: now, into: &actions)
      }

      mutating func connect() {
        handle(.opened)
        handle(.received(.header(StreamHeader(id: "s1", version: nil))))
        handle(.computed([0xAB]))
        handle(.received(.element(XMLElement("handshake", Namespace.component))))
        actions = []
      }
    }

    @Test func `The handshake follows the stream's id, and stanzas follow the handshake`() throws {
      var run = try Run()
      #expect(run.take() == [.open])
      run.handle(.opened)
      #expect(run.take() == [.write(ComponentStream.opening(domain: "push.example"))])
      run.handle(.received(.header(StreamHeader(id: "s1", version: nil))))
      #expect(run.take() == [.compute(streamID: "s1")])
      run.handle(.send(XMLElement("message", Namespace.client)))
      run.handle(.computed([0xAB]))
      #expect(run.take() == [.write(Array("<handshake>ab</handshake>".utf8))])
      run.handle(.received(.element(XMLElement("handshake", Namespace.component))))
      #expect(run.take() == [.online])
      run.handle(.send(XMLElement("message", Namespace.client)))
      #expect(run.take() == [.write(Array("<message/>".utf8))])
    }

    @Test func `Each way to end is reported and followed by another connection, later each time`()
      throws
    {
      let error = StreamError(.notAuthorized, text: "no").element
      let ends: [ComponentMachine.Event] = [
        .closed("reset"), .received(.end), .received(.element(error)), .invalid(.restricted),
        .received(.header(StreamHeader(id: nil, version: nil))),
        .received(.element(XMLElement("message", Namespace.component))),
      ]
      var run = try Run()
      var pauses: [TimeSpan] = []
      for end in ends {
        run.handle(.opened)
        _ = run.take()
        run.handle(end)
        let actions = run.take()
        #expect(actions.count == 2 && actions.first == .close)
        let due = try #require(run.machine.nextWake)
        pauses.append(due - run.now)
        run.wake()
        #expect(run.take() == [.open])
      }
      #expect(pauses.first.map { $0 <= .seconds(1) } == true)
      #expect(pauses.last.map { $0 >= .seconds(24) } == true)
      // A server that ends each stream at once is not connected to each second.
      run.connect()
      run.handle(.closed("reset"))
      #expect(run.machine.nextWake.map { $0 - run.now >= .seconds(45) } == true)
      // An established stream that has lasted is followed by the short pause.
      run.wake()
      run.connect()
      run.now = run.now + .seconds(30)
      run.handle(.closed("reset"))
      #expect(run.machine.nextWake.map { $0 - run.now <= .seconds(1) } == true)
    }

    @Test func `Two programs with one domain come together less and less often`() throws {
      var run = try Run()
      let conflict = StreamError(.conflict, text: "Component already connected").element
      var pauses: [TimeSpan] = []
      for number in 0..<10 {
        // The server refuses the later one, or ends the earlier one.
        if number.isMultiple(of: 2) { run.handle(.opened) } else { run.connect() }
        _ = run.take()
        run.handle(.received(.element(conflict)))
        let pause = try #require(run.machine.nextWake) - run.now
        #expect(run.take() == [.close, .offline(.conflict(retryAfter: pause))])
        pauses.append(pause)
        run.wake()
      }
      #expect(pauses.first.map { $0 >= .milliseconds(3_750) } == true)
      #expect(pauses.last.map { $0 >= .seconds(675) && $0 <= .seconds(900) } == true)
    }

    @Test func `The program gives way when the gateway finds another one with its domain`() throws {
      var run = try Run()
      run.connect()
      run.handle(.conflict)
      guard case .offline(.conflict(let pause))? = run.take().last else { throw Failure.noConflict }
      #expect(pause >= .milliseconds(3_750))
      run.handle(.conflict)
      #expect(run.take().isEmpty)
    }

    @Test func `A silent server is asked, and given up`() throws {
      var run = try Run()
      run.connect()
      run.wake()
      guard case .write(let bytes)? = run.take().first else { throw Failure.noPing }
      #expect(String(decoding: bytes, as: UTF8.self).contains("urn:xmpp:ping"))
      #expect(run.now == .zero + .seconds(60))
      run.handle(.received(.element(XMLElement("iq", Namespace.component))))
      run.wake()
      _ = run.take()
      run.wake()
      #expect(run.take() == [.close, .offline(.failed("the server is silent"))])
      #expect(run.now == .zero + .seconds(140))
    }

    @Test func `A server that never answers while the stream begins is given up`() throws {
      var run = try Run()
      _ = run.take()
      run.handle(.opened)
      _ = run.take()
      run.wake()
      #expect(run.take() == [.close, .offline(.failed("the server doesn't answer in time"))])
    }

    private enum Failure: Error { case noPing, noConflict }
  }
#endif
