#if Messaging
  /// The encoding of bytes as text of RFC 4648, §4, which XMPP uses with padding and without line breaks.
  package enum Base64 {
    private static let alphabet = Array(
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let values: [UInt8?] = {
      var values = [UInt8?](repeating: nil, count: 256)
      for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
      return values
    }()

    package static func text(_ bytes: some Collection<UInt8>) -> String {
      var text: [UInt8] = []
      var bits: UInt32 = 0
      var bitCount = 0
      for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        bitCount += 8
        while bitCount >= 6 {
          bitCount -= 6
          text.append(alphabet[Int(bits >> bitCount & 63)])
        }
      }
      if bitCount > 0 { text.append(alphabet[Int(bits << (6 - bitCount) & 63)]) }
      while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
      return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; nil if it has other characters, lacks padding or has bits set that belong to no byte.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
      let digits = Array(text.utf8)
      guard digits.count.isMultiple(of: 4) else { return nil }
      let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
      guard padding <= 2 else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(digits.count / 4 * 3)
      var bits: UInt32 = 0
      var bitCount = 0
      for digit in digits.dropLast(padding) {
        guard let value = values[Int(digit)] else { return nil }
        bits = bits << 6 | UInt32(value)
        bitCount += 6
        if bitCount >= 8 {
          bitCount -= 8
          bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
        }
      }
      guard bits & (1 << bitCount - 1) == 0 else { return nil }
      return bytes
    }
  }
#endif
