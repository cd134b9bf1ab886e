internal import BluetoothInterface
internal import Synchronization

/// A central's request to read or write a characteristic of this host.
open class CBATTRequest: NSObject, @unchecked Sendable {
  // Unchecked: constants, and state behind a lock.

  private let centralStorage: CBCentral
  private let characteristicStorage: CBCharacteristic
  private let offsetStorage: Int
  private let state: Mutex<State>

  private struct State: Sendable {
    var value: Data?
    var serverRequest: ServerRequestID?
  }

  init(
    central: CBCentral, characteristic: CBCharacteristic, offset: Int, value: Data?,
    serverRequest: ServerRequestID?
  ) {
    centralStorage = central
    characteristicStorage = characteristic
    offsetStorage = offset
    state = Mutex(State(value: value, serverRequest: serverRequest))
    super.init()
  }

  /// The requesting central.
  open var central: CBCentral { centralStorage }
  /// The requested characteristic.
  open var characteristic: CBCharacteristic { characteristicStorage }
  /// The offset in the value, in bytes.
  open var offset: Int { offsetStorage }
  /// The bytes to write; for a read, the app sets the bytes from `offset` on before it responds.
  open var value: Data? {
    get { state.withLock { $0.value } }
    set { state.withLock { $0.value = newValue } }
  }

  /// The central, the characteristic, the offset and the bytes.
  open override var description: String {
    "<CBATTRequest: central = \(central.identifier), UUID = \(characteristic.uuid.uuidString), "
      + "offset = \(offset), value = \(value.inHexadecimal)>"
  }

  /// Returns the identifier of the server request that must be answered, and clears it. Nil if it
  /// was answered already, or if another request of the same batch carries it.
  func takeServerRequest() -> ServerRequestID? {
    state.withLock { $0.serverRequest.take() }
  }
}
