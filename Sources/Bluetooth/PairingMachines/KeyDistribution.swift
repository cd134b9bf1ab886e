import BluetoothWire

/// Phase 3 of pairing (Core 5.4, Vol 3, Part H, §2.4.3 and §3.6.1): both sides distribute the keys
/// that were negotiated, the responder first, each in the order of the specification.
struct KeyDistribution: Sendable {
  private enum Expected: Sendable {
    case longTermKey
    case identification
    case identityResolvingKey
    case identityAddress
    case signatureResolvingKey
  }

  private var expected: [Expected] = []
  private var owedKeys: SMPKeyDistribution
  /// Whether this side sends the last key: the initiator, if it has any keys to distribute.
  private let sendsLast: Bool
  /// Whether the peer has acknowledged the sent keys.
  var isAcknowledged = false
  private let isBonding: Bool
  private let keyByteCount: Int
  /// This host's legacy long term key, once it was sent.
  private(set) var ownKey: LongTermKey?
  /// The peer's legacy long term key.
  private(set) var peerKey: LongTermKey?
  /// The key that resolves the peer's private addresses.
  private(set) var identityResolvingKey: SMPValue?
  /// The peer's identity address.
  private(set) var identity: DeviceAddress?
  /// What the peer signs with.
  private(set) var peerSigningKey: SMPValue?
  /// What this host signs with, once it was sent.
  private(set) var ownSigningKey: SMPValue?

  init(_ context: PairingContext) {
    keyByteCount = context.keyByteCount
    isBonding = context.isBonding
    let peers = context.keys(distributedByInitiator: !context.isInitiator)
    if peers.contains(.encryptionKey) { expected += [.longTermKey, .identification] }
    if peers.contains(.identityKey) { expected += [.identityResolvingKey, .identityAddress] }
    if peers.contains(.signingKey) { expected.append(.signatureResolvingKey) }
    owedKeys = context.keys(distributedByInitiator: context.isInitiator)
    sendsLast = !owedKeys.isEmpty && (context.isInitiator || peers.isEmpty)
  }

  /// Whether all keys of the peer were received.
  var hasPeersKeys: Bool { expected.isEmpty }

  /// Whether all keys were received and sent.
  var isComplete: Bool { expected.isEmpty && owedKeys.isEmpty }

  /// Whether the distribution is over: for the sender of the last key once the peer has
  /// acknowledged it, for its receiver at once (§3.6.1).
  var isOver: Bool { isComplete && (isAcknowledged || !sendsLast) }

  /// Whether it is this side's turn: at once as the responder, after the peer as the initiator.
  mutating func sendKeys(
    ifInTurn isInitiator: Bool, host: inout HostSecurity, into outputs: inout [PairingOutput]
  ) {
    guard !isInitiator || expected.isEmpty else { return }
    if owedKeys.contains(.encryptionKey) {
      sendLongTermKey(secrets: &host.secrets, into: &outputs)
    }
    if owedKeys.contains(.identityKey), let identity = identity(of: &host) {
      outputs.append(.send(.identityInformation(identityResolvingKey: identity.resolvingKey)))
      outputs.append(.send(.identityAddressInformation(identity.address)))
    }
    if owedKeys.contains(.signingKey) {
      let key = host.secrets.value()
      ownSigningKey = key
      outputs.append(.send(.signingInformation(signatureResolvingKey: key)))
    }
    owedKeys = []
  }

  /// This host's identity for the peer. A peer that does not bond gets a random address and no key,
  /// with which it could only track this host (§3.6.4).
  private func identity(of host: inout HostSecurity) -> HostIdentity? {
    guard !isBonding else { return host.identity }
    let random = UInt64(truncatingIfNeeded: host.secrets.value().number)
    return HostIdentity(
      address: DeviceAddress(bits: random | 0xC000_0000_0000, kind: .random),
      resolvingKey: SMPValue(number: 0))
  }

  private mutating func sendLongTermKey(
    secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) {
    let random = secrets.value().number
    let key = LongTermKey(
      secrets.value().shortened(toByteCount: keyByteCount),
      encryptedDiversifier: UInt16(truncatingIfNeeded: random >> 64),
      random: UInt64(truncatingIfNeeded: random))
    ownKey = key
    outputs.append(.send(.encryptionInformation(longTermKey: key.value)))
    outputs.append(
      .send(
        .centralIdentification(
          encryptedDiversifier: key.encryptedDiversifier, random: key.random)))
  }

  mutating func receive(_ pdu: SMPPDU) throws(SMPFailureReason) {
    switch (expected.first, pdu) {
    case (.longTermKey, .encryptionInformation(let value)): peerKey = LongTermKey(value)
    case (.identification, .centralIdentification(let diversifier, let random)):
      peerKey?.encryptedDiversifier = diversifier
      peerKey?.random = random
    case (.identityResolvingKey, .identityInformation(let key)):
      // All zeros: the device has no private addresses (§3.6.4).
      identityResolvingKey = key.number == 0 ? nil : key
    case (.identityAddress, .identityAddressInformation(let address)):
      guard address.isIdentityAddress else { throw .invalidParameters }
      identity = address
    case (.signatureResolvingKey, .signingInformation(let key)): peerSigningKey = key
    default: throw .unspecifiedReason
    }
    expected.removeFirst()
  }
}
