public import ARPWire
public import Essentials

/// The addresses that one interface tries, in turn (RFC 3927, §2.1).
///
/// The sequence is drawn from the hardware address. So a host tends to get the same address again,
/// also without a memory, and hosts that start together don't draw the same.
public struct LinkLocalAddresses: Sendable {
  /// 169.254.1.0 up to 169.254.254.255; the first and last 256 are reserved.
  public static let range =
    Inet4Address(169, 254, 1, 0)...Inet4Address(169, 254, 254, 255)

  private var generator: SeededGenerator

  /// The sequence that belongs to a hardware address.
  public init(hardware: MACAddress) {
    generator = SeededGenerator(seed: hardware.rawValue)
  }

  /// The next address to try.
  public mutating func next() -> Inet4Address {
    let (first, last) = (Self.range.lowerBound.rawValue, Self.range.upperBound.rawValue)
    return Inet4Address(rawValue: first + generator.next(upperBound: last - first + 1))
  }
}
