/// An error of Core Bluetooth itself, as opposed to an ATT error of a peer.
public struct CBError: CustomNSError, Hashable, @unchecked Sendable {
  // Unchecked: `userInfo` may hold anything, but is never changed and in practice holds strings.

  /// The error codes.
  public enum Code: Int, Sendable {
    /// An unknown error.
    case unknown = 0
    /// An argument is invalid.
    case invalidParameters = 1
    /// The attribute is no longer valid.
    case invalidHandle = 2
    /// The peer is not connected.
    case notConnected = 3
    /// There is not enough space.
    case outOfSpace = 4
    /// The operation was cancelled.
    case operationCancelled = 5
    /// The connection timed out.
    case connectionTimeout = 6
    /// The peer disconnected.
    case peripheralDisconnected = 7
    /// The service's UUID is reserved for the system.
    case uuidNotAllowed = 8
    /// The manager is already advertising.
    case alreadyAdvertising = 9
    /// The link could not be established.
    case connectionFailed = 10
    /// The limit of connections is reached.
    case connectionLimitReached = 11
    /// The device is not known.
    case unknownDevice = 12
    /// The operation is not supported.
    case operationNotSupported = 13
    /// The peer removed its pairing information.
    case peerRemovedPairingInformation = 14
    /// Encryption timed out.
    case encryptionTimedOut = 15
    /// There are too many paired devices.
    case tooManyLEPairedDevices = 16
    /// The limit of notifications in the background is exceeded.
    case leGattExceededBackgroundNotificationLimit = 17
    /// The limit of notifications in the background is nearly reached.
    case leGattNearBackgroundNotificationLimit = 18
    /// Channel sounding could not be configured.
    case channelSoundingConfigurationFailed = 19
    /// A channel sounding procedure failed.
    case channelSoundingProcedureFailed = 20

    /// The old, misspelt name of `unknownDevice`.
    @available(*, deprecated, renamed: "unknownDevice")
    public static var unkownDevice: Code { .unknownDevice }

    /// Makes `catch CBError.connectionTimeout` work.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CBError)?.code == code
    }
  }

  /// The error code.
  public let code: Code
  /// Additional information; at least a description.
  public let userInfo: [String: Any]

  /// Creates an error with this code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  /// Creates the error with an `NSError`'s code and user information, as Swift does for imported
  /// errors. The domain is not checked.
  public init(_nsError error: NSError) {
    self.init(Code(rawValue: error.code) ?? .unknown, userInfo: error.userInfo)
  }

  /// `CBErrorDomain`.
  public static var errorDomain: String { CBErrorDomain }
  /// The code's number.
  public var errorCode: Int { code.rawValue }
  /// `userInfo`, with a description in any case.
  public var errorUserInfo: [String: Any] {
    userInfo.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
  }
  /// The description of the error for users.
  public var localizedDescription: String {
    userInfo[NSLocalizedDescriptionKey] as? String ?? code.text
  }

  /// Two errors are equal if their codes are.
  public static func == (a: CBError, b: CBError) -> Bool { a.code == b.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBError {
  /// `Code.unknown`.
  public static var unknown: Code { .unknown }
  /// `Code.invalidParameters`.
  public static var invalidParameters: Code { .invalidParameters }
  /// `Code.invalidHandle`.
  public static var invalidHandle: Code { .invalidHandle }
  /// `Code.notConnected`.
  public static var notConnected: Code { .notConnected }
  /// `Code.outOfSpace`.
  public static var outOfSpace: Code { .outOfSpace }
  /// `Code.operationCancelled`.
  public static var operationCancelled: Code { .operationCancelled }
  /// `Code.connectionTimeout`.
  public static var connectionTimeout: Code { .connectionTimeout }
  /// `Code.peripheralDisconnected`.
  public static var peripheralDisconnected: Code { .peripheralDisconnected }
  /// `Code.uuidNotAllowed`.
  public static var uuidNotAllowed: Code { .uuidNotAllowed }
  /// `Code.alreadyAdvertising`.
  public static var alreadyAdvertising: Code { .alreadyAdvertising }
  /// `Code.connectionFailed`.
  public static var connectionFailed: Code { .connectionFailed }
  /// `Code.connectionLimitReached`.
  public static var connectionLimitReached: Code { .connectionLimitReached }
  /// `Code.unknownDevice`.
  public static var unknownDevice: Code { .unknownDevice }
  /// The old, misspelt name of `unknownDevice`.
  @available(*, deprecated, renamed: "unknownDevice")
  public static var unkownDevice: Code { .unknownDevice }
  /// `Code.operationNotSupported`.
  public static var operationNotSupported: Code { .operationNotSupported }
  /// `Code.peerRemovedPairingInformation`.
  public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
  /// `Code.encryptionTimedOut`.
  public static var encryptionTimedOut: Code { .encryptionTimedOut }
  /// `Code.tooManyLEPairedDevices`.
  public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
  /// `Code.leGattExceededBackgroundNotificationLimit`.
  public static var leGattExceededBackgroundNotificationLimit: Code {
    .leGattExceededBackgroundNotificationLimit
  }
  /// `Code.leGattNearBackgroundNotificationLimit`.
  public static var leGattNearBackgroundNotificationLimit: Code {
    .leGattNearBackgroundNotificationLimit
  }
  /// `Code.channelSoundingConfigurationFailed`.
  public static var channelSoundingConfigurationFailed: Code {
    .channelSoundingConfigurationFailed
  }
  /// `Code.channelSoundingProcedureFailed`.
  public static var channelSoundingProcedureFailed: Code { .channelSoundingProcedureFailed }
}

extension CBError.Code {
  /// One sentence for people.
  var text: String {
    switch self {
    case .unknown: "Unknown error."
    case .invalidParameters: "One or more parameters were invalid."
    case .invalidHandle: "The specified attribute handle is invalid."
    case .notConnected: "The specified device is not connected."
    case .outOfSpace: "There is not enough space for the operation."
    case .operationCancelled: "The operation was cancelled."
    case .connectionTimeout: "The connection has timed out unexpectedly."
    case .peripheralDisconnected: "The specified device has disconnected from us."
    case .uuidNotAllowed: "The specified UUID is not allowed for this operation."
    case .alreadyAdvertising: "Advertising has already started."
    case .connectionFailed: "The connection has failed unexpectedly."
    case .connectionLimitReached: "The maximum number of connections has been reached."
    case .unknownDevice: "The specified device is unknown."
    case .operationNotSupported: "The operation is not supported."
    case .peerRemovedPairingInformation: "The peer removed its pairing information."
    case .encryptionTimedOut: "Encryption was not established in time."
    case .tooManyLEPairedDevices: "There are too many paired devices."
    case .leGattExceededBackgroundNotificationLimit:
      "The limit of notifications in the background was exceeded."
    case .leGattNearBackgroundNotificationLimit:
      "The limit of notifications in the background is near."
    case .channelSoundingConfigurationFailed: "Channel sounding could not be configured."
    case .channelSoundingProcedureFailed: "A channel sounding procedure failed."
    }
  }
}
