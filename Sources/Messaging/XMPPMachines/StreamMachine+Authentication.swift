#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// SASL (RFC 6120, §6; XEP-0388), under TLS only.
  extension StreamMachine {
    mutating func beginAuthentication(_ connection: StreamConnection) {
      if let input = usableToken(connection) {
        begin(.extensible, connection)
        advance(to: .computing(.token(input)))
        return perform(.compute(.token(input)))
      }
      if configuration.withdrawsToken {
        return fail(token == nil ? .stopped : .noMechanism(offered: []))
      }
      let profiles = profiles(connection)
      let offered = profiles.map { connection.features.offer($0).mechanisms }.reduce([]) {
        all, more in
        all + more.filter { !all.contains($0) }
      }
      // Not more of the server's words than an error needs.
      let names = offered.prefix(16).map { String($0.prefix(64)) }
      guard profiles.contains(where: { !usable($0, connection).isEmpty }) else {
        return fail(.noMechanism(offered: names))
      }
      let best = profiles.compactMap { profile in
        strongest(profile, connection).map { (profile, $0) }
      }
      // The first of equals: the extensible profile.
      guard
        let (profile, mechanism) = best.first(where: { own in best.allSatisfy { $0.1 <= own.1 } })
      else {
        return fail(.downgrade(offered: names, proven: provenMechanism ?? .plain))
      }
      begin(profile, connection)
      begin(mechanism, profile, connection)
    }

    private func profiles(_ connection: StreamConnection) -> [SASLProfile] {
      let isExtensible =
        connection.features.extensible != nil && configuration.client != nil
        && avoidsExtensibleUntil.map { $0 <= now } ?? true
      return isExtensible ? [.extensible, .core] : [.core]
    }

    private func usable(
      _ profile: SASLProfile, _ connection: StreamConnection
    ) -> [SASLMechanism] {
      connection.features.offer(profile).mechanisms.compactMap { SASLMechanism(rawValue: $0) }
        .filter { mechanism in
          if mechanism == .plain { return configuration.allowsPlain }
          return !mechanism.isBound || binding(connection) != nil
        }
    }

    /// The strongest mechanism of a profile that this connection can use; nil without one as strong as those before.
    func strongest(
      _ profile: SASLProfile, _ connection: StreamConnection
    ) -> SASLMechanism? {
      usable(profile, connection).filter { mechanism in
        provenMechanism.map { !mechanism.isWeaker(than: $0) } ?? true
      }.max()
    }

    private mutating func begin(_ profile: SASLProfile, _ connection: StreamConnection) {
      var connection = connection
      connection.profile = profile
      connection.requested = StreamConnection.InlineRequests()
      connection.exchangeCount += 1
      phase = .connected(connection)
    }

    private mutating func begin(
      _ mechanism: SASLMechanism, _ profile: SASLProfile, _ connection: StreamConnection
    ) {
      guard let user = configuration.account.local else { return fail(.noCredentials) }
      if mechanism == .plain {
        advance(to: .computing(.plain))
        return perform(.compute(.password))
      }
      // A second exchange on the connection has a nonce of its own.
      let nonce =
        connection.exchangeCount == 0
        ? connection.nonce : "\(connection.nonce)-\(connection.exchangeCount)"
      let first = SCRAM.ClientFirst(
        user: user, nonce: nonce, binding: clientBinding(mechanism, profile, connection))
      advance(to: .authenticating(mechanism, first))
      writeRequest(mechanism.rawValue, first.bytes)
    }

    /// Begins an exchange in the connection's profile.
    private mutating func writeRequest(_ mechanism: String, _ response: [UInt8]) {
      guard case .connected(let connection) = phase else { return }
      guard connection.profile == .extensible, let feature = connection.features.extensible else {
        return write(SASLElement.auth(mechanism: mechanism, response).element)
      }
      let children = inlineRequests(feature)
      write(
        ExtensibleRequest(
          mechanism: mechanism, response, client: configuration.client, children: children
        ).element)
    }

    private func binding(_ connection: StreamConnection) -> (name: String, data: [UInt8])? {
      connection.bindings.best(of: connection.features.channelBindings ?? [])
    }

    private func clientBinding(
      _ mechanism: SASLMechanism, _ profile: SASLProfile, _ connection: StreamConnection
    ) -> SCRAM.ClientFirst.Binding {
      if mechanism.isBound, let (name, data) = binding(connection) {
        return .bound(name: name, data: data)
      }
      let hasBinding = connection.bindings != ChannelBindings()
      let isOffered = connection.features.offer(profile).mechanisms.contains {
        $0.hasSuffix("-PLUS")
      }
      // A server that finds "unused" although it offered a binding knows that its offer was removed on the way.
      return hasBinding && !isOffered ? .unused : .unsupported
    }

    mutating func credentials(_ answer: CredentialAnswer, for request: CredentialRequest) {
      // An answer for an earlier connection would be a wrong proof.
      guard case .connected(let connection) = phase,
        case .computing(let computation) = connection.stage, computation.request == request
      else { return }
      let user = Array((configuration.account.local ?? "").utf8)
      switch (computation, answer) {
      case (.plain, .password(let password)):
        advance(to: .proving(.plain, nil, isChecked: true))
        writeRequest(SASLMechanism.plain.rawValue, [0] + user + [0] + Array(password.utf8))
      case (.token(let input), .token(let proof)):
        advance(to: .provingToken(responder: proof.responder))
        writeRequest(input.token.mechanism.rawValue, user + [0] + proof.initiator)
      case (.proof(let mechanism, let first, let answer, _), .scram(let proof)):
        advance(to: .proving(mechanism, proof, isChecked: false))
        write(
          SASLElement.response(SCRAM.clientFinal(first, answer, proof)).element(connection.profile))
      case (.proof, .offerChanged): fail(.offerChanged)
      case (_, .unavailable), (.plain, _), (.token, _), (.proof, _): fail(.noCredentials)
      }
    }

    mutating func authenticate(_ element: XMLElement, _ connection: StreamConnection) {
      do throws(SCRAMError) {
        if connection.profile == .extensible {
          if let success = ExtensibleSuccess(element) { return try take(success, connection) }
          // A second factor, or another task that this client can't do.
          if element.has("continue", Namespace.extensibleSASL) {
            write(SASLElement.abort.element(.extensible))
            return refused(SASLFailure(.aborted), connection)
          }
        }
        guard let message = SASLElement(element, profile: connection.profile) else {
          return unexpected(element)
        }
        if case .failure(let failure) = message { return refused(failure, connection) }
        try continueAuthentication(message, element, connection)
      } catch {
        fail(error == .wrongSignature ? .serverNotAuthenticated : .invalidExchange(error))
      }
    }

    private mutating func continueAuthentication(
      _ message: SASLElement, _ element: XMLElement, _ connection: StreamConnection
    ) throws(SCRAMError) {
      switch (connection.stage, message) {
      case (.authenticating(let mechanism, let first), .challenge(let data)):
        let answer = try SCRAM.ServerFirst(
          data, answering: first, iterations: configuration.iterations)
        let computation = StreamConnection.Computation.proof(
          mechanism, first, answer, connection.features.offer(connection.profile))
        advance(to: .computing(computation))
        perform(.compute(computation.request))
      case (.proving(let mechanism, let proof?, isChecked: false), .challenge(let data)):
        try SCRAM.check(data, proof)
        advance(to: .proving(mechanism, proof, isChecked: true))
        write(SASLElement.response([]).element(connection.profile))
      case (.proving(let mechanism, let proof, let isChecked), .success(let data)):
        guard try isServer(proof, isChecked: isChecked, data) else { return }
        authenticated(mechanism)
        advance(to: .opening(isAuthenticated: true))
        perform(.restartParser)
        writeHeader()
      default: unexpected(element)
      }
    }

    /// Whether the server's last message proves that it knows the password's derivation; the stream has failed otherwise.
    private mutating func isServer(
      _ proof: SCRAMProof?, isChecked: Bool, _ data: [UInt8]
    ) throws(SCRAMError) -> Bool {
      if isChecked { return true }
      guard let proof, !data.isEmpty else {
        fail(.serverNotAuthenticated)
        return false
      }
      try SCRAM.check(data, proof)
      return true
    }

    private mutating func authenticated(_ mechanism: SASLMechanism) {
      guard provenMechanism != mechanism else { return }
      provenMechanism = mechanism
      perform(.record(.proven(mechanism)))
    }

    private mutating func take(
      _ success: ExtensibleSuccess, _ connection: StreamConnection
    ) throws(SCRAMError) {
      switch connection.stage {
      case .proving(let mechanism, let proof, let isChecked):
        guard try isServer(proof, isChecked: isChecked, success.data ?? []) else { return }
        authenticated(mechanism)
      case .provingToken(let responder):
        guard success.data == responder else { return fail(.serverNotAuthenticated) }
      default: return unexpected(success.element)
      }
      if let secret = success.token, let mechanism = connection.requested.tokenMechanism {
        set(SASLToken(mechanism, secret: secret))
      }
      if configuration.withdrawsToken {
        set(nil)
        perform(.write(XMLWriter.closing))
        return fail(.stopped)
      }
      begin(success)
    }

    private mutating func set(_ token: SASLToken?) {
      guard self.token != token else { return }
      self.token = token
      perform(.record(.token(token)))
    }

    private mutating func refused(_ failure: SASLFailure, _ connection: StreamConnection) {
      guard failure.condition != .temporaryAuthFailure else { return fail(.refused(failure)) }
      // The password is tried once, on the same stream, and without a token its refusal is final.
      if connection.stage.isTokenExchange {
        set(nil)
        return beginAuthentication(connection)
      }
      guard connection.profile == .extensible, failure.isOfProfile,
        !usable(.core, connection).isEmpty
      else { return fail(.refused(failure)) }
      avoidExtensibleProfile(connection)
      beginAuthentication(connection)
    }
  }

  // MARK: Tokens

  extension StreamMachine {
    /// The token, if the server takes it and it protects as much as what has succeeded before.
    private func usableToken(_ connection: StreamConnection) -> TokenInput? {
      guard let token, profiles(connection).contains(.extensible),
        connection.features.extensible?.tokenMechanisms.contains(token.mechanism.rawValue) == true,
        isStrongEnough(token.mechanism), let binding = token.mechanism.binding(connection.bindings)
      else { return nil }
      return TokenInput(token, binding: binding)
    }

    /// The strongest mechanism for which the server issues tokens and this connection has the data.
    func tokenMechanism(_ feature: ExtensibleFeature, _ bindings: ChannelBindings)
      -> TokenMechanism?
    {
      TokenMechanism.allCases.last { mechanism in
        feature.tokenMechanisms.contains(mechanism.rawValue) && isStrongEnough(mechanism)
          && mechanism.binding(bindings) != nil
      }
    }

    private func isStrongEnough(_ mechanism: TokenMechanism) -> Bool {
      mechanism.isBound || provenMechanism?.isBound != true
    }
  }

  extension SASLFailure {
    /// Whether the server can't handle the request, which says nothing about the password.
    fileprivate var isOfProfile: Bool {
      switch condition {
      case .aborted, .encryptionRequired, .incorrectEncoding, .invalidMechanism, .malformedRequest,
        .mechanismTooWeak:
        true
      default: false
      }
    }
  }
#endif
