package import BonjourHost
package import Connections
package import DNSWire
package import DiscoveryMachines
package import Essentials
internal import EventLoop

/// Provides Multicast DNS, network paths and a clock to the API classes. Tests implement their own.
package protocol DiscoveryProvider: Sendable {
  /// The current time.
  var now: Instant { get }

  /// Queries until the returned object is released.
  func startQuery(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject

  /// Registers a service until the returned object is released.
  func startRegistration(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> any DiscoveryRegistration

  /// Calls the closure once after a delay, unless the returned object is released before.
  func after(seconds: Double, _ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject

  /// Calls the closure whenever the host's network changes, until the returned object is released.
  func observeNetwork(_ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject

  /// The network path to an address, over one interface or any.
  func path(to endpoint: SocketEndpoint, on interfaceName: String?) -> NetworkPath
}

/// A registered service.
package protocol DiscoveryRegistration: AnyObject, Sendable {
  /// Changes the keys and values of the TXT record. Throws if they are too long.
  func update(_ text: TXTRecord) throws(DNSWireError)
}

extension Registration: DiscoveryRegistration {}

extension DiscoveryProvider {
  package var now: Instant { .now }

  package func after(
    seconds: Double, _ call: @escaping @Sendable () -> Void
  ) -> any Sendable & AnyObject {
    OneShotTimer(afterSeconds: seconds, call)
  }

  package func observeNetwork(
    _ call: @escaping @Sendable () -> Void
  ) -> any Sendable & AnyObject {
    NetworkWatch(onChange: call)
  }

  package func path(to endpoint: SocketEndpoint, on interfaceName: String?) -> NetworkPath {
    NetworkPath(to: endpoint, on: interfaceName)
  }
}

extension BonjourHost: DiscoveryProvider {
  package func startQuery(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject {
    query(request, on: interface, onEvent: onEvent)
  }

  package func startRegistration(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> any DiscoveryRegistration {
    register(service, onEvent: onEvent)
  }
}

/// Selects the provider for new objects.
package enum DiscoveryContext {
  /// The provider for objects that are created in the scope of a test; nil for the default.
  @TaskLocal package static var override: (any DiscoveryProvider)?

  static var discovery: any DiscoveryProvider { override ?? SharedHost() }
}

/// The process's own host, which starts with the first query or registration.
private struct SharedHost: DiscoveryProvider {
  func startQuery(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject {
    BonjourHost.shared.startQuery(request, on: interface, onEvent: onEvent)
  }

  func startRegistration(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> any DiscoveryRegistration {
    BonjourHost.shared.startRegistration(service, onEvent: onEvent)
  }
}
