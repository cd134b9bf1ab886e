package import BluetoothInterface
public import BluetoothWire

/// The keys of a pairing, which are stored for later links (Core 5.4, Vol 3, Part C, §9.4.4).
///
/// Its description contains no keys.
public struct Bond: Sendable, Hashable {
  /// The peer's identity address, or the address of the link if the peer distributed none.
  public var identity: DeviceAddress
  /// The address by which clients know the peer, independent of its current private address: that
  /// of the link on which it was first paired, so that identifiers stored by clients remain valid.
  public var knownAddress: DeviceAddress
  /// The identity address of this host that the peer has in its bond; nil for any.
  public var localIdentity: DeviceAddress?
  /// The key for links in which this host is the central.
  package var centralKey: LongTermKey?
  /// The key for links in which this host is the peripheral.
  package var peripheralKey: LongTermKey?
  /// The key that resolves the peer's private addresses; nil if it distributed none.
  public var identityResolvingKey: SMPValue?
  /// The encryption key size in bytes, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether LE Secure Connections was used.
  public var isSecureConnections: Bool
  /// The key of the peer's signatures; nil if it distributed none.
  package var peerSigning: SigningKey?
  /// The key of this host's signatures to the peer; nil if the peer received none.
  package var localSigning: SigningKey?
  /// The peer's configuration of this host's GATT server; nil if there is none.
  package var clientConfiguration: ClientConfiguration?
  /// Whether the bond may be evicted for another: the peer initiated the pairing, no user confirmed
  /// it, and no later link has been encrypted with its keys yet.
  public var isEvictable = false

  /// Creates a bond. `knownAddress` defaults to the identity address.
  package init(
    identity: DeviceAddress, knownAddress: DeviceAddress? = nil,
    localIdentity: DeviceAddress? = nil, centralKey: LongTermKey?, peripheralKey: LongTermKey?,
    identityResolvingKey: SMPValue? = nil, keyByteCount: Int = 16, isAuthenticated: Bool,
    isSecureConnections: Bool
  ) {
    self.identity = identity
    self.knownAddress = knownAddress ?? identity
    self.localIdentity = localIdentity
    self.centralKey = centralKey
    self.peripheralKey = peripheralKey
    self.identityResolvingKey = identityResolvingKey
    self.keyByteCount = keyByteCount
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }

  /// Whether these keys are more secure than those of another bond, which then must not replace
  /// them: the other's are unauthenticated and these are not, from legacy pairing where these are
  /// from LE Secure Connections, or shorter (Core 5.4, Vol 3, Part C, §10.3.2; the attacks KNOB and
  /// BLURtooth).
  public func isStronger(than other: Bond) -> Bool {
    isAuthenticated && !other.isAuthenticated || isSecureConnections && !other.isSecureConnections
      || keyByteCount > other.keyByteCount
  }
}

/// A long term key with its EDIV and Rand, which identify it (Core 5.4, Vol 3, Part H, §2.4.4).
package struct LongTermKey: Sendable, Hashable {
  /// The key, truncated to its negotiated size; the remaining bytes are zero.
  package var value: SMPValue
  /// The encrypted diversifier (EDIV); 0 with LE Secure Connections.
  package var encryptedDiversifier: UInt16
  /// The random number (Rand); 0 with LE Secure Connections.
  package var random: UInt64

  /// Creates a key. For LE Secure Connections both numbers are 0.
  package init(_ value: SMPValue, encryptedDiversifier: UInt16 = 0, random: UInt64 = 0) {
    self.value = value
    self.encryptedDiversifier = encryptedDiversifier
    self.random = random
  }
}

/// A connection signature resolving key with its SignCounter (Core 5.4, Vol 3, Part H, §2.4.5).
package struct SigningKey: Sendable, Hashable {
  /// The key.
  package var value: SMPValue
  /// The minimum counter of the next signature; 2³² when the key is used up.
  package var nextCounter: UInt64

  /// Creates a key with its next counter; 0 for a new key.
  package init(_ value: SMPValue, nextCounter: UInt64 = 0) {
    self.value = value
    self.nextCounter = nextCounter
  }
}

/// The identity of this host towards bonded peers, independent of its private address (Core 5.4,
/// Vol 3, Part H, §2.4.2).
///
/// Its description contains no keys.
public struct HostIdentity: Sendable, Hashable {
  /// The controller's public address, or a random static one.
  public var address: DeviceAddress
  /// The IRK that generates this host's private addresses, and with which its peers resolve them.
  public var resolvingKey: SMPValue

  /// Creates an identity.
  public init(address: DeviceAddress, resolvingKey: SMPValue) {
    self.address = address
    self.resolvingKey = resolvingKey
  }
}
