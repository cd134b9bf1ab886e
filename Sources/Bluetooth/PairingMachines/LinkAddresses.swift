import BluetoothInterface
package import BluetoothWire

/// The addresses that both ends of a link made it with, as they went over the air: what a pairing
/// authenticates (Core 5.4, Vol 3, Part H, §2.2.3, §2.2.7).
package struct LinkAddresses: Sendable {
  var local: DeviceAddress
  var peer: DeviceAddress

  /// Creates the addresses of a link.
  package init(local: DeviceAddress, peer: DeviceAddress) {
    self.local = local
    self.peer = peer
  }
}

extension EncryptionInfo {
  /// How a link with the keys of a bond is protected.
  init(_ bond: Bond) {
    self.init(
      keyByteCount: bond.keyByteCount, isAuthenticated: bond.isAuthenticated,
      isSecureConnections: bond.isSecureConnections)
  }
}

extension SecurityFailure {
  /// Whether another attempt would end in the same way: people refused, or the devices don't fit.
  var isRefusal: Bool {
    let reasons: [SMPFailureReason] = [
      .pairingNotSupported, .authenticationRequirements, .outOfBandNotAvailable,
      .encryptionKeySize, .commandNotSupported, .keyRejected,
    ]
    let decisions: [SMPFailureReason] = [
      .passkeyEntryFailed, .numericComparisonFailed, .unspecifiedReason,
    ]
    return switch self {
    case .pairingFailed(let reason): reasons.contains(reason)
    case .peerFailed(let reason): reasons.contains(reason) || decisions.contains(reason)
    case .timeout, .keyMissing, .encryptionFailed, .disconnected: false
    }
  }

  /// Whether the peer did not prove what it had to, which it may try again only after a while.
  var isFailedProof: Bool {
    let reasons: [SMPFailureReason] = [
      .confirmValueFailed, .dhKeyCheckFailed, .passkeyEntryFailed, .numericComparisonFailed,
      .invalidParameters,
    ]
    return switch self {
    case .pairingFailed(let reason), .peerFailed(let reason): reasons.contains(reason)
    case .timeout, .keyMissing, .encryptionFailed, .disconnected: false
    }
  }
}
