/// The identifier of an ATT bearer of a link: the fixed channel, which every link has, or an
/// enhanced bearer, which is an L2CAP channel (Core 5.4, Vol 3, Part F, §3.2.11).
@frozen
public struct ATTBearer: Hashable, Sendable {
  /// The local channel identifier (CID).
  public let rawValue: UInt16

  /// Creates a bearer from its local CID.
  @inlinable
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// The bearer of the fixed channel.
  public static let fixed = ATTBearer(rawValue: 0x0004)
}
