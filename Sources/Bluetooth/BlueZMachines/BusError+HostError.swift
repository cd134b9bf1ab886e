import BluetoothInterface
import BluetoothWire

extension HostError {
  /// Whether the peer refused an operation because the link is not encrypted, or not with a key of an authenticated
  /// pairing.
  var needsPairing: Bool {
    switch self {
    case .att(.insufficientAuthentication, _), .att(.insufficientEncryption, _): true
    default: false
    }
  }
}

extension BusError {
  /// Whether the object of the call is gone.
  var isAboutUnknownObject: Bool {
    [BlueZErrorName.unknownObject, BlueZErrorName.unknownMethod, BlueZErrorName.doesNotExist]
      .contains(name)
  }

  /// The error of a procedure on an attribute. bluetoothd has names for some errors of the attribute protocol, and
  /// writes the others into its text.
  func hostError(handle: UInt16) -> HostError {
    func att(_ code: ATTErrorCode) -> HostError { .att(code, handle: handle) }
    switch name {
    case "org.bluez.Error.NotPermitted":
      if message.hasPrefix("Read") { return att(.readNotPermitted) }
      if message.hasPrefix("Write") { return att(.writeNotPermitted) }
      return att(.insufficientAuthentication)
    case "org.bluez.Error.NotAuthorized": return att(.insufficientAuthorization)
    case "org.bluez.Error.NotSupported": return att(.requestNotSupported)
    case "org.bluez.Error.InvalidOffset": return att(.invalidOffset)
    case "org.bluez.Error.InvalidValueLength": return att(.invalidAttributeValueLength)
    case "org.bluez.Error.InvalidArguments", "org.freedesktop.DBus.Error.InvalidArgs":
      if message.contains("offset") { return att(.invalidOffset) }
      if message.contains("ength") { return att(.invalidAttributeValueLength) }
      return .invalidArgument("bluetoothd refused the arguments: \(message).")
    case BlueZErrorName.notConnected: return .notConnected
    case BlueZErrorName.noReply: return .attTimeout
    case BlueZErrorName.inProgress:
      return .limitReached("bluetoothd is busy with this attribute for another program.")
    case _ where isAboutUnknownObject: return att(.invalidHandle)
    default:
      if let code = attCode { return att(code) }
      return .transport("bluetoothd reports: \(message) (\(name)).")
    }
  }

  /// The code in `Operation failed with ATT error: 0x80`.
  private var attCode: ATTErrorCode? {
    guard let marker = message.firstRange(of: "ATT error: 0x") else { return nil }
    let digits = message[marker.upperBound...].prefix(2)
    return UInt8(digits, radix: 16).map { ATTErrorCode(rawValue: $0) }
  }

  /// The error of a pairing.
  var pairingError: HostError {
    switch name {
    case "org.bluez.Error.AuthenticationCanceled", "org.bluez.Error.AuthenticationRejected":
      .security(.peerFailed(.unspecifiedReason))
    case "org.bluez.Error.AuthenticationTimeout": .security(.timeout)
    case "org.bluez.Error.AuthenticationFailed": .security(.pairingFailed(.unspecifiedReason))
    case "org.bluez.Error.ConnectionAttemptFailed", BlueZErrorName.notConnected: .notConnected
    default: .transport("bluetoothd reports: \(message) (\(name)).")
    }
  }

  /// Whether an attempt to connect has failed as one to a device that is away, or that another client ends, does.
  var isOfAbsentDevice: Bool {
    isAboutUnknownObject || name == BlueZErrorName.noReply || name == BlueZErrorName.inProgress
      || message.hasPrefix("le-connection-") || message.hasPrefix("br-connection-")
  }

  /// Why a device can never be connected to; nil if trying again may help.
  var permanentConnectionError: HostError? {
    guard message.hasPrefix("br-connection-"), message != "br-connection-canceled" else {
      return name == "org.bluez.Error.NotSupported" || name == "org.bluez.Error.NotAvailable"
        ? .unsupported("bluetoothd has no way to connect to this device: \(message).") : nil
    }
    return .unsupported(
      "bluetoothd takes this device for one of Bluetooth classic (\(message)): it has a public address, and was "
        + "seen without the flag that it has LE only.")
  }
}
