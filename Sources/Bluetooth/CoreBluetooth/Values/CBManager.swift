/// What central and peripheral managers have in common.
open class CBManager: NSObject, @unchecked Sendable {
  // Unchecked: it stores nothing; its subclasses keep their state behind locks.

  /// A manager of nothing; make a `CBCentralManager` or a `CBPeripheralManager`.
  public override init() { super.init() }

  /// The radio's state. Commands are taken in `.poweredOn` only.
  open var state: CBManagerState { .unknown }

  /// Whether the app may use Bluetooth: always; what a process lacks shows in `state`.
  open class var authorization: CBManagerAuthorization { .allowedAlways }

  /// Whether the app may use Bluetooth.
  @available(*, deprecated, message: "Use the type's property instead")
  open var authorization: CBManagerAuthorization { .allowedAlways }
}
