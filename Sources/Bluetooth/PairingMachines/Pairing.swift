import BluetoothInterface
import BluetoothWire
import Essentials

/// One pairing with a peer, from the exchange of features to the distribution of keys (Core 5.4,
/// Vol 3, Part H, §2.1), in either role.
///
/// What the peer sends while the driver computes or the user is asked is held back, and taken after
/// that. A PDU that doesn't belong where it comes ends the pairing.
struct Pairing: Sendable {
  enum Limits {
    /// How long the peer may be silent (§3.4).
    static let timeout = TimeSpan.seconds(30)
    /// PDUs that a peer can send before it has to wait for this side.
    static let heldPDUsMax = 2
  }

  private enum Stage: Sendable {
    /// As the initiator: the Pairing Response is awaited.
    case features
    /// The user is asked whether to pair at all.
    case consent
    case legacy(LegacyAuthentication)
    case secureConnections(SecureConnectionsAuthentication)
    /// Both have the key; the link is being encrypted with it.
    case encrypting(LongTermKey)
    case distributing(KeyDistribution)
    /// The peer names the identity of another, and the user is asked about that one's bond.
    case replacing(KeyDistribution)
  }

  let isInitiator: Bool
  private let addresses: LinkAddresses
  /// What clients know the peer by.
  private let peer: DeviceAddress
  private var request: SMPPairingFeatures
  private var context: PairingContext?
  private var stage = Stage.features
  private var held: [SMPPDU] = []
  private(set) var deadline: Instant
  private let needsAuthentication: Bool
  private let asksConsent: Bool
  /// Whether the peer began the pairing.
  private let isUnasked: Bool
  /// What shows which device the peer is.
  var evidence: BondEvidence
  /// The identity of the bond that the user is asked about.
  private var identityInQuestion: DeviceAddress?
  /// Why no bond is kept, once that is known.
  private(set) var unkept: BondRejection?
  /// The key that the link was encrypted with.
  private var sessionKey: SMPValue?

  /// - Parameter party: The peer, and what is known of it.
  private init(
    _ party: Party, isInitiator: Bool, request: SMPPairingFeatures,
    needsAuthentication: Bool = false, asksConsent: Bool, now: Instant
  ) {
    self.isInitiator = isInitiator
    peer = party.peer
    addresses = party.addresses
    isUnasked = party.isUnasked
    evidence = BondEvidence(hasProvedBond: party.hasProvedBond)
    self.request = request
    self.needsAuthentication = needsAuthentication
    self.asksConsent = asksConsent
    deadline = now + Limits.timeout
  }

  /// As the central: sends the Pairing Request.
  static func initiate(
    with party: Party, needsAuthentication: Bool, host: HostSecurity, now: Instant,
    into outputs: inout [PairingOutput]
  ) -> Pairing {
    var features = host.features(
      for: party.peer, initiatorKeys: host.keysGiven, responderKeys: .taken)
    let best = EncryptionInfo(
      keyByteCount: 16, isAuthenticated: host.canAuthenticate(party.peer),
      isSecureConnections: host.canUseSecureConnections)
    let obstacle = host.obstacle(to: best, with: party.peer, isUnasked: party.isUnasked)
    if obstacle != nil { features.withdrawBonding() }
    outputs.append(.send(.pairingRequest(features)))
    var pairing = Pairing(
      party, isInitiator: true, request: features, needsAuthentication: needsAuthentication,
      asksConsent: host.policy == .ask, now: now)
    pairing.unkept = obstacle
    return pairing
  }

  /// As the peripheral: answers a Pairing Request.
  static func respond(
    to request: SMPPairingFeatures, of party: Party, host: inout HostSecurity, now: Instant,
    into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) -> Pairing {
    var pairing = Pairing(
      party, isInitiator: false, request: request, asksConsent: host.policy == .ask, now: now)
    var response = host.features(
      for: party.peer, initiatorKeys: request.initiatorKeys.intersection(.taken),
      responderKeys: request.responderKeys.intersection(host.keysGiven))
    var context = try pairing.agree(on: response, host: host)
    if context.isBonding { pairing.unkept = pairing.obstacle(to: context, host: host) }
    // A peer that doesn't bond needs no keys. One whose bond would not be kept keeps none, either.
    if !context.isBonding || pairing.unkept != nil {
      response.withdrawBonding()
      context = try pairing.agree(on: response, host: host)
    }
    outputs.append(.send(.pairingResponse(response)))
    try pairing.begin(context, host: &host, into: &outputs)
    return pairing
  }

  private func obstacle(to context: PairingContext, host: HostSecurity) -> BondRejection? {
    let givesIdentity = context.keys(distributedByInitiator: true).contains(.identityKey)
    guard addresses.peer.isIdentityAddress || givesIdentity else { return .changingAddress }
    return host.obstacle(to: context.encryption, with: peer, isUnasked: isUnasked)
  }

  /// Gives the peer and the user more time.
  mutating func postponeTimeout(until instant: Instant) { deadline = max(deadline, instant) }

  /// The protection that this pairing's key provides.
  var encryption: EncryptionInfo? { context?.encryption }

  /// The key that the controller may request: both sides have proved that they know it.
  var keyForEncryption: LongTermKey? {
    if case .encrypting(let key) = stage { key } else { nil }
  }

  /// Whether this side has sent the last key, which the peer has yet to acknowledge.
  var awaitsAcknowledgement: Bool {
    if case .distributing(let keys) = stage { keys.isComplete && !keys.isOver } else { false }
  }

  /// The peer has all keys.
  mutating func keysAcknowledged() {
    guard case .distributing(var distribution) = stage else { return }
    distribution.isAcknowledged = true
    stage = .distributing(distribution)
  }

  /// Whether the link is encrypted with the key of this pairing.
  var hasEncrypted: Bool {
    switch stage {
    case .distributing, .replacing: true
    case .features, .consent, .legacy, .secureConnections, .encrypting: false
    }
  }

  var awaitsKeys: Bool { if case .distributing = stage { true } else { false } }

  /// Whether the user is asked if the bond of this pairing may replace another.
  var asksAboutBond: Bool {
    switch stage {
    case .replacing: true
    case .consent: identityInQuestion != nil
    case .features, .legacy, .secureConnections, .encrypting, .distributing: false
    }
  }

  private var isSuspended: Bool {
    switch stage {
    case .consent, .replacing: true
    case .legacy(let authentication): authentication.isSuspended
    case .secureConnections(let authentication): authentication.isSuspended
    // Keys come over an encrypted link only.
    case .features, .encrypting, .distributing: false
    }
  }

  // MARK: Phase 1

  /// Checks whether this host may pair with these features.
  private func agree(
    on response: SMPPairingFeatures, host: HostSecurity
  ) throws(SMPFailureReason) -> PairingContext {
    let context = PairingContext(
      isInitiator: isInitiator, addresses: addresses, request: request, response: response,
      outOfBand: host.outOfBand.known(of: peer))
    guard context.keyByteCount >= host.keyByteCountMin else { throw .encryptionKeySize }
    guard context.hasOutOfBandData else { throw .outOfBandNotAvailable }
    guard context.model.isAuthenticated || !needsAuthentication && !host.requiresAuthentication
    else { throw .authenticationRequirements }
    guard context.usesSecureConnections || !host.requiresSecureConnections else {
      throw .authenticationRequirements
    }
    guard !context.usesSecureConnections || host.canUseSecureConnections else {
      throw .authenticationRequirements
    }
    // A device that claims to be a bonded peer must not get a weaker bond than that peer has, nor its
    // place without evidence.
    switch host.claim(by: peer, at: addresses.peer, context.encryption, evidence) {
    case .granted, .needsConsent: break
    case .refused(.weaker): throw .authenticationRequirements
    case .refused: throw .keyRejected
    }
    return context
  }

  private mutating func begin(
    _ context: PairingContext, host: inout HostSecurity, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    self.context = context
    // Without bonding, too: what is held for the bonded peer goes to the one that paired.
    if case .needsConsent(let old) = host.claim(
      by: peer, at: addresses.peer, context.encryption, evidence)
    {
      identityInQuestion = old.identity
      stage = .consent
      outputs.append(.prompt(.replaceBond(old.knownAddress)))
    } else if asksConsent, !context.model.isAuthenticated {
      guard host.hasAgent else { throw .pairingNotSupported }
      stage = .consent
      outputs.append(.prompt(.consent))
    } else {
      authenticate(context, host: &host, into: &outputs)
    }
  }

  private mutating func authenticate(
    _ context: PairingContext, host: inout HostSecurity, into outputs: inout [PairingOutput]
  ) {
    if context.usesSecureConnections {
      let authentication = SecureConnectionsAuthentication(
        context, acceptsDebugKeys: host.acceptsDebugKeys, secrets: &host.secrets)
      authentication.start(into: &outputs)
      stage = .secureConnections(authentication)
    } else {
      var authentication = LegacyAuthentication(context, secrets: &host.secrets)
      authentication.start(secrets: &host.secrets, into: &outputs)
      stage = .legacy(authentication)
    }
  }

  // MARK: Inputs

  /// Takes a PDU of the peer, other than Pairing Failed.
  mutating func receive(
    _ pdu: SMPPDU, host: inout HostSecurity, now: Instant, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    // This host never agrees to be sent them (§3.5.8), so they buy no time.
    if case .keypressNotification = pdu { return }
    guard !isSuspended else {
      guard held.count < Limits.heldPDUsMax else { throw .unspecifiedReason }
      held.append(pdu)
      return
    }
    try take(pdu, host: &host, now: now, into: &outputs)
    restartTimer(now: now, after: outputs)
  }

  /// Takes the result of the computation that was asked for last.
  mutating func computed(
    _ result: KeyAgreementResult, host: inout HostSecurity, now: Instant,
    into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    guard case .secureConnections(var authentication) = stage else { return }
    try authentication.computed(result, secrets: &host.secrets, into: &outputs)
    stage = .secureConnections(authentication)
    try takeHeld(host: &host, now: now, into: &outputs)
  }

  /// Takes the user's answer to the latest prompt; ignored if none waits for one.
  mutating func answer(
    _ answer: PairingAnswer, host: inout HostSecurity, now: Instant,
    into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch stage {
    case .consent:
      guard answer == .accept, let context else {
        throw identityInQuestion == nil ? .unspecifiedReason : .keyRejected
      }
      evidence.consentedIdentity = identityInQuestion
      authenticate(context, host: &host, into: &outputs)
    case .legacy(var authentication):
      guard answer != .reject else { throw .passkeyEntryFailed }
      try authentication.answer(answer, into: &outputs)
      stage = .legacy(authentication)
    case .secureConnections(var authentication):
      try authentication.answer(answer, secrets: &host.secrets, into: &outputs)
      stage = .secureConnections(authentication)
      // While a passkey is shown, its user may still give up.
      if answer == .reject { throw .passkeyEntryFailed }
    case .replacing(let distribution):
      guard answer == .accept else { throw .keyRejected }
      evidence.consentedIdentity = identityInQuestion
      unkept = nil
      try proceed(with: distribution, host: &host, now: now, into: &outputs)
    case .features, .encrypting, .distributing:
      guard answer != .reject else { throw .unspecifiedReason }
      return
    }
    try takeHeld(host: &host, now: now, into: &outputs)
  }

  private mutating func takeHeld(
    host: inout HostSecurity, now: Instant, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    while !held.isEmpty, !isSuspended {
      try take(held.removeFirst(), host: &host, now: now, into: &outputs)
    }
    restartTimer(now: now, after: outputs)
  }

  private mutating func restartTimer(now: Instant, after outputs: [PairingOutput]) {
    // With every PDU that is sent (§3.4).
    for case .send in outputs { deadline = now + Limits.timeout }
  }

  private mutating func take(
    _ pdu: SMPPDU, host: inout HostSecurity, now: Instant, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch stage {
    case .features:
      guard case .pairingResponse(let response) = pdu else { throw .unspecifiedReason }
      try begin(try agree(on: response, host: host), host: &host, into: &outputs)
    case .legacy(var authentication):
      try authentication.receive(pdu, into: &outputs)
      stage = .legacy(authentication)
    case .secureConnections(var authentication):
      try authentication.receive(pdu, secrets: &host.secrets, into: &outputs)
      stage = .secureConnections(authentication)
    case .distributing(var distribution):
      try distribution.receive(pdu)
      try proceed(with: distribution, host: &host, now: now, into: &outputs)
    // A key received before the link is encrypted could be from any device.
    case .consent, .encrypting, .replacing: throw .unspecifiedReason
    }
    for case .authenticated(let value) in outputs { authenticated(value) }
  }

  private mutating func authenticated(_ value: SMPValue) {
    guard let context else { return }
    let key = value.shortened(toByteCount: context.keyByteCount)
    sessionKey = key
    stage = .encrypting(LongTermKey(key))
  }

  // MARK: Phase 3

  /// The link is encrypted with the key of this pairing.
  mutating func encrypted(
    host: inout HostSecurity, now: Instant, into outputs: inout [PairingOutput]
  ) {
    guard case .encrypting = stage, let context else { return }
    var distribution = KeyDistribution(context)
    distribution.sendKeys(ifInTurn: isInitiator, host: &host, into: &outputs)
    stage = .distributing(distribution)
    deadline = now + Limits.timeout
  }

  /// Once the peer has named its identity, that may be another device's. Before this host gives its keys,
  /// as far as the order allows.
  private mutating func proceed(
    with distribution: KeyDistribution, host: inout HostSecurity, now: Instant,
    into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    if distribution.hasPeersKeys, let context, context.isBonding,
      let bond = bond(of: distribution, context), bond.identity.isIdentityAddress
    {
      switch host.claim(bond, by: peer, evidence) {
      case .granted: break
      case .needsConsent(let old):
        identityInQuestion = old.identity
        unkept = .claimed
        stage = .replacing(distribution)
        deadline = now + Limits.timeout
        return outputs.append(.prompt(.replaceBond(old.knownAddress)))
      case .refused(let reason):
        unkept = reason
        throw .keyRejected
      }
    }
    var distribution = distribution
    distribution.sendKeys(ifInTurn: isInitiator, host: &host, into: &outputs)
    stage = .distributing(distribution)
  }

  /// The bond could not be kept in the end.
  mutating func notKept(_ reason: BondRejection) { unkept = reason }

  /// What the pairing leaves, once both sides have all keys; nil before. Its bond is to be kept
  /// only if both sides bond.
  var outcome: (bond: Bond, isBonding: Bool, usedOutOfBandData: OwnOutOfBandData?)? {
    guard case .distributing(let distribution) = stage, distribution.isOver, let context,
      let bond = bond(of: distribution, context)
    else { return nil }
    return (bond, context.isBonding, context.ownCommitment)
  }

  private func bond(of distribution: KeyDistribution, _ context: PairingContext) -> Bond? {
    guard let sessionKey else { return nil }
    let shared = context.usesSecureConnections ? LongTermKey(sessionKey) : nil
    var bond = Bond(
      identity: identity(distribution),
      // Of a legacy pairing the peripheral's key encrypts, whichever side that is (§2.4.4.1): each
      // key is used in links where its owner is the peripheral.
      centralKey: shared ?? distribution.peerKey, peripheralKey: shared ?? distribution.ownKey,
      identityResolvingKey: distribution.identityResolvingKey,
      keyByteCount: context.keyByteCount, isAuthenticated: context.model.isAuthenticated,
      isSecureConnections: context.usesSecureConnections)
    bond.peerSigning = distribution.peerSigningKey.map { SigningKey($0) }
    bond.localSigning = distribution.ownSigningKey.map { SigningKey($0) }
    return bond
  }

  /// The peer's address in the bond: that of the link, unless it is a private address that the
  /// distributed key resolves. Only then the distributed identity is used, so that a peer can't
  /// claim another device's identity.
  private func identity(_ distribution: KeyDistribution) -> DeviceAddress {
    let peer = addresses.peer
    guard let key = distribution.identityResolvingKey,
      peer.isMade(withIdentityResolvingKey: AES128(key: key.number))
    else { return peer }
    return distribution.identity ?? peer
  }
}

extension Pairing {
  /// The device at the other end of a pairing, and how it came to it.
  struct Party: Sendable {
    /// What clients know the peer by.
    let peer: DeviceAddress
    let addresses: LinkAddresses
    /// Whether the peer began the pairing.
    let isUnasked: Bool
    /// Whether the link is encrypted with the key of the peer's bond.
    let hasProvedBond: Bool
  }
}

extension SMPPairingFeatures {
  /// Tells the peer that no bond will be kept, so that it keeps none, either.
  fileprivate mutating func withdrawBonding() {
    authenticationRequirements.remove(.bonding)
    initiatorKeys = []
    responderKeys = []
  }
}

extension SMPKeyDistribution {
  /// The keys that this host requests from the peer.
  fileprivate static let taken: SMPKeyDistribution = [.encryptionKey, .identityKey, .signingKey]
}
