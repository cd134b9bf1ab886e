extension NWConnection {
  /// Metadata of sent or received content: whether it is final.
  public final class ContentContext: Sendable {
    /// A description, for logs.
    public let identifier: String
    /// Whether nothing more will be sent.
    public let isFinal: Bool

    /// Bytes of which that is known.
    public init(identifier: String, isFinal: Bool = false) {
      self.identifier = identifier
      self.isFinal = isFinal
    }

    /// Bytes among others.
    public static let defaultMessage = ContentContext(identifier: "Default", isFinal: false)
    /// The last bytes: the other end reads to the end.
    public static let finalMessage = ContentContext(identifier: "Final", isFinal: true)
    /// Bytes of a stream.
    public static let defaultStream = ContentContext(identifier: "Stream", isFinal: true)
  }
}
