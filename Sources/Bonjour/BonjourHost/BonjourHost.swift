public import DNSWire
public import DiscoveryMachines
import Essentials
import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Publishes and finds services on the local network: Multicast DNS on every suitable interface, as
/// they come and go.
///
/// All methods may be called from any thread; events are delivered one after the other on the host's
/// event loop. It works until it is closed or let go of.
public final class BonjourHost: Sendable {
  private let driver: BonjourDriver
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
    driver = BonjourDriver(
      configuration: configuration, on: MultiThreadedEventLoopGroup.singleton.next(), log: log)
    driver.onLoop { $0.start() }
  }

  deinit { driver.onLoop { $0.stop {} } }

  /// Says goodbye for everything that is published, and ends; nobody is told anything afterwards.
  public func close() async {
    await withCheckedContinuation { continuation in
      driver.onLoop { $0.stop { continuation.resume() } }
    }
  }

  /// Looks for something until the query is cancelled or let go of.
  ///
  /// - Parameters:
  ///   - request: What to look for.
  ///   - interface: Where; nil for everywhere.
  ///   - onEvent: Told on the event loop what is found, beginning with what is known already.
  public func query(
    _ request: QueryRequest, on interface: InterfaceIndex? = nil,
    onEvent: @escaping @Sendable (FoundEvent) -> Void
  ) -> Query {
    let id = QueryID(rawValue: nextNumber())
    driver.onLoop { $0.start(id, request, on: interface, onEvent) }
    return Query(host: self, driver, id: id)
  }

  /// Publishes a service until the publication is withdrawn or let go of.
  ///
  /// - Parameters:
  ///   - service: What to publish.
  ///   - onEvent: Told on the event loop under which name.
  public func publish(
    _ service: ServiceRegistration, onEvent: @escaping @Sendable (PublicationEvent) -> Void
  ) -> Publication {
    let id = RegistrationID(rawValue: nextNumber())
    driver.onLoop { $0.publish(id, service, onEvent) }
    return Publication(host: self, driver, id: id)
  }

  /// The system's names of the interfaces that take part, with their numbers.
  public var interfaces: [InterfaceIndex: String] {
    get async {
      await withCheckedContinuation { continuation in
        driver.onLoop { continuation.resume(returning: $0.interfaceNames) }
      }
    }
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

  /// The system's name and all suitable interfaces.
  public init(hostName: String? = nil, interfaceNames: Set<String>? = nil) {
    self.hostName = hostName ?? Self.systemHostName
    self.interfaceNames = interfaceNames
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
  private let driver: BonjourDriver
  private let id: QueryID

  init(host: BonjourHost, _ driver: BonjourDriver, id: QueryID) {
    self.host = host
    self.driver = driver
    self.id = id
  }

  deinit { cancel() }

  /// Ends the search. Nothing is told after what is being told just now.
  public func cancel() {
    driver.onLoop { [id] in $0.stop(id) }
  }
}

/// Something that is published. Withdrawing it, or letting go of it, says goodbye.
public final class Publication: Sendable {
  /// It lives as long as what it publishes.
  private let host: BonjourHost
  private let driver: BonjourDriver
  private let id: RegistrationID

  init(host: BonjourHost, _ driver: BonjourDriver, id: RegistrationID) {
    self.host = host
    self.driver = driver
    self.id = id
  }

  deinit { withdraw() }

  /// Says goodbye. Nothing is told after what is being told just now.
  public func withdraw() {
    driver.onLoop { [id] in $0.withdraw(id) }
  }

  /// Changes the service's keys and values.
  public func update(_ text: TXTRecord) {
    driver.onLoop { [id] in $0.update(id, text) }
  }
}
