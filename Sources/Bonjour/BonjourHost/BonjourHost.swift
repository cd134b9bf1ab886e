public import DNSWire
public import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
import PortSharing
import Synchronization

/// Publishes and finds services on the local network: Multicast DNS on every suitable interface, as
/// they come and go.
///
/// Where several processes of one user do so, one of them has the sockets and the cache and works for
/// the others, whichever came first; when it ends another takes its place, and nobody notices but for
/// news that is up to ten seconds late. Root's works for all users. A host whose configuration is not
/// the default one works by itself.
///
/// All methods may be called from any thread; events are delivered one after the other on the one
/// event loop of this process, which a callback must not keep waiting. It works until it is closed or
/// let go of.
public final class BonjourHost: Sendable {
  let engine: BonjourEngine
  private let lastNumber = Atomic<UInt64>(0)

  /// The host that is shared by everything in this process that asks for no other, under the name
  /// that the system has.
  public static let shared = BonjourHost()

  /// Starts a host.
  ///
  /// - Parameters:
  ///   - configuration: How it takes part.
  ///   - log: Told, in one sentence each, on which links it cannot take part, and why.
  public init(
    configuration: BonjourConfiguration = BonjourConfiguration(),
    log: (@Sendable (String) -> Void)? = nil
  ) {
    engine = BonjourEngine(configuration: configuration, on: .shared, log: log)
    engine.onLoop { $0.start() }
  }

  deinit { engine.onLoop { $0.stop {} } }

  /// Says goodbye for everything that is published, and ends; nobody is told anything afterwards.
  ///
  /// - Parameter completion: Called on the process's event loop when that is done; must not wait.
  public func close(_ completion: @escaping @Sendable () -> Void) {
    engine.onLoop { $0.stop(completion) }
  }

  /// Looks for something until the query is cancelled or let go of.
  ///
  /// - Parameters:
  ///   - request: What to look for.
  ///   - interface: Where; nil for everywhere.
  ///   - options: How far and how long.
  ///   - onEvent: Told on the process's event loop what is found, beginning with what is known
  ///     already; must not wait.
  public func query(
    _ request: QueryRequest, on interface: InterfaceIndex? = nil,
    options: QueryOptions = QueryOptions(), onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> Query {
    let id = QueryID(rawValue: nextNumber())
    engine.onLoop { $0.start(id, request, on: interface, options, onEvent) }
    return Query(host: self, engine, id: id)
  }

  /// Doubts a record that a client could not use: it is asked for, and whoever was told of it is
  /// told that it is gone if nobody says it again within ten seconds (RFC 6762, §10.4).
  public func reconfirm(_ record: DNSRecord, on interface: InterfaceIndex? = nil) {
    engine.onLoop { $0.reconfirm(record, on: interface) }
  }

  /// Publishes a service until the publication is withdrawn or let go of.
  ///
  /// - Parameters:
  ///   - service: What to publish.
  ///   - onEvent: Told on the process's event loop under which name; must not wait.
  public func publish(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> Publication {
    let id = RegistrationID(rawValue: nextNumber())
    engine.onLoop { $0.publish(id, service, onEvent) }
    return Publication(host: self, engine, id: id)
  }

  /// Publishes a single record until the publication is withdrawn or let go of.
  ///
  /// - Parameters:
  ///   - record: What to publish.
  ///   - onEvent: Told on the process's event loop that the name is this host's, or another's; must
  ///     not wait.
  public func publish(
    _ record: RecordRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> Publication {
    let id = RegistrationID(rawValue: nextNumber())
    engine.onLoop { $0.publish(id, record, onEvent) }
    return Publication(host: self, engine, id: id)
  }

  /// From 1 on: 0 is the host's own registration.
  private func nextNumber() -> UInt64 {
    lastNumber.add(1, ordering: .relaxed).newValue
  }
}

/// How a host takes part.
public struct BonjourConfiguration: Sendable {
  /// The host's name without `.local`; by default the first part of the system's.
  public var hostName: String
  /// The interfaces to use, by their names; nil for all that are suitable, or the loopback interface
  /// if none is.
  public var interfaceNames: Set<String>?

  /// Whether other processes of this machine may do the work for this one, and it for them. It counts
  /// for hosts that use the system's name and all suitable interfaces; others work by themselves.
  public var isShared = true
  /// Where programs that share find each other, instead of the usual place; whatever the name and the
  /// interfaces are.
  package var sharingPlace: String?

  /// The system's name and all suitable interfaces.
  public init(hostName: String? = nil, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName ?? Self.systemHostName
    self.interfaceNames = interfaceNames
  }

  /// Where to look for others; nil for nowhere.
  var sharingName: String? {
    if let sharingPlace { return sharingPlace }
    let isUsual = interfaceNames == nil && hostName == Self.systemHostName
    return isShared && isUsual ? "ambit/bonjour" : nil
  }

  /// What others must want as well.
  var shared: SharedConfiguration {
    SharedConfiguration(hostName: hostName, interfaceNames: interfaceNames)
  }

  private static var systemHostName: String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&buffer, buffer.count - 1) == 0 else { return "localhost" }
    let name = buffer.prefix { $0 != 0 && $0 != CChar(bitPattern: UInt8(ascii: ".")) }
    return name.isEmpty
      ? "localhost" : String(decoding: name.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// What a query is told.
public struct FoundEvent: Hashable, Sendable {
  /// What it is.
  public var event: QueryEvent
  /// Where it was heard; nil for what is the same everywhere.
  public var interface: InterfaceIndex?
  /// Whether more is told at once.
  public var moreComing: Bool

  /// Something that is told.
  public init(event: QueryEvent, interface: InterfaceIndex?, moreComing: Bool) {
    self.event = event
    self.interface = interface
    self.moreComing = moreComing
  }
}

/// What becomes of something that is published.
public enum PublicationEvent: Hashable, Sendable {
  /// It can be found under this name, which is not the one asked for where another host has that.
  case published(DNSName)
  /// Another host has the name, and no other was wanted.
  case refused(DNSName)
}

/// Something that is looked for. Cancelling it, or letting go of it, ends the search.
public final class Query: Sendable {
  /// It lives as long as what is asked of it.
  private let host: BonjourHost
  private let engine: BonjourEngine
  private let id: QueryID

  init(host: BonjourHost, _ engine: BonjourEngine, id: QueryID) {
    self.host = host
    self.engine = engine
    self.id = id
  }

  deinit { cancel() }

  /// Ends the search, soon: what is being told just now, or on its way, is still told.
  public func cancel() {
    engine.onLoop { [id] in $0.stop(id) }
  }
}

/// Something that is published. Withdrawing it, or letting go of it, says goodbye.
public final class Publication: Sendable {
  /// It lives as long as what it publishes.
  private let host: BonjourHost
  private let engine: BonjourEngine
  private let id: RegistrationID

  init(host: BonjourHost, _ engine: BonjourEngine, id: RegistrationID) {
    self.host = host
    self.engine = engine
    self.id = id
  }

  deinit { withdraw() }

  /// Says goodbye, soon: what is being told just now, or on its way, is still told.
  public func withdraw() {
    engine.onLoop { [id] in $0.withdraw(id) }
  }

  /// Changes the service's keys and values. Throws for a text that no message could take, as
  /// `ServiceRegistration` does.
  public func update(_ text: TXTRecord) throws(DNSWireError) {
    try ServiceRegistration.check(text)
    engine.onLoop { [id] in $0.update(id, text) }
  }

  /// Changes the data of a single record; it keeps its type.
  public func update(_ data: DNSRecordData, ttlSeconds: UInt32) {
    engine.onLoop { [id] in $0.update(id, data, ttlSeconds: ttlSeconds) }
  }

  /// Gives a service one more record of its name, or changes that.
  ///
  /// - Parameters:
  ///   - number: Tells the service's further records apart.
  ///   - data: What the record says; nil to take it away.
  ///   - ttlSeconds: For how long it is valid.
  public func setFurtherRecord(_ number: UInt32, _ data: DNSRecordData?, ttlSeconds: UInt32) {
    engine.onLoop { [id] in
      $0.setFurtherRecord(id, number, data, ttlSeconds: ttlSeconds)
    }
  }
}
