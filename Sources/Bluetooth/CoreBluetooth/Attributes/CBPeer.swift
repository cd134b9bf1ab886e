internal import BluetoothWire
internal import EventLoop

/// A remote device: a peripheral or a central.
///
/// `CBPeripheral.state` and `name` can be observed.
open class CBPeer: NSObject, NSCopying, @unchecked Sendable {
  // Unchecked: what it stores is constant; subclasses keep their state behind locks.

  let address: DeviceAddress
  private let identifierStorage: UUID
  package let keyValueObservers = KeyValueObservers()

  init(address: DeviceAddress) {
    self.address = address
    identifierStorage = PeerIdentifier.uuid(of: address)
    super.init()
  }

  /// The identifier of the peer on this host; the same in every run.
  open var identifier: UUID { identifierStorage }

  /// The same object.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The value of a property by its name: `identifier`, and of a peripheral `name`, `state`,
  /// `services`, `delegate`, `RSSI`, `mtuLength` and the like; an enumeration as its raw value.
  ///
  /// For another key it returns what `value(forUndefinedKey:)` does.
  open func value(forKey key: String) -> Any? { lookUp(key) }

  /// Called for a key that the class does not have.
  ///
  /// Logs the misuse and returns nil, where Apple's framework raises an exception.
  open func value(forUndefinedKey key: String) -> Any? { reportUndefined(key) }

  func property(_ key: String) -> Any?? {
    // An NSUUID, as apps cast it to that by force.
    key == "identifier" ? .some(NSUUID(uuidString: identifier.uuidString)) : nil
  }
}

extension CBPeer: KeyValueObserved, KeyValueCoding {}

/// A central that is connected to this host's peripheral manager.
open class CBCentral: CBPeer, @unchecked Sendable {
  private let lock = SharedLock()
  private var mtu = Limits.mtuMin

  /// The longest value that one notification or indication carries to this central.
  open var maximumUpdateValueLength: Int {
    min(lock.withLock { mtu } - Limits.notificationHeaderByteCount, Limits.valueByteCountMax)
  }

  override func property(_ key: String) -> Any?? {
    key == "maximumUpdateValueLength"
      ? .some(maximumUpdateValueLength) : super.property(key)
  }

  func setMTU(_ mtu: Int) { lock.withLock { self.mtu = mtu } }

  /// Identifier and the longest update.
  open override var description: String {
    "<CBCentral: identifier = \(identifier), "
      + "maximumUpdateValueLength = \(maximumUpdateValueLength)>"
  }

  /// Equal if it is the same device.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CBCentral)?.identifier == identifier
  }

  /// Equal for equal centrals.
  open override var hash: Int { identifier.hashValue }
}
