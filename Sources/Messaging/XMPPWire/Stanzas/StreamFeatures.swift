#if Messaging
  /// What a server offers at a point of the negotiation (RFC 6120, §4.3.2).
  package struct StreamFeatures: Hashable, Sendable {
    package var offersTLS = false
    package var demandsTLS = false
    /// The mechanisms of SASL, as the server names them.
    package var mechanisms: [String] = []
    /// The extensible profile of SASL (XEP-0388); nil if it isn't offered.
    package var extensible: ExtensibleFeature?
    /// The channel bindings that the server supports (XEP-0440); nil if it doesn't name them.
    package var channelBindings: [String]?
    package var offersBinding = false
    package var offersStreamManagement = false
    package var offersClientState = false
    /// Versions of the roster (RFC 6121, §2.6.1).
    package var offersRosterVersions = false
    /// Approval of requests for subscriptions that may come later (RFC 6121, §3.4).
    package var offersPreApproval = false
    /// All that was offered.
    package var elements: [XMLElement] = []

    package init() {}

    /// What is offered for the authentication by a profile.
    package func offer(_ profile: SASLProfile) -> SASLOffer {
      let names = profile == .core ? mechanisms : extensible?.mechanisms ?? []
      return SASLOffer(mechanisms: names, channelBindings: channelBindings)
    }

    /// Reads `stream:features`; nil for another element.
    package init?(_ element: XMLElement) {
      guard element.has("features", Namespace.stream) else { return nil }
      elements = element.children
      for feature in elements {
        switch (feature.name, feature.namespace) {
        case ("starttls", Namespace.tls):
          offersTLS = true
          demandsTLS = feature.child("required", Namespace.tls) != nil
        case ("mechanisms", Namespace.sasl):
          mechanisms = feature.children.filter { $0.has("mechanism", Namespace.sasl) }.map(\.text)
        case ("authentication", Namespace.extensibleSASL):
          extensible = ExtensibleFeature(feature)
        case ("sasl-channel-binding", Namespace.channelBindings):
          channelBindings = feature.children.compactMap { $0["type"] }
        case ("bind", Namespace.bind): offersBinding = true
        case ("sm", Namespace.streamManagement): offersStreamManagement = true
        case ("csi", Namespace.clientState): offersClientState = true
        case ("ver", Namespace.rosterVersions): offersRosterVersions = true
        case ("sub", Namespace.preApproval): offersPreApproval = true
        default: break
        }
      }
    }
  }
#endif
