/// One user of a host: an app's manager, the command line. The host assigns it.
@frozen
public struct ClientID: Hashable, Sendable {
  /// Unique among the clients of one host.
  public let rawValue: UInt32

  /// A client from its number.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}
