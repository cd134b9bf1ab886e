import BluetoothInterface
import BluetoothWire

/// Phase 2 of LE legacy pairing (Core 5.4, Vol 3, Part H, §2.3.5.5): both commit to a random number,
/// then show it.
struct LegacyAuthentication: Sendable {
  private enum Stage: Sendable {
    /// The temporary key is not known yet.
    case temporaryKey
    case confirm
    case random
    case done
  }

  private let context: PairingContext
  private let random: SMPValue
  private var temporaryKey = SMPValue(number: 0)
  private var ownConfirm = SMPValue(number: 0)
  private var peerConfirm = SMPValue(number: 0)
  private var stage = Stage.temporaryKey

  /// Whether PDUs have to wait for an answer of this side's user.
  var isSuspended: Bool { stage == .temporaryKey }

  init(_ context: PairingContext, secrets: inout SecretGenerator) {
    self.context = context
    random = secrets.value()
  }

  mutating func start(secrets: inout SecretGenerator, into outputs: inout [PairingOutput]) {
    switch context.model {
    case .justWorks: begin(temporaryKey: SMPValue(number: 0), into: &outputs)
    case .passkeyDisplayed:
      let passkey = secrets.passkey()
      outputs.append(.prompt(.displayPasskey(passkey)))
      begin(temporaryKey: SMPValue(number: UInt128(passkey)), into: &outputs)
    case .passkeyEntered: outputs.append(.prompt(.enterPasskey))
    case .outOfBand:
      guard let key = context.temporaryKey else { return assertionFailure("there is no key") }
      begin(temporaryKey: key, into: &outputs)
    case .numericComparison: assertionFailure("legacy pairing compares no numbers")
    }
  }

  mutating func answer(
    _ answer: PairingAnswer, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    guard stage == .temporaryKey else { return }
    guard case .passkey(let passkey) = answer, passkey <= 999_999 else {
      throw .passkeyEntryFailed
    }
    begin(temporaryKey: SMPValue(number: UInt128(passkey)), into: &outputs)
  }

  private mutating func begin(temporaryKey key: SMPValue, into outputs: inout [PairingOutput]) {
    temporaryKey = key
    ownConfirm = confirmValue(of: random)
    stage = .confirm
    if context.isInitiator { outputs.append(.send(.pairingConfirm(ownConfirm))) }
  }

  mutating func receive(
    _ pdu: SMPPDU, into outputs: inout [PairingOutput]
  ) throws(SMPFailureReason) {
    switch (stage, pdu) {
    case (.confirm, .pairingConfirm(let value)):
      // The peer would prove that it knows the key by sending back what it got.
      guard !context.isInitiator || value != ownConfirm else { throw .confirmValueFailed }
      peerConfirm = value
      stage = .random
      outputs.append(
        .send(context.isInitiator ? .pairingRandom(random) : .pairingConfirm(ownConfirm)))
    case (.random, .pairingRandom(let peerRandom)):
      guard confirmValue(of: peerRandom).isEqual(toSecret: peerConfirm), peerRandom != random else {
        throw .confirmValueFailed
      }
      stage = .done
      if !context.isInitiator { outputs.append(.send(.pairingRandom(random))) }
      outputs.append(
        .authenticated(
          PairingFunctions.shortTermKey(
            temporaryKey: temporaryKey,
            responderRandom: context.isInitiator ? peerRandom : random,
            initiatorRandom: context.isInitiator ? random : peerRandom)))
    default: throw .unspecifiedReason
    }
  }

  private func confirmValue(of random: SMPValue) -> SMPValue {
    PairingFunctions.legacyConfirmValue(
      temporaryKey: temporaryKey, random: random, request: .pairingRequest(context.request),
      response: .pairingResponse(context.response), initiator: context.initiator,
      responder: context.responder)
  }
}
