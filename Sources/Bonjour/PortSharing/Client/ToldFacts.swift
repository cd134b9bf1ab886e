import DNSWire
import DiscoveryMachines
import Essentials

/// Something that a query was told and that can end.
enum Fact: Hashable, Sendable {
  case record(DNSRecord)
  case recordAbsent(DNSType)
  case service(ServiceName)
  case address(IPAddress)
  case addressAbsent(IPVersion)
  case type(ServiceType)
  case domain(DNSName)

  /// What a query is told when it ends; nil where there is nothing to be told.
  var removal: QueryEvent? {
    switch self {
    case .record(let record): .recordRemoved(record)
    case .service(let service): .serviceRemoved(service)
    case .address(let address): .addressRemoved(address)
    case .type(let type): .typeRemoved(type)
    case .domain(let domain): .domainRemoved(domain)
    case .recordAbsent, .addressAbsent: nil
    }
  }
}

/// What an event does to what is known.
enum FactChange {
  case begins(Fact)
  case ends(Fact)
  case moved(ResolvedService)
  case failed

  init(_ event: QueryEvent) {
    switch event {
    case .recordAdded(let record): self = .begins(.record(record.withoutTime))
    case .recordRemoved(let record): self = .ends(.record(record.withoutTime))
    case .recordAbsent(let type): self = .begins(.recordAbsent(type))
    case .serviceAdded(let service): self = .begins(.service(service))
    case .serviceRemoved(let service): self = .ends(.service(service))
    case .resolved(let place): self = .moved(place)
    case .addressAdded(let address, _): self = .begins(.address(address))
    case .addressRemoved(let address): self = .ends(.address(address))
    case .addressAbsent(let version): self = .begins(.addressAbsent(version))
    case .typeAdded(let type): self = .begins(.type(type))
    case .typeRemoved(let type): self = .ends(.type(type))
    case .domainAdded(let domain): self = .begins(.domain(domain))
    case .domainRemoved(let domain): self = .ends(.domain(domain))
    case .failed: self = .failed
    }
  }
}

extension DNSRecord {
  /// The record as a fact: for how long it is valid changes all the time.
  fileprivate var withoutTime: DNSRecord {
    DNSRecord(name: name, recordClass: recordClass, ttlSeconds: 0, data: data)
  }
}

/// A query of a host, with what it was told: enough to ask another owner and to tell the difference
/// only.
struct TrackedQuery: Sendable {
  /// A fact and where it was heard.
  struct Told: Hashable, Sendable {
    var fact: Fact
    var interface: InterfaceIndex?
  }

  private let request: QueryRequest
  private let interface: InterfaceIndex?
  private let options: QueryOptions
  /// When the query ends by itself.
  private let endsAt: Instant?
  /// What it was told and has not been told the end of, with numbers that rise.
  private var told: [Told: UInt64] = [:]
  /// What of that the present owner has not confirmed.
  private var unconfirmed: [Told: UInt64] = [:]
  /// Where a service was said to be.
  private var places: [InterfaceIndex?: ResolvedService] = [:]
  private var unconfirmedPlaces: Set<InterfaceIndex?> = []
  private var lastNumber: UInt64 = 0
  /// An event that is told once it is known whether another follows.
  private var held: (event: QueryEvent, interface: InterfaceIndex?)?

  init(
    _ request: QueryRequest, on interface: InterfaceIndex?, _ options: QueryOptions, now: Instant
  ) {
    self.request = request
    self.interface = interface
    self.options = options
    endsAt = options.timeout.map { now + $0 }
  }

  /// The request to an owner, which ends when the first one would have.
  func request(_ id: QueryID, now: Instant) -> HostRequest {
    var options = options
    options.timeout = endsAt.map { max($0 - now, .zero) }
    return .ask(id, request, on: interface, options: options)
  }

  /// How many facts are remembered.
  var count: Int { told.count + unconfirmed.count + places.count }

  /// Whether the present owner has confirmed everything that was told.
  var isCertain: Bool { unconfirmed.isEmpty && unconfirmedPlaces.isEmpty }

  /// Another owner is asked: nothing of what was told is certain.
  mutating func doubtEverything() {
    unconfirmed.merge(told) { old, _ in old }
    told = [:]
    unconfirmedPlaces = Set(places.keys)
  }

  /// Takes what the owner says and appends what is to be told: nothing that was told before.
  mutating func take(
    _ event: QueryEvent, on index: InterfaceIndex?, moreComing: Bool,
    into tellings: inout [Telling]
  ) {
    if note(event, on: index) {
      release(moreComing: true, into: &tellings)
      held = (event, index)
    }
    if !moreComing { release(moreComing: false, into: &tellings) }
  }

  /// What was held back is told.
  mutating func release(moreComing: Bool, into tellings: inout [Telling]) {
    guard let (event, index) = held else { return }
    held = nil
    tellings.append(Telling(event: event, interface: index, moreComing: moreComing))
  }

  /// What the owner never confirmed has ended.
  mutating func settle(into tellings: inout [Telling]) {
    let ended = unconfirmed.sorted { $0.value < $1.value }.map(\.key)
    unconfirmed = [:]
    unconfirmedPlaces = []
    for told in ended {
      guard let event = told.fact.removal else { continue }
      release(moreComing: true, into: &tellings)
      held = (event, told.interface)
    }
    release(moreComing: false, into: &tellings)
  }

  /// Whether an event is news.
  private mutating func note(_ event: QueryEvent, on index: InterfaceIndex?) -> Bool {
    switch FactChange(event) {
    case .begins(let fact):
      let key = Told(fact: fact, interface: index)
      if let number = unconfirmed.removeValue(forKey: key) {
        told[key] = number
        return false
      }
      lastNumber += 1
      told[key] = lastNumber
      // Who now has what was said to be missing, or the other way round.
      forgetOpposite(of: fact, on: index)
      return true
    case .ends(let fact):
      let key = Told(fact: fact, interface: index)
      let (wasTold, wasUnconfirmed) = (
        told.removeValue(forKey: key), unconfirmed.removeValue(forKey: key)
      )
      return wasTold != nil || wasUnconfirmed != nil
    case .moved(let place):
      let isConfirmation = unconfirmedPlaces.remove(index) != nil && places[index] == place
      places[index] = place
      return !isConfirmation
    case .failed: return true
    }
  }

  private mutating func forgetOpposite(of fact: Fact, on index: InterfaceIndex?) {
    let absence: Fact
    switch fact {
    case .record(let record): absence = .recordAbsent(record.type)
    case .address(let address): absence = .addressAbsent(address.version)
    case .recordAbsent, .addressAbsent, .service, .type, .domain: return
    }
    let key = Told(fact: absence, interface: index)
    told[key] = nil
    unconfirmed[key] = nil
  }
}

/// An event as a query is told it.
struct Telling: Hashable, Sendable {
  var event: QueryEvent
  var interface: InterfaceIndex?
  var moreComing: Bool
}
