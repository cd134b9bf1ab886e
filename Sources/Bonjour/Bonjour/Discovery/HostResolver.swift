internal import BonjourHost
internal import DNSWire
internal import DiscoveryMachines
internal import Essentials
internal import Synchronization

/// Resolves the addresses of a host by Multicast DNS, and follows changes, until it is released.
final class HostResolver: Sendable {
  struct Address: Hashable, Sendable {
    var address: InetAddress
    /// The interface on which the record was received.
    var interface: InterfaceIndex?
  }

  /// At most this many addresses of one host are used; a host with more is not trusted.
  static let addressesMax = 64

  private let onChange: @Sendable ([Address]) -> Void
  private let addresses = Mutex<[Address]>([])
  private let query = Mutex<(any Sendable & AnyObject)?>(nil)

  /// - Parameters:
  ///   - interface: The interface to search; nil for all.
  ///   - onChange: Called on the event loop with all known addresses, in the order in which they
  ///     became known.
  init(
    _ name: DNSName, on interface: InterfaceIndex?, _ discovery: any DiscoveryProvider,
    onChange: @escaping @Sendable ([Address]) -> Void
  ) {
    self.onChange = onChange
    let batches = EventBatches { [weak self] in self?.take($0) }
    let query = discovery.startQuery(.addresses(name, versions: [.v4, .v6]), on: interface) {
      batches.take($0)
    }
    self.query.withLock { $0 = query }
  }

  private func take(_ events: [FoundEvent]) {
    let changed = addresses.withLock { addresses -> [Address]? in
      let old = addresses
      for event in events {
        switch event.event {
        case .addressAdded(let address, _):
          let new = Address(address: address, interface: event.interface)
          if addresses.count < Self.addressesMax, !addresses.contains(new) { addresses.append(new) }
        case .addressRemoved(let address):
          addresses.removeAll { $0 == Address(address: address, interface: event.interface) }
        default: break
        }
      }
      return addresses == old ? nil : addresses
    }
    if let changed { onChange(changed) }
  }
}
