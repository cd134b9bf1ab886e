package import BluetoothInterface
package import BluetoothWire
import Essentials

extension LinkSecurity {
  package enum Limits {
    /// How long the controller may take to encrypt a link: the link layer's own timeout (Core 5.4,
    /// Vol 6, Part B, §5.2), after which the link ends.
    static let encryptionTimeout = TimeSpan.seconds(40)
    /// Requests of one program that wait for one peer's pairing.
    package static let requestsMax = 16
  }

  /// What a link has to be before something may go over it.
  package enum Requirement: Sendable, Comparable {
    case encryption
    /// Encryption with a key from a pairing that was protected against a man in the middle.
    case authentication
  }

  package enum Output: Sendable {
    /// Send a Security Manager PDU to the peer, and call `acknowledged` with its number when the peer's
    /// controller has acknowledged it.
    case sendPDU([UInt8], number: UInt64)
    /// Encrypt the link with this key.
    case encrypt(LongTermKey)
    /// Answer the controller's request for a key.
    case answerKeyRequest(SMPValue?)
    /// The link is protected otherwise than before; nil: not any more. It may be by a key of the peer's
    /// bond, or by one of a pairing, which has no bond before `bonded`.
    case encryptionChanged(EncryptionInfo?, withBond: Bool)
    /// Compute on P-256.
    case compute(KeyAgreementRequest)
    case prompt(PairingPrompt, PairingPromptID, ClientID)
    /// Store the bond of a pairing.
    case bonded(Bond)
    /// Report why a pairing leaves no bond.
    case bondNotKept(BondRejection)
    /// This bond of another device is not there any more: the next one has its identity.
    case displaced(Bond)
    /// Remove this bond: it was evicted for another.
    case evicted(Bond)
    /// Remove this bond of a pairing: the peer has rejected it.
    case bondRejected(Bond)
    /// A pairing has ended, with an error or without.
    case pairingEnded(SecurityFailure?)
    /// Operations that waited for the link to be encrypted continue, or fail.
    case secured(Bool)
    case completed(PendingRequest, SecurityFailure?)
    /// End the link: without encryption, any device could act as the peer.
    case disconnect(SecurityFailure)
  }
}
