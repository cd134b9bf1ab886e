import Essentials

/// An HCI status or disconnection reason (Core 5.4, Vol 1, Part F).
@frozen
public struct HCIStatus: RawRepresentable, Hashable, Sendable {
  /// The code on the wire.
  public let rawValue: UInt8

  /// A status from its code; every code is valid, known or not.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The command succeeded.
  public static let success = HCIStatus(rawValue: 0x00)
  /// The controller does not know the command.
  public static let unknownCommand = HCIStatus(rawValue: 0x01)
  /// There is no such connection.
  public static let unknownConnection = HCIStatus(rawValue: 0x02)
  /// The controller's hardware failed.
  public static let hardwareFailure = HCIStatus(rawValue: 0x03)
  /// The peer did not answer the page.
  public static let pageTimeout = HCIStatus(rawValue: 0x04)
  /// Authentication failed.
  public static let authenticationFailure = HCIStatus(rawValue: 0x05)
  /// The PIN or key is missing.
  public static let pinOrKeyMissing = HCIStatus(rawValue: 0x06)
  /// The controller has no memory left.
  public static let memoryCapacityExceeded = HCIStatus(rawValue: 0x07)
  /// The connection timed out.
  public static let connectionTimeout = HCIStatus(rawValue: 0x08)
  /// The limit of connections is reached.
  public static let connectionLimitExceeded = HCIStatus(rawValue: 0x09)
  /// The limit of synchronous connections is reached.
  public static let synchronousConnectionLimitExceeded = HCIStatus(rawValue: 0x0A)
  /// There is a connection with that peer already.
  public static let connectionAlreadyExists = HCIStatus(rawValue: 0x0B)
  /// The controller cannot do that now.
  public static let commandDisallowed = HCIStatus(rawValue: 0x0C)
  /// The peer has no resources for the connection.
  public static let rejectedLimitedResources = HCIStatus(rawValue: 0x0D)
  /// The peer refused the connection for security reasons.
  public static let rejectedSecurityReasons = HCIStatus(rawValue: 0x0E)
  /// The peer does not accept connections from this address.
  public static let rejectedUnacceptableAddress = HCIStatus(rawValue: 0x0F)
  /// The connection was not accepted in time.
  public static let connectionAcceptTimeout = HCIStatus(rawValue: 0x10)
  /// A feature or parameter value is not supported.
  public static let unsupportedFeature = HCIStatus(rawValue: 0x11)
  /// The command's parameters are not valid.
  public static let invalidParameters = HCIStatus(rawValue: 0x12)
  /// The peer ended the connection.
  public static let remoteUserTerminatedConnection = HCIStatus(rawValue: 0x13)
  /// The peer ended the connection because it is low on resources.
  public static let remoteLowResources = HCIStatus(rawValue: 0x14)
  /// The peer ended the connection because it is switched off.
  public static let remotePowerOff = HCIStatus(rawValue: 0x15)
  /// This host ended the connection.
  public static let localHostTerminatedConnection = HCIStatus(rawValue: 0x16)
  /// The peer refuses because of too many attempts.
  public static let repeatedAttempts = HCIStatus(rawValue: 0x17)
  /// The peer does not allow pairing.
  public static let pairingNotAllowed = HCIStatus(rawValue: 0x18)
  /// The peer sent a link manager message that is not known.
  public static let unknownLMPPDU = HCIStatus(rawValue: 0x19)
  /// The peer does not support that.
  public static let unsupportedRemoteFeature = HCIStatus(rawValue: 0x1A)
  /// The offset of the synchronous link was refused.
  public static let scoOffsetRejected = HCIStatus(rawValue: 0x1B)
  /// The interval of the synchronous link was refused.
  public static let scoIntervalRejected = HCIStatus(rawValue: 0x1C)
  /// The air mode of the synchronous link was refused.
  public static let scoAirModeRejected = HCIStatus(rawValue: 0x1D)
  /// The link layer's parameters are not valid.
  public static let invalidLinkParameters = HCIStatus(rawValue: 0x1E)
  /// An unspecified error.
  public static let unspecifiedError = HCIStatus(rawValue: 0x1F)
  /// A value of a link layer parameter is not supported.
  public static let unsupportedLinkParameter = HCIStatus(rawValue: 0x20)
  /// The roles cannot be changed now.
  public static let roleChangeNotAllowed = HCIStatus(rawValue: 0x21)
  /// The peer's link layer did not answer in time.
  public static let linkResponseTimeout = HCIStatus(rawValue: 0x22)
  /// Both sides started the same procedure.
  public static let linkProcedureCollision = HCIStatus(rawValue: 0x23)
  /// The peer sent a link manager message at the wrong time.
  public static let lmpPDUNotAllowed = HCIStatus(rawValue: 0x24)
  /// The encryption mode is not acceptable.
  public static let encryptionModeNotAcceptable = HCIStatus(rawValue: 0x25)
  /// The link key cannot be changed.
  public static let linkKeyCannotBeChanged = HCIStatus(rawValue: 0x26)
  /// The quality of service is not supported.
  public static let qosNotSupported = HCIStatus(rawValue: 0x27)
  /// The moment for a change had passed when it was announced.
  public static let instantPassed = HCIStatus(rawValue: 0x28)
  /// Pairing with a unit key is not supported.
  public static let unitKeyPairingNotSupported = HCIStatus(rawValue: 0x29)
  /// Another procedure is under way.
  public static let differentTransactionCollision = HCIStatus(rawValue: 0x2A)
  /// A parameter of the quality of service is not acceptable.
  public static let qosUnacceptableParameter = HCIStatus(rawValue: 0x2C)
  /// The quality of service was refused.
  public static let qosRejected = HCIStatus(rawValue: 0x2D)
  /// Channel assessment is not supported.
  public static let channelAssessmentNotSupported = HCIStatus(rawValue: 0x2E)
  /// The link is not secure enough.
  public static let insufficientSecurity = HCIStatus(rawValue: 0x2F)
  /// A parameter is out of its range.
  public static let parameterOutOfRange = HCIStatus(rawValue: 0x30)
  /// The roles are being changed.
  public static let roleSwitchPending = HCIStatus(rawValue: 0x32)
  /// A reserved slot was violated.
  public static let reservedSlotViolation = HCIStatus(rawValue: 0x34)
  /// The roles could not be changed.
  public static let roleSwitchFailed = HCIStatus(rawValue: 0x35)
  /// The extended inquiry response is too large.
  public static let extendedInquiryResponseTooLarge = HCIStatus(rawValue: 0x36)
  /// The peer does not support simple pairing.
  public static let simplePairingNotSupported = HCIStatus(rawValue: 0x37)
  /// The peer is busy with another pairing.
  public static let hostBusyPairing = HCIStatus(rawValue: 0x38)
  /// No suitable channel was found.
  public static let noSuitableChannel = HCIStatus(rawValue: 0x39)
  /// The controller is busy.
  public static let controllerBusy = HCIStatus(rawValue: 0x3A)
  /// The connection parameters are not acceptable.
  public static let unacceptableConnectionParameters = HCIStatus(rawValue: 0x3B)
  /// Advertising ended without a connection.
  public static let advertisingTimeout = HCIStatus(rawValue: 0x3C)
  /// The link was ended because a message failed its integrity check.
  public static let micFailure = HCIStatus(rawValue: 0x3D)
  /// The connection failed to be established.
  public static let connectionFailedToBeEstablished = HCIStatus(rawValue: 0x3E)
  /// Code 0x3F, which is no longer used.
  public static let previouslyUsed = HCIStatus(rawValue: 0x3F)
  /// The clock is adjusted otherwise.
  public static let clockAdjustmentRejected = HCIStatus(rawValue: 0x40)
  /// The submap is not defined.
  public static let submapNotDefined = HCIStatus(rawValue: 0x41)
  /// There is no such advertising set.
  public static let unknownAdvertisingIdentifier = HCIStatus(rawValue: 0x42)
  /// The limit of advertising events or of time was reached.
  public static let limitReached = HCIStatus(rawValue: 0x43)
  /// This host cancelled the operation.
  public static let cancelledByHost = HCIStatus(rawValue: 0x44)
  /// The packet is too long.
  public static let packetTooLong = HCIStatus(rawValue: 0x45)
  /// The request came too late.
  public static let tooLate = HCIStatus(rawValue: 0x46)
  /// The request came too early.
  public static let tooEarly = HCIStatus(rawValue: 0x47)
}

extension HCIStatus: CustomStringConvertible {
  /// The meaning of the code, in a short clause such as "the connection does not exist".
  public var description: String {
    Self.meanings[self] ?? "code 0x\(Hexadecimal.string([rawValue]))"
  }

  private static let meanings: [HCIStatus: String] = [
    .success: "success",
    .unknownCommand: "the controller does not know the command",
    .unknownConnection: "the connection does not exist",
    .hardwareFailure: "the controller's hardware failed",
    .pageTimeout: "the peer did not answer the page",
    .authenticationFailure: "authentication failed",
    .pinOrKeyMissing: "the PIN or key is missing",
    .memoryCapacityExceeded: "the controller has no memory left",
    .connectionTimeout: "the connection timed out",
    .connectionLimitExceeded: "the controller has no room for another connection",
    .synchronousConnectionLimitExceeded:
      "the controller has no room for another synchronous connection",
    .connectionAlreadyExists: "a connection with that peer already exists",
    .commandDisallowed: "the controller cannot do that now",
    .rejectedLimitedResources: "the peer has no resources for the connection",
    .rejectedSecurityReasons: "the peer refused the connection for security reasons",
    .rejectedUnacceptableAddress: "the peer does not accept connections from this address",
    .connectionAcceptTimeout: "the connection was not accepted in time",
    .unsupportedFeature: "a feature or parameter value is not supported",
    .invalidParameters: "the command's parameters are not valid",
    .remoteUserTerminatedConnection: "the peer ended the connection",
    .remoteLowResources: "the peer ended the connection because it is low on resources",
    .remotePowerOff: "the peer ended the connection because it is switched off",
    .localHostTerminatedConnection: "this host ended the connection",
    .repeatedAttempts: "the peer refuses because of too many attempts",
    .pairingNotAllowed: "the peer does not allow pairing",
    .unknownLMPPDU: "the peer sent a link manager message that is not known",
    .unsupportedRemoteFeature: "the peer does not support that",
    .scoOffsetRejected: "the offset of the synchronous link was refused",
    .scoIntervalRejected: "the interval of the synchronous link was refused",
    .scoAirModeRejected: "the air mode of the synchronous link was refused",
    .invalidLinkParameters: "the link layer's parameters are not valid",
    .unspecifiedError: "unspecified error",
    .unsupportedLinkParameter: "a value of a link layer parameter is not supported",
    .roleChangeNotAllowed: "the roles cannot be changed now",
    .linkResponseTimeout: "the peer's link layer did not answer in time",
    .linkProcedureCollision: "both sides started the same procedure",
    .lmpPDUNotAllowed: "the peer sent a link manager message at the wrong time",
    .encryptionModeNotAcceptable: "the encryption mode is not acceptable",
    .linkKeyCannotBeChanged: "the link key cannot be changed",
    .qosNotSupported: "the quality of service is not supported",
    .instantPassed: "the instant of a change had already passed",
    .unitKeyPairingNotSupported: "pairing with a unit key is not supported",
    .differentTransactionCollision: "another procedure is under way",
    .qosUnacceptableParameter: "a parameter of the quality of service is not acceptable",
    .qosRejected: "the quality of service was refused",
    .channelAssessmentNotSupported: "channel assessment is not supported",
    .insufficientSecurity: "the link is not secure enough",
    .parameterOutOfRange: "a parameter is out of its range",
    .roleSwitchPending: "the roles are being changed",
    .reservedSlotViolation: "a reserved slot was violated",
    .roleSwitchFailed: "the roles could not be changed",
    .extendedInquiryResponseTooLarge: "the extended inquiry response is too large",
    .simplePairingNotSupported: "the peer does not support simple pairing",
    .hostBusyPairing: "the peer is busy with another pairing",
    .noSuitableChannel: "no suitable channel was found",
    .controllerBusy: "the controller is busy",
    .unacceptableConnectionParameters: "the connection parameters are not acceptable",
    .advertisingTimeout: "advertising ended without a connection",
    .micFailure: "the link was ended because a message failed its integrity check",
    .connectionFailedToBeEstablished: "the connection failed to be established",
    .previouslyUsed: "code 0x3F, which is no longer used",
    .clockAdjustmentRejected: "the clock adjustment was rejected",
    .submapNotDefined: "the submap is not defined",
    .unknownAdvertisingIdentifier: "the advertising set does not exist",
    .limitReached: "the limit of advertising events or of time was reached",
    .cancelledByHost: "this host cancelled the operation",
    .packetTooLong: "the packet is too long",
    .tooLate: "the request came too late",
    .tooEarly: "the request came too early",
  ]
}
