#if Messaging
  internal import Essentials
  internal import XMPPWire

  /// What is negotiated with the authentication: resuming (XEP-0198), binding (XEP-0386), tokens (XEP-0484).
  extension StreamMachine {
    /// The time for the features of a session that was bound by the authentication; without them it begins anyway.
    private static let featureTime: TimeSpan = .seconds(3)

    mutating func inlineRequests(_ feature: ExtensibleFeature) -> [XMLElement] {
      if configuration.withdrawsToken { return [TokenElement.withdrawal] }
      guard case .connected(var connection) = phase else { return [] }
      var requests = StreamConnection.InlineRequests()
      var elements: [XMLElement] = []
      if feature.offersResumption, let resumption = beginResumption() {
        elements.append(resumption.element)
      }
      // The server completes a tag. A resource that the app wishes is bound by RFC 6120.
      if let features = feature.sessionFeatures, configuration.resource == nil {
        var children: [XMLElement] = []
        if features.contains(Namespace.streamManagement) {
          children.append(StreamManagement.enable(resumes: true).element)
        }
        if configuration.enablesCarbons, features.contains(Namespace.carbons) {
          requests.hasCarbons = true
          children.append(Carbon.enable)
        }
        if clientState == .inactive, features.contains(Namespace.clientState) {
          requests.clientState = .inactive
          children.append(ClientState.inactive.element)
        }
        elements.append(
          InlineBinding(tag: configuration.client?.software, children: children).element)
      }
      if connection.stage.isTokenExchange {
        requests.tokenMechanism = token?.mechanism
        elements.append(TokenElement.use)
      } else if let mechanism = tokenMechanism(feature, connection.bindings) {
        requests.tokenMechanism = mechanism
        elements.append(TokenElement.request(mechanism))
      }
      connection.requested = requests
      phase = .connected(connection)
      return elements
    }

    /// The request for the session that is kept; nil without one that can be resumed.
    mutating func beginResumption() -> StreamManagement? {
      guard var session, let id = session.id else { return nil }
      let handled = UInt32(truncatingIfNeeded: session.beginResumption())
      self.session = session
      return .resume(previous: id, handled: handled)
    }

    /// After the authentication: the session that was resumed or bound with it, or else what RFC 6120 has.
    mutating func begin(_ success: ExtensibleSuccess) {
      switch success.resumption {
      case .resumed(let previous, let handled) where previous == session?.id:
        return resume(handled: handled)
      case .failed(_, let handled):
        if let handled, session != nil, !acknowledge(handled) { return }
        dropSession()
      case nil: break
      default: return unexpected(success.element)
      }
      guard let (jid, management) = success.binding else {
        // Nothing of a session was negotiated.
        if case .connected(var connection) = phase {
          connection.requested = StreamConnection.InlineRequests()
          phase = .connected(connection)
        }
        return advance(to: .opening(isAuthenticated: true))
      }
      dropSession()
      var enabled: StreamManagement.Enabled?
      if case .enabled(let values)? = management { enabled = values }
      guard case .connected(var connection) = phase else { return }
      connection.stage = .bound(jid, enabled)
      connection.deadline = now + Self.featureTime
      phase = .connected(connection)
    }

    /// Features, which follow the success at once, or what a server sends in their place.
    mutating func receivedWhenBound(
      _ element: XMLElement, _ jid: JID, _ enabled: StreamManagement.Enabled?
    ) {
      guard let features = StreamFeatures(element) else {
        beginBoundSession(jid, enabled)
        return receivedInSession(element)
      }
      takeSessionFeatures(features)
      guard enabled == nil, features.offersStreamManagement else {
        return beginBoundSession(jid, enabled)
      }
      // The time for the features doesn't bound the time for the answer.
      if case .connected(var connection) = phase {
        connection.deadline = nil
        phase = .connected(connection)
      }
      advance(to: .enabling(jid, early: []))
      write(StreamManagement.enable(resumes: true).element)
    }

    mutating func beginBoundSession(_ jid: JID, _ enabled: StreamManagement.Enabled?) {
      beginSession(jid, enabled, early: [])
    }

    /// The features of a session; a session that was resumed with the authentication has begun before they come.
    mutating func takeSessionFeatures(_ features: StreamFeatures) {
      guard case .connected(var connection) = phase else { return }
      connection.features = features
      phase = .connected(connection)
    }
  }

  extension StreamConnection.Stage {
    var isTokenExchange: Bool { if case .provingToken = self { true } else { false } }
  }
#endif
