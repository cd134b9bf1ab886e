/// One label of a name, such as that of a subtype: 1 to 63 bytes of any value.
///
/// Two labels are equal if they differ only in the case of ASCII letters.
public struct DNSLabel: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The bytes, in their original case.
  public let bytes: [UInt8]

  /// Creates a label. Throws if it has no bytes, or more than 63.
  public init(_ bytes: some Collection<UInt8>) throws(DNSWireError) {
    guard !bytes.isEmpty else { throw .emptyLabel }
    guard bytes.count <= DNSName.Limits.labelByteCountMax else {
      throw .labelTooLong(byteCount: bytes.count)
    }
    self.init(unchecked: Array(bytes))
  }

  /// A label from bytes whose count is known to be valid.
  init(unchecked bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a label in text form: a backslash and three digits are the byte with that number, a
  /// backslash and another character that character. Dots need no backslash.
  public init(text: some StringProtocol) throws(DNSWireError) {
    try self.init(textBytes: text.utf8)
  }

  /// Parses the bytes of a label in text form, which need not be UTF-8.
  public init(textBytes: some Sequence<UInt8>) throws(DNSWireError) {
    var characters = Array(textBytes)[...]
    var bytes: [UInt8] = []
    while let character = characters.popFirst() {
      bytes.append(
        character == UInt8(ascii: "\\") ? try DNSName.escaped(&characters) : character)
    }
    try self.init(bytes)
  }

  /// Creates a label from a literal. An invalid label is a programming error.
  public init(stringLiteral text: String) {
    do { try self.init(text: text) } catch { preconditionFailure("\(text) is no label: \(error)") }
  }

  /// The label with escapes, as in the text of a name.
  public var description: String { DNSName.escaped(bytes) }

  /// Whether the labels are equal, ignoring the case of ASCII letters.
  public static func == (a: DNSLabel, b: DNSLabel) -> Bool {
    ASCIIFolding.areEqual(a.bytes[...], b.bytes[...])
  }

  /// Hashes the label without regard to the case of ASCII letters.
  public func hash(into hasher: inout Hasher) { hasher.combine(ASCIIFolding.hash(bytes)) }
}
