package import BluetoothInterface
import BluetoothWire
package import Essentials

// The pairing under way.

extension LinkSecurity {
  private var underWay: PairingUnderWay? {
    if case .pairing(let underWay) = activity { underWay } else { nil }
  }

  /// Whether a prompt may be open.
  var isPairing: Bool { if case .pairing = activity { true } else { false } }

  /// Whether a pairing lacks nothing but keys that are under way.
  package var awaitsKeys: Bool { underWay?.pairing.awaitsKeys ?? false }

  private var awaitsAcknowledgement: Bool { underWay?.pairing.awaitsAcknowledgement ?? false }

  /// The client that answers the prompts of the pairing, and its latest prompt.
  package var agent: ClientID? { underWay?.agent }
  package var prompt: PairingPromptID? { underWay?.prompt }

  /// The computation whose result is awaited.
  package var computation: UInt64? { underWay?.computation }

  // MARK: Inputs

  mutating func receivePairing(
    _ pdu: SMPPDU, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    switch pdu {
    case .pairingFailed(let reason):
      guard let underWay else { return }
      fail(underWay, .peerFailed(reason), host: &host, now: now, into: &outputs)
    case .securityRequest where role == .central: break  // It is on the way already.
    case _ where awaitsAcknowledgement:
      // The peer has all keys, or would not go on.
      acknowledged(sentCount, host: &host, now: now, into: &outputs)
      receive(pdu.bytes[...], host: &host, now: now, into: &outputs)
    default:
      withPairing(host: &host, now: now, into: &outputs) {
        underWay, host, produced throws(SMPFailureReason) in
        try underWay.pairing.receive(pdu, host: &host, now: now, into: &produced)
      }
    }
  }

  /// Takes the result of a computation.
  package mutating func computed(
    _ result: KeyAgreementResult, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    withPairing(host: &host, now: now, into: &outputs) {
      underWay, host, produced throws(SMPFailureReason) in
      underWay.computation = nil
      try underWay.pairing.computed(result, host: &host, now: now, into: &produced)
    }
  }

  /// The client that would answer the prompts is gone, or can't be asked.
  package mutating func agentGone(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    guard var underWay else { return }
    underWay.agent = nil
    activity = .pairing(underWay)
    if underWay.prompt == nil || underWay.pairing.awaitsKeys { return }
    refuseUnanswered(underWay, host: &host, now: now, into: &outputs)
  }

  /// No agent can answer the open question. If it is about a bond, that counts as a no (Key Rejected).
  private mutating func refuseUnanswered(
    _ underWay: PairingUnderWay, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    let reason: SMPFailureReason =
      underWay.pairing.asksAboutBond ? .keyRejected : .unspecifiedReason
    refuse(reason, host: &host, now: now, into: &outputs)
  }

  /// Takes a person's answer to the latest prompt.
  package mutating func answer(
    _ answer: PairingAnswer, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    withPairing(host: &host, now: now, into: &outputs) {
      underWay, host, produced throws(SMPFailureReason) in
      if answer == .reject { underWay.isRejected = true }
      try underWay.pairing.answer(answer, host: &host, now: now, into: &produced)
    }
  }

  /// The peer's controller has acknowledged all PDUs up to this number. That of the last key ends the
  /// pairing: a link that is lost before would leave a bond at this side only (§3.6.1).
  package mutating func acknowledged(
    _ number: UInt64, host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    if let last = lastPDU, number >= last {
      // Set until the controller has ended the link: the peer's requests still come.
      lastPDU = .max
      return outputs.append(.disconnect(.pairingFailed(.keyRejected)))
    }
    guard number == sentCount, awaitsAcknowledgement else { return }
    withPairing(host: &host, now: now, into: &outputs) { underWay, _, _ in
      underWay.pairing.keysAcknowledged()
    }
  }

  /// The link has been encrypted; with the pairing's key, if there is one yet.
  mutating func encrypted(
    _ underWay: PairingUnderWay, host: inout HostSecurity, now: Instant,
    into outputs: inout [Output]
  ) {
    var underWay = underWay
    guard underWay.pairing.keyForEncryption != nil, let encryption = underWay.pairing.encryption
    else { return }
    protection = .encrypted(encryption)
    outputs.append(.encryptionChanged(encryption, withBond: false))
    var produced: [PairingOutput] = []
    underWay.pairing.encrypted(host: &host, now: now, into: &produced)
    let operations = Waiting(hasOperations: underWay.waiting.hasOperations)
    let isEnough = underWay.lateRequirement != .authentication || encryption.isAuthenticated
    if isEnough { underWay.waiting.hasOperations = false }
    proceed(underWay, produced, host: &host, into: &outputs)
    // Requests wait for the end of the pairing.
    if isEnough { release(operations, true, nil, into: &outputs) }
    completeIfDone(host: &host, now: now, into: &outputs)
  }

  // MARK: Steps

  private mutating func withPairing(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output],
    _ body: (
      inout PairingUnderWay, inout HostSecurity, inout [PairingOutput]
    ) throws(SMPFailureReason) -> Void
  ) {
    guard var underWay else { return }
    var produced: [PairingOutput] = []
    do throws(SMPFailureReason) {
      try body(&underWay, &host, &produced)
    } catch {
      activity = .pairing(underWay)
      return refuse(error, host: &host, now: now, into: &outputs)
    }
    if underWay.agent == nil, produced.contains(where: \.isPrompt) {
      // The agent disappeared before the prompt was made.
      activity = .pairing(underWay)
      return refuseUnanswered(underWay, host: &host, now: now, into: &outputs)
    }
    proceed(underWay, produced, host: &host, into: &outputs)
    completeIfDone(host: &host, now: now, into: &outputs)
  }

  /// Acts on what a pairing put out, and stores it.
  mutating func proceed(
    _ underWay: PairingUnderWay, _ produced: [PairingOutput], host: inout HostSecurity,
    into outputs: inout [Output]
  ) {
    var underWay = underWay
    for output in produced {
      switch output {
      case .send(let pdu): send(pdu, into: &outputs)
      case .compute(let operation):
        let request = KeyAgreementRequest(id: host.newComputation(), operation: operation)
        underWay.computation = request.id
        outputs.append(.compute(request))
      case .prompt(let new):
        guard let agent = underWay.agent else { break }
        let id = host.newPrompt()
        underWay.prompt = id
        outputs.append(.prompt(new, id, agent))
      case .authenticated:
        guard underWay.pairing.isInitiator, let key = underWay.pairing.keyForEncryption else {
          break
        }
        outputs.append(.encrypt(key))
      }
    }
    activity = .pairing(underWay)
  }

  // MARK: Its end

  private mutating func completeIfDone(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    guard var underWay, let outcome = underWay.pairing.outcome else { return }
    var kept = underWay.pairing.unkept.map { Result<Bond, BondRejection>.failure($0) }
    if outcome.isBonding {
      kept = host.keep(
        outcome.bond, of: peer, isUnasked: underWay.isInitiatedByPeer, underWay.pairing.evidence)
      // A device that gave no key to know it by expects no bond. Others do.
      if case .failure(let reason) = kept, reason != .changingAddress {
        underWay.pairing.notKept(reason)
        activity = .pairing(underWay)
        return refuse(.keyRejected, host: &host, now: now, into: &outputs)
      }
    }
    activity = .none
    forgetPeersRefusal()
    host.paired(with: peer, using: outcome.usedOutOfBandData)
    if let displaced = host.takeDisplaced() { outputs.append(.displaced(displaced)) }
    if let evicted = host.takeEvicted() { outputs.append(.evicted(evicted)) }
    switch kept {
    case nil: break
    case .success(let bond):
      if let encryption { protection = .proved(encryption) }
      hasNewBond = true
      outputs.append(.bonded(bond))
    case .failure(let reason): notKept(reason, host: &host, into: &outputs)
    }
    outputs.append(.pairingEnded(nil))
    if underWay.isInsufficient {
      announce(.authenticationRequirements, host: &host, into: &outputs)
    }
    if underWay.lateRequirement == .authentication, encryption?.isAuthenticated != true {
      return beginSecuring(
        .authentication, for: underWay.waiting.requests, host: &host, now: now, into: &outputs)
    }
    release(underWay.waiting, true, nil, into: &outputs)
  }

  /// The peer does not keep the bond of the last pairing, which this host has completed: it keeps none either.
  mutating func bondRejected(
    host: inout HostSecurity, now: Instant, into outputs: inout [Output]
  ) {
    guard hasNewBond, let bond = host.bonds.bond(of: peer) else { return }
    hasNewBond = false
    let failure = SecurityFailure.peerFailed(.keyRejected)
    host.counters.failedPairings += 1
    // Or a peer that pairs and rejects without end would have each bond written and removed.
    host.attempts.failed(peer, now: now)
    remember(failure, isUsers: false, agent: host.agent)
    outputs += [.bondRejected(bond), .pairingEnded(failure)]
  }

  /// Reports that a pairing leaves no bond.
  func notKept(
    _ reason: BondRejection, host: inout HostSecurity, into outputs: inout [Output]
  ) {
    host.counters.unkeptBonds += 1
    outputs.append(.bondNotKept(reason))
  }

  /// The pairing under way has failed.
  mutating func fail(
    _ underWay: PairingUnderWay, _ failure: SecurityFailure, host: inout HostSecurity,
    now: Instant, into outputs: inout [Output]
  ) {
    noteFailure(of: underWay, failure, host: &host, now: now, into: &outputs)
    finish(false, failure, into: &outputs)
    guard underWay.isBondRefused(by: failure), underWay.pairing.hasEncrypted else { return }
    // The peer may have completed the pairing by now. It learns by the end of the link that there is no
    // bond, if not by the PDU before.
    if case .pairingFailed = failure {
      lastPDU = sentCount
    } else {
      lastPDU = .max
      outputs.append(.disconnect(failure))
    }
  }

  mutating func noteFailure(
    of underWay: PairingUnderWay, _ failure: SecurityFailure, host: inout HostSecurity,
    now: Instant, into outputs: inout [Output]
  ) {
    host.counters.failedPairings += 1
    if underWay.isBondRefused(by: failure) {
      notKept(underWay.pairing.unkept ?? .unconfirmed, host: &host, into: &outputs)
    }
    remember(failure, isUsers: underWay.isRejected, agent: underWay.agent)
    // Also one that began it would otherwise keep people busy with prompts.
    if failure.isFailedProof || underWay.isInitiatedByPeer {
      host.attempts.failed(peer, now: now)
    }
    outputs.append(.pairingEnded(failure))
  }
}
