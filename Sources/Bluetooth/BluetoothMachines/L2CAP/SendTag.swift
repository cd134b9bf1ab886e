/// Names an outgoing frame, so that the machine that built it learns when the controller has it.
///
/// The machine that sends assigns it; the scheduler reports it once the frame's last fragment was
/// handed to the controller, or was acknowledged, as the owner wants it.
@frozen
public struct SendTag: Hashable, Sendable {
  /// The machine that made a tag and is notified about it.
  public enum Owner: UInt8, Sendable {
    /// The host's `GATTServer`.
    case gattServer = 0
    /// The link's `GATTClient`.
    case gattClient = 1
    /// The link's connection-oriented channels.
    case channels = 2
    /// The link's Security Manager, which is notified when the peer has acknowledged a frame, and not
    /// when the controller has it.
    case security = 3
  }

  /// The owner in the top two bits, the owner's number below.
  public let rawValue: UInt64

  /// A tag from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// A tag from both its parts; the top two bits of `number` are ignored.
  @inlinable
  public init(_ owner: Owner, _ number: UInt64) {
    rawValue = UInt64(owner.rawValue) << 62 | number & (1 << 62 - 1)
  }

  /// The machine to notify.
  @inlinable
  public var owner: Owner { Owner(rawValue: UInt8(rawValue >> 62)) ?? .security }

  /// What the owner knows the frame by: unique among its frames that are on their way.
  @inlinable
  public var number: UInt64 { rawValue & (1 << 62 - 1) }
}
