internal import BluetoothMachines

/// A central's request to read or write a characteristic of this host.
open class CBATTRequest: NSObject, @unchecked Sendable {
  // Unchecked: constants, and state behind `lock`.

  private let centralStorage: CBCentral
  private let characteristicStorage: CBCharacteristic
  private let offsetStorage: Int
  private let lock = NSLock()
  private var valueStorage: Data?
  private var serverRequest: ServerRequestID?

  init(
    central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?,
    serverRequest: ServerRequestID?
  ) {
    centralStorage = central
    characteristicStorage = characteristic
    offsetStorage = offset
    valueStorage = value
    self.serverRequest = serverRequest
    super.init()
  }

  /// Who asks.
  open var central: CBCentral { centralStorage }
  /// What it asks for.
  open var characteristic: CBCharacteristic { characteristicStorage }
  /// Where in the value to begin, in bytes.
  open var offset: Int { offsetStorage }
  /// The bytes to write; or, to be set before responding, those that were read, from `offset` on.
  open var value: Data? {
    get { lock.withLock { valueStorage } }
    set { lock.withLock { valueStorage = newValue } }
  }

  /// Who asks, for what, from where, and the bytes.
  open override var description: String {
    "<CBATTRequest: central = \(central.identifier), UUID = \(characteristic.uuid.uuidString), "
      + "offset = \(offset), value = \(value.inHexadecimal)>"
  }

  /// Takes the request that waits for an answer; nil if it was answered, or if another request of
  /// the same batch stands for it.
  func takeServerRequest() -> ServerRequestID? {
    lock.withLock {
      defer { serverRequest = nil }
      return serverRequest
    }
  }
}
