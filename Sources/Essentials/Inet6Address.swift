/// An IPv6 address, without a scope.
public struct Inet6Address: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The first eight bytes as a number: the network prefix in most addresses.
  public var high: UInt64
  /// The last eight bytes as a number: the interface identifier in most addresses.
  public var low: UInt64

  /// Creates an address from its halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates an address from 16 bytes; nil for any other number of bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The 16 bytes in network order.
  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 16)
    writer.bigEndian(high, count: 8)
    writer.bigEndian(low, count: 8)
    return writer.bytes
  }

  /// The eight groups of 16 bits.
  private var groups: [UInt16] {
    (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> (16 * (3 - $0 % 4))) }
  }

  /// Parses the forms of RFC 4291, §2.2: `::` for zeros, an IPv4 address at the end; no scope. Nil
  /// for any other text.
  public init?(text: some StringProtocol) {
    let halves = Array(text.utf8).split(doubledSeparator: UInt8(ascii: ":"))
    guard halves.count <= 2 else { return nil }
    var groups: [[UInt16]] = []
    for (index, half) in halves.enumerated() {
      let isLast = index == halves.count - 1
      guard let part = Self.groups(half, mayEndInIPv4: isLast) else { return nil }
      groups.append(part)
    }
    let head = groups.first ?? []
    let tail = halves.count == 2 ? groups[1] : []
    let missing = 8 - head.count - tail.count
    guard halves.count == 2 ? missing >= 1 : missing == 0 else { return nil }
    let all = head + Array(repeating: 0, count: missing) + tail
    high = all[..<4].reduce(0) { $0 << 16 | UInt64($1) }
    low = all[4...].reduce(0) { $0 << 16 | UInt64($1) }
  }

  private static func groups(
    _ text: ArraySlice<UInt8>, mayEndInIPv4: Bool
  ) -> [UInt16]? {
    guard !text.isEmpty else { return [] }
    let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    var groups: [UInt16] = []
    for (index, part) in parts.enumerated() {
      let digits = String(decoding: part, as: UTF8.self)
      if part.contains(UInt8(ascii: ".")), mayEndInIPv4, index == parts.count - 1 {
        guard let address = Inet4Address(text: digits)?.rawValue else { return nil }
        groups += [UInt16(truncatingIfNeeded: address >> 16), UInt16(truncatingIfNeeded: address)]
      } else {
        guard (1...4).contains(part.count), part.first != UInt8(ascii: "+"),
          let group = UInt16(digits, radix: 16)
        else { return nil }
        groups.append(group)
      }
    }
    return groups.count <= 8 ? groups : nil
  }

  /// The form of RFC 5952: lower case, the longest run of two or more zero groups as `::`.
  public var description: String {
    let groups = groups
    var longest = 0..<0
    var start = 0
    for index in 0...8 where index == 8 || groups[index] != 0 {
      if index - start > longest.count { longest = start..<index }
      start = index + 1
    }
    let text = { (range: Range<Int>) in
      range.map { String(groups[$0], radix: 16) }.joined(separator: ":")
    }
    guard longest.count > 1 else { return text(0..<8) }
    return text(0..<longest.lowerBound) + "::" + text(longest.upperBound..<8)
  }

  /// `::`: no address.
  public static let any = Inet6Address(high: 0, low: 0)

  /// Whether it is a link-local address: fe80::/10.
  public var isLinkLocal: Bool { high >> 54 == 0xFE80 >> 6 }
  /// Whether it is the loopback address, ::1.
  public var isLoopback: Bool { high == 0 && low == 1 }
  /// Whether it is a multicast address: ff00::/8.
  public var isMulticast: Bool { high >> 56 == 0xFF }

  /// Whether the first `bitCount` bits (all if it is 128 or more) are equal to those of `other`.
  public func hasPrefix(of other: Inet6Address, bitCount: Int) -> Bool {
    if bitCount <= 0 { return true }
    if bitCount <= 64 { return (high ^ other.high) >> UInt64(64 - bitCount) == 0 }
    return high == other.high && (low ^ other.low) >> UInt64(128 - min(bitCount, 128)) == 0
  }

  /// Whether `a` is the smaller number.
  public static func < (a: Inet6Address, b: Inet6Address) -> Bool {
    (a.high, a.low) < (b.high, b.low)
  }
}

extension Array<UInt8> {
  /// The parts between occurrences of two separators in a row.
  fileprivate func split(doubledSeparator separator: UInt8) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    var start = 0
    var index = 0
    while index + 1 < count {
      if self[index] == separator, self[index + 1] == separator {
        parts.append(self[start..<index])
        index += 2
        start = index
      } else {
        index += 1
      }
    }
    return parts + [self[start...]]
  }
}
