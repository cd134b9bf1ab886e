/// Whether a pairing may replace the bond of a peer if nothing proves that it is the same device: by Just
/// Works at the peer's address, or by a peer that names the identity of another and is as secure as that
/// one's bond.
///
/// It does not concern pairings that users authenticate at the peer's own address, those over a link that
/// the old key encrypts, and authenticated ones where the old bond is not. A weaker pairing never replaces
/// a bond.
package enum BondReplacement: String, Sendable, Hashable, CaseIterable, Codable {
  /// Such a pairing is refused until the bond is removed.
  case never
  /// The pairing agent decides (`PairingPrompt.replaceBond`). Without one, such a pairing is refused.
  case ask
  /// It replaces the bond. Any device in range can then take a bonded peer's place.
  case always
}
