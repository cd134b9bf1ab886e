#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import XMPPMachines

  @Suite("Authentication by the extensible profile")
  struct ExtensibleTests {
    private static let client = ExtensibleRequest.Client(
      id: "d4565fa7-4d72-4749-b3d3-740edbf87770", software: "Ambit")
    private static let signature = Array("v=\(Base64.text([7]))".utf8)
    private static let token = SASLToken(.unbound, secret: "secret")

    private static func feature(
      _ mechanisms: [String] = ["SCRAM-SHA-256"], tokens: [String] = ["HT-SHA-256-NONE"]
    ) -> ExtensibleFeature {
      var feature = ExtensibleFeature(mechanisms: mechanisms)
      feature.offersResumption = true
      feature.sessionFeatures = [
        Namespace.carbons, Namespace.clientState, Namespace.streamManagement,
      ]
      feature.tokenMechanisms = tokens
      return feature
    }

    private static func stream(
      _ change: (inout StreamConfiguration) -> Void = { _ in }
    ) throws -> ScriptedStream {
      try ScriptedStream {
        $0.client = client
        $0.enablesCarbons = true
        change(&$0)
      }
    }

    private static func offer(
      _ feature: ExtensibleFeature, core: [String] = ["SCRAM-SHA-256"],
      to stream: inout ScriptedStream
    ) {
      stream.sendFeatures([ScriptedStream.mechanisms(core), feature.element])
    }

    private static func challenge(_ stream: inout ScriptedStream, _ nonce: String = "nonce") {
      stream.receive(
        SASLElement.challenge(Array("r=\(nonce)x,s=QQ==,i=4096".utf8)).element(.extensible))
    }

    private static func request(_ stream: ScriptedStream) throws -> ExtensibleRequest {
      try #require(stream.written.first.flatMap { ExtensibleRequest($0) })
    }

    private static func bound(_ id: String?, token: String? = nil) -> ExtensibleSuccess {
      let enabled = id.map { [StreamManagement.enabled(.init(id: $0)).element] } ?? []
      var success = ExtensibleSuccess(data: signature, address: JID("me@a/Ambit~1"))
      success.children = [XMLElement("bound", Namespace.inlineBinding, children: enabled)]
      if let token {
        success.children.append(XMLElement("token", Namespace.tokens, ["token": token]))
      }
      return success
    }

    /// A stream that is online in a session that it can resume, with a token.
    private static func online() throws -> ScriptedStream {
      var stream = try stream()
      stream.open()
      offer(feature(), to: &stream)
      challenge(&stream)
      stream.answerComputation()
      stream.receive(bound("s1", token: "secret").element)
      stream.receive(features())
      #expect(stream.online?.jid == JID("me@a/Ambit~1"))
      return stream
    }

    private static func features() -> XMPPWire.XMLElement {
      XMLElement(
        "features", Namespace.stream,
        children: [XMLElement("ver", Namespace.rosterVersions)] + ScriptedStream.features)
    }

    private static func reconnect(_ stream: inout ScriptedStream) {
      stream.handle(.closed(.transport("reset")))
      stream.handle(.start)
      stream.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "other"))
    }

    private static func answerToken(_ stream: inout ScriptedStream) {
      for case .compute(.token(let input)) in stream.actions {
        let proof = TokenProof(initiator: [5], responder: [6])
        return stream.handle(.credentials(.token(proof), for: .token(input)))
      }
      Issue.record("No code was computed: \(stream.actions)")
    }

    @Test("one request authenticates, binds, and begins all that the server has")
    func binding() throws {
      var stream = try Self.stream()
      stream.handle(.clientState(.inactive))
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      let request = try Self.request(stream)
      #expect(request.mechanism == "SCRAM-SHA-256" && request.client == Self.client)
      let binding = try #require(request.children.compactMap { InlineBinding($0) }.first)
      #expect(binding.tag == "Ambit")
      #expect(
        binding.children == [
          StreamManagement.enable(resumes: true).element, Carbon.enable,
          ClientState.inactive.element,
        ])
      #expect(request.children.contains(TokenElement.request(.unbound)))
      Self.challenge(&stream)
      stream.answerComputation()
      stream.receive(Self.bound("s1", token: "secret").element)
      #expect(
        stream.records == [.proven(.scramSHA256), .token(SASLToken(.unbound, secret: "secret"))])
      #expect(!stream.actions.contains(.restartParser) && stream.written.isEmpty)
      stream.receive(Self.features())
      let online = try #require(stream.online)
      #expect(online.offersRosterVersions && online.isManaged && !online.isResumed)
      // Neither carbons nor the state of the client are announced again.
      #expect(stream.written.isEmpty, "\(stream.written)")
    }

    @Test("a stanza that comes before the features begins the session, and silence does")
    func withoutFeatures() throws {
      for isSilent in [false, true] {
        var stream = try Self.stream()
        stream.open()
        Self.offer(Self.feature(), to: &stream)
        Self.challenge(&stream)
        stream.answerComputation()
        stream.receive(Self.bound("s1").element)
        if isSilent {
          stream.wait(.seconds(3))
        } else {
          stream.receive(ScriptedStream.incoming("m1"))
          #expect(stream.actions.contains(.deliver(ScriptedStream.incoming("m1"), count: 1)))
        }
        #expect(stream.online?.isManaged == true)
      }
    }

    @Test(
      "a session is resumed by the request of the authentication, and what is missing goes first")
    func resuming() throws {
      var stream = try Self.online()
      stream.send(1...2)
      stream.receive(ScriptedStream.incoming("m1"))
      stream.handle(.handled(through: 1, session: 1))
      Self.reconnect(&stream)
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      let request = try Self.request(stream)
      #expect(
        request.children.contains(StreamManagement.resume(previous: "s1", handled: 1).element))
      #expect(request.mechanism == "HT-SHA-256-NONE" && request.children.contains(TokenElement.use))
      #expect(request.response == Array("me".utf8) + [0, 5])
      let resumed = StreamManagement.resumed(previous: "s1", handled: 1)
      stream.receive(
        ExtensibleSuccess(data: [6], address: JID("me@a/Ambit~1"), children: [resumed.element])
          .element)
      #expect(stream.online?.isResumed == true)
      #expect(stream.actions.contains(.acknowledged([1])))
      #expect(stream.written.contains(ScriptedStream.message(2).element))
      #expect(!stream.written.contains(ScriptedStream.message(1).element))
      stream.receive(Self.features())
      #expect(stream.failure == nil)
    }

    @Test(
      "a session that can't be resumed is replaced in the same round trip, and its rows are reported"
    )
    func failedResumption() throws {
      var stream = try Self.online()
      stream.send(1...2)
      Self.reconnect(&stream)
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      var success = Self.bound("s2")
      success.data = [6]
      success.children.insert(StreamManagement.failed(.itemNotFound, handled: 1).element, at: 0)
      stream.receive(success.element)
      #expect(stream.actions.contains(.acknowledged([1])) && stream.actions.contains(.lost([2])))
      stream.receive(Self.features())
      #expect(stream.online?.session == 2)
    }

    @Test("what the server does not negotiate inline follows by RFC 6120, without a new stream")
    func withoutBinding() throws {
      var stream = try Self.stream { $0.resource = "phone" }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      #expect(try Self.request(stream).children.compactMap { InlineBinding($0) }.isEmpty)
      Self.challenge(&stream)
      stream.answerComputation()
      stream.receive(ExtensibleSuccess(data: Self.signature, address: JID("me@a")).element)
      #expect(stream.written.isEmpty && stream.failure == nil)
      stream.receive(Self.features())
      stream.bind()
      #expect(stream.written == [StreamManagement.enable(resumes: true).element])
      stream.receive(.enabled(.init(id: "id1")))
      #expect(stream.online != nil && Self.enablesCarbons(stream))
    }

    private static func enablesCarbons(_ stream: ScriptedStream) -> Bool {
      stream.written.contains { $0.child("enable", Namespace.carbons) != nil }
    }

    @Test("a binding that the server has ignored leaves nothing out")
    func ignoredBinding() throws {
      var stream = try Self.stream()
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.challenge(&stream)
      stream.answerComputation()
      stream.receive(ExtensibleSuccess(data: Self.signature, address: JID("me@a")).element)
      stream.receive(Self.features())
      stream.bind()
      stream.receive(.enabled(.init(id: "id1")))
      #expect(stream.online != nil && Self.enablesCarbons(stream))
    }

    @Test("an app that comes to the foreground during the negotiation is announced as active")
    func changedState() throws {
      var stream = try Self.stream()
      stream.handle(.clientState(.inactive))
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.challenge(&stream)
      stream.answerComputation()
      stream.handle(.clientState(.active))
      stream.receive(Self.bound("s1").element)
      stream.receive(Self.features())
      #expect(stream.online != nil && stream.written == [ClientState.active.element])
    }

    @Test(
      "a server that can't handle what it offers gets the core profile on the same stream",
      arguments: [
        SASLFailure.Condition.malformedRequest, .invalidMechanism, .incorrectEncoding,
        .mechanismTooWeak, .encryptionRequired,
      ])
    func refusedProfile(condition: SASLFailure.Condition) throws {
      var stream = try Self.stream()
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      stream.receive(SASLElement.failure(SASLFailure(condition)).element(.extensible))
      guard
        case .auth("SCRAM-SHA-256", let data)? = stream.written.first.flatMap({ SASLElement($0) })
      else {
        Issue.record("\(stream.actions)")
        return
      }
      #expect(
        String(decoding: data, as: UTF8.self).hasSuffix("r=nonce-1"), "The nonce is used twice.")
      stream.challenge("r=nonce-1x,s=QQ==,i=4096")
      stream.answerComputation()
      stream.receive(SASLElement.success(Self.signature).element)
      #expect(stream.actions.contains(.restartParser) && stream.failure == nil)
      stream.sendFeatures(ScriptedStream.features)
      stream.bind()
      stream.receive(.enabled(.init(id: "id1")))
      #expect(stream.online != nil && Self.enablesCarbons(stream))
    }

    @Test("a second factor that the server demands is aborted, and the core profile is tried")
    func task() throws {
      var stream = try Self.stream()
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.challenge(&stream)
      stream.answerComputation()
      stream.receive(XMLElement("continue", Namespace.extensibleSASL))
      #expect(stream.written.map(\.name) == ["abort", "auth"])
      stream.receive(SASLElement.failure(SASLFailure(.notAuthorized)).element)
      #expect(stream.failure == .refused(SASLFailure(.notAuthorized)) && stream.retryAt == nil)
    }

    @Test("a refused password is not tried by the other profile")
    func refusedPassword() throws {
      var stream = try Self.stream()
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      stream.receive(SASLElement.failure(SASLFailure(.notAuthorized)).element(.extensible))
      #expect(stream.failure == .refused(SASLFailure(.notAuthorized)))
      #expect(stream.retryAt == nil && stream.written.isEmpty)
    }

    @Test("a server that ends the stream twice for the profile is met with the core profile")
    func crashingServer() throws {
      var stream = try Self.stream()
      stream.open()
      for _ in 0..<2 {
        Self.offer(Self.feature(), to: &stream)
        _ = try Self.request(stream)
        Self.reconnect(&stream)
      }
      Self.offer(Self.feature(), to: &stream)
      #expect(stream.written.first?.name == "auth")
    }

    @Test("a server whose profile leads to wrong proofs or to no session gets the core profile")
    func brokenProfile() throws {
      for isProofWrong in [true, false] {
        var stream = try Self.stream()
        stream.open()
        for nonce in ["nonce", "other"] {
          Self.offer(Self.feature(), to: &stream)
          Self.challenge(&stream, nonce)
          stream.answerComputation()
          var success = Self.bound("s1")
          if isProofWrong { success.data = Array("v=AAAA".utf8) }
          stream.receive(success.element)
          Self.reconnect(&stream)
        }
        Self.offer(Self.feature(), to: &stream)
        #expect(stream.written.first?.name == "auth", "\(isProofWrong)")
      }
    }

    @Test("the extensible profile is tried again after an hour, and once if it is still broken")
    func profileThatIsMended() throws {
      var stream = try Self.stream()
      stream.open()
      for _ in 0..<2 {
        Self.offer(Self.feature(), to: &stream)
        Self.reconnect(&stream)
      }
      for _ in 0..<2 {
        stream.now = stream.now + .seconds(3_599)
        Self.offer(Self.feature(), to: &stream)
        #expect(stream.written.first?.name == "auth")
        stream.now = stream.now + .seconds(1)
        Self.reconnect(&stream)
        Self.offer(Self.feature(), to: &stream)
        _ = try Self.request(stream)
        Self.reconnect(&stream)
      }
      stream.now = stream.now + .seconds(3_600)
      Self.offer(Self.feature(), to: &stream)
      Self.challenge(&stream, "other")
      stream.answerComputation()
      stream.receive(Self.bound("s1").element)
      stream.receive(Self.features())
      #expect(stream.online != nil)
      // A session has shown that the profile works: one failure is no reason any more.
      Self.reconnect(&stream)
      Self.offer(Self.feature(), to: &stream)
      Self.reconnect(&stream)
      Self.offer(Self.feature(), to: &stream)
      _ = try Self.request(stream)
    }

    @Test("a server without the core profile is tried by the extensible profile each time")
    func onlyExtensible() throws {
      var stream = try Self.stream()
      stream.open()
      for _ in 0..<3 {
        stream.sendFeatures([Self.feature().element])
        _ = try Self.request(stream)
        Self.reconnect(&stream)
      }
    }

    @Test("a server that manages the stream only afterwards has a negotiation's time for that")
    func lateStreamManagement() throws {
      var stream = try Self.stream()
      stream.open()
      var feature = Self.feature()
      feature.sessionFeatures = [Namespace.carbons]
      Self.offer(feature, to: &stream)
      Self.challenge(&stream)
      stream.answerComputation()
      stream.receive(Self.bound(nil).element)
      stream.receive(Self.features())
      #expect(stream.written == [StreamManagement.enable(resumes: true).element])
      stream.wait(.seconds(10))
      #expect(stream.failure == nil)
      stream.receive(.enabled(.init(id: "id1")))
      #expect(stream.online?.isManaged == true)
    }

    @Test("the profile does not choose a weaker mechanism than the core profile has")
    func weakerProfile() throws {
      var stream = try Self.stream()
      stream.open()
      Self.offer(Self.feature(["SCRAM-SHA-1"]), core: ["SCRAM-SHA-256"], to: &stream)
      #expect(stream.written.first?["mechanism"] == "SCRAM-SHA-256")
      #expect(stream.written.first?.name == "auth")
    }

    @Test("a success without the server's proof is not believed")
    func forgedSuccess() throws {
      for data in [nil, [], [1], Array("v=AAAA".utf8)] as [[UInt8]?] {
        var stream = try Self.stream()
        stream.open()
        Self.offer(Self.feature(), to: &stream)
        Self.challenge(&stream)
        stream.answerComputation()
        var success = Self.bound("s1", token: "forged")
        success.data = data
        stream.receive(success.element)
        #expect(stream.failure != nil && stream.records.isEmpty)
      }
      var early = try Self.stream()
      early.open()
      Self.offer(Self.feature(), to: &early)
      early.receive(Self.bound("s1", token: "forged").element)
      #expect(early.failure == .unexpected("success") && early.records.isEmpty)
    }
  }

  // MARK: Tokens

  extension ExtensibleTests {
    @Test("a refused token is forgotten, and the password is tried once, on the same stream")
    func refusedToken() throws {
      var stream = try Self.stream { $0.token = Self.token }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      stream.receive(SASLElement.failure(SASLFailure(.credentialsExpired)).element(.extensible))
      #expect(stream.records == [.token(nil)])
      let request = try Self.request(stream)
      #expect(request.mechanism == "SCRAM-SHA-256")
      #expect(request.children.contains(TokenElement.request(.unbound)))
      #expect(!request.children.contains(TokenElement.use))
      stream.receive(SASLElement.failure(SASLFailure(.notAuthorized)).element(.extensible))
      #expect(stream.failure == .refused(SASLFailure(.notAuthorized)) && stream.retryAt == nil)
    }

    @Test("a token is withdrawn by its last use, which begins no session")
    func withdrawal() throws {
      var stream = try Self.stream {
        $0.token = Self.token
        $0.withdrawsToken = true
      }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      #expect(try Self.request(stream).children == [TokenElement.withdrawal])
      stream.receive(ExtensibleSuccess(data: [6], address: JID("me@a")).element)
      #expect(stream.records == [.token(nil)] && stream.text == "</stream:stream>")
      #expect(stream.failure == .stopped && stream.retryAt == nil && stream.online == nil)
    }

    @Test(
      "a token that the server refuses, or a server that is not the account's, ends a withdrawal")
    func withdrawalThatIsRefused() throws {
      for condition in [SASLFailure.Condition.notAuthorized, .temporaryAuthFailure] {
        var stream = try Self.stream {
          $0.token = Self.token
          $0.withdrawsToken = true
        }
        stream.open()
        Self.offer(Self.feature(), to: &stream)
        Self.answerToken(&stream)
        stream.receive(SASLElement.failure(SASLFailure(condition)).element(.extensible))
        // The password is never sent for it.
        #expect(stream.written.isEmpty)
        let isOver = condition == .notAuthorized
        #expect(stream.records == (isOver ? [.token(nil)] : []))
        #expect((stream.failure == .stopped) == isOver && (stream.retryAt == nil) == isOver)
      }
      var forged = try Self.stream {
        $0.token = Self.token
        $0.withdrawsToken = true
      }
      forged.open()
      Self.offer(Self.feature(), to: &forged)
      Self.answerToken(&forged)
      forged.receive(ExtensibleSuccess(data: [7], address: JID("me@a")).element)
      #expect(forged.failure == .serverNotAuthenticated && forged.records.isEmpty)
      forged.handle(.start)
      forged.handle(.opened(isEncrypted: true, ChannelBindings(), nonce: "other"))
      forged.sendFeatures([ScriptedStream.mechanisms(["SCRAM-SHA-256"])])
      #expect(forged.failure == .noMechanism(offered: []) && forged.written.isEmpty)
    }

    @Test("a server with passing trouble keeps the token, and is tried later")
    func passingTrouble() throws {
      var stream = try Self.stream { $0.token = Self.token }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      stream.receive(SASLElement.failure(SASLFailure(.temporaryAuthFailure)).element(.extensible))
      #expect(stream.records.isEmpty && stream.retryAt != nil)
    }

    @Test("a server that does not know the token is not believed, and the token stays")
    func forgedServer() throws {
      var stream = try Self.stream { $0.token = Self.token }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      var success = Self.bound("s1", token: "forged")
      success.data = [7]
      stream.receive(success.element)
      #expect(stream.failure == .serverNotAuthenticated && stream.records.isEmpty)
    }

    @Test("a new token replaces the old one, for the same mechanism")
    func rotation() throws {
      var stream = try Self.stream { $0.token = Self.token }
      stream.open()
      Self.offer(Self.feature(), to: &stream)
      Self.answerToken(&stream)
      var success = Self.bound("s1", token: "next")
      success.data = [6]
      stream.receive(success.element)
      #expect(stream.records.contains(.token(SASLToken(.unbound, secret: "next"))))
    }

    @Test(
      "a token is bound to TLS where that is possible, and one that is not is no way around a binding"
    )
    func boundToken() throws {
      let bindings = ChannelBindings(exporter: [1], serverEndPoint: [2])
      let names = ["SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"]
      let tokens = ["HT-SHA-256-ENDP", "HT-SHA-256-NONE", "HT-SHA-256-EXPR", "HT-SHA-512-EXPR"]
      func features(_ tokens: [String]) -> [XMPPWire.XMLElement] {
        [Self.feature(names, tokens: tokens).element, ScriptedStream.bindings(["tls-exporter"])]
      }
      var stream = try Self.stream {
        $0.token = Self.token
        $0.provenMechanism = .scramSHA256Plus
      }
      stream.open(bindings)
      stream.sendFeatures(features(tokens))
      let request = try Self.request(stream)
      #expect(request.mechanism == "SCRAM-SHA-256-PLUS")
      #expect(request.children.contains(TokenElement.request(.exporter)))

      var unbound = try Self.stream { $0.provenMechanism = .scramSHA256Plus }
      unbound.open(bindings)
      unbound.sendFeatures(features(["HT-SHA-256-NONE"]))
      #expect(try Self.request(unbound).children.allSatisfy { $0.name != "request-token" })

      // The connection lacks what the token is bound to.
      var old = try Self.stream { $0.token = SASLToken(.exporter, secret: "secret") }
      old.open(ChannelBindings(serverEndPoint: [2]))
      old.sendFeatures([Self.feature(tokens: tokens).element])
      #expect(try Self.request(old).children.contains(TokenElement.request(.endPoint)))
    }

    @Test("a token longer than a kilobyte, and one that was not asked for, are not kept")
    func unwantedToken() throws {
      for (tokens, secret) in [
        (["HT-SHA-256-NONE"], String(repeating: "x", count: 1_025)), ([], "x"),
      ] {
        var stream = try Self.stream()
        stream.open()
        Self.offer(Self.feature(tokens: tokens), to: &stream)
        Self.challenge(&stream)
        stream.answerComputation()
        stream.receive(Self.bound("s1", token: secret).element)
        #expect(stream.records == [.proven(.scramSHA256)])
      }
    }
  }
#endif
