import BluetoothWire
import Essentials

extension FuzzTarget {
  /// One for every decoder of the wire floor. What decodes must encode, and decode to the same.
  static let wire: [FuzzTarget] = [
    FuzzTarget(name: "HCIEvent") { bytes in
      guard let event = try? HCIEvent(decoding: bytes[...]) else { return }
      let again = try? HCIEvent(decoding: event.packet.bytes)
      precondition(again == event, "\(event) came back as \(String(describing: again))")
    },
    FuzzTarget(name: "HCICommand") { bytes in
      _ = try? HCICommandHeader(decoding: bytes[...])
    },
    FuzzTarget(name: "ACL") { bytes in
      _ = try? ACLHeader.decode(from: bytes[...])
    },
    FuzzTarget(name: "L2CAPSignal") { bytes in
      guard let signal = try? L2CAPSignalPDU(decoding: bytes[...]) else { return }
      let again = try? L2CAPSignalPDU(decoding: signal.bytes[...])
      precondition(again == signal, "\(signal) came back as \(String(describing: again))")
    },
  ]
}
