import BluetoothWire

/// How a pairing authenticates, as this side takes part in it (Core 5.4, Vol 3, Part H, §2.3.5.1).
enum AssociationModel: Sendable, Equatable {
  /// Not at all.
  case justWorks
  /// This side shows a passkey that the other's user enters.
  case passkeyDisplayed
  /// This side's user enters a passkey, which the other side shows or its user enters, too.
  case passkeyEntered
  /// People compare two numbers.
  case numericComparison
  /// At least one side has out-of-band data of the other.
  case outOfBand

  /// Whether it protects against a man in the middle.
  var isAuthenticated: Bool { self != .justWorks }

  /// The model that both sides' features lead to, seen from the initiator or from the responder.
  init(initiator: SMPPairingFeatures, responder: SMPPairingFeatures, isInitiator: Bool) {
    let requirements = [initiator, responder].map(\.authenticationRequirements)
    let usesSecureConnections = requirements.allSatisfy { $0.contains(.secureConnections) }
    let hasOutOfBandData = [initiator, responder].map(\.hasOutOfBandData)
    let first = initiator.ioCapability
    let second = responder.ioCapability
    // Of LE Secure Connections one side's is enough.
    if hasOutOfBandData.allSatisfy({ $0 })
      || usesSecureConnections && hasOutOfBandData.contains(true)
    {
      self = .outOfBand
    } else if !requirements.contains(where: { $0.contains(.mitmProtection) })
      || first == .noInputNoOutput || second == .noInputNoOutput
    {
      self = .justWorks
    } else if usesSecureConnections, first.canCompare, second.canCompare {
      self = .numericComparison
    } else if second.hasKeyboard, first.hasDisplay {
      self = isInitiator ? .passkeyDisplayed : .passkeyEntered
    } else if first.hasKeyboard, second.hasDisplay {
      self = isInitiator ? .passkeyEntered : .passkeyDisplayed
    } else if first.hasKeyboard, second.hasKeyboard {
      self = .passkeyEntered
    } else {
      self = .justWorks
    }
  }
}

extension SMPIOCapability {
  fileprivate var hasKeyboard: Bool { self == .keyboardOnly || self == .keyboardDisplay }
  fileprivate var hasDisplay: Bool {
    self == .displayOnly || self == .displayYesNo || self == .keyboardDisplay
  }
  /// A keyboard takes yes or no, too (§2.3.2).
  fileprivate var canCompare: Bool { self == .displayYesNo || self == .keyboardDisplay }
}
