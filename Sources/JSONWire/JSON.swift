/// A JSON value (RFC 8259) whose objects keep the order of their keys, so that texts are readable
/// and reproducible.
public enum JSON: Hashable, Sendable {
  /// No value.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A whole number.
  case integer(Int64)
  /// A number. Numbers that JSON can't represent, such as infinity, are written as `null`.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSON])
  /// An object.
  case object([Member])

  /// A key with its value.
  public struct Member: Hashable, Sendable {
    /// The key, which is unique in the object.
    public var key: String
    /// The value.
    public var value: JSON

    /// Creates a member.
    public init(key: String, value: JSON) {
      self.key = key
      self.value = value
    }
  }

  /// An object of the members whose values aren't nil.
  public static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(members.compactMap { pair in pair.value.map { Member(key: pair.key, value: $0) } })
  }

  /// Parses a text. The caller must limit its length.
  package init(parsing bytes: [UInt8]) throws(JSONError) {
    self = try JSONParser.parse(bytes).json
  }

  // MARK: Writing

  /// The value as text on one line, without spaces.
  public var line: String {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the value as UTF-8 on one line, without spaces.
  package func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let value): bytes += (value ? "true" : "false").utf8
    case .integer(let value): bytes += String(value).utf8
    case .number(let value): bytes += (value.isFinite ? String(value) : "null").utf8
    case .string(let text): Self.write(text, to: &bytes)
    case .array(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// A JSON string with quotes and escapes.
  package static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    write(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    // All bytes of the characters that are escaped, which others may have, too.
    let isPlain = text.utf8.allSatisfy {
      $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
    }
    if isPlain {
      bytes += text.utf8
    } else {
      for scalar in text.unicodeScalars { write(scalar, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Escapes what JSON demands and what terminals, editors and browsers take for a command or a line
  /// break, or don't show: control characters, line separators, changes of the direction of writing.
  private static func write(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"": bytes += "\\\"".utf8
    case "\\": bytes += "\\\\".utf8
    case "\n": bytes += "\\n".utf8
    case "\r": bytes += "\\r".utf8
    case "\t": bytes += "\\t".utf8
    case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}":
      escape(scalar, into: &bytes)
    // The joiner and the variation selectors of emoji are visible by their effects.
    case "\u{200D}", "\u{FE00}"..."\u{FE0F}":
      bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    case "\u{AD}"... where isInvisible(scalar): escape(scalar, into: &bytes)
    default: bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
    }
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    let properties = scalar.properties
    return properties.generalCategory == .format || properties.isDefaultIgnorableCodePoint
  }

  private static func escape(_ scalar: Unicode.Scalar, into bytes: inout [UInt8]) {
    for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
      let digits = String(unit, radix: 16)
      bytes += "\\u".utf8
      for _ in digits.utf8.count..<4 { bytes.append(UInt8(ascii: "0")) }
      bytes += digits.utf8
    }
  }
}
