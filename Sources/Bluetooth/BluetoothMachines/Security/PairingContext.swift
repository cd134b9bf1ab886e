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

  var initiator: DeviceAddress { isInitiator ? local : peer }
  var responder: DeviceAddress { isInitiator ? peer : local }
  var localFeatures: SMPPairingFeatures { isInitiator ? request : response }
  var peerFeatures: SMPPairingFeatures { isInitiator ? response : request }

  var model: AssociationModel {
    AssociationModel(initiator: request, responder: response, isInitiator: isInitiator)
  }

  var usesSecureConnections: Bool { bothRequire(.secureConnections) }

  /// Whether the peer has out-of-band data for this pairing (§2.3.5.1), which this host never has.
  var needsOutOfBandData: Bool {
    usesSecureConnections
      ? request.hasOutOfBandData || response.hasOutOfBandData
      : request.hasOutOfBandData && response.hasOutOfBandData
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
    keys.formIntersection([.encryptionKey, .identityKey])
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
}
