/// The identifier of an operation of a `GATTClient`. Its owner assigns it.
@frozen
public struct OperationID: Hashable, Sendable {
  /// The number, unique among the client's outstanding operations.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}
