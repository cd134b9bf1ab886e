internal import ConnectionHost
internal import DiscoveryMachines
internal import Essentials

/// The way that a connection takes, as far as it is known here: its two ends.
public struct NWPath: Hashable, Sendable, CustomDebugStringConvertible {
  /// Whether there is a way.
  public enum Status: Hashable, Sendable {
    /// There is one.
    case satisfied
    /// There is none.
    case unsatisfied
    /// There may be one if it is asked for.
    case requiresConnection
  }

  /// Whether there is a way.
  public let status: Status
  /// This end; nil where it is not known.
  public let localEndpoint: NWEndpoint?
  /// The other end, by address and port; nil where it is not known.
  public let remoteEndpoint: NWEndpoint?

  /// Both ends, for people.
  public var debugDescription: String {
    "\(status), \(localEndpoint?.debugDescription ?? "?")"
      + " to \(remoteEndpoint?.debugDescription ?? "?")"
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
  /// The address that the endpoint is; nil of what is no address.
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
