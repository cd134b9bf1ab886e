/// The identifier of a client, such as an app's manager. The host assigns it.
@frozen
public struct ClientID: Hashable, Sendable {
  /// The number, unique among the clients of a host.
  public let rawValue: UInt32

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Identifies a request in its `HostEvent.completed`. The client assigns it.
///
/// Several requests may share a token if the client only counts how many of them were completed.
@frozen
public struct RequestToken: Hashable, Sendable {
  /// The number, unique among the client's outstanding requests, unless they share it.
  public let rawValue: UInt64

  /// Creates a token from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The identifier of a peer's request that waits for a client's response.
@frozen
public struct ServerRequestID: Hashable, Sendable {
  /// The number, unique while the host exists.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The identifier of an L2CAP connection-oriented channel that either side opened.
@frozen
public struct ChannelID: Hashable, Sendable {
  /// The number, unique while the host exists. It is not the CID.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

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

/// A range of attribute handles, including both ends.
@frozen
public struct HandleRange: Hashable, Sendable {
  /// The first handle.
  public var start: UInt16
  /// The last handle.
  public var end: UInt16

  /// Creates a range from its first and its last handle.
  @inlinable
  public init(_ start: UInt16, _ end: UInt16) {
    self.start = start
    self.end = end
  }

  /// All valid handles.
  public static let all = HandleRange(0x0001, 0xFFFF)

  /// Whether the handle lies in the range.
  @inlinable
  public func contains(_ handle: UInt16) -> Bool { start <= handle && handle <= end }
}

/// The identifier of an operation of a `GATTClient`. Its owner assigns it.
@frozen
public struct OperationID: Hashable, Sendable {
  /// The number, unique among the client's outstanding operations.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}
