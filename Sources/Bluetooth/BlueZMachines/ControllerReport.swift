package import BluetoothWire

/// A link as the kernel knows it.
package struct ControllerConnection: Sendable, Hashable {
  /// The connection handle, which the controller gives.
  package var handle: UInt16
  /// The 48 bits of the peer's address; the kernel doesn't give its kind.
  package var addressBits: UInt64
  /// Whether this host is the central.
  package var isCentral: Bool

  package init(handle: UInt16, addressBits: UInt64, isCentral: Bool) {
    self.handle = handle
    self.addressBits = addressBits
    self.isCentral = isCentral
  }

  /// `struct hci_conn_info`, and its link type for LE and its flag for the central (the kernel's hci_sock.h and hci.h).
  private static let byteCount = 16
  private static let lowEnergy: UInt8 = 0x80
  private static let central: UInt8 = 0x01

  /// Decodes the LE links in an array of `struct hci_conn_info`; an incomplete element is ignored.
  package static func list(_ bytes: ArraySlice<UInt8>) -> [ControllerConnection] {
    var rest = bytes
    var connections: [ControllerConnection] = []
    while rest.count >= byteCount {
      let info = Array(rest.prefix(byteCount))
      rest = rest.dropFirst(byteCount)
      guard info[8] == lowEnergy else { continue }
      // Numbers are in this machine's order; Linux on Bluetooth's machines is little-endian.
      connections.append(
        ControllerConnection(
          handle: UInt16(info[0]) | UInt16(info[1]) << 8,
          addressBits: info[2..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) },
          isCentral: info[12] & central != 0))
    }
    return connections
  }
}

/// An event of the controller that the kernel also gives to programs without privileges.
package enum ControllerReport: Sendable, Hashable {
  /// A link has ended, for this reason (Core 5.4, Vol 4, Part E, §7.7.5).
  case disconnected(handle: UInt16, HCIStatus)
  /// The RSSI of a link; nil if the controller could not measure it (§7.5.4).
  case rssi(handle: UInt16, Int8?)

  /// Decodes a packet of HCI; nil for one of another kind, and for a malformed one.
  package init?(packet: ArraySlice<UInt8>) {
    let bytes = Array(packet.prefix(16))
    guard bytes.count >= 7, bytes[0] == 0x04, packet.count >= 3 + Int(bytes[2])
    else { return nil }
    switch (bytes[1], bytes[2]) {
    case (0x05, 4...) where bytes[3] == 0:
      self = .disconnected(handle: Self.handle(bytes[4], bytes[5]), HCIStatus(rawValue: bytes[6]))
    case (0x0E, 7...) where bytes[4] == 0x05 && bytes[5] == 0x14:
      let handle = Self.handle(bytes[7], bytes[8])
      let rssi = Int8(bitPattern: bytes[9])
      self = .rssi(handle: handle, bytes[6] == 0 && rssi != 127 ? rssi : nil)
    default: return nil
    }
  }

  private static func handle(_ low: UInt8, _ high: UInt8) -> UInt16 {
    UInt16(low) | UInt16(high & 0x0F) << 8
  }

  /// HCI_Read_RSSI for a link, as a packet.
  package static func readRSSI(_ handle: UInt16) -> [UInt8] {
    [0x01, 0x05, 0x14, 0x02, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
  }
}
