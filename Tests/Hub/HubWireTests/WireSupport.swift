import BluetoothWire
import Essentials

@testable import HubWire

extension HubWireMessage {
  /// The message with its head, as it is sent.
  var frame: [UInt8] {
    get throws {
      var writer = HubFrameWriter()
      try writer.append(self)
      return writer.takeBytes()
    }
  }

  /// The message without its head.
  var body: ArraySlice<UInt8> {
    get throws { try frame.dropFirst(HubFrameReader.headByteCount) }
  }
}

/// Bytes with a head in front of them.
func frame(_ body: [UInt8]) -> [UInt8] {
  var writer = ByteWriter()
  writer.uint32(UInt32(body.count))
  writer.append(body)
  return writer.bytes
}

enum DeviceAddressSample {
  static let one = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
}
