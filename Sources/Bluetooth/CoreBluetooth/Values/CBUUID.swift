internal import BluetoothWire
public import CoreFoundation

/// A UUID of 16, 32 or 128 bits that identifies the type of a service, characteristic or
/// descriptor.
///
/// The short forms abbreviate `0000xxxx-0000-1000-8000-00805F9B34FB` and are equal to it.
open class CBUUID: NSObject, NSCopying, @unchecked Sendable {
  // Unchecked: all stored properties are constants.

  let value: BluetoothUUID
  private let byteCount: Int

  init(_ value: BluetoothUUID) {
    self.value = value
    byteCount = Int(value.width.rawValue)
    super.init()
  }

  private init(value: BluetoothUUID, byteCount: Int) {
    self.value = value
    self.byteCount = byteCount
    super.init()
  }

  /// Creates a UUID from four, eight or 36 characters: `180D`, `0000180D`,
  /// `0000180D-0000-1000-8000-00805F9B34FB`.
  ///
  /// Anything else is a programming error that ends the process, as on Apple's systems. Check text
  /// from people with `UUID(uuidString:)` first.
  public convenience init(string theString: String) {
    guard let value = BluetoothUUID(theString) else {
      preconditionFailure("'\(theString)' is not a UUID: 4, 8 or 36 characters were expected")
    }
    let byteCount = theString.utf8.count == 36 ? 16 : theString.utf8.count / 2
    self.init(value: value, byteCount: byteCount)
  }

  /// Creates a UUID from 2, 4 or 16 bytes, most significant first. Any other length is a
  /// programming error that ends the process.
  public convenience init(data theData: Data) {
    guard let value = BluetoothUUID(littleEndian: theData.reversed()[...]) else {
      preconditionFailure("\(theData.count) bytes are no UUID: 2, 4 or 16 were expected")
    }
    self.init(value: value, byteCount: theData.count)
  }

  /// Creates a 128-bit UUID.
  public convenience init(nsuuid theUUID: UUID) {
    self.init(data: withUnsafeBytes(of: theUUID.uuid) { Data($0) })
  }

  /// Creates a 128-bit UUID.
  @available(*, deprecated, message: "Use init(nsuuid:) instead")
  public convenience init(cfuuid theUUID: CFUUID) {
    let bytes = CFUUIDGetUUIDBytes(theUUID)
    self.init(data: withUnsafeBytes(of: bytes) { Data($0) })
  }

  /// The bytes that the UUID was created from, most significant first: 2, 4 or 16.
  open var data: Data {
    var writer = [UInt8]()
    for half in [value.high, value.low] {
      for shift in stride(from: 56, through: 0, by: -8) {
        writer.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
      }
    }
    switch byteCount {
    case 2: return Data(writer[2..<4])
    case 4: return Data(writer[0..<4])
    default: return Data(writer)
    }
  }

  /// The UUID in upper case, in the form that it was created with, such as `180D`.
  open var uuidString: String {
    byteCount == 16 ? value.fullDescription : data.map { String(format: "%02X", $0) }.joined()
  }

  /// The name that the Bluetooth SIG assigned, such as `Heart Rate`; without one, the UUID.
  open override var description: String {
    AssignedNumbers.serviceName(value) ?? AssignedNumbers.characteristicName(value)
      ?? AssignedNumbers.descriptorName(value) ?? uuidString
  }

  /// Two UUIDs are equal if their 128-bit forms are.
  open override func isEqual(_ object: Any?) -> Bool {
    (object as? CBUUID)?.value == value
  }

  /// Equal for equal UUIDs.
  open override var hash: Int { value.hashValue }

  /// The same object; UUIDs don't change.
  open func copy(with zone: NSZone? = nil) -> Any { self }
}

extension Sequence<CBUUID> {
  /// What the host calls them.
  var values: [BluetoothUUID] { map(\.value) }
}
