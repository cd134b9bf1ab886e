#if Messaging
  /// An element of the SASL negotiation (RFC 6120, §6.4).
  package enum SASLElement: Hashable, Sendable {
    /// The client chooses a mechanism, and begins.
    case auth(mechanism: String, [UInt8])
    case challenge([UInt8])
    case response([UInt8])
    /// With the data of the server's last message, which may be empty.
    case success([UInt8])
    case failure(SASLFailure)
    case abort

    /// Reads an element that a server or a client sends; nil for another element, or if its data are not base64.
    ///
    /// - Parameter profile: With the extensible one, only elements that both profiles have.
    package init?(_ element: XMLElement, profile: SASLProfile = .core) {
      guard element.namespace == profile.namespace else { return nil }
      if profile == .extensible,
        !["challenge", "response", "failure", "abort"].contains(element.name)
      {
        return nil
      }
      // One "=" is empty data (§6.4.2).
      let text = element.text
      let data = text == "=" ? [] : Base64.bytes(text.filter { !$0.isWhitespace })
      switch element.name {
      case "auth":
        guard let mechanism = element["mechanism"], let data else { return nil }
        self = .auth(mechanism: mechanism, data)
      case "challenge":
        guard let data else { return nil }
        self = .challenge(data)
      case "response":
        guard let data else { return nil }
        self = .response(data)
      case "success":
        guard let data else { return nil }
        self = .success(data)
      case "failure": self = .failure(SASLFailure(element))
      case "abort": self = .abort
      default: return nil
      }
    }

    package var element: XMLElement { element(.core) }

    /// The element of a profile; that of `auth` and `success` is the core profile's.
    package func element(_ profile: SASLProfile) -> XMLElement {
      func make(
        _ name: String, _ data: [UInt8], _ attributes: KeyValuePairs<String, String?> = [:],
        empty: String? = nil
      ) -> XMLElement {
        XMLElement(
          name, profile.namespace, attributes, text: data.isEmpty ? empty : Base64.text(data))
      }
      return switch self {
      case .auth(let mechanism, let data): make("auth", data, ["mechanism": mechanism], empty: "=")
      case .challenge(let data): make("challenge", data)
      case .response(let data): make("response", data)
      case .success(let data): make("success", data)
      case .failure(let failure): failure.element(profile)
      case .abort: make("abort", [])
      }
    }
  }

  /// The reason why a server refused to authenticate a client (RFC 6120, §6.5).
  package struct SASLFailure: Error, Hashable, Sendable {
    package enum Condition: String, Hashable, Sendable, CaseIterable {
      case aborted
      case accountDisabled = "account-disabled"
      case credentialsExpired = "credentials-expired"
      case encryptionRequired = "encryption-required"
      case incorrectEncoding = "incorrect-encoding"
      case invalidAuthzid = "invalid-authzid"
      case invalidMechanism = "invalid-mechanism"
      case malformedRequest = "malformed-request"
      case mechanismTooWeak = "mechanism-too-weak"
      case notAuthorized = "not-authorized"
      case temporaryAuthFailure = "temporary-auth-failure"
    }

    /// An unknown condition counts as `not-authorized` (§6.5).
    package var condition: Condition
    /// A description for people, in the server's words; not more than 1,024 characters.
    package var text: String?

    package init(_ condition: Condition, text: String? = nil) {
      self.condition = condition
      self.text = text
    }

    init(_ element: XMLElement) {
      condition =
        element.children.lazy.compactMap { Condition(rawValue: $0.name) }.first ?? .notAuthorized
      text = element.child("text", element.namespace).map { String($0.text.prefix(1_024)) }
    }

    /// Conditions have one namespace in both profiles.
    func element(_ profile: SASLProfile) -> XMLElement {
      var children = [XMLElement(condition.rawValue, Namespace.sasl)]
      if let text { children.append(XMLElement("text", profile.namespace, text: text)) }
      return XMLElement("failure", profile.namespace, children: children)
    }
  }
#endif
