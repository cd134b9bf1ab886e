#if Messaging
  /// An element of stream management (XEP-0198). Counts are modulo 2^32.
  package enum StreamManagement: XMPPExtension {
    case enable(resumes: Bool)
    case enabled(Enabled)
    case resume(previous: String, handled: UInt32)
    case resumed(previous: String, handled: UInt32)
    /// With the server's count where a resumption failed and it is known.
    case failed(StanzaError.Condition, handled: UInt32?)
    case request
    case answer(handled: UInt32)

    package struct Enabled: Hashable, Sendable {
      /// Nil if the session can't be resumed.
      package var id: String?
      package var location: String?
      /// For how many seconds the server keeps the session; nil if it doesn't tell.
      package var secondsMax: UInt32?

      package init(id: String?, location: String? = nil, secondsMax: UInt32? = nil) {
        self.id = id
        self.location = location
        self.secondsMax = secondsMax
      }
    }

    package init?(_ element: XMLElement) {
      guard element.namespace == Namespace.streamManagement else { return nil }
      let handled = element["h"].flatMap { UInt32($0) }
      func isTrue(_ name: String) -> Bool { ["true", "1"].contains(element[name]) }
      switch element.name {
      case "enable": self = .enable(resumes: isTrue("resume"))
      case "enabled":
        self = .enabled(
          Enabled(
            id: isTrue("resume") ? element["id"] : nil, location: element["location"],
            secondsMax: element["max"].flatMap { UInt32($0) }))
      case "resume":
        guard let previous = element["previd"], let handled else { return nil }
        self = .resume(previous: previous, handled: handled)
      case "resumed":
        guard let previous = element["previd"], let handled else { return nil }
        self = .resumed(previous: previous, handled: handled)
      case "failed":
        let names = element.children.lazy.filter { $0.namespace == Namespace.stanzaErrors }
        let condition = names.compactMap { StanzaError.Condition(rawValue: $0.name) }.first
        self = .failed(condition ?? .undefinedCondition, handled: handled)
      case "r": self = .request
      case "a":
        guard let handled else { return nil }
        self = .answer(handled: handled)
      default: return nil
      }
    }

    package var element: XMLElement {
      func make(
        _ name: String, _ attributes: KeyValuePairs<String, String?> = [:],
        _ children: [XMLElement] = []
      ) -> XMLElement {
        XMLElement(name, Namespace.streamManagement, attributes, children: children)
      }
      return switch self {
      case .enable(let resumes): make("enable", ["resume": resumes ? "true" : nil])
      case .enabled(let values):
        make(
          "enabled",
          [
            "id": values.id, "resume": values.id == nil ? nil : "true",
            "location": values.location, "max": values.secondsMax.map { "\($0)" },
          ])
      case .resume(let previous, let handled):
        make("resume", ["h": "\(handled)", "previd": previous])
      case .resumed(let previous, let handled):
        make("resumed", ["h": "\(handled)", "previd": previous])
      case .failed(let condition, let handled):
        make(
          "failed", ["h": handled.map { "\($0)" }],
          [XMLElement(condition.rawValue, Namespace.stanzaErrors)])
      case .request: make("r")
      case .answer(let handled): make("a", ["h": "\(handled)"])
      }
    }
  }
#endif
