internal import BluetoothWire
internal import EventLoop

/// A descriptor: metadata of a characteristic.
open class CBDescriptor: CBAttribute, @unchecked Sendable {
  // Guarded by `lock`.
  private weak var characteristicStorage: CBCharacteristic?
  var valueStorage: Any?
  var handle: UInt16

  init(uuid: CBUUID, handle: UInt16, characteristic: CBCharacteristic?, lock: SharedLock) {
    self.handle = handle
    characteristicStorage = characteristic
    super.init(uuid: uuid, lock: lock)
  }

  /// The characteristic that it belongs to.
  open weak var characteristic: CBCharacteristic? { lock.withLock { characteristicStorage } }

  /// The value last read; nil until then.
  ///
  /// An `NSNumber` for 2900, 2902, 2903 and the L2CAP PSM, a `String` for 2901, else a `Data`.
  open var value: Any? { lock.withLock { valueStorage } }

  /// UUID and value.
  open override var description: String {
    let text = value.map { ($0 as? Data).map { Optional($0).inHexadecimal } ?? "\($0)" }
    return "<CBDescriptor: UUID = \(uuid.uuidString), value = \(text ?? "(null)")>"
  }

  func setCharacteristic(_ characteristic: CBCharacteristic) {
    lock.withLock { characteristicStorage = characteristic }
  }

  /// Keeps a value that was read, in the type that belongs to the UUID.
  func setValue(_ bytes: [UInt8]) {
    let value = Self.value(of: uuid, bytes)
    lock.withLock { valueStorage = value }
  }

  static func value(of uuid: CBUUID, _ bytes: [UInt8]) -> Any {
    switch uuid.value {
    case 0x2900, 0x2902, 0x2903, CBUUID(string: CBUUIDL2CAPPSMCharacteristicString).value:
      NSNumber(value: bytes.prefix(2).reversed().reduce(0 as UInt16) { $0 << 8 | UInt16($1) })
    case 0x2901: String(decoding: bytes, as: UTF8.self)
    default: Data(bytes)
    }
  }
}

/// A descriptor that this host publishes: a user description (2901) or a presentation format
/// (2904). The system creates the client and server characteristic configurations and the extended
/// properties.
open class CBMutableDescriptor: CBDescriptor, @unchecked Sendable {
  /// Creates a descriptor. The value is a `String` for 2901, a `Data` for 2904.
  public init(type UUID: CBUUID, value: Any?) {
    super.init(uuid: UUID, handle: 0, characteristic: nil, lock: SharedLock())
    valueStorage = value
  }
}
