import DiscoveryMachines

/// The interfaces of this host, from the kernel's messages about them.
struct InterfaceTable {
  private var byIndex: [InterfaceIndex: SystemInterface] = [:]

  /// All interfaces, in the order of their numbers.
  var interfaces: [SystemInterface] { byIndex.values.sorted { $0.index < $1.index } }

  /// Takes a message in.
  mutating func apply(_ message: RouteMessage) {
    switch message {
    case .link(var interface):
      interface.addresses = byIndex[interface.index]?.addresses ?? []
      byIndex[interface.index] = interface
    case .linkGone(let index):
      byIndex[index] = nil
    case .address(let new, let index):
      // Addresses of an unknown interface are ignored: it is listed first, or requested again.
      guard var interface = byIndex[index] else { return }
      if let position = interface.addresses.firstIndex(where: { $0.address == new.address }) {
        interface.addresses[position] = new
      } else {
        interface.addresses.append(new)
      }
      byIndex[index] = interface
    case .addressGone(let old, let index):
      guard var interface = byIndex[index] else { return }
      interface.addresses.removeAll { $0.address == old.address }
      byIndex[index] = interface
    case .done, .failed, .other: break
    }
  }
}
