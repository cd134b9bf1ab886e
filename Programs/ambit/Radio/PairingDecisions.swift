package import BluetoothInterface
package import BluetoothMachines
package import BluetoothWire

/// What a command contributes to pairings — its policy, and what its user decided — for the reasons why
/// they fail: the machine reports the same reason for a refusal of this host and for one of its user.
package final class PairingDecisions: Sendable {
  /// The side that ended a pairing.
  enum Refuser: String, Sendable {
    case user, host, peer
  }

  private enum Decision: Sendable {
    case refused
    /// The input ended before there was an answer.
    case unanswered
  }

  private struct State: Sendable {
    var hasAgent = true
    var asked: [DeviceAddress: PairingPromptID] = [:]
    var decisions: [DeviceAddress: Decision] = [:]
  }

  /// The peers about which something is remembered: more than one user decides about in a while.
  private static let peerCountMax = 64

  private let policy: PairingPolicy
  private let requiresSecureConnections: Bool
  private let state = Guarded(State())

  package init(
    _ policy: PairingPolicy = .automatic, requiresSecureConnections: Bool = false
  ) {
    self.policy = policy
    self.requiresSecureConnections = requiresSecureConnections
  }

  /// Whether a user can be asked. True unless this was called.
  func setHasAgent(_ hasAgent: Bool) { state.update { $0.hasAgent = hasAgent } }

  /// The user is asked about a peer.
  package func asked(_ peer: DeviceAddress, _ id: PairingPromptID) {
    state.update { state in
      if state.asked.count >= Self.peerCountMax { (state.asked, state.decisions) = ([:], [:]) }
      state.asked[peer] = id
      state.decisions[peer] = nil
    }
  }

  /// The user has answered. Called before the host gets the answer.
  package func answered(_ id: PairingPromptID, _ answer: PairingAnswer) {
    guard answer == .reject else { return }
    record(.refused, to: id)
  }

  /// No answer can be given any more.
  func unanswered(_ id: PairingPromptID) { record(.unanswered, to: id) }

  private func record(_ decision: Decision, to id: PairingPromptID) {
    state.update { state in
      for (peer, asked) in state.asked where asked == id { state.decisions[peer] = decision }
    }
  }

  // MARK: Reasons

  /// The side that refused to pair; nil where none did.
  func refuser(_ failure: SecurityFailure, of peer: DeviceAddress) -> Refuser? {
    switch failure {
    case .pairingFailed(let reason):
      decision(reason, about: peer) == .refused ? .user : .host
    case .peerFailed: .peer
    case .timeout, .keyMissing, .encryptionFailed, .disconnected: nil
    }
  }

  /// Why a pairing with a peer failed, in a sentence for people.
  package func sentence(_ failure: SecurityFailure, of peer: DeviceAddress) -> String {
    switch failure {
    case .pairingFailed(let reason):
      switch decision(reason, about: peer) {
      case .refused: Self.usersRefusal(reason)
      case .unanswered: "this host refused: the input ended before an answer to its question."
      case nil: "this host refused: \(text(reason))."
      }
    case .peerFailed(let reason): "the peer refused: \(reason.text)."
    case .timeout: "no answer within 30 s."
    case .keyMissing:
      "the peer has removed the pairing; \"ambit bonds forget\" removes it here."
    case .encryptionFailed(let status): "the link could not be encrypted (\(status))."
    case .disconnected: "the connection ended."
    }
  }

  /// What the user decided, if that is the cause.
  private func decision(_ reason: SMPFailureReason, about peer: DeviceAddress) -> Decision? {
    let causes: [SMPFailureReason] = [
      .unspecifiedReason, .passkeyEntryFailed, .numericComparisonFailed, .keyRejected,
      .repeatedAttempts,
    ]
    return causes.contains(reason) ? state.value.decisions[peer] : nil
  }

  private static func usersRefusal(_ reason: SMPFailureReason) -> String {
    switch reason {
    case .passkeyEntryFailed, .numericComparisonFailed:
      "the user of this host refused: \(reason.text)."
    case .keyRejected: "the user of this host refused to replace the bond."
    default: "the user of this host refused."
    }
  }

  /// Why this host refuses.
  private func text(_ reason: SMPFailureReason) -> String {
    let hasAgent = state.value.hasAgent
    switch reason {
    case .pairingNotSupported where policy == .never:
      return "it pairs with no device (--pair never)"
    case .pairingNotSupported where policy == .ask && !hasAgent:
      return "pairing needs consent, and there is no terminal for the question"
    case .authenticationRequirements where !hasAgent && !requiresSecureConnections:
      return "a passkey or a number to compare is needed, and there is no terminal for it"
    case .authenticationRequirements where !hasAgent:
      return reason.text + ", and there is no terminal for a passkey or a number"
    default: return reason.text
    }
  }
}

extension SMPFailureReason {
  /// What it means (Core 5.4, Vol 3, Part H, §3.5.5), after the side that refused and a colon.
  fileprivate var text: String {
    switch self {
    case .passkeyEntryFailed: "no passkey was entered"
    case .outOfBandNotAvailable: "no out-of-band data is available"
    case .authenticationRequirements: "the devices cannot meet the authentication requirements"
    case .confirmValueFailed: "the passkey or another value was wrong"
    case .pairingNotSupported: "it does not support pairing"
    case .encryptionKeySize: "the key would be too short"
    case .commandNotSupported: "the command is unknown"
    case .repeatedAttempts: "too many attempts; wait a while"
    case .invalidParameters: "a value was not allowed"
    case .dhKeyCheckFailed: "the keys differ"
    case .numericComparisonFailed: "the numbers differ"
    case .crossTransportKeyNotAllowed: "the key for the other transport is not allowed"
    case .keyRejected: "it has a bond already, which may not be replaced"
    case .busy: "it is busy"
    case .unspecifiedReason: "unspecified reason"
    default: "reason \(rawValue)"
    }
  }
}
