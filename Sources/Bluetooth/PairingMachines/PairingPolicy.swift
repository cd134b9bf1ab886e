/// The pairings that a host accepts.
package enum PairingPolicy: String, Sendable, Hashable, CaseIterable, Codable {
  /// No pairings. Links are encrypted with existing bonds only.
  case never
  /// All pairings, whether a protected value, a peer or a client requests them. Users are involved
  /// only if the association model requires it, for a passkey or a comparison.
  case automatic
  /// Only pairings that a client with a pairing agent accepts, including those by Just Works.
  case ask
}
