public import BluetoothWire

/// Which pairings a host accepts.
public enum PairingPolicy: String, Sendable, Hashable, CaseIterable, Codable {
  /// None. Links are encrypted with bonds that exist already.
  case never
  /// Pairings that a protected value, a peer or a client requests. People are involved only if the
  /// association model needs it: for a passkey or a comparison.
  case automatic
  /// Only those that a client with a pairing agent accepts, also for Just Works.
  case ask
}

/// Identifies a prompt in its answer, so that an answer is not applied to another prompt.
@frozen
public struct PairingPromptID: Hashable, Sendable {
  /// Unique for the life of the host.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A prompt of a pairing for the client that is the pairing agent: a question, or a number to show
/// (Core 5.4, Vol 3, Part H, §2.3.5).
public enum PairingPrompt: Sendable, Hashable {
  /// Whether to pair by Just Works: `accept` or `reject`.
  case consent
  /// Show this passkey until the pairing ends; the peer's user enters it. Needs no answer.
  case displayPasskey(UInt32)
  /// Enter the passkey that the peer shows: `passkey` or `reject`.
  case enterPasskey
  /// Compare this number with the one that the peer shows: `accept` if they are equal.
  case compareNumber(UInt32)

  /// The number as six decimal digits, as it is displayed (§2.3.5.6.2).
  public static func digits(_ number: UInt32) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}

/// An answer to a `PairingPrompt`.
public enum PairingAnswer: Sendable, Hashable {
  /// Go on; the numbers are equal.
  case accept
  /// The passkey, 0 to 999,999.
  case passkey(UInt32)
  /// End the pairing.
  case reject
}

/// Why a pairing or the encryption of a link failed.
public enum SecurityFailure: Error, Sendable, Hashable {
  /// This host ended the pairing and sent the peer the reason (Core 5.4, Vol 3, Part H, §3.5.5).
  case pairingFailed(SMPFailureReason)
  /// The peer ended the pairing, for this reason.
  case peerFailed(SMPFailureReason)
  /// The peer was silent for 30 s, or a prompt unanswered (§3.4). No other pairing is possible on
  /// this link.
  case timeout
  /// The peer has lost, or removed, the keys of the bond. Nothing is read or written until the bond
  /// is removed here, too, because any device can claim to be the peer.
  case keyMissing
  /// The controller could not encrypt the link.
  case encryptionFailed(HCIStatus)
  /// The link ended.
  case disconnected
}

/// A long term key with its EDIV and Rand, which identify it (Core 5.4, Vol 3, Part H, §2.4.4).
public struct LongTermKey: Sendable, Hashable {
  /// The key in its negotiated length; the remaining bytes are zero.
  public var value: SMPValue
  /// The diversifier; 0 with LE Secure Connections.
  public var encryptedDiversifier: UInt16
  /// The number; 0 with LE Secure Connections.
  public var random: UInt64

  /// A key. Both numbers are 0 for one of LE Secure Connections.
  public init(_ value: SMPValue, encryptedDiversifier: UInt16 = 0, random: UInt64 = 0) {
    self.value = value
    self.encryptedDiversifier = encryptedDiversifier
    self.random = random
  }
}

/// The reason why a successful pairing leaves no bond, so that the peer has to pair again next
/// time.
public enum UnkeptBond: Error, Hashable, Sendable {
  /// The limit of bonds is reached, or that of bonds by Just Works which the peer initiated, and no
  /// bond may be evicted.
  case full
  /// The peer claims the identity of a bonded one, and its pairing is weaker than that bond.
  case weaker
  /// The peer claims the identity of a bonded one from another address.
  case claimedIdentity
  /// The peer's address will change, and it distributed no key to recognize it by.
  case changingAddress
}

/// The keys of a pairing, which are kept for later links (Core 5.4, Vol 3, Part C, §9.4.4).
///
/// Its description shows no key.
public struct Bond: Sendable, Hashable {
  /// The peer's identity address, or the address of the link where the peer distributed none.
  public var identity: DeviceAddress
  /// The address under which clients know the peer, whatever private address it uses: that of the
  /// link on which it was first paired, so that identifiers stored by clients stay valid.
  public var knownAddress: DeviceAddress
  /// The identity address of this host with which the peer has its bond; nil: any.
  public var localIdentity: DeviceAddress?
  /// The key for links in which this host is the central.
  public var centralKey: LongTermKey?
  /// The key for links in which this host is the peripheral.
  public var peripheralKey: LongTermKey?
  /// The key that resolves the peer's private addresses; nil if it distributed none.
  public var identityResolvingKey: SMPValue?
  /// Bytes of the key that are not zero by construction, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether it was LE Secure Connections.
  public var isSecureConnections: Bool
  /// The key of the peer's signatures; nil: it distributed none.
  public var peerSigning: SigningKey?
  /// The key of this host's signatures to the peer; nil: the peer received none.
  public var localSigning: SigningKey?
  /// The peer's configuration of this host's GATT server; nil: none.
  public var clientConfiguration: ClientConfiguration?
  /// Whether the bond may be evicted for another: the peer began the pairing, no user confirmed it,
  /// and no later link has been encrypted with its keys yet.
  public var isEvictable = false

  /// A bond from its parts. `knownAddress` defaults to the identity address.
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

  /// Whether these keys protect more than the other's, which then must not replace them: the
  /// other's are without authentication where these have it, legacy where these are of LE Secure
  /// Connections, or shorter (Core 5.4, Vol 3, Part C, §10.3.2; the attacks KNOB and BLURtooth).
  public func isStronger(than other: Bond) -> Bool {
    isAuthenticated && !other.isAuthenticated || isSecureConnections && !other.isSecureConnections
      || keyByteCount > other.keyByteCount
  }
}

/// A connection signature resolving key with its SignCounter (Core 5.4, Vol 3, Part H, §2.4.5).
public struct SigningKey: Sendable, Hashable {
  /// The key.
  public var value: SMPValue
  /// The least number that the next signature may have; 2³² when the key is used up.
  public var nextCounter: UInt64

  /// A key with its next counter; 0 for a new key.
  public init(_ value: SMPValue, nextCounter: UInt64 = 0) {
    self.value = value
    self.nextCounter = nextCounter
  }
}

/// A bonded peer's configuration of this host's GATT server, which is kept for later links (Core
/// 5.4, Vol 3, Part G, §2.5.2, §3.3.3.3, §7.2).
public struct ClientConfiguration: Sendable, Hashable {
  /// The largest number of descriptors that is kept, by handle; others end with the link.
  public static let descriptorCountMax = 128

  /// The Database Hash of the database that the handles refer to, 16 bytes; with another database
  /// they are not valid.
  public var databaseHash: [UInt8]
  /// Whether the peer was change-aware.
  public var isAware: Bool
  /// The first octet of Client Supported Features.
  public var features: UInt8
  /// The client characteristic configuration descriptors that are not 0, by handle.
  public var descriptors: [UInt16: UInt16]

  /// A configuration from its parts.
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
/// Its description shows no key.
public struct HostIdentity: Sendable, Hashable {
  /// The controller's public address, or a random static one.
  public var address: DeviceAddress
  /// The IRK that generates this host's private addresses; its peers resolve them with it.
  public var resolvingKey: SMPValue

  /// An identity from its parts.
  public init(address: DeviceAddress, resolvingKey: SMPValue) {
    self.address = address
    self.resolvingKey = resolvingKey
  }
}

/// How a link is protected now.
public struct EncryptionInfo: Sendable, Hashable, Codable {
  /// Bytes of the key that are not zero by construction, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether it was LE Secure Connections.
  public var isSecureConnections: Bool

  /// How a link with this key is protected.
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

  /// A point; it is validated when it is used.
  public init(x: SMPCoordinate, y: SMPCoordinate) {
    self.x = x
    self.y = y
  }
}

/// A computation on the curve P-256 that the driver performs for the machine (Core 5.4, Vol 3, Part
/// H, §2.3.5.6.1).
public struct KeyAgreementRequest: Sendable, Hashable {
  /// What to compute.
  public enum Operation: Sendable, Hashable {
    /// The public key of this private key.
    case publicKey(privateKey: SMPCoordinate)
    /// The Diffie-Hellman key. The peer's point must be validated.
    case sharedSecret(privateKey: SMPCoordinate, peer: PublicKey)
  }

  /// Identifies the request in its result.
  public var id: UInt64
  /// What to compute.
  public var operation: Operation

  /// A request.
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

/// Computes on the curve P-256 for the drivers of machines. From any thread.
public protocol KeyAgreement: Sendable {
  /// Performs an operation; takes well under a millisecond.
  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult
}
