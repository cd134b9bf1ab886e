package import BluetoothInterface
package import BluetoothWire
package import Essentials

/// Security of one link: pairs, encrypts with the keys of a bond, and tracks the link's protection.
/// Input: the packets of the peer's Security Manager, and the controller's encryption events.
package struct LinkSecurity: Sendable {
  let role: LinkInfo.Role
  /// The address under which clients know the peer.
  let peer: DeviceAddress
  private let addresses: LinkAddresses
  package var activity = Activity.none
  var protection = Protection.none
  /// As the peripheral: requests to the peer are held until it has proved its bond. Holds after a
  /// failure, too, until the link has ended.
  private var mustProveBond = false
  /// The protection that the key of a bond provides which the controller was given last, unless a
  /// pairing has begun since.
  private var givenKey: EncryptionInfo?
  /// How many PDUs were sent on this link.
  private(set) var sentCount: UInt64 = 0
  /// The number of the PDU after which the link ends, once it has arrived.
  package var lastPDU: UInt64?
  /// Whether the peer's bond is that of a pairing on this link. The peer may still reject it, because it
  /// decides when this host's last keys have arrived, and there is no PDU by which it accepts them.
  var hasNewBond = false
  /// Why the user has refused to pair on this link.
  private var usersRefusal: Refusal?
  /// Why the peer has refused, or this host, whose requirements it does not meet.
  private var refusal: Refusal?
  /// The reasons for which clients know that this host refused to begin a pairing: each once, because the
  /// peer, or the number of protected values, determines how often it is requested.
  private var announcedReasons: Set<SMPFailureReason> = []
  /// A pairing timed out: the peer's Security Manager is not used on this link any more (§3.4).
  private var hasTimedOut = false

  package init(role: LinkInfo.Role, peer: DeviceAddress, addresses: LinkAddresses) {
    self.role = role
    self.peer = peer
    self.addresses = addresses
  }

  /// The link's protection now; nil: not encrypted.
  package var encryption: EncryptionInfo? {
    switch protection {
    case .none: nil
    case .encrypted(let encryption), .proved(let encryption): encryption
    }
  }

  package var isEncrypted: Bool { encryption != nil }

  /// Whether the peer has proved that it has the keys of its current bond.
  package var hasProvedBond: Bool { if case .proved = protection { true } else { false } }

  /// Whether a bonded peer still has to prove that it is the one.
  package var isProvingBond: Bool {
    if case .encrypting = activity { true } else { mustProveBond }
  }

  package var nextWake: Instant? { activity.deadline }

  // MARK: Asking for protection

  /// Protects a new link with the keys of a bond, if there is one, before anything else goes over it.
  /// Returns whether that began; it ends in `secured`.
  package mutating func beginWithBond(
    host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    encryptWithBond(for: [], host: host, now: now, into: &outputs)
  }

  /// As the peripheral, requests encryption from a bonded central before it gets any request.
  /// Returns whether that is needed; it ends with the output `secured`, or with the link.
  package mutating func demandProof(
    host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    if mustProveBond { return true }
    guard role == .peripheral, encryption == nil, let bond = host.usableBond(of: peer),
      bond.peripheralKey != nil
    else { return false }
    mustProveBond = true
    switch activity {
    case .none: requestSecurity(for: [], host: host, now: now, into: &outputs)
    case .pairing(var underWay):
      underWay.waiting.hasOperations = true
      activity = .pairing(underWay)
    case .encrypting, .requested: break
    }
    return true
  }

  private mutating func encryptWithBond(
    for requests: [PendingRequest], host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    guard role == .central, case .none = activity, encryption == nil,
      let bond = host.usableBond(of: peer), let key = bond.centralKey
    else { return false }
    activity = .encrypting(
      Encrypting(
        encryption: EncryptionInfo(bond), deadline: now + Limits.encryptionTimeout,
        requests: requests))
    outputs.append(.encrypt(key))
    return true
  }

  private mutating func requestSecurity(
    for requests: [PendingRequest], host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    activity = .requested(
      Requested(
        deadline: now + Pairing.Limits.timeout, requester: host.requester, requests: requests))
    guard !hasTimedOut else { return }
    let features = host.features(for: peer, initiatorKeys: [], responderKeys: [])
    send(.securityRequest(features.authenticationRequirements), into: &outputs)
  }

  /// A request was refused, or a client wants to pair: protects the link, by pairing where need be.
  /// Ends in `secured`.
  package mutating func secure(
    _ requirement: Requirement, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    secure(requirement, for: [], host: &host, now: now, into: &outputs)
  }

  /// A client wants the link to be encrypted, by pairing where there is no bond.
  package mutating func secure(
    for request: PendingRequest, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard encryption == nil else { return outputs.append(.completed(request, nil)) }
    secure(.encryption, for: [request], host: &host, now: now, into: &outputs)
  }

  private mutating func secure(
    _ requirement: Requirement, for requests: [PendingRequest], host: inout HostSecurity,
    now: Instant, into outputs: inout [Output]
  ) {
    switch activity {
    case .none:
      beginSecuring(requirement, for: requests, host: &host, now: now, into: &outputs)
    case .pairing(var underWay):
      underWay.lateRequirement = max(underWay.lateRequirement ?? requirement, requirement)
      underWay.waiting.requests += requests
      underWay.waiting.hasOperations = true
      activity = .pairing(underWay)
    case .encrypting(var encrypting):
      encrypting.requests += requests
      activity = .encrypting(encrypting)
    case .requested(var requested):
      requested.requests += requests
      activity = .requested(requested)
    }
  }

  /// Protects a link on which nothing else is done for that.
  mutating func beginSecuring(
    _ requirement: Requirement, for requests: [PendingRequest], host: inout HostSecurity,
    now: Instant, into outputs: inout [Output]
  ) {
    let waiting = Waiting(requests: requests, hasOperations: true)
    let requirement = host.requiresAuthentication ? .authentication : requirement
    if let encryption, requirement == .encryption || encryption.isAuthenticated {
      return release(waiting, true, nil, into: &outputs)
    }
    if let bond = host.usableBond(of: peer), requirement == .encryption || bond.isAuthenticated,
      encryptWithBond(for: requests, host: host, now: now, into: &outputs)
    {
      return
    }
    guard !hasTimedOut else { return release(waiting, false, .timeout, into: &outputs) }
    if !requests.isEmpty {
      // A client's request to pair is a new decision; other operations only follow the earlier one.
      (usersRefusal, refusal) = (nil, nil)
    } else if let refusal = refusal(by: host.agent) {
      return release(waiting, false, refusal.failure, into: &outputs)
    }
    guard !host.attempts.isBlocked(peer, now: now) else {
      return release(waiting, false, .pairingFailed(.repeatedAttempts), into: &outputs)
    }
    guard host.policy != .never else {
      return decline(.pairingNotSupported, waiting, host: &host, into: &outputs)
    }
    guard requirement == .encryption || host.canAuthenticate(peer) else {
      return decline(.authenticationRequirements, waiting, host: &host, into: &outputs)
    }
    if role == .central {
      pair(needing: requirement, for: waiting, host: &host, now: now, into: &outputs)
    } else {
      requestSecurity(for: requests, host: host, now: now, into: &outputs)
    }
  }

  /// The peer demands authentication of a link that was encrypted for its value: reports where no
  /// user can enter a passkey, since no pairing begins for that. While keys are distributed, their end is
  /// reported first.
  package mutating func refusedAgain(host: inout HostSecurity, into outputs: inout [Output]) {
    guard let encryption, !encryption.isAuthenticated, !host.canAuthenticate(peer) else { return }
    if case .pairing(var underWay) = activity {
      underWay.isInsufficient = true
      activity = .pairing(underWay)
      return
    }
    announce(.authenticationRequirements, host: &host, into: &outputs)
  }

  /// This host's configuration, or the lack of an agent, doesn't allow the pairing that is needed.
  private mutating func decline(
    _ reason: SMPFailureReason, _ waiting: Waiting, host: inout HostSecurity,
    into outputs: inout [Output]
  ) {
    announce(reason, host: &host, into: &outputs)
    release(waiting, false, .pairingFailed(reason), into: &outputs)
  }

  private mutating func pair(
    needing requirement: Requirement, isInitiatedByPeer: Bool = false, for waiting: Waiting,
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    var produced: [PairingOutput] = []
    let pairing = Pairing.initiate(
      with: party(isUnasked: isInitiatedByPeer),
      needsAuthentication: requirement == .authentication, host: host, now: now, into: &produced)
    begin(
      PairingUnderWay(
        pairing: pairing, isInitiatedByPeer: isInitiatedByPeer, agent: host.agent,
        waiting: waiting),
      produced, host: &host, into: &outputs)
  }

  private func party(isUnasked: Bool) -> Pairing.Party {
    Pairing.Party(
      peer: peer, addresses: addresses, isUnasked: isUnasked, hasProvedBond: hasProvedBond)
  }

  private mutating func begin(
    _ underWay: PairingUnderWay, _ produced: [PairingOutput], host: inout HostSecurity,
    into outputs: inout [Output]
  ) {
    (givenKey, hasNewBond) = (nil, false)
    proceed(underWay, produced, host: &host, into: &outputs)
  }

  /// Ends what is done to protect the link.
  mutating func finish(
    _ isSecured: Bool, _ failure: SecurityFailure?, into outputs: inout [Output]
  ) {
    let waiting = activity.waiting
    activity = .none
    release(waiting, isSecured, failure, into: &outputs)
  }

  /// What waited for protection goes on, or fails.
  mutating func release(
    _ waiting: Waiting, _ isSecured: Bool, _ failure: SecurityFailure?,
    into outputs: inout [Output]
  ) {
    let reason = failure ?? .pairingFailed(.pairingNotSupported)
    complete(waiting.requests, isSecured ? nil : reason, into: &outputs)
    if isSecured {
      mustProveBond = false
    } else if mustProveBond {
      // Held requests fail with the link: the device at the other end need not be the peer.
      return outputs.append(.disconnect(.keyMissing))
    }
    if waiting.hasOperations { outputs.append(.secured(isSecured)) }
  }

  private func complete(
    _ requests: [PendingRequest], _ failure: SecurityFailure?, into outputs: inout [Output]
  ) {
    for request in requests { outputs.append(.completed(request, failure)) }
  }

  // MARK: The peer

  /// Takes a Security Manager PDU (Core 5.4, Vol 3, Part H, §3). Commands with codes of later
  /// versions are ignored, as are those of a pairing that never began (§3.3).
  package mutating func receive(
    _ bytes: ArraySlice<UInt8>, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard !hasTimedOut else { return }
    let pdu: SMPPDU
    do throws(WireError) {
      pdu = try SMPPDU(decoding: bytes)
    } catch .unknownCode {
      return
    } catch {
      // Of what can't be read only a Pairing Request waits for an answer, and a running pairing.
      guard isPairing || bytes.first == 0x01 else { return }
      return refuse(.invalidParameters, host: &host, now: now, into: &outputs)
    }
    if case .pairing = activity {
      return receivePairing(pdu, host: &host, now: now, into: &outputs)
    }
    switch pdu {
    case .pairingRequest(let features):
      pairingRequested(features, host: &host, now: now, into: &outputs)
    case .securityRequest(let requirements):
      securityRequested(requirements, host: &host, now: now, into: &outputs)
    case .pairingFailed(let reason):
      if case .requested = activity {
        requestFailed(.peerFailed(reason), host, into: &outputs)
      } else if reason == .keyRejected {
        bondRejected(host: &host, now: now, into: &outputs)
      }
    default: break
    }
  }

  private mutating func pairingRequested(
    _ features: SMPPairingFeatures, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard host.policy != .never else {
      return refuse(.pairingNotSupported, host: &host, now: now, into: &outputs)
    }
    guard role == .peripheral else {
      return refuse(.commandNotSupported, host: &host, now: now, into: &outputs)
    }
    guard !host.attempts.isBlocked(peer, now: now), !isRefusedHere(host) else {
      return refuse(.repeatedAttempts, host: &host, now: now, into: &outputs)
    }
    // Not where this host asked for it.
    let isInitiatedByPeer = if case .none = activity { true } else { false }
    if case .requested(let requested) = activity { host.requester = requested.requester }
    defer { host.requester = nil }
    var produced: [PairingOutput] = []
    do throws(SMPFailureReason) {
      let pairing = try Pairing.respond(
        to: features, of: party(isUnasked: isInitiatedByPeer), host: &host, now: now,
        into: &produced)
      begin(
        PairingUnderWay(
          pairing: pairing, isInitiatedByPeer: isInitiatedByPeer, agent: host.agent,
          waiting: activity.waiting),
        produced, host: &host, into: &outputs)
    } catch {
      refuse(error, host: &host, now: now, into: &outputs)
    }
  }

  /// The peripheral sent a Security Request (§2.4.6).
  private mutating func securityRequested(
    _ requirements: SMPAuthenticationRequirements, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard role == .central else {
      let reason: SMPFailureReason =
        host.policy == .never ? .pairingNotSupported : .commandNotSupported
      return refuse(reason, host: &host, now: now, into: &outputs)
    }
    guard case .none = activity else { return }
    let wantsAuthentication = requirements.contains(.mitmProtection) && host.canAuthenticate(peer)
    if let encryption, encryption.isAuthenticated || !wantsAuthentication { return }
    if let bond = host.usableBond(of: peer), bond.isAuthenticated || !wantsAuthentication,
      encryptWithBond(for: [], host: host, now: now, into: &outputs)
    {
      return
    }
    guard !host.attempts.isBlocked(peer, now: now) else { return }
    guard !isRefusedHere(host) else {
      return refuse(.repeatedAttempts, host: &host, now: now, into: &outputs)
    }
    guard host.policy != .never else {
      return refuse(.pairingNotSupported, host: &host, now: now, into: &outputs)
    }
    // It may settle for less, if it is a device without display and keyboard.
    pair(
      needing: .encryption, isInitiatedByPeer: true, for: Waiting(), host: &host, now: now,
      into: &outputs)
  }

  mutating func refuse(
    _ reason: SMPFailureReason, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    send(.pairingFailed(reason), into: &outputs)
    switch activity {
    case .pairing(let underWay):
      fail(underWay, .pairingFailed(reason), host: &host, now: now, into: &outputs)
    // The central's answer to this host's request.
    case .requested:
      announce(reason, host: &host, into: &outputs)
      requestFailed(.pairingFailed(reason), host, into: &outputs)
    case .none, .encrypting: announce(reason, host: &host, into: &outputs)
    }
  }

  /// The central refuses what this host requested, or answers with what this host refuses.
  private mutating func requestFailed(
    _ failure: SecurityFailure, _ host: HostSecurity, into outputs: inout [Output]
  ) {
    remember(failure, isUsers: false, agent: host.agent)
    finish(false, failure, into: &outputs)
  }

  /// A request of the peer, or of this host's clients, was refused before a pairing began.
  mutating func announce(
    _ reason: SMPFailureReason, host: inout HostSecurity, into outputs: inout [Output]
  ) {
    guard announcedReasons.insert(reason).inserted else { return }
    if reason == .keyRejected { notKept(.unconfirmed, host: &host, into: &outputs) }
    outputs.append(.pairingEnded(.pairingFailed(reason)))
  }

  /// The refusal that holds as long as this is the pairing agent.
  private func refusal(by agent: ClientID?) -> Refusal? {
    [usersRefusal, refusal].compactMap(\.self).first { $0.agent == agent }
  }

  /// Whether the user has refused to pair on this link, and it would be the same user's decision.
  private func isRefusedHere(_ host: HostSecurity) -> Bool {
    usersRefusal.map { $0.agent == host.agent } ?? false
  }

  /// Remembers a refusal, so that the next operation that needs protection doesn't begin a pairing.
  mutating func remember(_ failure: SecurityFailure, isUsers: Bool, agent: ClientID?) {
    if isUsers {
      usersRefusal = Refusal(failure: failure, agent: agent)
    } else if failure.isRefusal {
      refusal = Refusal(failure: failure, agent: agent)
    }
  }

  /// What the devices can do together has changed: the peer's refusal does not hold any more.
  package mutating func forgetPeersRefusal() { refusal = nil }

  mutating func send(_ pdu: SMPPDU, into outputs: inout [Output]) {
    sentCount += 1
    outputs.append(.sendPDU(pdu.bytes, number: sentCount))
  }

  // MARK: The controller

  /// The controller needs the key of a link that its central encrypts (Core 5.4, Vol 4, Part E,
  /// §7.7.65.5).
  package mutating func longTermKeyRequested(
    random: UInt64, diversifier: UInt16, host: HostSecurity,
    into outputs: inout [Output]
  ) {
    if case .pairing(let underWay) = activity {
      let isUnnumbered = random == 0 && diversifier == 0
      let key = isUnnumbered ? underWay.pairing.keyForEncryption : nil
      return outputs.append(.answerKeyRequest(key?.value))
    }
    let bond = host.bond(of: peer, random: random, diversifier: diversifier)
    givenKey = bond.map { EncryptionInfo($0) }
    outputs.append(.answerKeyRequest(bond?.peripheralKey?.value))
  }

  /// The bond that the peer has proved is not there any more, or is another one.
  package mutating func bondRemoved() {
    hasNewBond = false
    if case .pairing(var underWay) = activity {
      underWay.pairing.evidence.hasProvedBond = false
      activity = .pairing(underWay)
    }
    if case .proved(let encryption) = protection { protection = .encrypted(encryption) }
  }

  /// The controller was given the key of this bond before the link was opened.
  package mutating func keyGiven(of bond: Bond) { givenKey = EncryptionInfo(bond) }

  /// The controller switched encryption on or off, or has a new key for it, or could do neither.
  package mutating func encryptionChanged(
    _ status: HCIStatus, isOn: Bool, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard status == .success else {
      return encryptionFailed(status, host: &host, now: now, into: &outputs)
    }
    guard isOn else { return encryptionEnded(host: &host, now: now, into: &outputs) }
    switch activity {
    case .pairing(let underWay):
      encrypted(underWay, host: &host, now: now, into: &outputs)
    case .encrypting(let encrypting):
      encryptedWithBond(encrypting.encryption, host: &host, now: now, into: &outputs)
    case .none, .requested:
      // As the peripheral, with the key that the controller asked for.
      guard let givenKey else { return }
      encryptedWithBond(givenKey, host: &host, now: now, into: &outputs)
    }
  }

  /// No LE link goes on without encryption once it had it.
  private mutating func encryptionEnded(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    protection = .none
    givenKey = nil
    outputs.append(.encryptionChanged(nil, withBond: false))
    let failure = SecurityFailure.encryptionFailed(.unspecifiedError)
    if case .pairing(let underWay) = activity {
      fail(underWay, failure, host: &host, now: now, into: &outputs)
    }
    outputs.append(.disconnect(failure))
  }

  private mutating func encryptedWithBond(
    _ encryption: EncryptionInfo, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    givenKey = nil
    // Unless the bond was removed meanwhile.
    if host.usableBond(of: peer) != nil {
      protection = .proved(encryption)
      host.bondUsed(by: peer, now: now)
    } else {
      protection = .encrypted(encryption)
    }
    outputs.append(.encryptionChanged(encryption, withBond: hasProvedBond))
    finish(true, nil, into: &outputs)
  }

  private mutating func encryptionFailed(
    _ status: HCIStatus, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    switch activity {
    case .pairing(let underWay):
      fail(underWay, .encryptionFailed(status), host: &host, now: now, into: &outputs)
    case .encrypting(let encrypting):
      // Some controllers report Authentication Failure if the peer has no key.
      let isKeyMissing = status == .pinOrKeyMissing || status == .authenticationFailure
      let failure: SecurityFailure = isKeyMissing ? .keyMissing : .encryptionFailed(status)
      // Packets on this link may come from another device from now on (the attack BLESA). Held
      // operations stay held, and fail when the link has ended.
      activity = .none
      complete(encrypting.requests, failure, into: &outputs)
      outputs.append(.disconnect(failure))
    case .none, .requested: break
    }
  }

  // MARK: Time and the end

  /// Gives the peer more time, because what it sends is held back on its way here.
  package mutating func postponeTimeout(until instant: Instant) {
    activity.postponeDeadline(until: instant)
  }

  package mutating func wake(now: Instant, host: inout HostSecurity, into outputs: inout [Output]) {
    guard let due = nextWake, due <= now else { return }
    switch activity {
    case .pairing(let underWay):
      hasTimedOut = true
      fail(underWay, .timeout, host: &host, now: now, into: &outputs)
    case .encrypting:
      encryptionFailed(.linkResponseTimeout, host: &host, now: now, into: &outputs)
    case .requested: finish(false, .timeout, into: &outputs)
    case .none: break
    }
  }

  /// The link is gone.
  package mutating func close(host: inout HostSecurity, now: Instant, into outputs: inout [Output])
  {
    mustProveBond = false
    let waiting = activity.waiting
    // A peer that ends the link in place of the pairing has to wait as well.
    if case .pairing(let underWay) = activity {
      if underWay.isInsufficient {
        announce(.authenticationRequirements, host: &host, into: &outputs)
      }
      noteFailure(of: underWay, .disconnected, host: &host, now: now, into: &outputs)
    }
    activity = .none
    complete(waiting.requests, .disconnected, into: &outputs)
  }
}
