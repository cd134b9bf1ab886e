package import BonjourHost
import DNSWire
import DiscoveryMachines

/// Finds the services of all types on the local network.
package struct NetworkListener: Sendable {
  /// A service that came or went.
  package struct Change: Sendable {
    var isFound: Bool
    var service: ServiceName
    /// What the system calls the interface.
    var interface: String?
  }

  /// More types than there are on any network that is looked at by people.
  private static let typeCountMax = 200

  let host: BonjourHost

  package init(host: BonjourHost) { self.host = host }

  /// Tells what comes and goes until the task is cancelled.
  package func listen(_ tell: @escaping @Sendable (Change) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      var known: Set<ServiceType> = []
      for await found in host.events(of: .serviceTypes()) {
        guard case .typeAdded(let type) = found.event, known.count < Self.typeCountMax,
          known.insert(type).inserted
        else { continue }
        group.addTask { await listen(for: type, tell) }
      }
      group.cancelAll()
    }
  }

  private func listen(for type: ServiceType, _ tell: @Sendable (Change) -> Void) async {
    var names = InterfaceNames(of: host)
    for await found in host.events(of: .browse(type)) {
      let interface = await names.name(of: found.interface)
      switch found.event {
      case .serviceAdded(let name):
        tell(Change(isFound: true, service: name, interface: interface))
      case .serviceRemoved(let name):
        tell(Change(isFound: false, service: name, interface: interface))
      default: break
      }
    }
  }
}
