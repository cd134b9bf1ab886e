public import BluetoothWire

/// Which pairings a host agrees to.
public enum PairingPolicy: String, Sendable, Hashable, CaseIterable, Codable {
  /// None. Links are encrypted with bonds that exist already.
  case never
  /// Those that a protected value, a peer or a client asks for. People are asked only for what the
  /// association model needs: a passkey or a comparison.
  case automatic
  /// Only those that a client with a pairing agent agrees to, also where Just Works needs no answer.
  case ask
}

/// Names a prompt in its answer, so that no answer is taken for another question.
@frozen
public struct PairingPromptID: Hashable, Sendable {
  /// Unique for the life of the host.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A question about a pairing, or a number to show, for the client that registered as pairing agent
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

  /// Six decimal digits, as people are shown them (§2.3.5.6.2).
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
  /// The peer was silent for 30 s, or a prompt unanswered (§3.4). The link takes no further pairing.
  case timeout
  /// The peer has lost, or removed, the keys of the bond. Nothing is read or written until the bond
  /// is removed here, too, because anybody can claim to be the peer.
  case keyMissing
  /// The controller could not encrypt the link.
  case encryptionFailed(HCIStatus)
  /// The link ended.
  case disconnected
}

/// A long term key and what it is asked for by (Core 5.4, Vol 3, Part H, §2.4.4).
public struct LongTermKey: Sendable, Hashable {
  /// The key, as long as was negotiated; the rest is zero.
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

/// Why a pairing that succeeded leaves no bond, so that the peer has to be paired with again next time.
public enum UnkeptBond: Error, Hashable, Sendable {
  /// There are as many bonds as a host takes, or as it takes of peers that pair by Just Works without
  /// having been asked, and all of them are in use.
  case full
  /// The peer claims the identity of a bonded one, and paired with less than that had to show.
  case weaker
  /// The peer claims the identity of a bonded one from an address that isn't that one's.
  case claimedIdentity
  /// The peer will have another address next time, and distributed nothing to know it by.
  case changingAddress
}

/// The keys that a pairing left, which are kept for later links (Core 5.4, Vol 3, Part C, §9.4.4).
///
/// Its description shows no key.
public struct Bond: Sendable, Hashable {
  /// The peer's identity address, or the address of the link where the peer distributed none.
  public var identity: DeviceAddress
  /// The address that clients know the peer by, whatever private address it has: that of the link on
  /// which it was paired first, so that what they had stored before stays valid.
  public var knownAddress: DeviceAddress
  /// The identity address of this host that the peer has its bond with; nil: whichever it is.
  public var localIdentity: DeviceAddress?
  /// The key for links in which this host is the central.
  public var centralKey: LongTermKey?
  /// The key for links in which this host is the peripheral.
  public var peripheralKey: LongTermKey?
  /// What the peer's private addresses are resolved with; nil where it has none.
  public var identityResolvingKey: SMPValue?
  /// Bytes of the key that are not zero by construction, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether it was LE Secure Connections.
  public var isSecureConnections: Bool
  /// What the peer signs with; nil: it gave no key.
  public var peerSigning: SigningKey?
  /// What this host signs with towards the peer; nil: the peer was given no key.
  public var localSigning: SigningKey?
  /// What the peer has configured in this host's GATT server; nil: nothing.
  public var clientConfiguration: ClientConfiguration?
  /// Whether it may make room for another: the peer began the pairing, nobody took part in it, and no
  /// later link was encrypted with its keys so far.
  public var isEvictable = false

  /// A bond from its parts. Clients know the peer by its identity address unless `knownAddress` says
  /// otherwise.
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

  /// Whether the other's keys protect less than these, so that they must not replace them: without
  /// authentication where these have it, legacy where these are of LE Secure Connections, or shorter
  /// (Core 5.4, Vol 3, Part C, §10.3.2; the attacks KNOB and BLURtooth).
  public func isStronger(than other: Bond) -> Bool {
    isAuthenticated && !other.isAuthenticated || isSecureConnections && !other.isSecureConnections
      || keyByteCount > other.keyByteCount
  }
}

/// A connection signature resolving key and how far its holder has counted (Core 5.4, Vol 3, Part H,
/// §2.4.5).
public struct SigningKey: Sendable, Hashable {
  /// The key.
  public var value: SMPValue
  /// The least number that the next signature may have; 2³² when the key is used up.
  public var nextCounter: UInt64

  /// A key that signed nothing yet, or so much.
  public init(_ value: SMPValue, nextCounter: UInt64 = 0) {
    self.value = value
    self.nextCounter = nextCounter
  }
}

/// What a bonded peer has configured in this host's GATT server, which holds for its later links, too
/// (Core 5.4, Vol 3, Part G, §2.5.2, §3.3.3.3, §7.2).
public struct ClientConfiguration: Sendable, Hashable {
  /// What is kept at most, by handle; the rest ends with the link.
  public static let descriptorCountMax = 128

  /// The Database Hash of the database that the handles are of, 16 bytes; in another one they mean
  /// nothing.
  public var databaseHash: [UInt8]
  /// Whether the peer knew that database.
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

/// Who this host is to bonded peers, whatever private address it has (Core 5.4, Vol 3, Part H, §2.4.2).
///
/// Its description shows no key.
public struct HostIdentity: Sendable, Hashable {
  /// The controller's public address, or a random static one.
  public var address: DeviceAddress
  /// What this host's private addresses are made with, and resolved by its peers.
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

  /// A point; whether it is on the curve shows when it is used.
  public init(x: SMPCoordinate, y: SMPCoordinate) {
    self.x = x
    self.y = y
  }
}

/// A computation on the curve P-256 that the machine asks its driver for (Core 5.4, Vol 3, Part H,
/// §2.3.5.6.1).
public struct KeyAgreementRequest: Sendable, Hashable {
  /// What to compute.
  public enum Operation: Sendable, Hashable {
    /// The public key of this private key.
    case publicKey(privateKey: SMPCoordinate)
    /// The Diffie-Hellman key. The peer's point must be validated.
    case sharedSecret(privateKey: SMPCoordinate, peer: PublicKey)
  }

  /// Names the request in its result.
  public var id: UInt64
  /// What to compute.
  public var operation: Operation

  /// A request.
  public init(id: UInt64, operation: Operation) {
    self.id = id
    self.operation = operation
  }
}

/// What a `KeyAgreementRequest` came to.
public enum KeyAgreementResult: Sendable, Hashable {
  /// The public key.
  case publicKey(PublicKey)
  /// The x coordinate of the shared point.
  case sharedSecret(SMPCoordinate)
  /// The private key is none, or the peer's point is not on the curve.
  case invalidKey
}

/// Computes on the curve P-256 for the drivers of machines. From any thread.
public protocol KeyAgreement: Sendable {
  /// Performs an operation; takes well under a millisecond.
  func perform(_ operation: KeyAgreementRequest.Operation) -> KeyAgreementResult
}
