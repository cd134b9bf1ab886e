import DNSWire
import DiscoveryMachines
import Essentials

/// A result of a query that can end.
enum QueryResult: Hashable, Sendable {
  case record(DNSRecord)
  case recordAbsent(DNSType)
  case service(ServiceName)
  case address(InetAddress)
  case addressAbsent(IPVersion)
  case type(ServiceType)
  case domain(DNSName)

  /// The event that reports its end; nil if its end isn't reported.
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

/// How an event changes the results.
enum ResultChange {
  case begins(QueryResult)
  case ends(QueryResult)
  case moved(ServiceResolution)
  case failed

  init(_ event: QueryEvent) {
    switch event {
    case .recordAdded(let record): self = .begins(.record(record.withoutTime))
    case .recordRemoved(let record): self = .ends(.record(record.withoutTime))
    case .recordAbsent(let type): self = .begins(.recordAbsent(type))
    case .serviceAdded(let service): self = .begins(.service(service))
    case .serviceRemoved(let service): self = .ends(.service(service))
    case .resolved(let resolution): self = .moved(resolution)
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
  /// The record without its TTL, which differs in each report.
  fileprivate var withoutTime: DNSRecord {
    DNSRecord(name: name, recordClass: recordClass, ttlSeconds: 0, data: data)
  }
}

/// A query of a host, with its reported results: enough to send it to another owner and to report
/// differences only.
struct TrackedQuery: Sendable {
  /// A result and its interface.
  struct ReportedResult: Hashable, Sendable {
    var result: QueryResult
    var interface: InterfaceIndex?
  }

  private let request: QueryRequest
  private let interface: InterfaceIndex?
  private let options: QueryOptions
  /// When the query ends by itself.
  private let endsAt: Instant?
  /// Reported results that have not ended, with ascending numbers.
  var reported: [ReportedResult: UInt64] = [:]
  /// Reported results that the present owner has not confirmed.
  var unconfirmed: [ReportedResult: UInt64] = [:]
  /// The last resolution of each interface.
  var resolutions: [InterfaceIndex?: ServiceResolution] = [:]
  var unconfirmedResolutions: Set<InterfaceIndex?> = []
  var lastNumber: UInt64 = 0
  /// An event that is held back until it is known whether more follow, so that `moreComing` is
  /// right.
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
  func request(_ id: QueryID, now: Instant) -> DiscoveryRequest {
    var options = options
    options.timeout = endsAt.map { max($0 - now, .zero) }
    return .startQuery(id, request, on: interface, options: options)
  }

  /// The number of stored results.
  var count: Int { reported.count + unconfirmed.count + resolutions.count }

  /// Whether the present owner has confirmed all reported results.
  var isCertain: Bool { unconfirmed.isEmpty && unconfirmedResolutions.isEmpty }

  /// A new owner has to confirm all reported results.
  mutating func markAllUnconfirmed() {
    assert(held == nil, "an event of the owner before is held back")
    unconfirmed.merge(reported) { old, _ in old }
    reported = [:]
    unconfirmedResolutions = Set(resolutions.keys)
  }

  /// Processes an event of the owner and appends notifications, without repeating any.
  mutating func take(
    _ event: QueryEvent, on index: InterfaceIndex?, moreComing: Bool,
    into notifications: inout [QueryNotification]
  ) {
    if record(event, on: index) {
      release(moreComing: true, into: &notifications)
      held = (event, index)
    }
    if !moreComing { release(moreComing: false, into: &notifications) }
  }

  /// Appends the event that was held back.
  mutating func release(moreComing: Bool, into notifications: inout [QueryNotification]) {
    guard let (event, index) = held else { return }
    held = nil
    notifications.append(QueryNotification(event: event, interface: index, moreComing: moreComing))
  }

  /// Reports results that the owner did not confirm as removed.
  mutating func settle(into notifications: inout [QueryNotification]) {
    let ended = unconfirmed.sorted { $0.value < $1.value }.map(\.key)
    unconfirmed = [:]
    unconfirmedResolutions = []
    for reported in ended {
      guard let event = reported.result.removal else { continue }
      release(moreComing: true, into: &notifications)
      held = (event, reported.interface)
    }
    release(moreComing: false, into: &notifications)
  }

  /// Whether an event changes the results.
  private mutating func record(_ event: QueryEvent, on index: InterfaceIndex?) -> Bool {
    switch ResultChange(event) {
    case .begins(let result):
      let key = ReportedResult(result: result, interface: index)
      if let number = unconfirmed.removeValue(forKey: key) {
        reported[key] = number
        return false
      }
      lastNumber += 1
      reported[key] = lastNumber
      // A record that was reported as absent exists now, or the other way round.
      forgetOpposite(of: result, on: index)
      return true
    case .ends(let result):
      let key = ReportedResult(result: result, interface: index)
      let (wasReported, wasUnconfirmed) = (
        reported.removeValue(forKey: key), unconfirmed.removeValue(forKey: key)
      )
      return wasReported != nil || wasUnconfirmed != nil
    case .moved(let resolution):
      let isConfirmation =
        unconfirmedResolutions.remove(index) != nil && resolutions[index] == resolution
      resolutions[index] = resolution
      return !isConfirmation
    case .failed: return true
    }
  }

  private mutating func forgetOpposite(of result: QueryResult, on index: InterfaceIndex?) {
    let absence: QueryResult
    switch result {
    case .record(let record): absence = .recordAbsent(record.type)
    case .address(let address): absence = .addressAbsent(address.version)
    case .recordAbsent, .addressAbsent, .service, .type, .domain: return
    }
    let key = ReportedResult(result: absence, interface: index)
    reported[key] = nil
    unconfirmed[key] = nil
  }
}

/// An event as a query reports it.
struct QueryNotification: Hashable, Sendable {
  var event: QueryEvent
  var interface: InterfaceIndex?
  var moreComing: Bool
}
