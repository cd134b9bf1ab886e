/// Values of TXT records as they are typed and printed: text, and bytes that are no text as escapes.
enum TextEscapes {
  private static let backslash = UInt8(ascii: "\\")

  /// A backslash that begins no escape.
  struct Mistake: Error, Hashable {
    /// How many characters are before the backslash.
    var characterCount: Int
  }

  /// The bytes of a typed value: `\DDD` is the byte of three decimal digits, `\xHH` that of two
  /// hexadecimal ones, and `\\` a backslash.
  ///
  /// - Throws: `Mistake` for a backslash before anything else, which could be meant as any of these.
  static func bytes(_ text: some StringProtocol) throws(Mistake) -> [UInt8] {
    let all = Array(text.utf8)
    var rest = all[...]
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == backslash else {
        bytes.append(byte)
        continue
      }
      guard let (value, count) = escaped(rest) else {
        let before = String(decoding: all[..<(rest.startIndex - 1)], as: UTF8.self)
        throw Mistake(characterCount: before.count)
      }
      bytes.append(value)
      rest = rest.dropFirst(count)
    }
    return bytes
  }

  /// The byte of an escape, and how many characters after the backslash it takes.
  private static func escaped(_ rest: ArraySlice<UInt8>) -> (UInt8, Int)? {
    if rest.first == backslash { return (backslash, 1) }
    let isHexadecimal = rest.first == UInt8(ascii: "x")
    let digits = isHexadecimal ? rest.dropFirst().prefix(2) : rest.prefix(3)
    let text = String(decoding: digits, as: UTF8.self)
    guard digits.count == (isHexadecimal ? 2 : 3), text.utf8.first != UInt8(ascii: "+"),
      let value = UInt8(text, radix: isHexadecimal ? 16 : 10)
    else { return nil }
    return (value, 3)
  }

  /// A value as it is printed, which `bytes(_:)` takes back: control characters, and all bytes that
  /// aren't ASCII if the value isn't UTF-8, as `\DDD`.
  static func text(_ bytes: [UInt8]) -> String {
    let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
    var text: [UInt8] = []
    for byte in bytes {
      switch byte {
      case backslash: text += [backslash, backslash]
      case 0x20...0x7E: text.append(byte)
      case 0x80... where isUTF8: text.append(byte)
      default:
        let digits = [byte / 100, byte / 10 % 10, byte % 10].map { $0 + UInt8(ascii: "0") }
        text += [backslash] + digits
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
