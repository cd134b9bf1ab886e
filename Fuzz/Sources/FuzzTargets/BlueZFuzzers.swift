import BlueZMachines

extension FuzzTarget {
  /// What the kernel gives to programs without privileges: packets of HCI sockets, lists of links, and addresses of
  /// L2CAP sockets.
  static let blueZ = [controllerReport, controllerConnections, socketAddress]

  private static let controllerReport = FuzzTarget(name: "ControllerReport") { bytes in
    guard let report = ControllerReport(packet: bytes[...]) else { return }
    // What follows the packet changes nothing.
    precondition(ControllerReport(packet: (bytes + [0xFF])[...]) == report)
    switch report {
    case .disconnected(let handle, _), .rssi(let handle, _): precondition(handle <= 0x0FFF)
    }
  }

  private static let controllerConnections = FuzzTarget(name: "ControllerConnections") { bytes in
    let connections = ControllerConnection.list(bytes[...])
    precondition(connections.count <= bytes.count / 16)
    precondition(connections.allSatisfy { $0.addressBits < 1 << 48 })
  }

  private static let socketAddress = FuzzTarget(name: "L2CAPSocketAddress") { bytes in
    guard let address = L2CAPSocketAddress(bytes: bytes[...]) else { return }
    precondition(L2CAPSocketAddress(bytes: address.bytes[...]) == address)
  }
}
