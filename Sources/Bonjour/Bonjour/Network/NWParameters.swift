internal import Connections
internal import DiscoveryMachines
internal import Synchronization

/// The parameters of connections, listeners and browsers: the part of Apple's class that applies to
/// Bonjour and to TCP without TLS.
public final class NWParameters: Sendable, CustomDebugStringConvertible {
  /// The protocols of a connection.
  public final class ProtocolStack: Sendable {
    private let transport: Mutex<NWProtocolOptions?>
    private let internet: NWProtocolIP.Options

    init(_ transport: NWProtocolOptions?, _ internet: NWProtocolIP.Options) {
      self.transport = Mutex(transport)
      self.internet = internet
    }

    /// The options of TCP, as ``NWProtocolTCP/Options``; nil in parameters without a transport.
    public var transportProtocol: NWProtocolOptions? {
      get { transport.withLock { $0 } }
      set { transport.withLock { $0 = newValue } }
    }

    /// The options of IP, as ``NWProtocolIP/Options``.
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
    var restoreIdentifier: String?
    var restoresConnection = true
  }

  private let settings: Mutex<Settings>

  /// The protocols of a connection.
  public let defaultProtocolStack: ProtocolStack

  /// Creates parameters without a transport, as for browsing.
  public convenience init() {
    self.init(ProtocolStack(nil, NWProtocolIP.Options()), Settings())
  }

  /// Creates parameters for TCP.
  ///
  /// - Parameters:
  ///   - tls: Always nil, as TLS is not supported.
  ///   - tcp: The options of TCP.
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

  /// Parameters for UDP. Connections and listeners with them fail, as UDP is not supported.
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

  /// The only interface to use; nil for all.
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

  /// Interfaces that are not used for browsing and connecting; nil for none.
  public var prohibitedInterfaces: [NWInterface]? {
    get { settings.withLock { $0.prohibitedInterfaces } }
    set { settings.withLock { $0.prohibitedInterfaces = newValue } }
  }

  /// Whether to use peer-to-peer links as well. Without effect on Linux.
  public var includePeerToPeer: Bool {
    get { settings.withLock { $0.includesPeerToPeer } }
    set { settings.withLock { $0.includesPeerToPeer = newValue } }
  }

  /// Whether to listen on a port although an earlier connection still occupies it. Without effect:
  /// that is always allowed.
  public var allowLocalEndpointReuse: Bool {
    get { settings.withLock { $0.allowsLocalEndpointReuse } }
    set { settings.withLock { $0.allowsLocalEndpointReuse = newValue } }
  }

  /// A name for the connection, unique in the app, under which the system holds it while the app is suspended or doesn't
  /// run; nil for a connection that ends with the process.
  ///
  /// Bytes wake the app, or launch it. A later process gets the connection back if it starts one with the same name.
  /// Needs the background mode `voip`, and a manager of apps; ``NWConnection/holding`` tells whether it is held. Not in
  /// Apple's framework.
  public var restoreIdentifier: String? {
    get { settings.withLock { $0.restoreIdentifier } }
    set { settings.withLock { $0.restoreIdentifier = newValue } }
  }

  /// Whether a later process can go on with the bytes of the connection: true at first. Set it to false where the
  /// process has a part of its state, such as the keys of TLS. Then the later process connects anew, and
  /// ``NWConnection/holding`` tells which connection it was.
  public var restoresConnection: Bool {
    get { settings.withLock { $0.restoresConnection } }
    set { settings.withLock { $0.restoresConnection = newValue } }
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
