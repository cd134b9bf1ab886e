public import CoreBluetooth

/// The error of an operation on a peripheral.
///
/// The code is the kind of the error; each of the other properties has details for some codes:
///
/// ```swift
/// do {
///   try await peripheral.read(characteristic)
/// } catch let error where error.attributeErrorCode == 0x05 {
///   // Insufficient Authentication
/// }
/// ```
public struct BluetoothError: Error, Hashable, Sendable {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    fileprivate let rawValue: UInt8

    /// The radio is unsupported or unauthorized, or left the state `.poweredOn` during the
    /// operation; see ``state``.
    public static let notAvailable = Code(rawValue: 1)
    /// No peripheral of this host has this ``peripheralIdentifier``.
    public static let unknownPeripheral = Code(rawValue: 2)
    /// The connection cannot be established, because of the ``cause``.
    public static let connectionFailed = Code(rawValue: 3)
    /// The connection ended because of the ``cause``, which is nil if the local host ended it.
    public static let disconnected = Code(rawValue: 4)
    /// The peripheral responded with an ATT error, ``attributeErrorCode``.
    public static let attribute = Code(rawValue: 5)
    /// The local host rejected the operation, because of the ``cause``.
    public static let refused = Code(rawValue: 6)
    /// The peripheral has no service or characteristic with this ``uuid``.
    public static let notFound = Code(rawValue: 7)
    /// The task was cancelled.
    public static let cancelled = Code(rawValue: 8)
  }

  private enum Detail: Hashable {
    case none
    case state(CBManagerState)
    case peripheral(UUID)
    case cause(CBError)
    case attribute(Int)
    case uuid(CBUUID)
  }

  /// The kind of the error.
  public let code: Code
  private let detail: Detail

  private init(_ code: Code, _ detail: Detail = .none) {
    self.code = code
    self.detail = detail
  }

  /// The state of the radio, for ``Code/notAvailable``.
  public var state: CBManagerState? { if case .state(let state) = detail { state } else { nil } }

  /// The identifier that no peripheral of this host has, for ``Code/unknownPeripheral``.
  public var peripheralIdentifier: UUID? {
    if case .peripheral(let identifier) = detail { identifier } else { nil }
  }

  /// The error that Core Bluetooth reported, for ``Code/connectionFailed``, ``Code/disconnected``
  /// and ``Code/refused``.
  public var cause: CBError? { if case .cause(let error) = detail { error } else { nil } }

  /// The ATT error code (Core 5.4, Vol 3, Part F, §3.4.1.1), for ``Code/attribute``.
  public var attributeErrorCode: Int? {
    if case .attribute(let code) = detail { code } else { nil }
  }

  /// The UUID that was not found, for ``Code/notFound``.
  public var uuid: CBUUID? { if case .uuid(let uuid) = detail { uuid } else { nil } }
}

extension BluetoothError {
  /// See ``Code/notAvailable``.
  public static func notAvailable(_ state: CBManagerState) -> BluetoothError {
    BluetoothError(.notAvailable, .state(state))
  }

  /// See ``Code/unknownPeripheral``.
  public static func unknownPeripheral(_ identifier: UUID) -> BluetoothError {
    BluetoothError(.unknownPeripheral, .peripheral(identifier))
  }

  /// See ``Code/connectionFailed``.
  public static func connectionFailed(_ cause: CBError) -> BluetoothError {
    BluetoothError(.connectionFailed, .cause(cause))
  }

  /// See ``Code/disconnected``.
  public static func disconnected(_ cause: CBError?) -> BluetoothError {
    BluetoothError(.disconnected, cause.map { .cause($0) } ?? .none)
  }

  /// See ``Code/attribute``.
  public static func attribute(code: Int) -> BluetoothError {
    BluetoothError(.attribute, .attribute(code))
  }

  /// See ``Code/refused``.
  public static func refused(_ cause: CBError) -> BluetoothError {
    BluetoothError(.refused, .cause(cause))
  }

  /// See ``Code/notFound``.
  public static func notFound(_ uuid: CBUUID) -> BluetoothError {
    BluetoothError(.notFound, .uuid(uuid))
  }

  /// See ``Code/cancelled``.
  public static let cancelled = BluetoothError(.cancelled)

  /// Converts an error that was passed to a delegate.
  package init(_ error: any Error) {
    switch error {
    case let error as CBATTError: self = .attribute(code: error.errorCode)
    case let error as CBError:
      // Core Bluetooth fails pending operations of a broken link before it reports the
      // disconnection.
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
  /// A description in one sentence for users.
  public var description: String {
    switch detail {
    case .none: code == .cancelled ? "Cancelled." : "The connection was closed."
    case .state(let state): "Bluetooth is not available (\(state))."
    case .peripheral(let identifier): "The peripheral \(identifier) is unknown."
    case .cause(let error): error.localizedDescription
    case .attribute(let code):
      CBATTError.Code(rawValue: code).map { CBATTError($0).localizedDescription }
        ?? "The peripheral answered with error \(code)."
    case .uuid(let uuid): "The peripheral has no \(uuid.uuidString)."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
