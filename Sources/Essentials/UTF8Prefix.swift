extension RandomAccessCollection<UInt8> {
  /// The first bytes of a text in UTF-8, at most so many, that are whole characters of Unicode: no
  /// code point is cut in two.
  ///
  /// What is not UTF-8 is cut at most three bytes shorter than asked for.
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
