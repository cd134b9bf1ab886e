/// Identifies an outgoing frame, so that its sender is notified when the controller has it.
///
/// The machine that sends the frame assigns the tag. The scheduler reports it when the frame's last
/// fragment was sent to the controller or, depending on the owner, was acknowledged.
@frozen
public struct SendTag: Hashable, Sendable {
  /// The machine that created a tag and is notified.
  public enum Owner: UInt8, Sendable {
    /// The host's `GATTServer`.
    case gattServer = 0
    /// The link's `GATTClient`.
    case gattClient = 1
    /// The link's connection-oriented channels.
    case channels = 2
    /// The link's Security Manager. It is notified when the peer has acknowledged a frame, not when
    /// the controller has it.
    case security = 3
  }

  /// The owner in the top two bits, and the owner's number in the others.
  public let rawValue: UInt64

  /// Creates a tag from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates a tag from its parts. The top two bits of `number` are ignored.
  @inlinable
  public init(_ owner: Owner, _ number: UInt64) {
    rawValue = UInt64(owner.rawValue) << 62 | number & (1 << 62 - 1)
  }

  /// The machine to notify.
  @inlinable
  public var owner: Owner { Owner(rawValue: UInt8(rawValue >> 62)) ?? .security }

  /// The owner's number of the frame, unique among its pending frames.
  @inlinable
  public var number: UInt64 { rawValue & (1 << 62 - 1) }
}
