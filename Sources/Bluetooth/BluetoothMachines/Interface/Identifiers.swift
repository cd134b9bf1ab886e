/// One user of a host: an app's manager, the command line. The host assigns it.
@frozen
public struct ClientID: Hashable, Sendable {
  /// Unique among the clients of one host.
  public let rawValue: UInt32

  /// A client from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Ties a request to its one `HostEvent.completed`. The client assigns it.
///
/// Requests may share a token where the client only wants to know how many of them were completed.
@frozen
public struct RequestToken: Hashable, Sendable {
  /// Unique among the client's outstanding requests that it distinguishes.
  public let rawValue: UInt64

  /// A token from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A peer's request that waits for a client's answer.
@frozen
public struct ServerRequestID: Hashable, Sendable {
  /// Unique for the life of the host.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A connection-oriented L2CAP channel, whichever side opened it.
@frozen
public struct ChannelID: Hashable, Sendable {
  /// Unique for the life of the host; not the CID on the wire.
  public let rawValue: UInt64

  /// A channel from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

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

/// A range of attribute handles, both ends included.
@frozen
public struct HandleRange: Hashable, Sendable {
  /// The first handle.
  public var start: UInt16
  /// The last handle.
  public var end: UInt16

  /// A range from its first to its last handle.
  @inlinable
  public init(_ start: UInt16, _ end: UInt16) {
    self.start = start
    self.end = end
  }

  /// Every handle there can be.
  public static let all = HandleRange(0x0001, 0xFFFF)

  /// Whether the handle lies in the range.
  @inlinable
  public func contains(_ handle: UInt16) -> Bool { start <= handle && handle <= end }
}

/// Names an operation of a `GATTClient`. Its owner invents it.
@frozen
public struct OperationID: Hashable, Sendable {
  /// Unique among the client's outstanding operations.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}
