/// A bearer of a link's attribute protocol: the fixed channel, which every link has, or an enhanced one,
/// an L2CAP channel of its own (Core 5.4, Vol 3, Part F, §3.2.11).
@frozen
public struct ATTBearer: Hashable, Sendable {
  /// The channel's identifier at this end.
  public let rawValue: UInt16

  /// A bearer from its channel's identifier.
  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The fixed channel.
  public static let fixed = ATTBearer(rawValue: 0x0004)
}
