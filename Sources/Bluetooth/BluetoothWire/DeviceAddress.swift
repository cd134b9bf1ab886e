public import Essentials

/// A 48-bit device address with its type (Core 5.4, Vol 6, Part B, §1.3).
@frozen
public struct DeviceAddress: Hashable, Sendable {
  /// Whether an address was assigned by the IEEE or made up by its device.
  public enum Kind: UInt8, Sendable {
    /// Assigned by the IEEE; for all time.
    case `public` = 0
    /// Chosen by the device: static, resolvable or non-resolvable.
    case random = 1
  }

  /// The kind of a random address, from its two top bits (Core 5.4, Vol 6, Part B, §1.3.2).
  public enum RandomKind: Sendable {
    /// Stays the same at least until the device is switched off.
    case `static`
    /// A resolvable private address, which changes. Devices with the identity resolving key can
    /// resolve it.
    case resolvable
    /// Changes, and can't be resolved.
    case nonResolvable
  }

  /// The 48 bits, the most significant first in text.
  public let bits: UInt64
  /// Public or random.
  public let kind: Kind

  /// An address from its low 48 bits.
  @inlinable
  public init(bits: UInt64, kind: Kind) {
    self.bits = bits & 0xFFFF_FFFF_FFFF
    self.kind = kind
  }

  /// Reads `C0:12:34:56:78:9A` (either case, also with dashes); nil for anything else.
  public init?(_ text: String, kind: Kind) {
    guard let bytes = Hexadecimal.bytes(text), bytes.count == 6 else { return nil }
    self.init(bits: bytes.reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
  }

  /// Generates a random static address (Core 5.4, Vol 6, Part B, §1.3.2.1).
  public static func randomStatic(
    using generator: inout some RandomNumberGenerator
  ) -> DeviceAddress {
    DeviceAddress(bits: generator.next() | 0xC000_0000_0000, kind: .random)
  }

  /// The kind of random address; nil for a public one or a reserved bit pattern.
  public var randomKind: RandomKind? {
    guard kind == .random else { return nil }
    switch bits >> 46 {
    case 0b11: return .static
    case 0b01: return .resolvable
    case 0b00: return .nonResolvable
    default: return nil
    }
  }

  /// Whether it can be an identity address: a public one, or a random static one whose random part
  /// has ones and zeros (Core 5.4, Vol 6, Part B, §1.3.2.1).
  public var isIdentityAddress: Bool {
    let randomPart = bits & 0x3FFF_FFFF_FFFF
    return kind == .public
      || randomKind == .static && randomPart != 0 && randomPart != 0x3FFF_FFFF_FFFF
  }

  /// The six bytes in wire order, least significant first.
  public func append(to writer: inout ByteWriter) { writer.littleEndian(bits, count: 6) }
}

extension DeviceAddress: CustomStringConvertible {
  /// `C0:12:34:56:78:9A`, without the type.
  public var description: String {
    (0..<6).map { Hexadecimal.string([UInt8(truncatingIfNeeded: bits >> (40 - 8 * $0))]) }
      .joined(separator: ":").uppercased()
  }
}
