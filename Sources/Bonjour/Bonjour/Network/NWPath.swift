internal import Connections
internal import DiscoveryMachines
internal import Essentials

/// The network path of a connection, as the system reports it.
public struct NWPath: Hashable, Sendable, CustomDebugStringConvertible {
  /// Whether the path can be used.
  public enum Status: Hashable, Sendable {
    /// The path can be used.
    case satisfied
    /// The path cannot be used.
    case unsatisfied
    /// A path may be available on demand. Never reported.
    case requiresConnection
  }

  /// Whether the path can be used.
  public let status: Status
  /// The interface of the local address; empty while that is missing or doesn't work.
  public let availableInterfaces: [NWInterface]
  /// Whether that interface has an IPv4 address.
  public let supportsIPv4: Bool
  /// Whether that interface has an IPv6 address.
  public let supportsIPv6: Bool
  /// The local endpoint; nil if it is not known.
  public let localEndpoint: NWEndpoint?
  /// The remote endpoint, by address and port; nil if it is not known.
  public let remoteEndpoint: NWEndpoint?

  /// Whether the path uses an interface of this type.
  public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool {
    availableInterfaces.contains { $0.type == type }
  }

  /// Whether the path uses a mobile network. Costs of other networks are not known.
  public var isExpensive: Bool { usesInterfaceType(.cellular) }

  /// Whether the path has Low Data Mode; always false, as Linux has no such setting.
  public var isConstrained: Bool { false }

  /// The local and the remote endpoint, for logs.
  public var debugDescription: String {
    "\(status), \(localEndpoint?.debugDescription ?? "?")"
      + " to \(remoteEndpoint?.debugDescription ?? "?")"
  }
}

/// The path of an established connection.
struct ConnectionPath: Sendable {
  var path: NWPath
  /// Whether a new connection would use another interface.
  var hasBetter: Bool
  /// Whether bytes can get through.
  var isViable: Bool { path.status == .satisfied }

  init(_ network: NetworkPath, from local: SocketEndpoint, to remote: SocketEndpoint) {
    let interface = network.interface(of: local)
    let preferred = network.source.flatMap { network.interface(of: $0) }
    let versions = Set((interface?.addresses ?? []).map(\.version))
    hasBetter = preferred != nil && preferred?.index != interface?.index
    path = NWPath(
      status: interface != nil && network.source != nil ? .satisfied : .unsatisfied,
      availableInterfaces: interface.map { [NWInterface(name: $0.name, index: Int($0.index))] }
        ?? [],
      supportsIPv4: versions.contains(.v4), supportsIPv6: versions.contains(.v6),
      localEndpoint: NWEndpoint(local), remoteEndpoint: NWEndpoint(remote))
  }
}

extension NWEndpoint {
  /// An end of a connection.
  init(_ endpoint: SocketEndpoint) {
    let interface = endpoint.scope == 0 ? nil : NWInterface(.init(rawValue: endpoint.scope))
    self = .hostPort(
      host: endpoint.address.host(on: interface), port: .init(integerLiteral: endpoint.port))
  }
}

extension SocketEndpoint {
  /// Makes the socket address of an endpoint; nil if the endpoint isn't an address.
  init?(_ endpoint: NWEndpoint) {
    guard case .hostPort(let host, let port) = endpoint else { return nil }
    let scope = UInt32(host.interface?.index ?? 0)
    switch host {
    case .name: return nil
    case .ipv4(let address): self.init(.v4(address.value), port: port.rawValue, scope: scope)
    case .ipv6(let address): self.init(.v6(address.value), port: port.rawValue, scope: scope)
    }
  }
}
