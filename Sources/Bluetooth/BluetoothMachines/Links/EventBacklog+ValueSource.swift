import BluetoothWire

extension EventBacklog {
  /// An attribute of which unacknowledged values may be dropped.
  enum ValueSource: Sendable, Hashable {
    /// A notified characteristic of a peer.
    case notification(DeviceAddress, handle: UInt16)
    /// A characteristic of this host that a peer writes without response.
    case write(DeviceAddress, handle: UInt16)
    /// A characteristic of this host that a peer reads, or writes with a response.
    case request(DeviceAddress, handle: UInt16)

    var peer: DeviceAddress {
      switch self {
      case .notification(let peer, _), .write(let peer, _), .request(let peer, _): peer
      }
    }
  }
}
