#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// SASL (RFC 6120, §6), under TLS only.
  extension StreamMachine {
    mutating func beginAuthentication(_ connection: StreamConnection) {
      let offered = connection.features.mechanisms
      let usable = offered.compactMap { SASLMechanism(rawValue: $0) }.filter { mechanism in
        if mechanism == .plain { return configuration.allowsPlain }
        return !mechanism.isBound || binding(connection) != nil
      }
      // Not more of the server's words than an error needs.
      let names = offered.prefix(16).map { String($0.prefix(64)) }
      guard !usable.isEmpty else { return fail(.noMechanism(offered: names)) }
      let best = usable.filter { mechanism in
        provenMechanism.map { !mechanism.isWeaker(than: $0) } ?? true
      }.max()
      guard let best else {
        return fail(.downgrade(offered: names, proven: provenMechanism ?? .plain))
      }
      guard let user = configuration.account.local else { return fail(.noCredentials) }
      if best == .plain {
        advance(to: .computing(.plain))
        return perform(.compute(.password))
      }
      let first = SCRAM.ClientFirst(
        user: user, nonce: connection.nonce, binding: clientBinding(best, connection))
      advance(to: .authenticating(best, first))
      write(SASLElement.auth(mechanism: best.rawValue, first.bytes).element)
    }

    private func binding(_ connection: StreamConnection) -> (name: String, data: [UInt8])? {
      connection.bindings.best(of: connection.features.channelBindings ?? [])
    }

    private func clientBinding(
      _ mechanism: SASLMechanism, _ connection: StreamConnection
    ) -> SCRAM.ClientFirst.Binding {
      if mechanism.isBound, let (name, data) = binding(connection) {
        return .bound(name: name, data: data)
      }
      let hasBinding = connection.bindings != ChannelBindings()
      let isOffered = connection.features.mechanisms.contains { $0.hasSuffix("-PLUS") }
      // A server that finds "unused" although it offered a binding knows that its offer was removed on the way.
      return hasBinding && !isOffered ? .unused : .unsupported
    }

    mutating func credentials(_ answer: CredentialAnswer, for request: CredentialRequest) {
      // An answer for an earlier connection would be a wrong proof.
      guard case .connected(let connection) = phase,
        case .computing(let computation) = connection.stage, computation.request == request
      else { return }
      switch (computation, answer) {
      case (.plain, .password(let password)):
        let user = configuration.account.local ?? ""
        advance(to: .proving(.plain, nil, isChecked: true))
        let message = [0] + Array(user.utf8) + [0] + Array(password.utf8)
        write(SASLElement.auth(mechanism: SASLMechanism.plain.rawValue, message).element)
      case (.proof(let mechanism, let first, let answer), .scram(let proof)):
        advance(to: .proving(mechanism, proof, isChecked: false))
        write(SASLElement.response(SCRAM.clientFinal(first, answer, proof)).element)
      case (_, .unavailable), (.plain, _), (.proof, _): fail(.noCredentials)
      }
    }

    mutating func authenticate(_ element: XMLElement, _ connection: StreamConnection) {
      guard let message = SASLElement(element) else { return unexpected(element) }
      if case .failure(let failure) = message { return fail(.refused(failure)) }
      do throws(SCRAMError) {
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
        let computation = StreamConnection.Computation.proof(mechanism, first, answer)
        advance(to: .computing(computation))
        perform(.compute(computation.request))
      case (.proving(let mechanism, let proof?, isChecked: false), .challenge(let data)):
        try SCRAM.check(data, proof)
        advance(to: .proving(mechanism, proof, isChecked: true))
        write(SASLElement.response([]).element)
      case (.proving(let mechanism, let proof, let isChecked), .success(let data)):
        if !isChecked {
          guard let proof, !data.isEmpty else { return fail(.serverNotAuthenticated) }
          try SCRAM.check(data, proof)
        }
        authenticated(mechanism)
      default: unexpected(element)
      }
    }

    private mutating func authenticated(_ mechanism: SASLMechanism) {
      if provenMechanism != mechanism {
        provenMechanism = mechanism
        perform(.record(.proven(mechanism)))
      }
      advance(to: .opening(isAuthenticated: true))
      perform(.restartParser)
      guard case .connected = phase else { return }
      writeHeader()
    }
  }
#endif
