#if BindingServer
  /// A pattern of addresses: names between slashes, of which some are any and have a name in braces.
  struct PageRoute: Hashable, Sendable {
    private enum Part: Hashable {
      case fixed(String)
      case parameter(String)
    }

    private let parts: [Part]

    /// Parses a pattern such as `rooms/{room}`; nil if the text is invalid: a name is empty, hidden or given twice, or
    /// braces are open.
    init?(_ text: String) {
      var parts: [Part] = []
      var names: Set<String> = []
      for part in text.split(separator: "/", omittingEmptySubsequences: false) {
        guard part.first == "{", part.last == "}" else {
          guard !part.isEmpty, !part.hasPrefix("."), !part.contains(where: "{}".contains) else {
            return nil
          }
          parts.append(.fixed(String(part)))
          continue
        }
        let name = String(part.dropFirst().dropLast())
        guard !name.isEmpty, !name.contains(where: "{}".contains), names.insert(name).inserted
        else { return nil }
        parts.append(.parameter(name))
      }
      self.parts = parts
    }

    /// The parameters of a path, without a slash at its beginning and decoded; nil if it doesn't match.
    func parameters(of path: String) -> [String: String]? {
      let names = path.split(separator: "/", omittingEmptySubsequences: false)
      guard names.count == parts.count else { return nil }
      var parameters: [String: String] = [:]
      for (part, name) in zip(parts, names) {
        switch part {
        case .fixed(let text): if text != name { return nil }
        case .parameter(let key): parameters[key] = String(name)
        }
      }
      return parameters
    }
  }
#endif
