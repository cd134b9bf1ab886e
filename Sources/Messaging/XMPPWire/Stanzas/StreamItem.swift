#if Messaging
  /// A part of a stream, in the order in which the server sent it.
  package enum StreamItem: Hashable, Sendable {
    /// `<stream:stream>`.
    case header(StreamHeader)
    /// A child of the stream: a stanza, features, an error, an element of a negotiation.
    case element(XMLElement)
    /// `</stream:stream>`.
    case end
  }

  /// The attributes of `<stream:stream>` (RFC 6120, §4.7).
  package struct StreamHeader: Hashable, Sendable {
    package var from: String?
    package var to: String?
    package var id: String?
    package var version: String?

    package init(
      from: String? = nil, to: String? = nil, id: String? = nil, version: String? = "1.0"
    ) {
      self.from = from
      self.to = to
      self.id = id
      self.version = version
    }
  }
#endif
