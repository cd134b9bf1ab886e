import BluetoothInterface
import BluetoothWire
import Essentials

/// Security of one link: pairs, encrypts with the keys of a bond, and tracks the link's protection.
/// Input: the packets of the peer's Security Manager, and the controller's encryption events.
struct LinkSecurity: Sendable {
  private let role: LinkInfo.Role
  /// The address under which clients know the peer.
  private let peer: DeviceAddress
  private let addresses: LinkAddresses
  private var activity = Activity.none
  /// The link's protection now; nil: not encrypted.
  private(set) var encryption: EncryptionInfo?
  /// Whether the peer has proved that it has the keys of its current bond.
  private(set) var hasProvedBond = false
  /// Operations wait for the link to be encrypted.
  private var isAwaited = false
  /// The strongest requirement made during a pairing, which need not meet it.
  private var lateRequirement: Requirement?
  /// As the peripheral: requests to the peer are held until it has proved its bond.
  private var mustProveBond = false
  private var requests: [PendingRequest] = []
  /// The computation whose result is awaited.
  private(set) var computation: UInt64?
  /// The protection that the key given to the controller last will provide.
  private var givenKey: EncryptionInfo?
  private var deadline: Instant?
  /// The client that answers the prompts of the pairing under way, and its latest prompt.
  private(set) var agent: ClientID?
  private(set) var prompt: PairingPromptID?
  /// Whether the peer began the pairing.
  private var isPeersInitiative = false
  /// How many PDUs were sent on this link.
  private var sentCount: UInt64 = 0
  /// A pairing timed out: the peer's Security Manager is not used on this link any more (§3.4).
  private var hasTimedOut = false

  init(role: LinkInfo.Role, peer: DeviceAddress, addresses: LinkAddresses) {
    self.role = role
    self.peer = peer
    self.addresses = addresses
  }

  var isEncrypted: Bool { encryption != nil }

  var nextWake: Instant? {
    if case .pairing(let pairing) = activity { return pairing.deadline }
    return deadline
  }

  /// Whether a prompt may be open.
  var isPairing: Bool { if case .pairing = activity { true } else { false } }
  /// Whether a pairing lacks nothing but keys that are under way.
  var awaitsKeys: Bool { if case .pairing(let p) = activity { p.awaitsKeys } else { false } }

  /// Whether a bonded peer still has to prove that it is the one.
  var isProvingBond: Bool {
    if case .encrypting = activity { true } else { mustProveBond }
  }

  // MARK: Asking for protection

  /// Protects a new link with the keys of a bond, if there is one, before anything else goes over it.
  /// Returns whether that began; it ends in `secured`.
  mutating func beginWithBond(
    host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    encryptWithBond(host: host, now: now, into: &outputs)
  }

  /// As the peripheral, requests encryption from a bonded central before it gets any request.
  /// Returns whether that is needed; it ends with the output `secured`, or with the link.
  mutating func demandProof(
    host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    if mustProveBond { return true }
    guard role == .peripheral, encryption == nil, let bond = host.usableBond(of: peer),
      bond.peripheralKey != nil
    else { return false }
    mustProveBond = true
    isAwaited = true
    guard case .none = activity else { return true }
    activity = .requested
    deadline = now + Pairing.Limits.timeout
    guard !hasTimedOut else { return true }
    let features = host.features(for: peer, initiatorKeys: [], responderKeys: [])
    send(.securityRequest(features.authenticationRequirements), into: &outputs)
    return true
  }

  private mutating func encryptWithBond(
    host: HostSecurity, now: Instant, into outputs: inout [Output]
  ) -> Bool {
    guard role == .central, case .none = activity, encryption == nil,
      let bond = host.usableBond(of: peer), let key = bond.centralKey
    else { return false }
    isAwaited = true
    activity = .encrypting(EncryptionInfo(bond))
    deadline = now + Limits.encryptionTimeout
    outputs.append(.encrypt(key))
    return true
  }

  /// A request was refused, or a client wants to pair: protects the link, by pairing where need be.
  /// Ends in `secured`.
  mutating func secure(
    _ requirement: Requirement, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    isAwaited = true
    guard case .none = activity else {
      if isPairing { lateRequirement = max(lateRequirement ?? requirement, requirement) }
      return
    }
    if let encryption, requirement == .encryption || encryption.isAuthenticated {
      return release(true, into: &outputs)
    }
    if let bond = host.usableBond(of: peer), requirement == .encryption || bond.isAuthenticated,
      encryptWithBond(host: host, now: now, into: &outputs)
    {
      return
    }
    guard !hasTimedOut else { return secured(false, .timeout, into: &outputs) }
    guard !host.attempts.isBlocked(peer, now: now) else {
      return secured(false, .pairingFailed(.repeatedAttempts), into: &outputs)
    }
    guard host.policy != .never, requirement == .encryption || host.canAuthenticate(peer)
    else {
      return secured(false, nil, into: &outputs)
    }
    if role == .central {
      isPeersInitiative = false
      pair(needing: requirement, host: &host, now: now, into: &outputs)
    } else {
      activity = .requested
      deadline = now + Pairing.Limits.timeout
      let features = host.features(for: peer, initiatorKeys: [], responderKeys: [])
      send(.securityRequest(features.authenticationRequirements), into: &outputs)
    }
  }

  /// A client wants the link to be encrypted, by pairing where there is no bond.
  mutating func secure(
    for request: PendingRequest, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard encryption == nil else { return outputs.append(.completed(request, nil)) }
    guard requests.count < Limits.requestsMax else {
      return outputs.append(.completed(request, .pairingFailed(.busy)))
    }
    requests.append(request)
    secure(.encryption, host: &host, now: now, into: &outputs)
  }

  private mutating func pair(
    needing requirement: Requirement, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    agent = host.agent
    var produced: [PairingOutput] = []
    let pairing = Pairing.initiate(
      with: peer, over: addresses, needsAuthentication: requirement == .authentication, host: host,
      now: now, into: &produced)
    activity = .pairing(pairing)
    deadline = nil
    take(produced, host: &host, into: &outputs)
  }

  /// What waited for protection goes on, or fails.
  private mutating func secured(
    _ isSecured: Bool, _ failure: SecurityFailure?, into outputs: inout [Output]
  ) {
    for request in requests {
      let reason = failure ?? .pairingFailed(.pairingNotSupported)
      outputs.append(.completed(request, isSecured ? nil : reason))
    }
    requests = []
    if !isSecured, mustProveBond {
      // Held requests fail with the link: the device at the other end need not be the peer.
      isAwaited = false
      return outputs.append(.disconnect(.keyMissing))
    }
    release(isSecured, into: &outputs)
  }

  /// Whether the link meets a requirement that was made during its pairing.
  private var meetsLateRequirement: Bool {
    lateRequirement != .authentication || encryption?.isAuthenticated == true
  }

  private mutating func release(_ isSecured: Bool, into outputs: inout [Output]) {
    if isSecured { mustProveBond = false }
    if isAwaited { outputs.append(.secured(isSecured)) }
    isAwaited = false
  }

  // MARK: The peer

  /// Takes a Security Manager PDU (Core 5.4, Vol 3, Part H, §3). Commands with codes of later
  /// versions are ignored, as are those of a pairing that never began (§3.3).
  mutating func receive(
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
      guard case .requested = activity else { return }
      activity = .none
      deadline = nil
      secured(false, .peerFailed(reason), into: &outputs)
    default: break
    }
  }

  private mutating func receivePairing(
    _ pdu: SMPPDU, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    switch pdu {
    case .pairingFailed(let reason):
      end(.peerFailed(reason), host: &host, now: now, into: &outputs)
    case .securityRequest where role == .central: break  // It is on the way already.
    case _ where awaitsAcknowledgement:
      // The peer has all keys, or would not go on.
      acknowledged(sentCount, host: &host, now: now, into: &outputs)
      receive(pdu.bytes[...], host: &host, now: now, into: &outputs)
    default:
      withPairing(host: &host, now: now, into: &outputs) {
        pairing, host, produced throws(SMPFailureReason) in
        try pairing.receive(pdu, host: &host, now: now, into: &produced)
      }
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
    guard !host.attempts.isBlocked(peer, now: now) else {
      return refuse(.repeatedAttempts, host: &host, now: now, into: &outputs)
    }
    // Not where this host asked for it.
    if case .none = activity { isPeersInitiative = true } else { isPeersInitiative = false }
    agent = host.agent
    var produced: [PairingOutput] = []
    do throws(SMPFailureReason) {
      let pairing = try Pairing.respond(
        to: features, of: peer, over: addresses, host: &host, now: now, into: &produced)
      activity = .pairing(pairing)
      deadline = nil
      take(produced, host: &host, into: &outputs)
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
      encryptWithBond(host: host, now: now, into: &outputs)
    {
      return
    }
    guard !host.attempts.isBlocked(peer, now: now) else { return }
    guard host.policy != .never else {
      return refuse(.pairingNotSupported, host: &host, now: now, into: &outputs)
    }
    // It may settle for less, if it is a device without display and keyboard.
    isPeersInitiative = true
    pair(needing: .encryption, host: &host, now: now, into: &outputs)
  }

  private mutating func refuse(
    _ reason: SMPFailureReason, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    send(.pairingFailed(reason), into: &outputs)
    switch activity {
    case .pairing: end(.pairingFailed(reason), host: &host, now: now, into: &outputs)
    case .requested:
      // The central's answer to this host's request.
      activity = .none
      deadline = nil
      secured(false, .pairingFailed(reason), into: &outputs)
    case .none, .encrypting: break
    }
  }

  private mutating func send(_ pdu: SMPPDU, into outputs: inout [Output]) {
    sentCount += 1
    outputs.append(.sendPDU(pdu.bytes, number: sentCount))
  }

  // MARK: The pairing under way

  /// Takes the result of a computation.
  mutating func computed(
    _ result: KeyAgreementResult, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    computation = nil
    withPairing(host: &host, now: now, into: &outputs) {
      pairing, host, produced throws(SMPFailureReason) in
      try pairing.computed(result, host: &host, now: now, into: &produced)
    }
  }

  /// The client that would answer the prompts is gone.
  mutating func agentGone(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    agent = nil
    if prompt == nil || awaitsKeys { return }
    refuse(.unspecifiedReason, host: &host, now: now, into: &outputs)
  }

  /// Takes a person's answer to the latest prompt.
  mutating func answer(
    _ answer: PairingAnswer, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    withPairing(host: &host, now: now, into: &outputs) {
      pairing, host, produced throws(SMPFailureReason) in
      try pairing.answer(answer, host: &host, now: now, into: &produced)
    }
  }

  private var awaitsAcknowledgement: Bool {
    if case .pairing(let pairing) = activity { pairing.awaitsAcknowledgement } else { false }
  }

  /// The peer's controller has acknowledged all PDUs up to this number. That of the last key ends the
  /// pairing: a link that is lost before would leave a bond at this side only (§3.6.1).
  mutating func acknowledged(
    _ number: UInt64, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    guard number == sentCount, awaitsAcknowledgement else { return }
    withPairing(host: &host, now: now, into: &outputs) { pairing, _, _ in
      pairing.keysAcknowledged()
    }
  }

  private mutating func withPairing(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output],
    _ body: (
      inout Pairing, inout HostSecurity, inout [PairingOutput]
    ) throws(SMPFailureReason) -> Void
  ) {
    guard case .pairing(var pairing) = activity else { return }
    var produced: [PairingOutput] = []
    do throws(SMPFailureReason) {
      try body(&pairing, &host, &produced)
    } catch {
      return refuse(error, host: &host, now: now, into: &outputs)
    }
    activity = .pairing(pairing)
    if agent == nil, produced.contains(where: \.isPrompt) {
      // The agent disappeared before the prompt was made.
      return refuse(.unspecifiedReason, host: &host, now: now, into: &outputs)
    }
    take(produced, host: &host, into: &outputs)
    completeIfDone(host: &host, now: now, into: &outputs)
  }

  private mutating func take(
    _ produced: [PairingOutput], host: inout HostSecurity, into outputs: inout [Output]
  ) {
    for output in produced {
      switch output {
      case .send(let pdu): send(pdu, into: &outputs)
      case .compute(let operation):
        let request = KeyAgreementRequest(id: host.newComputation(), operation: operation)
        computation = request.id
        outputs.append(.compute(request))
      case .prompt(let new):
        guard let agent else { break }
        let id = host.newPrompt()
        prompt = id
        outputs.append(.prompt(new, id, agent))
      case .authenticated:
        guard case .pairing(let pairing) = activity, pairing.isInitiator,
          let key = pairing.keyForEncryption
        else { break }
        outputs.append(.encrypt(key))
      }
    }
  }

  private mutating func completeIfDone(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    guard case .pairing(let pairing) = activity, let outcome = pairing.outcome else { return }
    activity = .none
    prompt = nil
    host.paired(with: peer, using: outcome.usedOutOfBandData)
    if outcome.isBonding {
      let kept = host.keep(outcome.bond, of: peer, isUnasked: isPeersInitiative)
      if let evicted = host.takeEvicted() { outputs.append(.evicted(evicted)) }
      if case .success = kept { hasProvedBond = true }
      outputs.append(.bonded(kept))
    }
    outputs.append(.pairingEnded(nil))
    if lateRequirement.take() == .authentication, encryption?.isAuthenticated != true {
      return secure(.authentication, host: &host, now: now, into: &outputs)
    }
    secured(true, nil, into: &outputs)
  }

  /// The pairing under way has failed.
  private mutating func end(
    _ failure: SecurityFailure, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    activity = .none
    computation = nil
    prompt = nil
    givenKey = nil
    lateRequirement = nil
    host.counters.failedPairings += 1
    // Also one that began it would otherwise keep people busy with prompts.
    if failure.isFailedProof || isPeersInitiative { host.attempts.failed(peer, now: now) }
    outputs.append(.pairingEnded(failure))
    secured(false, failure, into: &outputs)
  }

  // MARK: The controller

  /// The controller needs the key of a link that its central encrypts (Core 5.4, Vol 4, Part E,
  /// §7.7.65.5).
  mutating func longTermKeyRequested(
    random: UInt64, diversifier: UInt16, host: HostSecurity,
    into outputs: inout [Output]
  ) {
    let isUnnumbered = random == 0 && diversifier == 0
    if case .pairing(let pairing) = activity {
      let key = isUnnumbered ? pairing.keyForEncryption : nil
      givenKey = key == nil ? nil : pairing.encryption
      return outputs.append(.answerKeyRequest(key?.value))
    }
    let bond = host.bond(of: peer, random: random, diversifier: diversifier)
    givenKey = bond.map { EncryptionInfo($0) }
    outputs.append(.answerKeyRequest(bond?.peripheralKey?.value))
  }

  /// The bond that the peer has proved is not there any more, or is another one.
  mutating func bondRemoved() { hasProvedBond = false }

  /// The controller was given the key of this bond before the link was opened.
  mutating func keyGiven(of bond: Bond) { givenKey = EncryptionInfo(bond) }

  /// The controller switched encryption on or off, or has a new key for it, or could do neither.
  mutating func encryptionChanged(
    _ status: HCIStatus, isOn: Bool, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    guard status == .success else {
      return encryptionFailed(status, host: &host, now: now, into: &outputs)
    }
    guard isOn else {
      // No LE link goes on without encryption once it had it.
      encryption = nil
      hasProvedBond = false
      givenKey = nil
      outputs.append(.encryptionChanged(nil))
      let failure = SecurityFailure.encryptionFailed(.unspecifiedError)
      if isPairing { end(failure, host: &host, now: now, into: &outputs) }
      return outputs.append(.disconnect(failure))
    }
    switch activity {
    case .pairing(var pairing):
      guard pairing.keyForEncryption != nil else {
        givenKey = nil
        return
      }
      encryption = pairing.encryption
      hasProvedBond = false
      outputs.append(.encryptionChanged(encryption))
      var produced: [PairingOutput] = []
      pairing.encrypted(host: &host, now: now, into: &produced)
      activity = .pairing(pairing)
      take(produced, host: &host, into: &outputs)
      if meetsLateRequirement { release(true, into: &outputs) }
      completeIfDone(host: &host, now: now, into: &outputs)
    case .encrypting(let new):
      encryptedWithBond(new, host: &host, now: now, into: &outputs)
    case .none, .requested:
      // As the peripheral, with the key that the controller asked for.
      guard let givenKey else { return }
      encryptedWithBond(givenKey, host: &host, now: now, into: &outputs)
    }
    givenKey = nil
  }

  private mutating func encryptedWithBond(
    _ info: EncryptionInfo, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    activity = .none
    deadline = nil
    encryption = info
    // Unless the bond was removed meanwhile.
    hasProvedBond = host.usableBond(of: peer) != nil
    if hasProvedBond { host.bondUsed(by: peer, now: now) }
    outputs.append(.encryptionChanged(info))
    secured(true, nil, into: &outputs)
  }

  private mutating func encryptionFailed(
    _ status: HCIStatus, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    switch activity {
    case .pairing:
      end(.encryptionFailed(status), host: &host, now: now, into: &outputs)
    case .encrypting:
      activity = .none
      deadline = nil
      // Some controllers report Authentication Failure if the peer has no key.
      let isKeyMissing = status == .pinOrKeyMissing || status == .authenticationFailure
      let failure: SecurityFailure = isKeyMissing ? .keyMissing : .encryptionFailed(status)
      // Packets on this link may come from another device from now on (the attack BLESA). Held
      // operations stay held, and fail when the link has ended.
      isAwaited = false
      secured(false, failure, into: &outputs)
      outputs.append(.disconnect(failure))
    case .none, .requested: break
    }
  }

  // MARK: Time and the end

  /// Gives the peer more time, because what it sends is held back on its way here.
  mutating func postponeTimeout(until instant: Instant) {
    if case .pairing(var pairing) = activity {
      pairing.postponeTimeout(until: instant)
      activity = .pairing(pairing)
    }
    deadline = deadline.map { max($0, instant) }
  }

  mutating func wake(now: Instant, host: inout HostSecurity, into outputs: inout [Output]) {
    guard let due = nextWake, due <= now else { return }
    switch activity {
    case .pairing:
      hasTimedOut = true
      end(.timeout, host: &host, now: now, into: &outputs)
    case .encrypting:
      encryptionFailed(.linkResponseTimeout, host: &host, now: now, into: &outputs)
    case .requested:
      activity = .none
      deadline = nil
      secured(false, .timeout, into: &outputs)
    case .none: deadline = nil
    }
  }

  /// The link is gone.
  mutating func close(host: inout HostSecurity, now: Instant, into outputs: inout [Output]) {
    isAwaited = false
    mustProveBond = false
    // A peer that ends the link in place of the pairing has to wait as well.
    if isPairing { end(.disconnected, host: &host, now: now, into: &outputs) }
    activity = .none
    secured(false, .disconnected, into: &outputs)
  }
}
