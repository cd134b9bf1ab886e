extension RandomAccessCollection<UInt8> {
  /// The longest prefix of at most `byteCountMax` bytes that doesn't end within a UTF-8 encoded
  /// code point.
  ///
  /// If the bytes aren't UTF-8, the prefix is at most three bytes shorter than `byteCountMax`.
  public func utf8Prefix(_ byteCountMax: Int) -> SubSequence {
    guard count > byteCountMax else { return self[...] }
    var end = index(startIndex, offsetBy: byteCountMax)
    // Back to where the code point began whose rest is at `end`.
    for _ in 0..<3 where end > startIndex && self[end] & 0xC0 == 0x80 {
      end = index(before: end)
    }
    return self[..<end]
  }
}
