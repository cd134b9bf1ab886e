/// The hardware address of an interface on Ethernet or Wi-Fi: 48 bits.
@frozen
public struct MACAddress: Hashable, Sendable {
  /// The address in the low 48 bits; 02:00:00:00:00:01 is 0x0200_0000_0001.
  public let rawValue: UInt64

  /// Creates an address from the low 48 bits of a number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue & 0xFFFF_FFFF_FFFF }

  /// Creates an address from six bytes in network order; nil for any other number of bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 6 else { return nil }
    rawValue = bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The broadcast address, which all hosts on the link receive.
  public static let broadcast = MACAddress(rawValue: 0xFFFF_FFFF_FFFF)
  /// All zero: an unknown address.
  public static let zero = MACAddress(rawValue: 0)
}

extension MACAddress: CustomStringConvertible {
  /// Six pairs of hexadecimal digits: `02:00:00:00:00:01`.
  public var description: String {
    var text = ""
    for shift in stride(from: 40, through: 0, by: -8) {
      let byte = UInt8(truncatingIfNeeded: rawValue >> UInt64(shift))
      if !text.isEmpty { text += ":" }
      text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
  }
}
