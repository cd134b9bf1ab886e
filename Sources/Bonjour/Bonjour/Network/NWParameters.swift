internal import Synchronization

/// How to connect, listen and browse: what of Apple's parameters has a meaning for Bonjour and for
/// TCP without TLS.
public final class NWParameters: Sendable, CustomDebugStringConvertible {
  /// What is spoken above IP.
  enum Transport: Sendable { case none, tcp, udp }

  private struct Settings: Sendable {
    var requiredInterface: NWInterface?
    var prohibitedInterfaces: [NWInterface]?
    var includesPeerToPeer = false
    var allowsLocalEndpointReuse = false
  }

  let transport: Transport
  private let settings: Mutex<Settings>

  /// Parameters without a transport, as for browsing.
  public convenience init() { self.init(.none, Settings()) }

  private init(_ transport: Transport, _ settings: Settings) {
    self.transport = transport
    self.settings = Mutex(settings)
  }

  /// Parameters for TCP.
  public static var tcp: NWParameters { NWParameters(.tcp, Settings()) }
  /// Parameters for UDP.
  public static var udp: NWParameters { NWParameters(.udp, Settings()) }

  /// Parameters that say the same.
  public func copy() -> NWParameters { NWParameters(transport, settings.withLock { $0 }) }

  /// The only interface that is used; nil for all.
  public var requiredInterface: NWInterface? {
    get { settings.withLock { $0.requiredInterface } }
    set { settings.withLock { $0.requiredInterface = newValue } }
  }

  /// Interfaces that are not used.
  public var prohibitedInterfaces: [NWInterface]? {
    get { settings.withLock { $0.prohibitedInterfaces } }
    set { settings.withLock { $0.prohibitedInterfaces = newValue } }
  }

  /// Whether peer-to-peer radio is used as well; there is none here.
  public var includePeerToPeer: Bool {
    get { settings.withLock { $0.includesPeerToPeer } }
    set { settings.withLock { $0.includesPeerToPeer = newValue } }
  }

  /// Whether a port may be listened on that is still known from an earlier connection; here it always
  /// may.
  public var allowLocalEndpointReuse: Bool {
    get { settings.withLock { $0.allowsLocalEndpointReuse } }
    set { settings.withLock { $0.allowsLocalEndpointReuse = newValue } }
  }

  /// The transport, for people.
  public var debugDescription: String { "\(transport)" }
}
