/// Which pairings a host accepts.
public enum PairingPolicy: String, Sendable, Hashable, CaseIterable, Codable {
  /// None. Links are encrypted with bonds that exist already.
  case never
  /// Pairings that a protected value, a peer or a client requests. People are involved only if the
  /// association model needs it: for a passkey or a comparison.
  case automatic
  /// Only those that a client with a pairing agent accepts, also for Just Works.
  case ask
}
