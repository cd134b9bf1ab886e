public import BluetoothWire

/// Identifies a prompt, so that an answer is not applied to another one.
@frozen
public struct PairingPromptID: Hashable, Sendable {
  /// The number, unique while the host exists.
  public let rawValue: UInt64

  /// Creates an identifier from its number.
  @inlinable
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A prompt of a pairing for the pairing agent: a question, or a number to display (Core 5.4, Vol
/// 3, Part H, §2.3.5).
public enum PairingPrompt: Sendable, Hashable {
  /// Ask whether to pair by Just Works. Answer with `accept` or `reject`.
  case consent
  /// Display this passkey until the pairing ends; the peer's user enters it. Needs no answer.
  case displayPasskey(UInt32)
  /// Ask for the passkey that the peer displays. Answer with `passkey` or `reject`.
  case enterPasskey
  /// Ask whether this number is equal to the one that the peer displays. Answer with `accept` if it
  /// is.
  case compareNumber(UInt32)
  /// Ask whether the pairing may replace the bond of the peer that clients know by this address,
  /// because nothing proves that it is with the same device. Answer with `accept` or `reject`.
  case replaceBond(DeviceAddress)

  /// The number as six decimal digits, as it is displayed (§2.3.5.6.2).
  public static func digits(_ number: UInt32) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}

/// An answer to a `PairingPrompt`.
public enum PairingAnswer: Sendable, Hashable {
  /// Continue the pairing; for a comparison, the numbers are equal.
  case accept
  /// The passkey, 0 to 999,999.
  case passkey(UInt32)
  /// Reject the pairing.
  case reject
}

/// The reason why a pairing or the encryption of a link failed.
public enum SecurityFailure: Error, Sendable, Hashable {
  /// This host ended the pairing and sent this reason to the peer (Core 5.4, Vol 3, Part H,
  /// §3.5.5).
  case pairingFailed(SMPFailureReason)
  /// The peer ended the pairing for this reason.
  case peerFailed(SMPFailureReason)
  /// The peer did not answer, or a prompt was not answered, within 30 s (§3.4). No other pairing is
  /// possible on this link.
  case timeout
  /// The peer has lost or removed the keys of the bond. No value is read or written until the bond
  /// is removed on this host, too, because any device can claim to be the peer.
  case keyMissing
  /// The controller could not encrypt the link.
  case encryptionFailed(HCIStatus)
  /// The link ended.
  case disconnected
}

/// The reason why no bond of a pairing is stored, so that the peer must pair again next time.
public enum BondRejection: String, Error, Hashable, Sendable, CaseIterable {
  /// The limit of bonds is reached, or that of Just Works bonds that peers initiated, and no bond
  /// may be evicted. The pairing is without bonding.
  case full
  /// The peer's address will change, and it distributed no key to recognize it by. The pairing may
  /// have succeeded.
  case changingAddress
  /// The pairing is less secure than the bond of the peer, or of the peer whose identity it names. It
  /// fails.
  case weaker
  /// The peer is bonded, the pairing is by Just Works, and no user agreed to replace the bond. It fails.
  case unconfirmed
  /// The peer names the identity of another bonded peer, and no user agreed to replace that one's
  /// bond. The pairing fails.
  case claimed
}

/// The encryption of a link.
public struct EncryptionInfo: Sendable, Hashable, Codable {
  /// The encryption key size in bytes, 7 to 16.
  public var keyByteCount: Int
  /// Whether the pairing was protected against a man in the middle.
  public var isAuthenticated: Bool
  /// Whether LE Secure Connections was used.
  public var isSecureConnections: Bool

  /// Creates the properties of an encryption key.
  public init(keyByteCount: Int, isAuthenticated: Bool, isSecureConnections: Bool) {
    self.keyByteCount = keyByteCount
    self.isAuthenticated = isAuthenticated
    self.isSecureConnections = isSecureConnections
  }
}
