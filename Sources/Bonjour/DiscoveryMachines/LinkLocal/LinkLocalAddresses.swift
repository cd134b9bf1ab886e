package import ARPWire
package import Essentials

/// The sequence of addresses that an interface tries (RFC 3927, §2.1).
///
/// It is a pseudorandom sequence that is seeded with the hardware address. So a host tends to get
/// the same address again, even if it stores nothing, and different hosts try different addresses.
package struct LinkLocalAddresses: Sendable {
  /// 169.254.1.0 up to 169.254.254.255; the first and last 256 are reserved.
  package static let range =
    Inet4Address(169, 254, 1, 0)...Inet4Address(169, 254, 254, 255)

  private var generator: SeededGenerator

  /// Creates the sequence for a hardware address.
  package init(hardware: MACAddress) {
    generator = SeededGenerator(seed: hardware.rawValue)
  }

  /// The next address to try.
  package mutating func next() -> Inet4Address {
    let (first, last) = (Self.range.lowerBound.rawValue, Self.range.upperBound.rawValue)
    return Inet4Address(rawValue: first + generator.next(upperBound: last - first + 1))
  }
}
