/// Converts bytes to hexadecimal text and back: `0a1b2c`.
public enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Two lower-case digits for each byte.
  public static func string(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Parses digit pairs of either case; spaces, colons, dashes between pairs and a leading `0x` are
  /// allowed. Nil if there are other characters or a single digit.
  public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var result: [UInt8] = []
    var high: UInt8?
    var characters = Array(text.utf8)[...]
    if characters.starts(with: "0x".utf8) { characters = characters.dropFirst(2) }
    for character in characters {
      if let digit = value(of: character) {
        if let first = high {
          result.append(first << 4 | digit)
          high = nil
        } else {
          high = digit
        }
      } else if high != nil || !" :-".utf8.contains(character) {
        return nil
      }
    }
    return high == nil ? result : nil
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
