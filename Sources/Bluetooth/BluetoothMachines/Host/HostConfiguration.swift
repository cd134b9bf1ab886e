public import BluetoothWire
public import Essentials
package import PairingMachines

/// The configuration of a host.
public struct HostConfiguration: Sendable, Hashable {
  /// The GAP device name.
  public var name = "Ambit"
  /// The GAP appearance.
  public var appearance: UInt16 = 0
  /// The maximum ATT MTU.
  public var mtuMax = 517
  /// The maximum number of enhanced ATT bearers of a link, 0 for none. With them, reads of
  /// different values need not wait for each other. More than five have little effect: one link
  /// carries one packet at a time.
  public var enhancedBearerCountMax = 4
  /// The address to use; nil for the controller's public one, or a random static one if it has
  /// none.
  public var address: DeviceAddress?
  /// Whether the host uses a private address, which only bonded peers can resolve, instead of
  /// `address` or the controller's address (Core 5.4, Vol 3, Part C, §10.7).
  public var usesPrivateAddress = false
  /// The lifetime of a private address (Core 5.4, Vol 3, Part C, Appendix A,
  /// TGAP(private_addr_int)).
  public var privateAddressInterval = TimeSpan.seconds(900)
  /// The pairings that the host accepts.
  package var pairingPolicy = PairingPolicy.automatic
  /// Whether links are encrypted only with 16-byte keys of LE Secure Connections. Legacy pairing is
  /// refused, and its bonds are not used. With `requiresAuthentication` it is the Secure Connections Only
  /// Mode (Core 5.4, Vol 3, Part C, §10.2.4).
  public var requiresSecureConnections = false
  /// Whether only pairings that are protected against a man in the middle are accepted: by a passkey, a
  /// comparison, or out-of-band data. Just Works is refused, and its bonds are not used.
  public var requiresAuthentication = false
  /// Whether a pairing that proves nothing about the device may replace a bond.
  package var bondReplacement = BondReplacement.ask
  /// The minimum encryption key size that the host accepts, 7 to 16 bytes (Core 5.4, Vol 3, Part H,
  /// §2.3.4).
  public var keyByteCountMin = 16
  /// Whether a peer may pair with the public key for debugging, whose private key is published (Core
  /// 5.4, Vol 3, Part H, §2.3.5.6.1): any device in range can then decrypt the link.
  public var acceptsDebugKeys = false
  /// Whether the driver supports P-256 key agreement. Without it, only legacy pairing is supported.
  /// `BluetoothHost` sets this property.
  public var hasKeyAgreement = false
  /// Whether a controller that sends nothing for ten seconds is asked whether it lives. A simulated one reports that it
  /// lost its power, and a test of days in virtual time would wait for the answers.
  package var checksSilentController = true

  /// The default configuration.
  public init() {}
}
