public import BluetoothWire

/// The pairings that a host accepts.
public enum PairingPolicy: String, Sendable, Hashable, CaseIterable, Codable {
  /// No pairings. Links are encrypted with existing bonds only.
  case never
  /// All pairings, whether a protected value, a peer or a client requests them. Users are involved
  /// only if the association model requires it, for a passkey or a comparison.
  case automatic
  /// Only pairings that a client with a pairing agent accepts, including those by Just Works.
  case ask
}

/// Identifies a prompt, so that an answer is not applied to another one.
@frozen
public struct PairingPromptID: Hashable, Sendable {
  /// The number, unique while the host exists.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A prompt of a pairing for the pairing agent: a question, or a number to display (Core 5.4, Vol
/// 3, Part H, §2.3.5).
public enum PairingPrompt: Sendable, Hashable {
  /// Ask whether to pair by Just Works. Answer with `accept` or `reject`.
  case consent
  /// Display this passkey until the pairing ends; the peer's user enters it. Needs no answer.
  case displayPasskey(UInt32)
  /// Ask for the passkey that the peer displays. Answer with `passkey` or `reject`.
  case enterPasskey
  /// Ask whether this number is equal to the one that the peer displays. Answer with `accept` if it
  /// is.
  case compareNumber(UInt32)

  /// The number as six decimal digits, as it is displayed (§2.3.5.6.2).
  public static func digits(_ number: UInt32) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}

/// An answer to a `PairingPrompt`.
public enum PairingAnswer: Sendable, Hashable {
  /// Continue the pairing; for a comparison, the numbers are equal.
  case accept
  /// The passkey, 0 to 999,999.
  case passkey(UInt32)
  /// Reject the pairing.
  case reject
}

/// The reason why a pairing or the encryption of a link failed.
public enum SecurityFailure: Error, Sendable, Hashable {
  /// This host ended the pairing and sent this reason to the peer (Core 5.4, Vol 3, Part H,
  /// §3.5.5).
  case pairingFailed(SMPFailureReason)
  /// The peer ended the pairing for this reason.
  case peerFailed(SMPFailureReason)
  /// The peer did not answer, or a prompt was not answered, within 30 s (§3.4). No other pairing is
  /// possible on this link.
  case timeout
  /// The peer has lost or removed the keys of the bond. No value is read or written until the bond
  /// is removed on this host, too, because any device can claim to be the peer.
  case keyMissing
  /// The controller could not encrypt the link.
  case encryptionFailed(HCIStatus)
  /// The link ended.
  case disconnected
}

/// A long term key with its EDIV and Rand, which identify it (Core 5.4, Vol 3, Part H, §2.4.4).
public struct LongTermKey: Sendable, Hashable {
  /// The key, truncated to its negotiated size; the remaining bytes are zero.
  public var value: SMPValue
  /// The encrypted diversifier (EDIV); 0 with LE Secure Connections.
  public var encryptedDiversifier: UInt16
  /// The random number (Rand); 0 with LE Secure Connections.
  public var random: UInt64

  /// Creates a key. For LE Secure Connections both numbers are 0.
  public init(_ value: SMPValue, encryptedDiversifier: UInt16 = 0, random: UInt64 = 0) {
    self.value = value
    self.encryptedDiversifier = encryptedDiversifier
    self.random = random
  }
}

/// The reason why the bond of a successful pairing is not stored, so that the peer must pair again
/// next time.
public enum UnkeptBond: Error, Hashable, Sendable {
  /// The limit of bonds is reached, or that of Just Works bonds that peers initiated, and no bond
  /// may be evicted.
  case full
  /// The peer claims the identity of a bonded peer, and its pairing is less secure than that bond.
  case weaker
  /// The peer claims the identity of a bonded peer from another address.
  case claimedIdentity
  /// The peer's address will change, and it distributed no key to recognize it by.
  case changingAddress
}

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
  public var centralKey: LongTermKey?
  /// The key for links in which this host is the peripheral.
  public var peripheralKey: LongTermKey?
  /// The key that resolves the peer's private addresses; nil if it distributed none.
  public var identityResolvingKey: SMPValue?
  /// The encryption key size in bytes, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether LE Secure Connections was used.
  public var isSecureConnections: Bool
  /// The key of the peer's signatures; nil if it distributed none.
  public var peerSigning: SigningKey?
  /// The peer's configuration of this host's GATT server; nil without one.
  public var localSigning: SigningKey?
  /// The peer's configuration of this host's GATT server; nil if there is none.
  public var clientConfiguration: ClientConfiguration?
  /// Whether the bond may be evicted for another: the peer initiated the pairing, no user confirmed
  /// it, and no later link has been encrypted with its keys yet.
  public var isEvictable = false

  /// Creates a bond. `knownAddress` defaults to the identity address.
  public init(
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

/// A connection signature resolving key with its SignCounter (Core 5.4, Vol 3, Part H, §2.4.5).
public struct SigningKey: Sendable, Hashable {
  /// The key.
  public var value: SMPValue
  /// The minimum counter of the next signature; 2³² when the key is used up.
  public var nextCounter: UInt64

  /// Creates a key with its next counter; 0 for a new key.
  public init(_ value: SMPValue, nextCounter: UInt64 = 0) {
    self.value = value
    self.nextCounter = nextCounter
  }
}

/// A bonded peer's configuration of this host's GATT server, which is stored for later links (Core
/// 5.4, Vol 3, Part G, §2.5.2, §3.3.3.3, §7.2).
public struct ClientConfiguration: Sendable, Hashable {
  /// The maximum number of descriptors that are stored, in the order of handles; others end with
  /// the link.
  public static let descriptorCountMax = 128

  /// The Database Hash of the database that the handles refer to, 16 bytes. They are not valid for
  /// any other database.
  public var databaseHash: [UInt8]
  /// Whether the peer was change-aware.
  public var isAware: Bool
  /// The first octet of Client Supported Features.
  public var features: UInt8
  /// The client characteristic configuration descriptors that are not 0, by handle.
  public var descriptors: [UInt16: UInt16]

  /// Creates a configuration.
  public init(
    databaseHash: [UInt8], isAware: Bool, features: UInt8, descriptors: [UInt16: UInt16]
  ) {
    self.databaseHash = databaseHash
    self.isAware = isAware
    self.features = features
    self.descriptors = descriptors
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

/// The encryption of a link.
public struct EncryptionInfo: Sendable, Hashable, Codable {
  /// The encryption key size in bytes, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether LE Secure Connections was used.
  public var isSecureConnections: Bool

  /// Creates the properties of an encryption key.
  public init(keyByteCount: Int, isAuthenticated: Bool, isSecureConnections: Bool) {
    self.keyByteCount = keyByteCount
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }
}

/// A point on the curve P-256 (Core 5.4, Vol 3, Part H, §2.2.6).
public struct PublicKey: Sendable, Hashable {
  /// The x coordinate.
  public var x: SMPCoordinate
  /// The y coordinate.
  public var y: SMPCoordinate

  /// Creates a point; it is validated when it is used.
  public init(x: SMPCoordinate, y: SMPCoordinate) {
    self.x = x
    self.y = y
  }
}

/// A P-256 computation that the driver performs for the machine (Core 5.4, Vol 3, Part H,
/// §2.3.5.6.1).
public struct KeyAgreementRequest: Sendable, Hashable {
  /// The computation.
  public enum Operation: Sendable, Hashable {
    /// Compute the public key of this private key.
    case publicKey(privateKey: SMPCoordinate)
    /// Compute the Diffie-Hellman key. The peer's point must be validated.
    case sharedSecret(privateKey: SMPCoordinate, peer: PublicKey)
  }

  /// Identifies the request in its result.
  public var id: UInt64
  /// The computation.
  public var operation: Operation

  /// Creates a request.
  public init(id: UInt64, operation: Operation) {
    self.id = id
    self.operation = operation
  }
}

/// The result of a `KeyAgreementRequest`.
public enum KeyAgreementResult: Sendable, Hashable {
  /// The public key.
  case publicKey(PublicKey)
  /// The x coordinate of the shared point.
  case sharedSecret(SMPCoordinate)
  /// The private key is invalid, or the peer's point is not on the curve.
  case invalidKey
}

/// P-256 computations for the drivers of machines. May be called from any thread.
public protocol KeyAgreement: Sendable {
  /// Performs a computation; takes well under a millisecond.
  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult
}
