package import BluetoothInterface
import BluetoothWire
package import Essentials

extension LinkSecurity {
  /// What is being done to protect the link, with everything that ends with it.
  package enum Activity: Sendable {
    case none
    case pairing(PairingUnderWay)
    /// As the central: the link is being encrypted with the key of a bond.
    case encrypting(Encrypting)
    /// As the peripheral: the central was asked to encrypt or to pair.
    case requested(Requested)

    /// What waits for the end of the activity.
    package var waiting: Waiting {
      switch self {
      case .none: Waiting()
      case .pairing(let underWay): underWay.waiting
      case .encrypting(let encrypting):
        Waiting(requests: encrypting.requests, hasOperations: true)
      case .requested(let requested): Waiting(requests: requested.requests, hasOperations: true)
      }
    }

    /// When the peer or the controller has to have answered.
    package var deadline: Instant? {
      switch self {
      case .none: nil
      case .pairing(let underWay): underWay.pairing.deadline
      case .encrypting(let encrypting): encrypting.deadline
      case .requested(let requested): requested.deadline
      }
    }

    mutating func postponeDeadline(until instant: Instant) {
      switch self {
      case .none: break
      case .pairing(var underWay):
        underWay.pairing.postponeTimeout(until: instant)
        self = .pairing(underWay)
      case .encrypting(var encrypting):
        encrypting.deadline = max(encrypting.deadline, instant)
        self = .encrypting(encrypting)
      case .requested(var requested):
        requested.deadline = max(requested.deadline, instant)
        self = .requested(requested)
      }
    }
  }

  /// What waits for the link to be protected.
  package struct Waiting: Sendable {
    /// Clients' requests to pair.
    package var requests: [PendingRequest] = []
    /// Whether operations wait for the link to be encrypted.
    var hasOperations = false
  }

  package struct PairingUnderWay: Sendable {
    var pairing: Pairing
    /// Whether the peer began the pairing.
    let isInitiatedByPeer: Bool
    /// The client that answers the prompts, and its latest prompt.
    var agent: ClientID?
    var prompt: PairingPromptID?
    /// Whether the user has refused.
    var isRejected = false
    /// The computation whose result is awaited.
    var computation: UInt64?
    /// The strongest requirement made during the pairing, which need not meet it.
    var lateRequirement: Requirement?
    /// Whether the peer demands authentication, which this pairing doesn't give and no other could.
    var isInsufficient = false
    var waiting: Waiting

    /// Whether the pairing fails because its bond may not replace another. True also if the user was asked
    /// and the pairing failed before an answer, unless the peer gave it up.
    func isBondRefused(by failure: SecurityFailure) -> Bool {
      switch failure {
      case .pairingFailed(.keyRejected): true
      // The peer keeps no bond, either.
      case .peerFailed: false
      // Before the encryption the peer may just have gone.
      case .disconnected: pairing.asksAboutBond && pairing.hasEncrypted
      case .pairingFailed, .timeout, .keyMissing, .encryptionFailed: pairing.asksAboutBond
      }
    }
  }

  /// Operations wait for it always.
  package struct Encrypting: Sendable {
    /// The protection that the key provides.
    let encryption: EncryptionInfo
    var deadline: Instant
    var requests: [PendingRequest]
  }

  /// Operations wait for it always.
  package struct Requested: Sendable {
    var deadline: Instant
    /// The program whose request needs the protection.
    let requester: ProgramID?
    var requests: [PendingRequest]
  }

  /// A decision against pairing, which holds as long as the link and the pairing agent.
  struct Refusal: Sendable {
    let failure: SecurityFailure
    let agent: ClientID?
  }

  /// How the link is protected.
  enum Protection: Sendable {
    case none
    case encrypted(EncryptionInfo)
    /// Encrypted, and the peer has proved that it has the keys of its current bond.
    case proved(EncryptionInfo)
  }
}
