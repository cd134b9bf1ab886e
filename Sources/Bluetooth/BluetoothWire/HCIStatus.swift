/// An HCI status or disconnection reason (Core 5.4, Vol 1, Part F).
@frozen
public struct HCIStatus: RawRepresentable, Hashable, Sendable {
  /// The code on the wire.
  public let rawValue: UInt8

  /// A status from its code; every code is valid, known or not.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The command succeeded.
  public static let success = HCIStatus(rawValue: 0x00)
}
