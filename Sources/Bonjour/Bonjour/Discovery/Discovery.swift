package import BonjourHost
package import Connections
package import DNSWire
package import DiscoveryMachines

/// What the faces stand on: a host that takes part in Multicast DNS, and a clock. Tests have others.
package protocol Discovery: Sendable {
  /// Looks for something until what is returned is let go of.
  func find(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject

  /// Publishes a service until what is returned is let go of.
  func announce(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> any Announcement

  /// Calls once after a while, unless what is returned is let go of before.
  func after(seconds: Double, _ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject

  /// Calls whenever the host's network changed, until what is returned is let go of.
  func observeNetwork(_ call: @escaping @Sendable () -> Void) -> any Sendable & AnyObject

  /// The way to an address, over one interface or any.
  func path(to endpoint: SocketEndpoint, on interfaceName: String?) -> NetworkPath
}

/// A service that is published.
package protocol Announcement: AnyObject, Sendable {
  /// Changes its keys and values. Throws where there are too many of them.
  func update(_ text: TXTRecord) throws(DNSWireError)
}

extension Publication: Announcement {}

extension Discovery {
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

extension BonjourHost: Discovery {
  package func find(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject {
    query(request, on: interface, onEvent: onEvent)
  }

  package func announce(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> any Announcement {
    publish(service, onEvent: onEvent)
  }
}

/// Which host is used.
package enum DiscoveryContext {
  /// What is made in the scope of a test uses the test's; everything else the process's own.
  @TaskLocal package static var override: (any Discovery)?

  static var discovery: any Discovery { override ?? SharedHost() }
}

/// The process's own host, which takes part only once something is looked for or published.
private struct SharedHost: Discovery {
  func find(
    _ request: QueryRequest, on interface: InterfaceIndex?,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> any Sendable & AnyObject {
    BonjourHost.shared.find(request, on: interface, onEvent: onEvent)
  }

  func announce(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> any Announcement {
    BonjourHost.shared.announce(service, onEvent: onEvent)
  }
}
