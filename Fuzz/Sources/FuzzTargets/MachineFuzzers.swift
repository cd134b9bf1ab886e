import BluetoothInterface
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// Whole machines: the input is what a peer or a controller sends, packet by packet.
  static let machines: [FuzzTarget] = [
    l2capLink, aclScheduler, gattClient, gattServer, hostMachine, pairing,
  ]

  /// Cuts an input into packets: a length byte, then that number of bytes.
  static func packets(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var reader = ByteReader(bytes)
    var packets: [ArraySlice<UInt8>] = []
    while let length = try? reader.uint8() {
      packets.append((try? reader.slice(Int(length))) ?? reader.rest())
    }
    return packets
  }
}
