public import BluetoothWire

/// What distinguishes one host from another.
public struct HostConfiguration: Sendable, Hashable {
  /// The GAP device name that this host serves.
  public var name = "Ambit"
  /// The GAP appearance that this host serves.
  public var appearance: UInt16 = 0
  /// The largest ATT MTU offered.
  public var mtuMax = 517
  /// The address to use; nil for the controller's public one, or a random static one if it has
  /// none.
  public var address: DeviceAddress?

  /// The default configuration.
  public init() {}
}
