#if Messaging
  /// The content of a presence without type: how a resource is available (RFC 6121, §4.7).
  package struct Availability: Hashable, Sendable {
    /// The word of `<show/>`.
    package enum Show: String, Hashable, Sendable { case chat, away, xa, dnd }

    /// Nil for plainly available.
    package var show: Show?
    /// A text for people.
    package var status: String
    /// Resources below zero get no messages to the bare address.
    package var priority: Int8

    /// The longest status in bytes that is kept.
    package static let statusByteCountMax = 1_024

    package init(_ show: Show? = nil, status: String = "", priority: Int8 = 0) {
      self.show = show
      self.status = status
      self.priority = priority
    }

    /// Reads the content of a presence. An unknown `<show/>` counts as plainly available, a priority that is no number as 0.
    package init(in payload: [XMLElement]) {
      func text(_ name: String) -> String? {
        payload.first { $0.has(name, Namespace.client) && $0.language == nil }?.text
          ?? payload.first { $0.has(name, Namespace.client) }?.text
      }
      self.init(
        text("show").flatMap { Show(rawValue: $0) },
        status: (text("status") ?? "").prefix(byteCountMax: Self.statusByteCountMax),
        priority: text("priority").flatMap { Int8($0) } ?? 0)
    }

    /// The children of a presence.
    package var elements: [XMLElement] {
      var elements: [XMLElement] = []
      if let show { elements.append(XMLElement("show", Namespace.client, text: show.rawValue)) }
      if !status.isEmpty {
        let text = status.prefix(byteCountMax: Self.statusByteCountMax)
        elements.append(XMLElement("status", Namespace.client, text: text))
      }
      if priority != 0 {
        elements.append(XMLElement("priority", Namespace.client, text: "\(priority)"))
      }
      return elements
    }
  }
#endif
