/// The identifier of a client, such as an app's manager. The host assigns it.
@frozen
public struct ClientID: Hashable, Sendable {
  /// The number, unique among the clients of a host.
  public let rawValue: UInt32

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}
