/// Names an operation of a `GATTClient`. Its owner invents it.
@frozen
public struct OperationID: Hashable, Sendable {
  /// Unique among the client's outstanding operations.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}
