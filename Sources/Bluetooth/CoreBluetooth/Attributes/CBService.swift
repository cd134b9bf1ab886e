internal import BluetoothInterface
internal import EventLoop

/// A service of a peripheral: a group of characteristics.
open class CBService: CBAttribute, @unchecked Sendable {
  private weak var peripheralStorage: CBPeripheral?
  private let isPrimaryStorage: Bool

  // Guarded by `lock`.
  var includedServicesStorage: [CBService]?
  var characteristicsStorage: [CBCharacteristic]?
  var range: HandleRange
  /// False once the peer changed it or the link went down.
  var isValid = true

  init(
    uuid: CBUUID, isPrimary: Bool, range: HandleRange, peripheral: CBPeripheral?, lock: SharedLock
  ) {
    isPrimaryStorage = isPrimary
    self.range = range
    peripheralStorage = peripheral
    super.init(uuid: uuid, lock: lock)
  }

  /// The peripheral that provides the service; nil for a local service.
  open weak var peripheral: CBPeripheral? { peripheralStorage }
  /// Whether the service is primary. A secondary service is only included in other services.
  open var isPrimary: Bool { isPrimaryStorage }
  /// The services that it includes; nil until discovered.
  open var includedServices: [CBService]? { lock.withLock { includedServicesStorage } }
  /// Its characteristics; nil until discovered.
  open var characteristics: [CBCharacteristic]? { lock.withLock { characteristicsStorage } }

  /// Kind and UUID.
  open override var description: String {
    "<CBService: isPrimary = \(isPrimary ? "YES" : "NO"), UUID = \(uuid.uuidString)>"
  }
}

/// A service that this host publishes.
///
/// It can't be changed after it was passed to `CBPeripheralManager.add(_:)`: later changes are
/// ignored and logged.
open class CBMutableService: CBService, @unchecked Sendable {
  private var isFrozen = false

  /// Creates a service without characteristics.
  public init(type UUID: CBUUID, primary isPrimary: Bool) {
    super.init(
      uuid: UUID, isPrimary: isPrimary, range: HandleRange(0, 0), peripheral: nil,
      lock: SharedLock())
  }

  /// The published services that it includes.
  open override var includedServices: [CBService]? {
    get { super.includedServices }
    set { change { includedServicesStorage = newValue } }
  }

  /// Its characteristics.
  open override var characteristics: [CBCharacteristic]? {
    get { super.characteristics }
    set {
      if change({ characteristicsStorage = newValue }) {
        newValue?.forEach { $0.setService(self) }
      }
    }
  }

  @discardableResult
  private func change(_ body: () -> Void) -> Bool {
    let wasFrozen = lock.withLock {
      if !isFrozen { body() }
      return isFrozen
    }
    if wasFrozen {
      Misuse.report("the published service \(uuid.uuidString) cannot be changed any more")
    }
    return !wasFrozen
  }

  /// Marks the service as published, so that it can't be changed. Returns false if it was already.
  func freeze() -> Bool {
    lock.withLock {
      defer { isFrozen = true }
      return !isFrozen
    }
  }

  func thaw() { lock.withLock { isFrozen = false } }
}
