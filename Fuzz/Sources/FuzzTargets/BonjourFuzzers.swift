import ARPWire
import Essentials

extension FuzzTarget {
  /// What arrives from the local network.
  static let bonjour: [FuzzTarget] = [
    FuzzTarget(name: "ARP") { bytes in
      guard let packet = try? ARPPacket(decoding: bytes[...]) else { return }
      precondition(packet.bytes[...] == bytes.prefix(ARPPacket.byteCount), "\(packet) changed")
    }
  ]
}
