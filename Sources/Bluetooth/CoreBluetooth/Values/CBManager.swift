internal import BluetoothInterface
internal import BluetoothSessions

/// The base class of central and peripheral managers.
///
/// `state`, `CBCentralManager.isScanning` and `CBPeripheralManager.isAdvertising` can be observed.
open class CBManager: NSObject, @unchecked Sendable {
  // Unchecked: what it stores is constant; its subclasses keep their state behind locks.

  package let keyValueObservers = KeyValueObservers()

  /// Not useful by itself; create a `CBCentralManager` or a `CBPeripheralManager`.
  public override init() { super.init() }

  /// The radio's state. Commands are accepted in `.poweredOn` only.
  open var state: CBManagerState { .unknown }

  /// Whether the app may use Bluetooth, from the environment variable `AMBIT_AUTHORIZATION`:
  /// `allowed` (the default), `denied` or `restricted`. Without permission managers are
  /// `.unauthorized`.
  ///
  /// Where the app uses a hub, the hub's rules decide: `.denied` if they deny it. Before the first answer of the
  /// hub, this waits for it, for half a second at most.
  ///
  /// Missing privileges of the process for the radio are reported in `state` only.
  open class var authorization: CBManagerAuthorization {
    switch CurrentHost.authorization {
    case .allowed: .allowedAlways
    case .denied: .denied
    case .restricted: .restricted
    }
  }

  /// Whether the app may use Bluetooth.
  @available(*, deprecated, message: "Use the type's property instead")
  open var authorization: CBManagerAuthorization { type(of: self).authorization }

  /// The value of the property with this name: `state`, `authorization`, `delegate`, `isScanning`,
  /// `isAdvertising`; enumerations as their raw values.
  ///
  /// For another key it returns what `value(forUndefinedKey:)` does.
  open func value(forKey key: String) -> Any? { lookUp(key) }

  /// Called for a key that the class doesn't have.
  ///
  /// Logs the misuse and returns nil, where Apple's framework raises an exception.
  open func value(forUndefinedKey key: String) -> Any? { reportUndefined(key) }

  func property(_ key: String) -> Any?? {
    switch key {
    case "state": .some(state.rawValue)
    case "authorization": .some(type(of: self).authorization.rawValue)
    default: nil
    }
  }
}

extension CBManager: KeyValueObserved, KeyValueCoding {}
