public import BluetoothWire

/// Identifies a prompt in its answer, so that an answer is not applied to another prompt.
@frozen
public struct PairingPromptID: Hashable, Sendable {
  /// Unique for the life of the host.
  public let rawValue: UInt64

  /// An identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A prompt of a pairing for the client that is the pairing agent: a question, or a number to show
/// (Core 5.4, Vol 3, Part H, §2.3.5).
public enum PairingPrompt: Sendable, Hashable {
  /// Whether to pair by Just Works: `accept` or `reject`.
  case consent
  /// Show this passkey until the pairing ends; the peer's user enters it. Needs no answer.
  case displayPasskey(UInt32)
  /// Enter the passkey that the peer shows: `passkey` or `reject`.
  case enterPasskey
  /// Compare this number with the one that the peer shows: `accept` if they are equal.
  case compareNumber(UInt32)

  /// The number as six decimal digits, as it is displayed (§2.3.5.6.2).
  public static func digits(_ number: UInt32) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}

/// An answer to a `PairingPrompt`.
public enum PairingAnswer: Sendable, Hashable {
  /// Go on; the numbers are equal.
  case accept
  /// The passkey, 0 to 999,999.
  case passkey(UInt32)
  /// End the pairing.
  case reject
}

/// Why a pairing or the encryption of a link failed.
public enum SecurityFailure: Error, Sendable, Hashable {
  /// This host ended the pairing and sent the peer the reason (Core 5.4, Vol 3, Part H, §3.5.5).
  case pairingFailed(SMPFailureReason)
  /// The peer ended the pairing, for this reason.
  case peerFailed(SMPFailureReason)
  /// The peer was silent for 30 s, or a prompt unanswered (§3.4). No other pairing is possible on
  /// this link.
  case timeout
  /// The peer has lost, or removed, the keys of the bond. Nothing is read or written until the bond
  /// is removed here, too, because any device can claim to be the peer.
  case keyMissing
  /// The controller could not encrypt the link.
  case encryptionFailed(HCIStatus)
  /// The link ended.
  case disconnected
}

/// How a link is protected now.
public struct EncryptionInfo: Sendable, Hashable, Codable {
  /// Bytes of the key that are not zero by construction, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether it was LE Secure Connections.
  public var isSecureConnections: Bool

  /// How a link with this key is protected.
  public init(keyByteCount: Int, isAuthenticated: Bool, isSecureConnections: Bool) {
    self.keyByteCount = keyByteCount
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }
}
