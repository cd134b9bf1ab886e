package import BluetoothInterface
package import BluetoothWire
package import Essentials

/// The security state that all links share: bonds, policy, pairing agents, secrets.
package struct HostSecurity: Sendable {
  private struct Agent: Sendable {
    let client: ClientID
    /// The program whose pairings it answers; nil for all pairings.
    var program: ProgramID?
    let ioCapability: SMPIOCapability
  }

  /// Counts of pairing results.
  package struct Counters: Sendable, Hashable {
    package var pairings = 0
    package var failedPairings = 0
    package var unkeptBonds = 0
    package var evictedBonds = 0
  }

  package var policy: PairingPolicy
  /// The shortest key that is agreed to, in bytes (the attack KNOB).
  let keyByteCountMin: Int
  package let canUseSecureConnections: Bool
  let requiresSecureConnections: Bool
  let requiresAuthentication: Bool
  let acceptsDebugKeys: Bool
  let bondReplacement: BondReplacement
  package var secrets: SecretGenerator
  package var bonds = BondTable()
  /// The peers that have links, by the addresses that clients know them by; only where bonds may have to
  /// make room.
  package var connectedPeers: Set<DeviceAddress> = []
  /// The bond that made room for the latest one, until it is taken.
  private var evicted: Bond?
  /// The bond of another device whose identity the latest one has, until it is taken.
  private var displaced: Bond?
  /// The peers that configured something since that was stored last, when that is to be done again, and
  /// how long after that.
  private var changedBonds: [DeviceAddress] = []
  package private(set) var storesBondsAt: Instant?
  private var storeInterval = Self.storeIntervalMin
  private static let storeIntervalMin = TimeSpan.seconds(1)
  private static let storeIntervalMax = TimeSpan.seconds(64)
  /// This host's identities towards peers in earlier runs.
  private var identities: [HostIdentity] = []
  /// This host's identity while its controller is up; nil before that. Peers receive its IRK
  /// only if private addresses are in use.
  package private(set) var identity: HostIdentity?
  private let usesPrivateAddress: Bool
  package var attempts = PairingAttempts()
  package var outOfBand = OutOfBandTable()
  package var counters = Counters()
  private var agents: [Agent] = []
  /// The programs that cause the pairings of the link whose security is at work.
  package var causes: Set<ProgramID> = []
  /// The program whose request needs the protection of that link; nil where it is the peer that pairs.
  package var requester: ProgramID?
  private var lastComputation: UInt64 = 0
  private var lastPrompt: UInt64 = 0

  package init(
    policy: PairingPolicy, keyByteCountMin: Int, canUseSecureConnections: Bool,
    requiresSecureConnections: Bool, requiresAuthentication: Bool, acceptsDebugKeys: Bool,
    bondReplacement: BondReplacement, usesPrivateAddress: Bool, secrets: SecretGenerator
  ) {
    self.policy = policy
    self.keyByteCountMin = requiresSecureConnections ? 16 : keyByteCountMin
    self.requiresSecureConnections = requiresSecureConnections
    self.requiresAuthentication = requiresAuthentication
    self.canUseSecureConnections = canUseSecureConnections
    self.acceptsDebugKeys = acceptsDebugKeys
    self.bondReplacement = bondReplacement
    self.usesPrivateAddress = usesPrivateAddress
    self.secrets = secrets
  }

  // MARK: Agents

  /// The client that answers prompts: of the program whose request needs the pairing, of another one that
  /// causes it, or else one for all pairings. Of several it is the one that registered last.
  var agent: ClientID? { chosenAgent?.client }

  var hasAgent: Bool { chosenAgent != nil }

  private var chosenAgent: Agent? {
    agents.last { $0.program != nil && $0.program == requester }
      ?? agents.last { $0.program.map { causes.contains($0) } ?? false }
      ?? agents.last { $0.program == nil }
  }

  package mutating func register(
    _ client: ClientID, of program: ProgramID? = nil, _ ioCapability: SMPIOCapability
  ) {
    agents.removeAll { $0.client == client }
    agents.append(Agent(client: client, program: program, ioCapability: ioCapability))
  }

  /// A client answers the prompts of all pairings, if it answers any.
  package mutating func attendAll(_ client: ClientID) {
    for index in agents.indices where agents[index].client == client {
      agents[index].program = nil
    }
  }

  package mutating func unregister(_ client: ClientID) { agents.removeAll { $0.client == client } }

  // MARK: What peers configure

  /// A bonded peer has configured something. Stored at once, then after a second, two, four, ... so that
  /// peers that do nothing else don't keep the disk busy; and when its link ends.
  package mutating func configurationChanged(of peer: DeviceAddress, now: Instant) {
    if !changedBonds.contains(peer) { changedBonds.append(peer) }
    storesBondsAt = storesBondsAt ?? now
  }

  /// The bonds whose configuration is to be stored now.
  package mutating func takeChangedBonds(now: Instant) -> [Bond] {
    guard let instant = storesBondsAt, instant <= now else { return [] }
    guard !changedBonds.isEmpty else {
      storesBondsAt = nil
      storeInterval = Self.storeIntervalMin
      return []
    }
    storesBondsAt = now + storeInterval
    storeInterval = min(storeInterval * 2, Self.storeIntervalMax)
    return takeChangedBonds()
  }

  /// The bonds whose configuration is to be stored before it is too late.
  package mutating func takeChangedBonds() -> [Bond] {
    defer { changedBonds = [] }
    return changedBonds.compactMap { bonds.bond(of: $0) }
  }

  // MARK: This host

  /// Takes what earlier runs left.
  package mutating func load(_ bonds: [Bond], _ identities: [HostIdentity]) {
    self.bonds.load(bonds)
    self.identities = identities
  }

  /// A random static address for a controller that has none: the one of earlier runs, where there were
  /// any.
  package var staticAddress: DeviceAddress? {
    identities.first { $0.address.randomKind == .static }?.address
  }

  /// The controller is up and this is its identity address. The key is that of earlier runs, or new.
  package mutating func controllerStarted(_ address: DeviceAddress) {
    if let known = identities.first(where: { $0.address == address }) {
      identity = known
    } else {
      let new = HostIdentity(address: address, resolvingKey: secrets.value())
      // For when this controller comes back after another one.
      identities.append(new)
      identity = new
    }
    bonds.localIdentity = address
  }

  /// A private address that peers resolve with the key they were given; nil without a controller.
  package mutating func newPrivateAddress() -> DeviceAddress? {
    guard let identity else { return nil }
    return .resolvable(
      identityResolvingKey: AES128(key: identity.resolvingKey.number),
      random: UInt64(truncatingIfNeeded: secrets.value().number))
  }

  /// The keys that this host distributes on request.
  var keysGiven: SMPKeyDistribution {
    usesPrivateAddress
      ? [.encryptionKey, .identityKey, .signingKey] : [.encryptionKey, .signingKey]
  }

  /// This host's pairing features. They require protection against a man in the middle if there is
  /// a pairing agent with input or output, or out-of-band data of the peer.
  func features(
    for peer: DeviceAddress, initiatorKeys: SMPKeyDistribution, responderKeys: SMPKeyDistribution
  ) -> SMPPairingFeatures {
    let ioCapability = chosenAgent?.ioCapability ?? .noInputNoOutput
    var requirements: SMPAuthenticationRequirements = [.bonding]
    if requiresAuthentication || canAuthenticate(peer) { requirements.insert(.mitmProtection) }
    if canUseSecureConnections { requirements.insert(.secureConnections) }
    return SMPPairingFeatures(
      ioCapability: ioCapability, hasOutOfBandData: outOfBand.hasData(of: peer),
      authenticationRequirements: requirements,
      maximumEncryptionKeyByteCount: 16, initiatorKeys: initiatorKeys,
      responderKeys: responderKeys)
  }

  /// Whether a pairing with the peer could be protected against a man in the middle.
  func canAuthenticate(_ peer: DeviceAddress) -> Bool {
    outOfBand.hasData(of: peer) || chosenAgent.map { $0.ioCapability != .noInputNoOutput } ?? false
  }

  /// A pairing has succeeded.
  mutating func paired(with peer: DeviceAddress, using data: OwnOutOfBandData?) {
    counters.pairings += 1
    attempts.succeeded(peer)
    outOfBand.paired(with: peer, using: data)
  }

  // MARK: Bonds

  /// A new computation's name.
  package mutating func newComputation() -> UInt64 {
    lastComputation += 1
    return lastComputation
  }

  /// A new prompt's name.
  mutating func newPrompt() -> PairingPromptID {
    lastPrompt += 1
    return PairingPromptID(rawValue: lastPrompt)
  }

  /// The bond of a peer whose keys are as secure as the configuration requires.
  package func usableBond(of peer: DeviceAddress) -> Bond? {
    bonds.bond(of: peer).flatMap { isUsable($0) ? $0 : nil }
  }

  private func isUsable(_ bond: Bond) -> Bool {
    bond.keyByteCount >= keyByteCountMin
      && (bond.isSecureConnections || !requiresSecureConnections)
      && (bond.isAuthenticated || !requiresAuthentication)
  }

  /// The usable bond of a peer that has the key which was distributed with these numbers.
  package func bond(of peer: DeviceAddress, random: UInt64, diversifier: UInt16) -> Bond? {
    guard let bond = usableBond(of: peer), let key = bond.peripheralKey, key.random == random,
      key.encryptedDiversifier == diversifier
    else { return nil }
    return bond
  }

  /// Why the bond of a pairing would not be kept, as far as that is known before the keys are
  /// distributed; nil if it would.
  func obstacle(to encryption: EncryptionInfo, with peer: DeviceAddress, isUnasked: Bool)
    -> BondRejection?
  {
    let isUnasked = isUnasked && !encryption.isAuthenticated
    let hasRoom =
      bonds.bond(of: peer) != nil || bonds.owner(ofIdentity: peer) != nil
      || !bonds.isFull(forUnasked: isUnasked) || bonds.canMakeRoom(sparing: connectedPeers)
    return hasRoom ? nil : .full
  }

  /// Takes the bond of a pairing with a peer that clients know by this address, and returns it as it is
  /// kept, or why it isn't.
  ///
  /// - Parameter isUnasked: Whether the peer began the pairing.
  mutating func keep(
    _ bond: Bond, of peer: DeviceAddress, isUnasked: Bool = false,
    _ evidence: BondEvidence = BondEvidence()
  ) -> Result<Bond, BondRejection> {
    guard bond.identity.isIdentityAddress else { return .failure(.changingAddress) }
    var bond = bond
    bond.localIdentity = identity?.address
    switch claim(bond, by: peer, evidence) {
    case .granted: break
    case .needsConsent: return .failure(.unconfirmed)
    case .refused(let reason): return .failure(reason)
    }
    let isUnasked = isUnasked && !bond.isAuthenticated
    bond.isEvictable = isUnasked
    let old = bonds.predecessor(of: bond)
    let known = bonds.bond(of: peer)
    if let old {
      bond.isEvictable = isUnasked && old.isEvictable
      if known != old { displaced = old }
    } else if bonds.isFull(forUnasked: isUnasked) {
      guard let removed = bonds.makeRoom(sparing: connectedPeers) else { return .failure(.full) }
      counters.evictedBonds += 1
      evicted = removed
    }
    if let old, known == old {
      bond.knownAddress = old.knownAddress
    } else if peer.randomKind == .resolvable, known == nil {
      bond.knownAddress = peer
    }
    return bonds.store(bond) ? .success(bond) : .failure(.full)
  }

  /// The bond that was removed to make room for another.
  mutating func takeEvicted() -> Bond? { evicted.take() }

  /// The bond of another device that was replaced, because the identity is this one's.
  mutating func takeDisplaced() -> Bond? { displaced.take() }

  /// Notes that a peer has encrypted a link with its bond.
  mutating func bondUsed(by peer: DeviceAddress, now: Instant) {
    if bonds.returned(peer) { configurationChanged(of: peer, now: now) }
  }
}
