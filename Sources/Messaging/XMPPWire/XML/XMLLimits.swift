#if Messaging
  /// The bounds of a stream, which are checked before its bytes are parsed.
  package struct XMLLimits: Hashable, Sendable {
    /// Bytes from the end of one stanza to the end of the next. Servers have limits of 64 KiB to 10 MiB for what
    /// they take, and an archive's results are single stanzas.
    package var stanzaByteCountMax = 2 << 20
    /// Bytes of one tag, with its attributes.
    package var tagByteCountMax = 64 << 10
    /// Elements within each other, the stream among them. A carbon of an archived message has nine.
    package var depthMax = 64
    /// Attributes of one element, namespace declarations among them.
    package var attributeCountMax = 128
    /// Elements of one stanza, which need far more memory than their bytes. A roster of 10,000 contacts has 30,000.
    package var elementCountMax = 65_536
    /// Elements and attributes with which a parser grows before it is reset: Expat keeps each name that it has seen.
    package var nameCountMax = 1_000

    package init() {}
  }

  /// The reason why bytes are not a stream of XML that XMPP allows.
  package enum XMLStreamError: Error, Hashable, Sendable {
    /// A comment, a processing instruction, a document type or an entity that XML doesn't define (RFC 6120, §11.1).
    case restricted
    /// The bytes are not well-formed XML in UTF-8; with Expat's error code, or 0.
    case notWellFormed(code: UInt32)
    /// A prefix is not declared.
    case undeclaredPrefix
    /// One of ``XMLLimits`` was exceeded.
    case tooLong(Limit)
    /// There is text between stanzas, or the first element is no stream.
    case notAStream

    /// A bound of ``XMLLimits``.
    package enum Limit: Hashable, Sendable { case stanza, tag, depth, attributes, elements }

    /// The stream error that tells the peer.
    package var condition: StreamError.Condition {
      switch self {
      case .restricted: .restrictedXML
      case .notWellFormed: .notWellFormed
      case .undeclaredPrefix: .badNamespacePrefix
      case .tooLong: .policyViolation
      case .notAStream: .badFormat
      }
    }
  }
#endif
