import BluetoothInterface
import BluetoothWire

/// Whether the bond of a pairing may take the place of one that is there.
enum BondClaim: Sendable, Equatable {
  case granted
  /// Only a person can decide that the peer is the one with this bond.
  case needsConsent(Bond)
  case refused(BondRejection)
}

/// What a pairing shows of the device at the other end.
struct BondEvidence: Sendable {
  /// The link was encrypted with the key of the peer's bond before the pairing.
  var hasProvedBond = false
  /// The identity of the bond that a person agreed to replace in this pairing.
  var consentedIdentity: DeviceAddress?
}

extension HostSecurity {
  /// Decides between a new bond and the one with the same identity: the stronger one owns it. At equal
  /// strength the address proves something, or the old key, or a person decides. Any device can have any
  /// address, so an unauthenticated pairing replaces nothing by itself.
  func claim(_ new: Bond, by peer: DeviceAddress, _ evidence: BondEvidence) -> BondClaim {
    var new = new
    new.localIdentity = identity?.address
    guard let old = bonds.predecessor(of: new) else { return .granted }
    guard !old.isStronger(than: new) else { return .refused(.weaker) }
    if new.isAuthenticated, !old.isAuthenticated { return .granted }
    // At an address that the old key resolves, or at the identity address itself.
    let isSame = bonds.bond(of: peer) == old
    if isSame && evidence.hasProvedBond { return .granted }
    if new.isAuthenticated && (isSame || peer == new.identity) { return .granted }
    if evidence.consentedIdentity == old.identity { return .granted }
    switch bondReplacement {
    case .always: return .granted
    case .ask where hasAgent: return .needsConsent(old)
    case .ask, .never: return .refused(isSame || peer == new.identity ? .unconfirmed : .claimed)
    }
  }

  /// Decides on a pairing before the peer has named its identity: by the bonds of its addresses.
  func claim(
    by peer: DeviceAddress, at address: DeviceAddress, _ encryption: EncryptionInfo,
    _ evidence: BondEvidence
  ) -> BondClaim {
    let owner = address.isIdentityAddress ? bonds.owner(ofIdentity: address) : nil
    let olds = [bonds.bond(of: peer), bonds.bond(of: address), owner].compactMap(\.self)
    let claims = olds.map { old in
      claim(Bond(old.identity, encryption), by: peer, evidence)
    }
    // A weaker pairing needs no question.
    return claims.first { if case .refused = $0 { true } else { false } }
      ?? claims.first { $0 != .granted } ?? .granted
  }
}

extension Bond {
  /// One without keys, as a pairing would leave it.
  fileprivate init(_ identity: DeviceAddress, _ encryption: EncryptionInfo) {
    self.init(
      identity: identity, centralKey: nil, peripheralKey: nil,
      keyByteCount: encryption.keyByteCount, isAuthenticated: encryption.isAuthenticated,
      isSecureConnections: encryption.isSecureConnections)
  }
}
