internal import BluetoothInterface
internal import EventLoop

/// A characteristic of a service: a value, its properties and its descriptors.
open class CBCharacteristic: CBAttribute, @unchecked Sendable {
  // Guarded by `lock`.
  private weak var serviceStorage: CBService?
  var propertiesStorage: CBCharacteristicProperties
  var valueStorage: Data?
  var descriptorsStorage: [CBDescriptor]?
  var isNotifyingStorage = false
  /// The handles in the peer's attribute database, or in the local one after publication.
  var handles: CharacteristicHandles
  /// False once the peer changed it or the link went down.
  var isValid = true

  init(
    uuid: CBUUID, properties: CBCharacteristicProperties, handles: CharacteristicHandles,
    service: CBService?, lock: SharedLock
  ) {
    propertiesStorage = properties
    self.handles = handles
    serviceStorage = service
    super.init(uuid: uuid, lock: lock)
  }

  /// The service that it belongs to.
  open weak var service: CBService? { lock.withLock { serviceStorage } }
  /// The operations that the characteristic supports.
  open var properties: CBCharacteristicProperties { lock.withLock { propertiesStorage } }
  /// The value last read or notified; nil until then. For a local characteristic, the value that
  /// the system answers reads with, or nil if the delegate answers them.
  open var value: Data? { lock.withLock { valueStorage } }
  /// Its descriptors; nil until discovered.
  open var descriptors: [CBDescriptor]? { lock.withLock { descriptorsStorage } }
  /// Whether notifications or indications are enabled.
  open var isNotifying: Bool { lock.withLock { isNotifyingStorage } }
  /// Always false: characteristics are never broadcast.
  @available(*, deprecated)
  open var isBroadcasted: Bool { false }

  /// UUID, properties, value and whether it notifies.
  open override var description: String {
    "<CBCharacteristic: UUID = \(uuid.uuidString), properties = 0x"
      + String(properties.rawValue, radix: 16, uppercase: true)
      + ", value = \(value.inHexadecimal), notifying = \(isNotifying ? "YES" : "NO")>"
  }

  func setService(_ service: CBService) { lock.withLock { serviceStorage = service } }
}

/// The handles of a characteristic in an attribute database.
struct CharacteristicHandles: Sendable, Hashable {
  var declaration: UInt16 = 0
  var value: UInt16 = 0
  var end: UInt16 = 0
}

/// A characteristic that this host publishes.
///
/// Its properties can't be changed once its service is published. Setting `value` then has no
/// effect.
open class CBMutableCharacteristic: CBCharacteristic, @unchecked Sendable {
  // Guarded by `lock`.
  private var permissionsStorage: CBAttributePermissions
  private var subscribers: [CBCentral] = []

  /// Creates a characteristic. If it has a value, it must be read-only, and the system answers
  /// reads. Without a value, the peripheral manager's delegate answers each read.
  public init(
    type UUID: CBUUID, properties: CBCharacteristicProperties, value: Data?,
    permissions: CBAttributePermissions
  ) {
    permissionsStorage = permissions
    super.init(
      uuid: UUID, properties: properties, handles: CharacteristicHandles(), service: nil,
      lock: SharedLock())
    valueStorage = value
  }

  /// The operations that the characteristic supports.
  open override var properties: CBCharacteristicProperties {
    get { super.properties }
    set { lock.withLock { propertiesStorage = newValue } }
  }

  /// The value that the system answers reads with, or nil if the delegate answers them.
  open override var value: Data? {
    get { super.value }
    set { lock.withLock { valueStorage = newValue } }
  }

  /// The descriptors. User descriptions and presentation formats can be set.
  open override var descriptors: [CBDescriptor]? {
    get { super.descriptors }
    set {
      lock.withLock { descriptorsStorage = newValue }
      newValue?.forEach { $0.setCharacteristic(self) }
    }
  }

  /// The permissions of centrals to read and write the value.
  open var permissions: CBAttributePermissions {
    get { lock.withLock { permissionsStorage } }
    set { lock.withLock { permissionsStorage = newValue } }
  }

  /// The centrals that are subscribed to the characteristic.
  open var subscribedCentrals: [CBCentral]? { lock.withLock { subscribers } }

  func addSubscriber(_ central: CBCentral) {
    lock.withLock { if !subscribers.contains(central) { subscribers.append(central) } }
  }

  func removeSubscriber(_ central: CBCentral) {
    lock.withLock { subscribers.removeAll { $0 == central } }
  }

  func removeAllSubscribers() { lock.withLock { subscribers = [] } }
  var currentHandles: CharacteristicHandles { lock.withLock { handles } }
  func setHandles(_ handles: CharacteristicHandles) { lock.withLock { self.handles = handles } }
}

extension Data {
  /// The first bytes, at most this number, in one copy.
  func bytes(atMost byteCountMax: Int) -> [UInt8] {
    withUnsafeBytes { [UInt8]($0.prefix(byteCountMax)) }
  }
}

extension Data? {
  /// The bytes in hexadecimal; `(null)` without a value, as in Apple's descriptions.
  var inHexadecimal: String {
    map { "0x" + $0.map { String(format: "%02x", $0) }.joined() } ?? "(null)"
  }
}
