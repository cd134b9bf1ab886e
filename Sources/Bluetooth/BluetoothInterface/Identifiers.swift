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
