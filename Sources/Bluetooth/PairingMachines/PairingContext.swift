import BluetoothInterface
import BluetoothWire

/// What both sides of a pairing agreed on in phase 1 (Core 5.4, Vol 3, Part H, §2.3).
struct PairingContext: Sendable {
  let isInitiator: Bool
  let local: DeviceAddress
  let peer: DeviceAddress
  /// The features in the Pairing Request, as they went over the wire.
  let request: SMPPairingFeatures
  /// The features in the Pairing Response.
  let response: SMPPairingFeatures
  private let outOfBand: KnownOutOfBandData

  init(
    isInitiator: Bool, addresses: LinkAddresses, request: SMPPairingFeatures,
    response: SMPPairingFeatures, outOfBand: KnownOutOfBandData
  ) {
    self.isInitiator = isInitiator
    local = addresses.local
    peer = addresses.peer
    self.request = request
    self.response = response
    self.outOfBand = outOfBand
  }

  var initiator: DeviceAddress { isInitiator ? local : peer }
  var responder: DeviceAddress { isInitiator ? peer : local }
  var localFeatures: SMPPairingFeatures { isInitiator ? request : response }
  var peerFeatures: SMPPairingFeatures { isInitiator ? response : request }

  var model: AssociationModel {
    AssociationModel(initiator: request, responder: response, isInitiator: isInitiator)
  }

  var usesSecureConnections: Bool { bothRequire(.secureConnections) }

  // MARK: Out-of-band data (§2.3.5.4, §2.3.5.6.4)

  /// Whether the out-of-band data that the flags of both sides announce is available.
  var hasOutOfBandData: Bool {
    guard model == .outOfBand else { return true }
    guard usesSecureConnections else { return temporaryKey != nil }
    return (!localFeatures.hasOutOfBandData || peersCommitment != nil)
      && (!peerFeatures.hasOutOfBandData || outOfBand.own != nil)
  }

  /// The key of LE legacy pairing.
  var temporaryKey: SMPValue? {
    if case .legacy(let key) = outOfBand.peers { key } else { nil }
  }

  /// The commitment to the peer's public key, received out of band.
  var peersCommitment: (confirm: SMPValue, random: SMPValue)? {
    guard model == .outOfBand, localFeatures.hasOutOfBandData,
      case .secureConnections(let confirm, let random) = outOfBand.peers
    else { return nil }
    return (confirm, random)
  }

  /// The commitment to this side's public key, which the peer received out of band.
  var ownCommitment: OwnOutOfBandData? {
    model == .outOfBand && usesSecureConnections && peerFeatures.hasOutOfBandData
      ? outOfBand.own : nil
  }

  /// Whether the keys are kept.
  var isBonding: Bool { bothRequire(.bonding) }

  /// How long the key is: the shorter of what both sides take (§2.3.4).
  var keyByteCount: Int {
    min(request.maximumEncryptionKeyByteCount, response.maximumEncryptionKeyByteCount)
  }

  var encryption: EncryptionInfo {
    EncryptionInfo(
      keyByteCount: keyByteCount, isAuthenticated: model.isAuthenticated,
      isSecureConnections: usesSecureConnections)
  }

  /// The keys that a side distributes: those that both agreed on. With LE Secure Connections both
  /// have the long term key already (§2.4.3), and no key is derived for the other transport.
  func keys(distributedByInitiator: Bool) -> SMPKeyDistribution {
    var keys =
      distributedByInitiator
      ? request.initiatorKeys.intersection(response.initiatorKeys)
      : request.responderKeys.intersection(response.responderKeys)
    keys.formIntersection([.encryptionKey, .identityKey, .signingKey])
    if usesSecureConnections { keys.remove(.encryptionKey) }
    return keys
  }

  private func bothRequire(_ requirement: SMPAuthenticationRequirements) -> Bool {
    request.authenticationRequirements.contains(requirement)
      && response.authenticationRequirements.contains(requirement)
  }
}

/// What an authentication, or a pairing, puts out.
enum PairingOutput: Sendable {
  case send(SMPPDU)
  /// Compute on P-256; the result is awaited.
  case compute(KeyAgreementRequest.Operation)
  case prompt(PairingPrompt)
  /// The key of this pairing, unshortened: both sides have it and know that they do.
  case authenticated(SMPValue)

  var isPrompt: Bool { if case .prompt = self { true } else { false } }
}
