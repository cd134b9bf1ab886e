import BluetoothInterface
import BluetoothWire

/// Phase 2 of LE Secure Connections (Core 5.4, Vol 3, Part H, §2.3.5.6): public keys, then
/// commitments, then proof that both derived the same key.
struct SecureConnectionsAuthentication: Sendable {
  private enum Stage: Sendable {
    /// The driver computes this side's public key.
    case ownKey
    case peerKey
    /// The driver computes the Diffie-Hellman key, and checks the peer's public key.
    case sharedSecret
    /// The user enters a passkey.
    case passkey
    case confirm
    case random
    /// The user compares numbers.
    case comparison
    case check
    case done
  }

  private static let roundCount = 20

  private let context: PairingContext
  private let acceptsDebugKeys: Bool
  private let privateKey: SMPCoordinate
  private var ownKey: PublicKey?
  private var peerKey: PublicKey?
  private var diffieHellmanKey: SMPCoordinate?
  private var passkey: UInt32 = 0
  /// How many bits of the passkey were compared.
  private var round = 0
  private var ownRandom = SMPValue(number: 0)
  private var peerRandom = SMPValue(number: 0)
  private var peerConfirm = SMPValue(number: 0)
  private var macKey = SMPValue(number: 0)
  private var longTermKey = SMPValue(number: 0)
  private var stage = Stage.ownKey

  /// Whether PDUs have to wait for the driver or for this side's user.
  var isSuspended: Bool {
    switch stage {
    case .ownKey, .sharedSecret, .passkey, .comparison: true
    case .peerKey, .confirm, .random, .check, .done: false
    }
  }

  init(_ context: PairingContext, acceptsDebugKeys: Bool, secrets: inout SecretGenerator) {
    self.context = context
    self.acceptsDebugKeys = acceptsDebugKeys
    privateKey = context.ownCommitment?.privateKey ?? secrets.privateKey()
  }

  func start(into outputs: inout [PairingOutput]) {
    outputs.append(.compute(.publicKey(privateKey: privateKey)))
  }

  // MARK: Public keys (§2.3.5.6.1)

  /// Takes the result of the computation that was asked for last.
  mutating func computed(
    _ result: KeyAgreementResult, secrets: inout SecretGenerator,
    into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch (stage, result) {
    case (.ownKey, .publicKey(let key)):
      ownKey = key
      stage = .peerKey
      if context.isInitiator { outputs.append(.send(.pairingPublicKey(x: key.x, y: key.y))) }
    // One of 2³² random numbers is no private key: the next pairing has another.
    case (.ownKey, .invalidKey): throw .unspecifiedReason
    case (.sharedSecret, .sharedSecret(let secret)):
      diffieHellmanKey = secret
      if !context.isInitiator, let ownKey {
        outputs.append(.send(.pairingPublicKey(x: ownKey.x, y: ownKey.y)))
      }
      try authenticate(secrets: &secrets, into: &outputs)
    case (.sharedSecret, .invalidKey): throw .invalidParameters
    default: throw .unspecifiedReason
    }
  }

  private mutating func receivePublicKey(
    _ key: PublicKey, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    // A key that is this side's own, reflected, is refused.
    guard key.x != ownKey?.x else { throw .invalidParameters }
    // Everyone has the private key of this one.
    guard acceptsDebugKeys || !key.isForDebugging else { throw .invalidParameters }
    peerKey = key
    stage = .sharedSecret
    outputs.append(.compute(.sharedSecret(privateKey: privateKey, peer: key)))
  }

  private mutating func authenticate(
    secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch context.model {
    case .justWorks, .numericComparison:
      ownRandom = secrets.value()
      if context.isInitiator {
        stage = .confirm
      } else {
        stage = .random
        outputs.append(.send(.pairingConfirm(ownConfirm)))
      }
    case .passkeyDisplayed:
      passkey = secrets.passkey()
      outputs.append(.prompt(.displayPasskey(passkey)))
      beginRound(secrets: &secrets, into: &outputs)
    case .passkeyEntered:
      stage = .passkey
      outputs.append(.prompt(.enterPasskey))
    case .outOfBand:
      try checkCommitment()
      ownRandom = secrets.value()
      stage = .random
      if context.isInitiator { outputs.append(.send(.pairingRandom(ownRandom))) }
    }
  }

  /// Checks that the peer's public key is the one that it committed to out of band (§2.3.5.6.4).
  private func checkCommitment() throws(SMPFailureReason) {
    guard let (confirm, random) = context.peersCommitment, let peerKey else { return }
    let expected = PairingFunctions.confirmValue(
      own: peerKey.x, other: peerKey.x, random: random, passkeyBit: 0)
    guard expected.isEqual(toSecret: confirm) else { throw .confirmValueFailed }
  }

  // MARK: Commitments (§2.3.5.6.2, §2.3.5.6.3)

  mutating func answer(
    _ answer: PairingAnswer, secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch (stage, answer) {
    case (.passkey, .passkey(let number)) where number <= 999_999:
      passkey = number
      beginRound(secrets: &secrets, into: &outputs)
    case (.passkey, _): throw .passkeyEntryFailed
    case (.comparison, .accept): checkKeys(into: &outputs)
    case (.comparison, _): throw .numericComparisonFailed
    default: break
    }
  }

  private mutating func beginRound(
    secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) {
    stage = .confirm
    ownRandom = secrets.value()
    if context.isInitiator { outputs.append(.send(.pairingConfirm(ownConfirm))) }
  }

  mutating func receive(
    _ pdu: SMPPDU, secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch (stage, pdu) {
    case (.peerKey, .pairingPublicKey(let x, let y)):
      try receivePublicKey(PublicKey(x: x, y: y), into: &outputs)
    case (.confirm, .pairingConfirm(let value)):
      guard value != ownConfirm else { throw .confirmValueFailed }
      peerConfirm = value
      stage = .random
      outputs.append(
        .send(context.isInitiator ? .pairingRandom(ownRandom) : .pairingConfirm(ownConfirm)))
    case (.random, .pairingRandom(let value)):
      peerRandom = value
      try receiveRandom(secrets: &secrets, into: &outputs)
    case (.check, .pairingDHKeyCheck(let value)):
      guard value.isEqual(toSecret: checkValue(isOwn: false)) else { throw .dhKeyCheckFailed }
      stage = .done
      if !context.isInitiator {
        outputs.append(.send(.pairingDHKeyCheck(checkValue(isOwn: true))))
      }
      outputs.append(.authenticated(longTermKey))
    default: throw .unspecifiedReason
    }
  }

  private mutating func receiveRandom(
    secrets: inout SecretGenerator, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    let isPasskey = context.model == .passkeyEntered || context.model == .passkeyDisplayed
    // Without a passkey only the responder commits to its number, out of band neither does.
    if isPasskey || context.isInitiator && context.model != .outOfBand {
      guard peerConfirmOfRandom.isEqual(toSecret: peerConfirm) else { throw .confirmValueFailed }
    }
    if !context.isInitiator { outputs.append(.send(.pairingRandom(ownRandom))) }
    if isPasskey {
      round += 1
      if round < Self.roundCount {
        beginRound(secrets: &secrets, into: &outputs)
      } else {
        checkKeys(into: &outputs)
      }
    } else if context.model == .numericComparison, let number = comparisonNumber {
      stage = .comparison
      outputs.append(.prompt(.compareNumber(number)))
    } else {
      checkKeys(into: &outputs)
    }
  }

  /// The bit of the passkey that this round is about.
  private var passkeyBit: UInt8 {
    switch context.model {
    case .passkeyDisplayed, .passkeyEntered: UInt8(0x80 | passkey >> UInt32(round) & 1)
    case .justWorks, .numericComparison, .outOfBand: 0
    }
  }

  private var ownConfirm: SMPValue {
    confirmValue(from: ownKey, to: peerKey, random: ownRandom)
  }
  private var peerConfirmOfRandom: SMPValue {
    confirmValue(from: peerKey, to: ownKey, random: peerRandom)
  }

  private func confirmValue(
    from: PublicKey?, to: PublicKey?, random: SMPValue
  ) -> SMPValue {
    guard let from, let to else {
      assertionFailure("commitments come after public keys")
      return random
    }
    return PairingFunctions.confirmValue(
      own: from.x, other: to.x, random: random, passkeyBit: passkeyBit)
  }

  private var comparisonNumber: UInt32? {
    guard let ownKey, let peerKey else { return nil }
    let keys = context.isInitiator ? (ownKey, peerKey) : (peerKey, ownKey)
    let randoms = context.isInitiator ? (ownRandom, peerRandom) : (peerRandom, ownRandom)
    return PairingFunctions.comparisonNumber(
      initiator: keys.0.x, responder: keys.1.x, initiatorRandom: randoms.0,
      responderRandom: randoms.1)
  }

  // MARK: Check of the keys (§2.3.5.6.5)

  private mutating func checkKeys(into outputs: inout [PairingOutput]) {
    stage = .check
    guard let diffieHellmanKey else { return assertionFailure("there is no Diffie-Hellman key") }
    (macKey, longTermKey) = PairingFunctions.keys(
      diffieHellmanKey: diffieHellmanKey,
      initiatorRandom: context.isInitiator ? ownRandom : peerRandom,
      responderRandom: context.isInitiator ? peerRandom : ownRandom,
      initiator: context.initiator, responder: context.responder)
    if context.isInitiator {
      outputs.append(.send(.pairingDHKeyCheck(checkValue(isOwn: true))))
    }
  }

  /// The value whose knowledge a side's check value proves: the passkey, or the random number of
  /// the out-of-band data that the side received, 0 without such data.
  private func sharedValue(isOwn: Bool) -> SMPValue {
    guard context.model == .outOfBand else { return SMPValue(number: UInt128(passkey)) }
    let told = isOwn ? context.peersCommitment?.random : context.ownCommitment?.random
    return told ?? SMPValue(number: 0)
  }

  private func checkValue(isOwn: Bool) -> SMPValue {
    PairingFunctions.checkValue(
      macKey: macKey, random: isOwn ? ownRandom : peerRandom,
      peerRandom: isOwn ? peerRandom : ownRandom, shared: sharedValue(isOwn: isOwn),
      features: isOwn ? context.localFeatures : context.peerFeatures,
      sender: isOwn ? context.local : context.peer,
      receiver: isOwn ? context.peer : context.local)
  }
}
