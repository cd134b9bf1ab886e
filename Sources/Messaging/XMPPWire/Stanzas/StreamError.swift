#if Messaging
  /// The reason why a stream was closed (RFC 6120, §4.9).
  package struct StreamError: Error, Hashable, Sendable {
    /// A condition of §4.9.3.
    package enum Condition: String, Hashable, Sendable, CaseIterable {
      case badFormat = "bad-format"
      case badNamespacePrefix = "bad-namespace-prefix"
      case conflict
      case connectionTimeout = "connection-timeout"
      case hostGone = "host-gone"
      case hostUnknown = "host-unknown"
      case improperAddressing = "improper-addressing"
      case internalServerError = "internal-server-error"
      case invalidFrom = "invalid-from"
      case invalidNamespace = "invalid-namespace"
      case invalidXML = "invalid-xml"
      case notAuthorized = "not-authorized"
      case notWellFormed = "not-well-formed"
      case policyViolation = "policy-violation"
      case remoteConnectionFailed = "remote-connection-failed"
      case reset
      case resourceConstraint = "resource-constraint"
      case restrictedXML = "restricted-xml"
      case seeOtherHost = "see-other-host"
      case systemShutdown = "system-shutdown"
      case undefinedCondition = "undefined-condition"
      case unsupportedEncoding = "unsupported-encoding"
      case unsupportedFeature = "unsupported-feature"
      case unsupportedStanzaType = "unsupported-stanza-type"
      case unsupportedVersion = "unsupported-version"
    }

    package var condition: Condition
    /// The address of `see-other-host`, as the server wrote it.
    package var otherHost: String?
    /// A description for people, in the server's words; not more than 1,024 characters.
    package var text: String?

    package init(_ condition: Condition, otherHost: String? = nil, text: String? = nil) {
      self.condition = condition
      self.otherHost = otherHost
      self.text = text
    }

    /// Reads `stream:error`; nil for another element. An unknown condition counts as `undefined-condition`.
    package init?(_ element: XMLElement) {
      guard element.has("error", Namespace.stream) else { return nil }
      condition = .undefinedCondition
      for child in element.children where child.namespace == Namespace.streamErrors {
        if child.name == "text" {
          text = String(child.text.prefix(1_024))
        } else if let known = Condition(rawValue: child.name) {
          condition = known
          if known == .seeOtherHost { otherHost = child.text }
        }
      }
    }

    package var element: XMLElement {
      var children = [XMLElement(condition.rawValue, Namespace.streamErrors, text: otherHost)]
      if let text { children.append(XMLElement("text", Namespace.streamErrors, text: text)) }
      return XMLElement("error", Namespace.stream, children: children)
    }
  }
#endif
