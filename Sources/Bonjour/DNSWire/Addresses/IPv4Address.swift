/// An address of IPv4.
public struct IPv4Address: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The four bytes as one number, the first byte highest.
  public var rawValue: UInt32

  /// The address whose bytes make this number.
  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// `a.b.c.d`
  public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
    rawValue = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
  }

  /// Reads four decimal numbers with dots between; no leading zeros, no other base.
  public init(text: some StringProtocol) throws(DNSWireError) {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 4 else { throw .invalidAddress }
    var value: UInt32 = 0
    for part in parts {
      guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0"),
        part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let byte = UInt8(String(decoding: part, as: UTF8.self))
      else { throw .invalidAddress }
      value = value << 8 | UInt32(byte)
    }
    rawValue = value
  }

  /// Reads four bytes; nil for any other number of them.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 4 else { return nil }
    rawValue = bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The four bytes as on the wire.
  public var bytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: rawValue >> $0) }
  }

  /// Four decimal numbers with dots between.
  public var description: String { bytes.map(String.init).joined(separator: ".") }

  /// The group of Multicast DNS, 224.0.0.251 (RFC 6762, §3).
  public static let multicastDNS = IPv4Address(224, 0, 0, 251)
  /// 0.0.0.0
  public static let any = IPv4Address(rawValue: 0)

  /// Whether it lies in 169.254.0.0/16 (RFC 3927).
  public var isLinkLocal: Bool { rawValue >> 16 == 0xA9FE }
  /// Whether it lies in 127.0.0.0/8.
  public var isLoopback: Bool { rawValue >> 24 == 127 }
  /// Whether it lies in 224.0.0.0/4.
  public var isMulticast: Bool { rawValue >> 28 == 14 }

  /// Whether the first `bitCount` bits are those of `other`.
  public func hasPrefix(of other: IPv4Address, bitCount: Int) -> Bool {
    bitCount <= 0 || (rawValue ^ other.rawValue) >> (32 - min(bitCount, 32)) == 0
  }

  /// The name of its reverse mapping, `d.c.b.a.in-addr.arpa.` (RFC 1035, §3.5).
  public var reverseName: DNSName {
    let numbers = bytes.reversed().map { String($0) + "." }.joined()
    return DNSName(stringLiteral: numbers + "in-addr.arpa.")
  }

  /// Whether `a` is the smaller number.
  public static func < (a: IPv4Address, b: IPv4Address) -> Bool { a.rawValue < b.rawValue }
}
