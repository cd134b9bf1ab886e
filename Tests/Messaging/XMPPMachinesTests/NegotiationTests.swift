#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Negotiating a stream")
  struct NegotiationTests {
    @Test("TLS begins before anything is told about the account")
    func startTLS() throws {
      var stream = try ScriptedStream()
      stream.handle(.start)
      #expect(stream.actions == [.open(.domain)])
      stream.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
      #expect(stream.text.contains("to='a'") && !stream.text.contains("me@a"))
      stream.sendFeatures([
        XMLElement("starttls", Namespace.tls), ScriptedStream.mechanisms(["SCRAM-SHA-256"]),
      ])
      #expect(stream.written == [XMLElement("starttls", Namespace.tls)])
      stream.receive(XMLElement("proceed", Namespace.tls))
      #expect(stream.actions == [.startTLS])
      // What an attacker put behind the consent is no part of the protected stream.
      stream.sendFeatures([ScriptedStream.mechanisms(["PLAIN"])])
      #expect(stream.actions.isEmpty)
      stream.handle(.encrypted(ChannelBindings()))
      #expect(stream.text.contains("from='me@a'"))
      stream.authenticate()
      #expect(stream.actions.contains(.restartParser) && stream.failure == nil)
    }

    @Test("a server without TLS is left, and tried again after the longest pause")
    func noTLS() throws {
      var stream = try ScriptedStream()
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
      stream.sendFeatures([ScriptedStream.mechanisms(["PLAIN", "SCRAM-SHA-1"])])
      #expect(stream.failure == .noTLS && stream.written.isEmpty)
      #expect(try #require(stream.retryAt) >= .zero + .seconds(60))
    }

    @Test("the strongest mechanism is chosen, whatever the server's order is")
    func strongest() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([
        ScriptedStream.mechanisms([
          "PLAIN", "SCRAM-SHA-256", "X-ODD", "SCRAM-SHA-512", "SCRAM-SHA-1",
        ])
      ])
      #expect(stream.written.first?["mechanism"] == "SCRAM-SHA-512")
    }

    @Test(
      "a binding to TLS is used where both sides have one, and its absence is claimed only if none was offered"
    )
    func channelBinding() throws {
      func header(_ names: [String], _ types: [String]?) throws -> (String?, String) {
        var stream = try ScriptedStream()
        stream.open(ChannelBindings(exporter: [1, 2]))
        var features = [ScriptedStream.mechanisms(names)]
        if let types {
          features.append(
            XMLElement(
              "sasl-channel-binding", Namespace.channelBindings,
              children: types.map {
                XMLElement("channel-binding", Namespace.channelBindings, ["type": $0])
              }))
        }
        stream.sendFeatures(features)
        let auth = try #require(stream.written.first)
        guard case .auth(let mechanism, let data)? = SASLElement(auth) else { return (nil, "") }
        return (mechanism, String(decoding: data.prefix { $0 != UInt8(ascii: ",") }, as: UTF8.self))
      }
      let both = ["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"]
      #expect(try header(both, ["tls-exporter"]) == ("SCRAM-SHA-256-PLUS", "p=tls-exporter"))
      #expect(try header(both, ["tls-unique"]) == ("SCRAM-SHA-256", "n"))
      #expect(try header(both, nil) == ("SCRAM-SHA-256", "n"))
      #expect(try header(["SCRAM-SHA-256"], nil) == ("SCRAM-SHA-256", "y"))
    }

    @Test("a mechanism that has succeeded is never lowered, also by a new process")
    func downgrade() throws {
      var stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-1", "PLAIN"])])
      #expect(
        stream.failure == .downgrade(offered: ["SCRAM-SHA-1", "PLAIN"], proven: .scramSHA256))
      #expect(stream.written.isEmpty)

      var next = try ScriptedStream {
        $0.provenMechanism = .scramSHA1
        $0.allowsPlain = true
      }
      next.open()
      next.sendFeatures([ScriptedStream.mechanisms(["PLAIN"])])
      #expect(next.failure == .downgrade(offered: ["PLAIN"], proven: .scramSHA1))
    }

    @Test("the password itself is sent only if that is allowed, and nothing better is offered")
    func plain() throws {
      var strict = try ScriptedStream()
      strict.open()
      strict.sendFeatures([ScriptedStream.mechanisms(["PLAIN"])])
      #expect(strict.failure == .noMechanism(offered: ["PLAIN"]))

      var stream = try ScriptedStream { $0.allowsPlain = true }
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["PLAIN"])])
      #expect(stream.actions == [.compute(.password)])
      stream.handle(.credentials(.password("pässword"), for: .password))
      #expect(
        stream.written
          == [SASLElement.auth(mechanism: "PLAIN", Array("\0me\0pässword".utf8)).element])
      stream.receive(SASLElement.success([]).element)
      #expect(stream.records == [.proven(.plain)])
    }

    @Test(
      "a server that can't prove itself is not believed",
      arguments: ["", "v=", "v=AAAA", "e=unknown-user", "x"])
    func unauthenticatedServer(last: String) throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge()
      stream.answerComputation()
      stream.receive(SASLElement.success(Array(last.utf8)).element)
      let failure = try #require(stream.failure)
      switch failure {
      case .serverNotAuthenticated, .invalidExchange: break
      default: Issue.record("\(failure)")
      }
      #expect(stream.records.isEmpty && stream.retryAt != nil)
    }

    @Test("a success without a proof of the server's is refused at any point")
    func earlySuccess() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.receive(SASLElement.success([]).element)
      #expect(stream.failure == .unexpected("success"))
    }

    @Test("the server's last message may also come as a challenge")
    func finalChallenge() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge()
      stream.answerComputation()
      stream.receive(SASLElement.challenge(Array("v=\(Base64.text([7]))".utf8)).element)
      #expect(stream.written == [SASLElement.response([]).element])
      stream.receive(SASLElement.success([]).element)
      #expect(stream.records == [.proven(.scramSHA256)])
    }

    @Test(
      "a server's demand for too many or too few iterations is refused before anything is computed")
    func iterations() throws {
      for count in [1, 4_095, 1_000_001] {
        var stream = try ScriptedStream()
        stream.open()
        stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
        stream.challenge("r=noncex,s=QQ==,i=\(count)")
        #expect(
          stream.failure == .invalidExchange(.iterations(count, allowed: 4_096...1_000_000)))
      }
    }

    @Test("a proof for an earlier connection is not sent on a later one")
    func staleProof() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge("r=nonceold,s=QQ==,i=4096")
      let computation = try #require(stream.actions.first)
      guard case .compute(let request) = computation else { throw StreamFailure.stopped }
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
      stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      stream.challenge("r=noncenew,s=QQ==,i=4096")
      stream.handle(.credentials(.scram(ScriptedStream.proof), for: request))
      #expect(stream.actions.isEmpty)
    }

    @Test("refused credentials end the attempts, and a server's passing trouble doesn't")
    func refused() throws {
      for (condition, isRetried) in [
        (SASLFailure.Condition.notAuthorized, false), (.accountDisabled, false),
        (.temporaryAuthFailure, true),
      ] {
        var stream = try ScriptedStream()
        stream.open()
        stream.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
        stream.receive(SASLElement.failure(SASLFailure(condition)).element)
        #expect(stream.failure == .refused(SASLFailure(condition)))
        #expect((stream.retryAt != nil) == isRetried)
        #expect((stream.machine.nextWake != nil) == isRetried)
      }
    }

    @Test("a refused resource is wished for once")
    func resource() throws {
      var stream = try ScriptedStream { $0.resource = "desk" }
      stream.open()
      stream.authenticate()
      stream.sendFeatures(ScriptedStream.features)
      let wish = try #require(stream.written.first.flatMap { IQStanza($0) })
      #expect(wish[ResourceBinding.self] == .wish(resource: "desk"))
      stream.receive(wish.refusal(StanzaError(.modify, .conflict)).element)
      let second = try #require(stream.written.first.flatMap { IQStanza($0) })
      #expect(second[ResourceBinding.self] == .wish(resource: nil))
      stream.receive(second.refusal(StanzaError(.cancel, .notAllowed)).element)
      #expect(stream.failure == .bindingRefused(StanzaError(.cancel, .notAllowed)))
    }

    @Test("a server that is silent at any point of the negotiation is left in time")
    func silence() throws {
      let steps: [(inout ScriptedStream) -> Void] = [
        { $0.handle(.start) },
        { $0.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce")) },
        { $0.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])]) }, { $0.challenge() },
        { $0.answerComputation() },
        { $0.receive(SASLElement.success(Array("v=\(Base64.text([7]))".utf8)).element) },
        { $0.sendFeatures(ScriptedStream.features) }, { $0.bind() },
      ]
      for count in 1...steps.count {
        var stream = try ScriptedStream()
        for step in steps.prefix(count) { step(&stream) }
        // The host computes for as long as it needs.
        if count == 4 {
          #expect(stream.machine.nextWake == nil)
          continue
        }
        stream.wait(.seconds(30))
        #expect(stream.failure == .silent, "after \(count) steps")
        #expect(stream.retryAt != nil)
      }
    }

    @Test("elements that have no place in the negotiation end the stream")
    func unexpected() throws {
      var stream = try ScriptedStream()
      stream.open()
      stream.receive(XMLElement("message", Namespace.client))
      #expect(stream.failure == .unexpected("message"))
      #expect(stream.written.first.flatMap { StreamError($0) }?.condition == .unsupportedStanzaType)
      var old = try ScriptedStream()
      old.open()
      old.handle(.received(.header(StreamHeader(version: nil))))
      #expect(old.failure == .unexpected("stream"))
    }

    @Test(
      "A server that fails before a session makes place for the next one at once, and does not count as a failure"
    )
    func nextServer() throws {
      var stream = try ScriptedStream()
      stream.handle(.start)
      for _ in 0..<5 {
        stream.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
        stream.now = stream.now + .seconds(20)
        stream.handle(.serverFailed(.tls("the certificate is of another domain")))
        #expect(stream.actions == [.close, .open(.domain)])
      }
      // The last one has no other beside it.
      stream.handle(.closed(.tls("the certificate is of another domain")))
      #expect(try #require(stream.retryAt) >= stream.now + .seconds(60))
      stream = try ScriptedStream()
      stream.goOnline()
      stream.handle(.serverFailed(.transport("cut")))
      #expect(stream.failure == .transport("cut"))
    }

    @Test("a redirection is followed under TLS, three times in a row")
    func redirection() throws {
      let error = StreamError(.seeOtherHost, otherHost: "[2001:db8::1]:5222").element
      var stream = try ScriptedStream()
      stream.open()
      for _ in 0..<3 {
        stream.receive(error)
        stream.wait(.zero)
        #expect(stream.actions == [.open(.host("2001:db8::1", port: 5_222))])
        stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "nonce"))
      }
      stream.receive(error)
      #expect(stream.failure == .tooManyRedirects)

      var open = try ScriptedStream()
      open.handle(.start)
      open.handle(.opened(isEncrypted: false, ChannelBindings(), nonce: "nonce"))
      open.receive(error)
      open.wait(.seconds(200))
      #expect(open.actions.contains(.open(.domain)))
    }

    @Test("hosts that a server names are read with and without a port")
    func targets() {
      #expect(StreamTarget("h") == .host("h", port: nil))
      #expect(StreamTarget("h:1") == .host("h", port: 1))
      #expect(StreamTarget("::1") == .host("::1", port: nil))
      #expect(StreamTarget("[::1]") == .host("::1", port: nil))
      #expect(StreamTarget("[::1]:65535") == .host("::1", port: 65_535))
      for text in ["", ":1", "h:", "h:0", "h:65536", "[::1", "[]", "[::1]x", "h h", "h\n"] {
        #expect(StreamTarget(text) == nil, "\(text)")
      }
    }
  }
#endif
