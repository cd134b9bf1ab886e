import Essentials

/// Parses JSON strictly. Depth and number of values are limited; the caller must limit the length
/// of the text.
package struct JSONParser {
  /// Deeper than any file of ours; keeps recursion within the stack.
  private static let depthMax = 32
  /// The maximum number of values. A text of 16 MB could contain eight million values of one digit,
  /// each of which needs some 60 bytes of memory. The largest real file, a recording, has 800,000.
  package static let nodeCountMax = 1_000_000

  private let bytes: [UInt8]
  private var index = 0
  private var nodeCount = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a complete text.
  package static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONNode {
    var parser = JSONParser(bytes)
    // A byte order mark may be ignored (RFC 8259, §8.1).
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.index = 3 }
    let node = try parser.node(depth: 0)
    parser.skipBlanks()
    guard parser.index == bytes.count else {
      throw parser.error("expected the end after the value")
    }
    return node
  }

  private mutating func node(depth: Int) throws(JSONError) -> JSONNode {
    skipBlanks()
    let offset = index
    guard depth < Self.depthMax else { throw error("values are nested too deeply") }
    nodeCount += 1
    guard nodeCount <= Self.nodeCountMax else {
      throw JSONError(offset: offset, reason: "more than \(Self.nodeCountMax) values")
    }
    let value: JSONNode.Value
    switch bytes[safe: index] {
    case UInt8(ascii: "{"): value = .object(try members(depth: depth))
    case UInt8(ascii: "["): value = .array(try elements(depth: depth))
    case UInt8(ascii: "\""): value = .string(try string())
    case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte):
      value = try number()
    case UInt8(ascii: "t"): value = try word("true", .bool(true))
    case UInt8(ascii: "f"): value = try word("false", .bool(false))
    case UInt8(ascii: "n"): value = try word("null", .null)
    default: throw error("expected a value, found \(found)")
    }
    return JSONNode(value: value, offset: offset)
  }

  private mutating func members(depth: Int) throws(JSONError) -> [JSONNode.Member] {
    var members: [JSONNode.Member] = []
    var keys: Set<String> = []
    index += 1
    skipBlanks()
    if take("}") { return [] }
    while true {
      skipBlanks()
      guard bytes[safe: index] == UInt8(ascii: "\"") else {
        throw error("expected a key in double quotes, found \(found)")
      }
      let start = index
      let key = try string()
      guard keys.insert(key).inserted else {
        throw error("the key \"\(key.prefix(64))\" is used twice", at: start)
      }
      skipBlanks()
      guard take(":") else { throw error("expected \":\" after the key, found \(found)") }
      members.append(JSONNode.Member(key: key, offset: start, value: try node(depth: depth + 1)))
      skipBlanks()
      if take("}") { return members }
      guard take(",") else { throw error("expected \",\" or \"}\", found \(found)") }
    }
  }

  private mutating func elements(depth: Int) throws(JSONError) -> [JSONNode] {
    var elements: [JSONNode] = []
    index += 1
    skipBlanks()
    if take("]") { return [] }
    while true {
      elements.append(try node(depth: depth + 1))
      skipBlanks()
      if take("]") { return elements }
      guard take(",") else { throw error("expected \",\" or \"]\", found \(found)") }
    }
  }

  private mutating func word(
    _ word: StaticString, _ value: JSONNode.Value
  ) throws(JSONError) -> JSONNode.Value {
    let letters = Array("\(word)".utf8)
    guard bytes[index...].starts(with: letters) else {
      throw error("expected a value, found \(found)")
    }
    index += letters.count
    return value
  }

  private mutating func number() throws(JSONError) -> JSONNode.Value {
    let start = index
    if bytes[safe: index] == UInt8(ascii: "-") { index += 1 }
    let whole = skipDigits()
    let wholeEnd = index
    var isRight = whole == 1 || (whole > 1 && bytes[index - whole] != UInt8(ascii: "0"))
    if bytes[safe: index] == UInt8(ascii: ".") {
      index += 1
      isRight = skipDigits() > 0 && isRight
    }
    if let letter = bytes[safe: index], letter | 0x20 == UInt8(ascii: "e") {
      index += 1
      if let sign = bytes[safe: index], sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        index += 1
      }
      isRight = skipDigits() > 0 && isRight
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    if isRight, index == wholeEnd, let integer = Int64(text) { return .integer(integer) }
    guard isRight, let number = Double(text), number.isFinite else {
      throw error("\"\(text.prefix(32))\" is not a number", at: start)
    }
    return .number(number)
  }

  private mutating func skipDigits() -> Int {
    let start = index
    while let byte = bytes[safe: index], Self.isDigit(byte) { index += 1 }
    return index - start
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }

  private mutating func string() throws(JSONError) -> String {
    let start = index
    index += 1
    var text: [UInt8] = []
    while let byte = bytes[safe: index] {
      switch byte {
      case UInt8(ascii: "\""):
        index += 1
        guard let string = String(validating: text, as: UTF8.self) else {
          throw error("the text is not UTF-8", at: start)
        }
        return string
      case UInt8(ascii: "\\"):
        text += try escape()
      case 0..<0x20:
        throw error(
          "a control character in a string must be written as \\u00\(byte < 16 ? "0" : "1")…")
      default:
        text.append(byte)
        index += 1
      }
    }
    throw error("the string that begins here is not terminated", at: start)
  }

  private mutating func escape() throws(JSONError) -> [UInt8] {
    let start = index
    index += 2
    switch bytes[safe: index - 1] {
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case let byte? where Array("\"\\/".utf8).contains(byte): return [byte]
    case UInt8(ascii: "u"):
      guard var code = hexadecimal() else { break }
      if 0xD800..<0xDC00 ~= code, bytes[safe: index] == UInt8(ascii: "\\"),
        bytes[safe: index + 1] == UInt8(ascii: "u")
      {
        index += 2
        guard let low = hexadecimal(), 0xDC00..<0xE000 ~= low else { break }
        code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { break }
      return Array(String(Character(scalar)).utf8)
    default: break
    }
    throw error("unknown escape sequence", at: start)
  }

  private mutating func hexadecimal() -> UInt32? {
    guard index + 4 <= bytes.count else { return nil }
    let digits = bytes[index..<index + 4]
    guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    index += 4
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard bytes[safe: index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func skipBlanks() {
    while let byte = bytes[safe: index],
      byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    {
      index += 1
    }
  }

  /// The character at the index, for an error message.
  private var found: String {
    guard let byte = bytes[safe: index] else { return "the end" }
    guard 0x20..<0x7F ~= byte else { return "an unexpected byte" }
    return "\"\(Unicode.Scalar(byte))\""
  }

  private func error(_ sentence: String, at offset: Int? = nil) -> JSONError {
    JSONError(offset: min(offset ?? index, bytes.count), reason: "not JSON: " + sentence)
  }
}

/// The reason why a text is not valid JSON, or exceeds a limit.
package struct JSONError: Error, Hashable {
  /// The offset of the mistake, in bytes from the start of the text.
  package var offset: Int
  /// A sentence without a full stop.
  package var reason: String

  package init(offset: Int, reason: String) {
    self.offset = offset
    self.reason = reason
  }
}
