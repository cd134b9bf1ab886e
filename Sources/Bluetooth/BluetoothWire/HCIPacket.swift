/// One packet between a host and its controller (Core 5.4, Vol 4, Part E, §5.4).
@frozen
public struct HCIPacket: Hashable, Sendable {
  /// The packet types with the indicators that a serial line puts before them
  /// (Core 5.4, Vol 4, Part A, §2).
  public enum Kind: UInt8, Sendable, CaseIterable {
    /// Host to controller.
    case command = 1
    /// Asynchronous data, both ways.
    case acl = 2
    /// Synchronous data, both ways; classic only.
    case synchronous = 3
    /// Controller to host.
    case event = 4
    /// Isochronous data, both ways.
    case isochronous = 5
  }

  /// The kind of the packet.
  public var kind: Kind
  /// The packet from its first header byte on, without the indicator.
  public var bytes: ArraySlice<UInt8>

  /// A packet from received bytes; shares their storage.
  @inlinable
  public init(kind: Kind, bytes: ArraySlice<UInt8>) {
    self.kind = kind
    self.bytes = bytes
  }

  /// A packet from bytes just built.
  @inlinable
  public init(kind: Kind, bytes: [UInt8]) {
    self.init(kind: kind, bytes: bytes[...])
  }
}
