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

  /// Creates the range of the handles behind one, up to `end`: of the descriptors behind a value. It
  /// contains no handle if there is none behind, as behind 0xFFFF.
  @inlinable
  public init(after handle: UInt16, through end: UInt16) {
    let (next, isNone) = handle.addingReportingOverflow(1)
    // A search of handles begins at 1 at least, so that this is empty for every reader.
    self = isNone ? HandleRange(.max, 0) : HandleRange(next, end)
  }

  /// All valid handles.
  public static let all = HandleRange(0x0001, 0xFFFF)

  /// Whether the handle lies in the range.
  @inlinable
  public func contains(_ handle: UInt16) -> Bool { start <= handle && handle <= end }
}
