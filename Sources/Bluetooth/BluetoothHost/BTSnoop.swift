import BluetoothWire
import Essentials

enum BTSnoop {
  static let header: [UInt8] = []
  static func record(_ p: HCIPacket, direction: Capture.Direction, microseconds: Int64) -> [UInt8] {
    []
  }
}
