public import BluetoothWire
public import Essentials

/// What distinguishes one host from another.
public struct HostConfiguration: Sendable, Hashable {
  /// The GAP device name that this host serves.
  public var name = "Ambit"
  /// The GAP appearance that this host serves.
  public var appearance: UInt16 = 0
  /// The largest ATT MTU offered.
  public var mtuMax = 517
  /// How many enhanced bearers of the attribute protocol a link may have, 0 for none. Reads of different
  /// values then need not wait for each other. More than five gain little: one link carries one packet at
  /// a time.
  public var enhancedBearerCountMax = 4
  /// The address to use; nil for the controller's public one, or a random static one if it has
  /// none.
  public var address: DeviceAddress?
  /// Whether others see a private address, which only bonded peers can tell from a stranger's, instead
  /// of `address` or the controller's (Core 5.4, Vol 3, Part C, §10.7).
  public var usesPrivateAddress = false
  /// How long a private address is used (Core 5.4, Vol 3, Part C, Appendix A, TGAP(private_addr_int)).
  public var privateAddressInterval = TimeSpan.seconds(900)
  /// Which pairings the host agrees to.
  public var pairingPolicy = PairingPolicy.automatic
  /// The shortest encryption key that it agrees to, 7 to 16 bytes (Core 5.4, Vol 3, Part H, §2.3.4).
  public var keyByteCountMin = 16
  /// Whether the driver computes on P-256. Without it there is legacy pairing only. `BluetoothHost` sets
  /// it itself, by what the program has.
  public var hasKeyAgreement = false

  /// The default configuration.
  public init() {}
}
