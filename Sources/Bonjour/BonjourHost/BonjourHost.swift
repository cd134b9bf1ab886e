public import DNSWire
public import DiscoveryMachines
import Essentials
import Glibc
import EventLoop
package import HubPlaces
import PortSharing
import Synchronization

/// Registers and browses services of the local network by Multicast DNS, on every suitable
/// interface, as interfaces come and go.
///
/// A hub of this machine runs the protocol for all its programs (`ambit hub`): `AMBIT_HUB` names it, or is
/// `off`. It withdraws what a killed program has registered. A hub that does not answer within five seconds
/// is left, and used again when it answers; clients see no interruption, but events may be up to ten seconds
/// late. If it serves as many programs as it can, queries and registrations fail with `tooManyClients`; the
/// next request searches for a hub again.
///
/// Without a hub, or with another configuration than the default one, a host has sockets of its own. The
/// port can be used by many: programs of one machine find each other, and have the host's name and addresses
/// in common. What a program has registered that is killed lasts until its TTL is over then, for up to 75
/// minutes.
///
/// All methods may be called from any thread. Callbacks are called serially on the one event loop
/// of this process, and must not block it. The host runs until it is closed or released.
public final class BonjourHost: Sendable {
  /// Whether the machines that work for a host do so.
  package enum Availability: Hashable, Sendable {
    /// They do, or did until their process ended a moment ago.
    case works
    /// They do, or will in a moment, but those before them left requests undone until a moment ago:
    /// the absence of results means nothing yet.
    case recovering
    /// Their process doesn't answer, or has never answered: a query without results has perhaps not
    /// been sent to the network, and a registration has not been made.
    case silent
    /// The hub has too many clients.
    case refused
  }

  let engine: BonjourEngine
  private let lastNumber = Atomic<UInt64>(0)

  /// The process-wide default host, with the system's host name.
  public static let shared = BonjourHost()

  /// Starts a host.
  ///
  /// - Parameters:
  ///   - configuration: Host name, interfaces, and whether a hub is used.
  ///   - log: Called with a sentence for each interface that can't be used, with the reason, for each
  ///     registered service whose type isn't one that RFC 6335 allows, and if no hub is used although the
  ///     configuration has that one should be.
  public init(
    configuration: BonjourConfiguration = BonjourConfiguration(),
    log: (@Sendable (String) -> Void)? = nil
  ) {
    engine = BonjourEngine(configuration: configuration, on: .shared, log: log)
    engine.onLoop { $0.start() }
  }

  deinit { engine.onLoop { $0.stop {} } }

  /// Unregisters all services and records with goodbye records, and stops the host. No other
  /// callback is called afterwards.
  ///
  /// - Parameter completion: Called on the event loop of this process when the host has stopped;
  ///   must not block.
  public func close(_ completion: @escaping @Sendable () -> Void) {
    engine.onLoop { $0.stop(completion) }
  }

  /// Queries until the returned object is cancelled or released.
  ///
  /// - Parameters:
  ///   - request: Records, or services, or addresses. The addresses of a host outside of this
  ///     link's domains are those of the system's resolver, which is asked again every minute.
  ///   - interface: The interface to query on; nil for all.
  ///   - options: Scope and timeout.
  ///   - onEvent: Called on the event loop of this process with results, beginning with cached
  ///     ones; must not block.
  public func query(
    _ request: QueryRequest, on interface: InterfaceIndex? = nil,
    options: QueryOptions = QueryOptions(), onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> Query {
    let id = QueryID(rawValue: nextNumber())
    engine.onLoop { $0.start(id, request, on: interface, options, onEvent) }
    return Query(host: self, engine, id: id)
  }

  /// Reconfirms a record that a client could not use: it is queried again, and reported as removed
  /// if no host answers within ten seconds (RFC 6762, §10.4).
  public func reconfirm(_ record: DNSRecord, on interface: InterfaceIndex? = nil) {
    engine.onLoop { $0.reconfirm(record, on: interface) }
  }

  /// Registers a service until the registration is unregistered or released.
  ///
  /// - Parameters:
  ///   - service: Name, type, port and TXT record.
  ///   - onEvent: Called on the event loop of this process with the name under which it is
  ///     registered; must not block.
  public func register(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> Registration {
    let id = RegistrationID(rawValue: nextNumber())
    engine.onLoop { $0.register(id, service, onEvent) }
    return Registration(host: self, engine, id: id)
  }

  /// Registers a single record until the registration is unregistered or released.
  ///
  /// - Parameters:
  ///   - record: The record, and whether other hosts may have records of its name and type.
  ///   - onEvent: Called on the event loop of this process when the record is registered, or
  ///     refused because another host has the name; must not block.
  public func register(
    _ record: RecordRegistration, onEvent: @escaping @Sendable (RegistrationEvent) -> Void
  ) -> Registration {
    let id = RegistrationID(rawValue: nextNumber())
    engine.onLoop { $0.register(id, record, onEvent) }
    return Registration(host: self, engine, id: id)
  }

  /// From 1 on: 0 is the host's own registration.
  private func nextNumber() -> UInt64 {
    lastNumber.add(1, ordering: .relaxed).newValue
  }
}

/// The configuration of a host.
public struct BonjourConfiguration: Sendable {
  /// The host name without `.local`; by default the first label of the system's host name.
  public var hostName: String
  /// The interfaces to use, by their names; nil for all that are suitable, or the loopback
  /// interface if none is.
  public var interfaceNames: Set<String>?

  /// Whether a hub of this machine, if there is one, runs the protocol for the host. Only for hosts with
  /// the system's host name and all suitable interfaces; others have sockets of their own.
  public var usesHub = true
  /// Whether the log mentions that there is no hub. One that `AMBIT_HUB` names is mentioned anyway.
  package var notesAbsentHub = true
  /// Replaces the places where a hub is looked for, which is used with any host name and interfaces then.
  package var hubOverride: BonjourPlaces?
  /// How long a hub that was left is not looked for, at least; tests have less time.
  var hubPauseMin = TimeSpan.seconds(4)

  /// Creates a configuration, by default with the system's host name and all suitable interfaces.
  public init(hostName: String? = nil, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName ?? Self.systemHostName
    self.interfaceNames = interfaceNames
  }

  /// Whether a hub may serve it.
  private var isUsual: Bool { interfaceNames == nil && hostName == Self.systemHostName }

  /// Where a hub is looked for; nil if none is used.
  var hub: BonjourPlaces? { hubOverride ?? (usesHub && isUsual ? .current : nil) }

  /// A sentence for the log if a hub should be used, and the rest of the configuration keeps it from
  /// being.
  var standaloneNote: String? {
    guard usesHub, hubOverride == nil, !isUsual else { return nil }
    return "This program uses Multicast DNS sockets of its own: a hub serves only hosts with the "
      + "system's name and all suitable interfaces."
  }

  /// The part of the configuration on which a hub and its programs have to agree.
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

/// A result of a query.
public struct FoundEvent: Hashable, Sendable {
  /// The result.
  public var event: QueryEvent
  /// The interface on which the result was received; nil if it is the same on all.
  public var interface: InterfaceIndex?
  /// Whether more results follow immediately.
  public var moreComing: Bool
  /// Whether the result was in the cache when the query began.
  public var isFromCache = false

  /// Creates an event.
  public init(event: QueryEvent, interface: InterfaceIndex?, moreComing: Bool) {
    self.event = event
    self.interface = interface
    self.moreComing = moreComing
  }
}

/// An event of a registration.
public enum RegistrationEvent: Hashable, Sendable {
  /// The service or record is registered under this name, which differs from the requested one if
  /// another host has that.
  case registered(DNSName)
  /// Another host has the name, and the conflict policy is to refuse.
  case refused(DNSName)
  /// The service or record is not registered, or no longer. It may be registered again later.
  case failed(RegistrationError)
}

/// The reason why a service or record could not be registered.
public struct RegistrationError: Error, Hashable, Sendable {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    fileprivate let rawValue: UInt8

    /// The owner of the port already serves the maximum number of clients.
    public static let tooManyClients = Code(rawValue: 1)
  }

  /// The kind of the error.
  public let code: Code

  /// See ``Code/tooManyClients``.
  public static let tooManyClients = RegistrationError(code: .tooManyClients)
}

/// A running query. Cancelling or releasing it ends the query.
public final class Query: Sendable {
  /// Keeps the host alive while the query runs.
  private let host: BonjourHost
  private let engine: BonjourEngine
  private let id: QueryID

  init(host: BonjourHost, _ engine: BonjourEngine, id: QueryID) {
    self.host = host
    self.engine = engine
    self.id = id
  }

  deinit { cancel() }

  /// Ends the query. Returns at once; callbacks that are already queued are still called.
  public func cancel() {
    engine.onLoop { [id] in $0.stop(id) }
  }
}

/// A registered service or record. Releasing it unregisters.
public final class Registration: Sendable {
  /// It lives as long as what it publishes.
  private let host: BonjourHost
  private let engine: BonjourEngine
  private let id: RegistrationID

  init(host: BonjourHost, _ engine: BonjourEngine, id: RegistrationID) {
    self.host = host
    self.engine = engine
    self.id = id
  }

  deinit { unregister() }

  /// Unregisters the service or record and sends goodbye records (TTL 0). Returns at once;
  /// callbacks that are already queued are still called.
  public func unregister() {
    engine.onLoop { [id] in $0.unregister(id) }
  }

  /// Changes the keys and values of the service. Throws if the TXT record is too long for a
  /// message, as `ServiceRegistration` does.
  public func update(_ text: TXTRecord) throws(DNSWireError) {
    try ServiceRegistration.check(text)
    engine.onLoop { [id] in $0.update(id, text) }
  }

  /// Changes the data of a single record; it keeps its type.
  public func update(_ data: DNSRecordData, ttlSeconds: UInt32) {
    engine.onLoop { [id] in $0.update(id, data, ttlSeconds: ttlSeconds) }
  }

  /// Adds a record to the name of a service, or replaces or removes an added one.
  ///
  /// - Parameters:
  ///   - number: Identifies the added record among those of the service.
  ///   - data: The data; nil to remove the record.
  ///   - ttlSeconds: The TTL.
  public func setRecord(_ number: UInt32, _ data: DNSRecordData?, ttlSeconds: UInt32) {
    engine.onLoop { [id] in
      $0.setRecord(id, number, data, ttlSeconds: ttlSeconds)
    }
  }
}
