extension DNSName: CustomStringConvertible, ExpressibleByStringLiteral {
  /// Parses a name in text form: labels separated by dots, optionally with a dot at the end.
  ///
  /// `\.` and `\\` are a dot and a backslash inside a label, `\` and three digits the byte with
  /// that number. `.` alone is the root.
  public init(text: some StringProtocol) throws(DNSWireError) {
    try self.init(textBytes: text.utf8)
  }

  /// Parses the bytes of a name in text form, which need not be UTF-8.
  public init(textBytes: some Sequence<UInt8>) throws(DNSWireError) {
    var labels: [[UInt8]] = []
    var label: [UInt8] = []
    var characters = Array(textBytes)[...]
    if characters.elementsEqual(".".utf8) { characters = [] }
    while let character = characters.popFirst() {
      switch character {
      case UInt8(ascii: "."):
        guard !label.isEmpty else { throw .emptyLabel }
        labels.append(label)
        label = []
      case UInt8(ascii: "\\"): label.append(try Self.escaped(&characters))
      default: label.append(character)
      }
    }
    if !label.isEmpty { labels.append(label) }
    try self.init(labels: labels)
  }

  /// Creates a name from a literal. An invalid name is a programming error.
  public init(stringLiteral text: String) {
    do { try self.init(text: text) } catch { preconditionFailure("\(text) is no name: \(error)") }
  }

  /// The name with a dot at the end, in the format of `init(text:)`.
  public var description: String {
    isRoot ? "." : labels.map { Self.escaped($0) + "." }.joined()
  }

  /// One label as text: dots and backslashes after a backslash; spaces, control characters and
  /// bytes that aren't UTF-8 as `\DDD`; all other characters unchanged.
  public static func escaped(_ label: some Collection<UInt8>) -> String {
    let isUTF8 = String(validating: label, as: UTF8.self) != nil
    var text: [UInt8] = []
    for byte in label {
      switch byte {
      case UInt8(ascii: "."), UInt8(ascii: "\\"): text += [UInt8(ascii: "\\"), byte]
      case 0x21...0x7E: text.append(byte)
      case 0x80... where isUTF8: text.append(byte)
      default:
        let digits = [byte / 100, byte / 10 % 10, byte % 10].map { $0 + UInt8(ascii: "0") }
        text += [UInt8(ascii: "\\")] + digits
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The byte of an escape, from the characters after its backslash.
  static func escaped(
    _ characters: inout ArraySlice<UInt8>
  ) throws(DNSWireError) -> UInt8 {
    guard let first = characters.popFirst() else { throw .invalidEscape }
    guard let hundreds = digit(first) else { return first }
    guard let tens = characters.popFirst().flatMap(digit),
      let ones = characters.popFirst().flatMap(digit),
      let byte = UInt8(exactly: hundreds * 100 + tens * 10 + ones)
    else { throw .invalidEscape }
    return byte
  }

  private static func digit(_ character: UInt8) -> Int? {
    let value = character &- UInt8(ascii: "0")
    return value < 10 ? Int(value) : nil
  }
}
