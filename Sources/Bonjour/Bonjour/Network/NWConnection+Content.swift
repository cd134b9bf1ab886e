extension NWConnection {
  /// Metadata of sent or received content: whether it is final.
  public final class ContentContext: Sendable {
    /// A description, for logs.
    public let identifier: String
    /// Whether nothing more will be sent.
    public let isFinal: Bool

    /// Creates a context.
    public init(identifier: String, isFinal: Bool = false) {
      self.identifier = identifier
      self.isFinal = isFinal
    }

    /// The context of content that is not final.
    public static let defaultMessage = ContentContext(identifier: "Default", isFinal: false)
    /// The context of final content: the connection's output is closed after it.
    public static let finalMessage = ContentContext(identifier: "Final", isFinal: true)
    /// The context of a stream, which is final.
    public static let defaultStream = ContentContext(identifier: "Stream", isFinal: true)
  }
}
