internal import Connections
internal import DiscoveryMachines
internal import Synchronization

/// How to connect, listen and browse: what of Apple's parameters has a meaning for Bonjour and for
/// TCP without TLS.
public final class NWParameters: Sendable, CustomDebugStringConvertible {
  /// The protocols that are spoken.
  public final class ProtocolStack: Sendable {
    private let transport: Mutex<NWProtocolOptions?>
    private let internet: NWProtocolIP.Options

    init(_ transport: NWProtocolOptions?, _ internet: NWProtocolIP.Options) {
      self.transport = Mutex(transport)
      self.internet = internet
    }

    /// How TCP is spoken, as ``NWProtocolTCP/Options``; nil in parameters without a transport.
    public var transportProtocol: NWProtocolOptions? {
      get { transport.withLock { $0 } }
      set { transport.withLock { $0 = newValue } }
    }

    /// How IP is spoken, as ``NWProtocolIP/Options``.
    public var internetProtocol: NWProtocolOptions? { internet }

    fileprivate func copy() -> ProtocolStack {
      let internet = internet.copy() as? NWProtocolIP.Options
      return ProtocolStack(transportProtocol?.copy(), internet ?? self.internet)
    }

    fileprivate func apply(to settings: inout TCPSettings) { internet.apply(to: &settings) }
  }

  private struct Settings: Sendable {
    var requiredInterface: NWInterface?
    var requiredLocalEndpoint: NWEndpoint?
    var prohibitedInterfaces: [NWInterface]?
    var includesPeerToPeer = false
    var allowsLocalEndpointReuse = false
  }

  private let settings: Mutex<Settings>

  /// The protocols that are spoken.
  public let defaultProtocolStack: ProtocolStack

  /// Parameters without a transport, as for browsing.
  public convenience init() {
    self.init(ProtocolStack(nil, NWProtocolIP.Options()), Settings())
  }

  /// Parameters for TCP.
  ///
  /// - Parameters:
  ///   - tls: Nil; there is no TLS here, and no other value.
  ///   - tcp: How TCP is spoken.
  public convenience init(
    tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()
  ) {
    self.init(ProtocolStack(tcp, NWProtocolIP.Options()), Settings())
  }

  private init(_ stack: ProtocolStack, _ settings: Settings) {
    defaultProtocolStack = stack
    self.settings = Mutex(settings)
  }

  /// Parameters for TCP.
  public static var tcp: NWParameters { NWParameters(tls: nil) }

  /// Parameters for UDP, with which nothing can be started here.
  public static var udp: NWParameters {
    NWParameters(ProtocolStack(NWProtocolUDP.Options(), NWProtocolIP.Options()), Settings())
  }

  /// Not available.
  @available(*, unavailable, message: "TLS is not supported; use tcp for a connection without it")
  public static var tls: NWParameters { NWParameters() }

  /// A copy with the same values.
  public func copy() -> NWParameters {
    NWParameters(defaultProtocolStack.copy(), settings.withLock { $0 })
  }

  /// The only interface that is used; nil for all.
  public var requiredInterface: NWInterface? {
    get { settings.withLock { $0.requiredInterface } }
    set { settings.withLock { $0.requiredInterface = newValue } }
  }

  /// The local address and port of a connection, or the address and port where a listener listens;
  /// nil for any. The addresses `0.0.0.0` and `::` mean any address.
  public var requiredLocalEndpoint: NWEndpoint? {
    get { settings.withLock { $0.requiredLocalEndpoint } }
    set { settings.withLock { $0.requiredLocalEndpoint = newValue } }
  }

  /// Interfaces that are not used to browse and to connect; nil for none.
  public var prohibitedInterfaces: [NWInterface]? {
    get { settings.withLock { $0.prohibitedInterfaces } }
    set { settings.withLock { $0.prohibitedInterfaces = newValue } }
  }

  /// Whether to use peer-to-peer radio as well. Without effect on Linux.
  public var includePeerToPeer: Bool {
    get { settings.withLock { $0.includesPeerToPeer } }
    set { settings.withLock { $0.includesPeerToPeer = newValue } }
  }

  /// Whether a port may be listened on that is still known from an earlier connection; here it
  /// always may.
  public var allowLocalEndpointReuse: Bool {
    get { settings.withLock { $0.allowsLocalEndpointReuse } }
    set { settings.withLock { $0.allowsLocalEndpointReuse = newValue } }
  }

  /// The transport, for logs.
  public var debugDescription: String {
    switch defaultProtocolStack.transportProtocol {
    case nil: "none"
    case is NWProtocolTCP.Options: "tcp"
    case is NWProtocolUDP.Options: "udp"
    case .some: "other"
    }
  }

  /// The socket settings for these parameters. Throws for other protocols than TCP, and for a
  /// required local endpoint that is no address.
  func sockets() throws(NWError) -> TCPSettings {
    guard let tcp = defaultProtocolStack.transportProtocol as? NWProtocolTCP.Options else {
      throw .posix(.EPROTONOSUPPORT)
    }
    var sockets = tcp.all
    defaultProtocolStack.apply(to: &sockets)
    sockets.interfaceName = requiredInterface?.name
    if let local = requiredLocalEndpoint {
      guard let endpoint = SocketEndpoint(local) else { throw .posix(.EINVAL) }
      sockets.localEndpoint = endpoint
    }
    return sockets
  }

  /// The interfaces that are not used.
  var prohibitedIndices: Set<InterfaceIndex> {
    Set((prohibitedInterfaces ?? []).compactMap { InterfaceIndex($0) })
  }
}
