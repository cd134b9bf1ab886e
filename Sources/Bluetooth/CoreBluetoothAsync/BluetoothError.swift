public import CoreBluetooth

/// Why something with a peripheral could not be done.
public enum BluetoothError: Error, Sendable, Hashable {
  /// The radio is not powered on and will not be by itself, or went away meanwhile.
  case notAvailable(CBManagerState)
  /// No peripheral of this host has this identifier.
  case unknownPeripheral(UUID)
  /// The connection cannot be made.
  case connectionFailed(CBError)
  /// The connection ended; nil if this side ended it.
  case disconnected(CBError?)
  /// The peripheral answered with an error of the attribute protocol.
  case attribute(code: Int)
  /// The host refused.
  case refused(CBError)
  /// The peripheral has no such service or characteristic.
  case notFound(CBUUID)
  /// The task was cancelled.
  case cancelled

  /// The error for one that a delegate got.
  package init(_ error: any Error) {
    switch error {
    case let error as CBATTError: self = .attribute(code: error.errorCode)
    case let error as CBError:
      // What was under way when a link broke is reported before the disconnection.
      switch error.code {
      case .connectionTimeout, .peripheralDisconnected, .notConnected:
        self = .disconnected(error)
      default: self = .refused(error)
      }
    default: self = .attribute(code: (error as NSError).code)
    }
  }
}

extension BluetoothError: CustomStringConvertible, LocalizedError {
  /// One sentence for people.
  public var description: String {
    switch self {
    case .notAvailable(let state): "Bluetooth is not available (\(state))."
    case .unknownPeripheral(let identifier): "There is no peripheral \(identifier)."
    case .connectionFailed(let error): error.localizedDescription
    case .disconnected(let error?): error.localizedDescription
    case .disconnected(nil): "The connection was closed."
    case .attribute(let code):
      CBATTError.Code(rawValue: code).map { CBATTError($0).localizedDescription }
        ?? "The peripheral answered with error \(code)."
    case .refused(let error): error.localizedDescription
    case .notFound(let uuid): "The peripheral has no \(uuid.uuidString)."
    case .cancelled: "Cancelled."
    }
  }

  /// The same sentence.
  public var errorDescription: String? { description }
}
