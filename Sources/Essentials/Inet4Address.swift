/// An IPv4 address.
@frozen
public struct Inet4Address: Hashable, Comparable, Sendable {
  /// The address as a number; 169.254.1.2 is `0xA9FE0102`.
  public var rawValue: UInt32

  /// Creates an address from a number, whose highest byte is the first.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Creates the address a.b.c.d.
  @inlinable
  public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
    rawValue = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
  }

  /// Creates an address from four bytes in network order; nil for any other number of bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 4 else { return nil }
    rawValue = bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Parses four decimal numbers with dots between them; nil for any other text.
  public init?(text: some StringProtocol) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    var value: UInt32 = 0
    for part in parts {
      guard let octet = Self.octet(Array(part)) else { return nil }
      value = value << 8 | UInt32(octet)
    }
    rawValue = value
  }

  /// A decimal number below 256, without leading zeros: some programs take those for octal.
  private static func octet(_ digits: [UInt8]) -> UInt8? {
    guard (1...3).contains(digits.count), digits.count == 1 || digits.first != UInt8(ascii: "0")
    else { return nil }
    var value = 0
    for digit in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      value = value * 10 + Int(digit - UInt8(ascii: "0"))
    }
    return UInt8(exactly: value)
  }

  /// 0.0.0.0: any address, or no address.
  public static let any = Inet4Address(rawValue: 0)

  /// The four bytes in network order.
  public var bytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) }
  }

  /// Whether it is a link-local address: 169.254.0.0/16 (RFC 3927).
  @inlinable
  public var isLinkLocal: Bool { rawValue >> 16 == 0xA9FE }

  /// Whether it is a loopback address: 127.0.0.0/8.
  @inlinable
  public var isLoopback: Bool { rawValue >> 24 == 127 }

  /// Whether it is a multicast address: 224.0.0.0/4.
  @inlinable
  public var isMulticast: Bool { rawValue >> 28 == 14 }

  /// Whether the first `bitCount` bits (all if it is 32 or more) are equal to those of `other`.
  public func hasPrefix(of other: Inet4Address, bitCount: Int) -> Bool {
    bitCount <= 0 || (rawValue ^ other.rawValue) >> (32 - min(bitCount, 32)) == 0
  }

  /// Numeric order.
  @inlinable
  public static func < (a: Inet4Address, b: Inet4Address) -> Bool { a.rawValue < b.rawValue }
}

extension Inet4Address: CustomStringConvertible {
  /// Four decimal numbers: `169.254.1.2`.
  public var description: String { bytes.map(String.init).joined(separator: ".") }
}
