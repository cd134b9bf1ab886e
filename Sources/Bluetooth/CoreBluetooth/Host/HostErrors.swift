internal import BluetoothInterface
internal import BluetoothWire

extension HostError {
  /// The error that the app's delegate gets.
  ///
  /// Errors of Core Bluetooth and of the attribute protocol are typed values.
  var coreBluetoothError: any Error {
    switch self {
    case .att(let code, _): Self.attError(code)
    case .invalidResponse: CBATTError(.invalidPdu)
    case .attTimeout: CBError(.connectionTimeout)
    case .notConnected, .radioNotReady: CBError(.notConnected)
    case .cancelled: CBError(.operationCancelled)
    case .connectionFailed(let status): CBError(Self.connectCode(status))
    case .disconnected(let status), .controller(let status): CBError(Self.linkCode(status))
    case .unsupported(let text): Self.error(.operationNotSupported, text)
    case .invalidArgument(let text): Self.error(.invalidParameters, text)
    case .limitReached(let text): Self.error(.outOfSpace, text)
    case .transport(let text), .unauthorized(let text): Self.error(.unknown, text)
    case .channelRefused(let result): Self.channelError(result)
    case .security(let failure): Self.securityError(failure)
    case .tooManyNotifications: CBError(.leGattExceededBackgroundNotificationLimit)
    }
  }

  /// The error of a connection that can't be made.
  var connectionError: any Error {
    if case .limitReached(let text) = self {
      Self.error(.connectionLimitReached, text)
    } else {
      coreBluetoothError
    }
  }

  /// Whether a link that ended with this ended because the radio is gone, and not by itself.
  var isLossOfRadio: Bool {
    switch self {
    case .transport, .radioNotReady, .unauthorized, .unsupported: true
    case .att, .invalidResponse, .attTimeout, .notConnected, .cancelled, .connectionFailed,
      .disconnected, .controller, .invalidArgument, .limitReached, .channelRefused, .security,
      .tooManyNotifications:
      false
    }
  }

  private static func error(_ code: CBError.Code, _ text: String) -> CBError {
    CBError(code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  static func attError(_ code: ATTErrorCode) -> CBATTError {
    CBATTError(CBATTError.Code(rawValue: Int(code.rawValue)) ?? .unlikelyError)
  }

  /// Connection Limit Exceeded has a code of its own (Core 5.4, Vol 1, Part F, §2.9).
  private static func connectCode(_ status: HCIStatus) -> CBError.Code {
    status.rawValue == 0x09 ? .connectionLimitReached : .connectionFailed
  }

  /// Reasons for the end of a link (Core 5.4, Vol 1, Part F).
  private static func linkCode(_ status: HCIStatus) -> CBError.Code {
    switch status.rawValue {
    case 0x02: .notConnected
    case 0x06: .peerRemovedPairingInformation
    case 0x08, 0x22: .connectionTimeout
    case 0x09: .connectionLimitReached
    case 0x13...0x15: .peripheralDisconnected
    case 0x16: .operationCancelled
    case 0x3D: .encryptionTimedOut
    case 0x3E: .connectionFailed
    default: .unknown
    }
  }

  private static func securityError(_ failure: SecurityFailure) -> any Error {
    switch failure {
    case .keyMissing:
      error(
        .peerRemovedPairingInformation,
        "The peer removed its pairing information; remove the bond here, too, to pair again.")
    case .pairingFailed, .peerFailed: CBATTError(.insufficientAuthentication)
    case .timeout, .encryptionFailed: CBError(.encryptionTimedOut)
    case .disconnected: CBError(.peripheralDisconnected)
    }
  }

  /// Results of a channel request (Core 5.4, Vol 3, Part A, §4.23).
  private static func channelError(_ result: UInt16) -> any Error {
    switch result {
    case 0x0002: error(.operationNotSupported, "The peer does not listen on this PSM.")
    case 0x0004: error(.outOfSpace, "The peer has no room for another channel.")
    case 0x0005: CBATTError(.insufficientAuthentication)
    case 0x0006: CBATTError(.insufficientAuthorization)
    case 0x0007: CBATTError(.insufficientEncryptionKeySize)
    case 0x0008: CBATTError(.insufficientEncryption)
    // Linux keeps the result of its own channels to itself.
    case 0xFFFF: error(.connectionFailed, "The peer refused the channel.")
    default: error(.connectionFailed, "The peer refused the channel (result \(result)).")
    }
  }
}

extension RadioState {
  /// The state that managers report.
  var managerState: CBManagerState {
    switch self {
    case .unknown: .unknown
    case .resetting: .resetting
    case .unsupported: .unsupported
    case .unauthorized: .unauthorized
    case .poweredOff: .poweredOff
    case .poweredOn: .poweredOn
    }
  }
}

extension CBManagerState {
  /// Whether the delegate is notified of this state after the other. While the radio starts for the first
  /// time a manager's state stays unknown, as Apple's does.
  func isNews(after old: CBManagerState) -> Bool {
    old != .unknown || self != .unknown && self != .resetting
  }
}

extension CBError {
  private static let droppedNotificationCountKey = "DroppedNotificationCount"

  /// The error for notifications that were dropped because the app was too slow.
  package static func notificationsDropped(_ count: Int) -> CBError {
    CBError(
      .outOfSpace,
      userInfo: [
        NSLocalizedDescriptionKey: "\(count) notifications were dropped: the app was too slow",
        droppedNotificationCountKey: count,
      ])
  }

  /// The number of dropped notifications; nil for any other error, such as that of a read.
  package var droppedNotificationCount: Int? {
    userInfo[Self.droppedNotificationCountKey] as? Int
  }
}
