import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import Foundation
import JSONWire

/// Tells what comes and goes.
struct Browsing: Sendable {
  let session: NetworkSession
  let resolves: Bool
  /// Whether services of this machine are left out.
  let ignoresLocal: Bool
  /// Whether lines contain the type of each service.
  let showsType: Bool
  let activity = Activity()

  private var output: Output { session.output }

  /// More types than there are on any network that is looked at by people.
  private static let typeCountMax = 200

  /// Follows the types that are there and, if wanted, their services.
  func followTypes(withServices: Bool) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      defer { group.cancelAll() }
      var known: Set<NetworkText.Services> = []
      var isCut = false
      var names = InterfaceNames(of: session.host)
      for await found in session.eventsOfTypes() {
        if case .failed(let error) = found.event { throw NetworkText.failure(error) }
        guard let listed = ListedType(found.event) else { continue }
        guard withServices else {
          tell(listed, await names.name(of: found.interface))
          continue
        }
        guard listed.isFound, !known.contains(listed.services) else { continue }
        guard known.count < Self.typeCountMax else {
          if !isCut { output.warn("only the first \(Self.typeCountMax) types are followed") }
          isCut = true
          continue
        }
        known.insert(listed.services)
        activity.record()
        group.addTask { try await follow(listed.services) }
      }
    }
  }

  /// Follows the services of a type.
  func follow(_ services: NetworkText.Services) async throws {
    let request = QueryRequest.browse(
      services.type, subtype: services.subtypes.first, domain: services.domain)
    var names = InterfaceNames(of: session.host)
    let times = output.isJSON ? RecordTimes(listing: services, with: session.host) : nil
    var present: [Place: (task: Task<Void, Never>, isTold: Guarded<Bool>)] = [:]
    defer { for service in present.values { service.task.cancel() } }
    for await found in session.events(of: request) {
      let interface = await names.name(of: found.interface)
      switch found.event {
      case .serviceAdded(let name), .serviceRemoved(let name):
        guard services.instance.map({ $0 == name }) ?? true else { continue }
      default: break
      }
      switch found.event {
      case .serviceAdded(let name):
        let place = Place(name: name, interface: found.interface)
        present[place]?.task.cancel()
        let isTold = Guarded(!ignoresLocal)
        let ttl = times?.secondsOfPointer(to: name.name, on: found.interface)
        if !ignoresLocal { tell("found", name, interface, ttl) }
        activity.begin()
        present[place] = (Task { await attend(place, interface, ttl, isTold) }, isTold)
      case .serviceRemoved(let name):
        let service = present.removeValue(
          forKey: Place(name: name, interface: found.interface))
        service?.task.cancel()
        // No event about it follows.
        if service?.isTold.update({ $0 }) ?? !ignoresLocal { tell("gone", name, interface) }
      case .failed(let error): throw NetworkText.failure(error)
      default: break
      }
    }
  }

  private struct Place: Hashable {
    var name: ServiceName
    var interface: InterfaceIndex?
  }

  /// Does what is wanted with a service: tells of it unless it is this machine's, and where it is.
  private func attend(
    _ place: Place, _ interface: String?, _ ttl: UInt32?, _ isTold: Guarded<Bool>
  ) async {
    let pending = Pending(activity)
    defer { pending.end() }
    if ignoresLocal {
      if await session.isOnThisMachine(place.name, place.interface) { return }
      isTold.update { isTold in
        guard !Task.isCancelled else { return }
        tell("found", place.name, interface, ttl)
        isTold = true
      }
    }
    if resolves { await resolve(place, interface, pending) }
  }

  /// Tells where a service is, and again whenever that or an address changes.
  private func resolve(_ place: Place, _ interface: String?, _ pending: Pending) async {
    let timer = Task {
      try await Task.sleep(for: session.limit.duration)
      if pending.end() {
        output.warn("\"\(place.name.instanceText)\" did not answer within \(session.limit)")
      }
    }
    var following: Task<Void, Never>?
    defer {
      timer.cancel()
      following?.cancel()
    }
    let times =
      output.isJSON
      ? RecordTimes(of: place.name.name, .srv, on: place.interface, with: session.host) : nil
    for await found in session.locations(of: place.name, on: place.interface) {
      guard let location = Resolve.place(found.event) else { continue }
      let resolved = ResolvedPlace(
        place: location, interface: interface,
        ttl: times?.secondsOfService(location, on: found.interface))
      timer.cancel()
      following?.cancel()
      await following?.value
      following = Task { await follow(resolved, on: place.interface, pending) }
    }
  }

  private func follow(
    _ resolved: ResolvedPlace, on index: InterfaceIndex?, _ pending: Pending
  ) async {
    let location = resolved.place
    let tellAddresses = { @Sendable (addresses: [InetAddress]) in
      guard !Task.isCancelled else { return }
      if addresses.isEmpty {
        output.warn(
          "\(location.host), the host of \"\(location.name.instanceText)\", has no address")
      }
      var resolved = resolved
      resolved.addresses = addresses
      tell(resolved)
      pending.end()
    }
    do {
      try await session.followAddresses(
        of: location.host, on: index, within: session.limit.duration
      ) { addresses in
        tellAddresses(addresses)
        return true
      }
    } catch {
      if !(error is CancellationError) { output.warn("\(error)") }
      tellAddresses([])
    }
  }

  /// Something that a command waits for before it ends by itself. It ends once.
  private final class Pending: Sendable {
    private let activity: Activity
    private let isEnded = Guarded(false)

    init(_ activity: Activity) { self.activity = activity }

    /// True the first time.
    @discardableResult
    func end() -> Bool {
      let isFirst = isEnded.update { isEnded -> Bool in
        defer { isEnded = true }
        return !isEnded
      }
      if isFirst { activity.end() }
      return isFirst
    }
  }

  // MARK: Output

  private func tell(_ resolved: ResolvedPlace) {
    activity.record()
    if output.isJSON { return output.object(resolved.json) }
    let name = Fit.safe(resolved.place.name.instanceText)
    let host = Fit.safe("\(resolved.place.host)")
    let clock = output.style.dim(ValueReport.clock(Date()))
    let head =
      "\(clock)  =  \(name)  \(host):\(resolved.place.port)  "
      + output.style.dim(resolved.interface ?? "")
    // In one piece: others write, too.
    output.line(([head] + resolved.lines.map { "            \($0)" }).joined(separator: "\n"))
  }

  private func tell(
    _ event: String, _ name: ServiceName, _ interface: String?, _ ttl: UInt32? = nil
  ) {
    activity.record()
    if output.isJSON { return output.object(Browse.json(event, name, interface, ttl: ttl)) }
    let type = showsType ? "  \(Fit.safe("\(name.type)"))" : ""
    line(event, Fit.safe(name.instanceText) + type, interface)
  }

  private func tell(_ listed: ListedType, _ interface: String?) {
    activity.record()
    let event = listed.isFound ? "found" : "gone"
    let (type, domain) = (listed.services.type, listed.services.domain)
    if output.isJSON {
      return output.object(
        .object([
          "event": .string(event), "type": .string("\(type)"), "domain": .string("\(domain)"),
          "ttl": listed.ttl.map { .integer(Int64($0)) },
          "interface": interface.map { .string($0) }, "time": .time(Date()),
        ]))
    }
    line(event, Fit.safe(domain == .local ? "\(type)" : "\(type).\(domain)"), interface)
  }

  private func line(_ event: String, _ text: String, _ interface: String?) {
    let clock = output.style.dim(ValueReport.clock(Date()))
    let sign = event == "found" ? "+" : "-"
    output.line("\(clock)  \(sign)  \(text)  \(output.style.dim(interface ?? ""))")
  }
}

/// A type of services that came or went, with the domain that its services are in.
struct ListedType: Hashable, Sendable {
  var services: NetworkText.Services
  var isFound: Bool
  /// The TTL in seconds of the record that lists it; nil for services of this machine alone.
  var ttl: UInt32?

  /// Nil for an event of something else.
  init?(_ event: QueryEvent) {
    switch event {
    case .typeAdded(let type), .typeRemoved(let type): services = NetworkText.Services(type: type)
    case .recordAdded(let record), .recordRemoved(let record):
      guard case .ptr(let name) = record.data, let type = ServiceType(labelsOf: name),
        let domain = name.dropFirst(2)
      else { return nil }
      services = NetworkText.Services(type: type, domain: domain)
    default: return nil
    }
    switch event {
    case .recordAdded(let record): (isFound, ttl) = (true, record.ttlSeconds)
    case .typeAdded: isFound = true
    default: isFound = false
    }
  }
}

extension NetworkSession {
  /// The types of services: the records that list them, which have their domains, and the types of
  /// services of this machine alone, which no such record lists.
  fileprivate func eventsOfTypes() -> AsyncStream<FoundEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: FoundEvent.self)
    let records = host.query(.records(.serviceTypes, .ptr), on: nil, options: QueryOptions()) {
      continuation.yield($0)
    }
    let local = host.query(.serviceTypes(), on: nil, options: QueryOptions()) {
      if $0.interface == .localOnly { continuation.yield($0) }
    }
    continuation.onTermination = { _ in
      records.cancel()
      local.cancel()
    }
    return stream
  }
}

/// Knows when no more answers are to be expected.
final class Activity: Sendable {
  private struct State {
    /// The time without an answer until no more are expected.
    var rest = RunningTime(Activity.quiet)
    var hadNews = false
    var pendingCount = 0
  }

  /// The second question follows the first after a second (RFC 6762, §5.2); both, and the answers,
  /// may be delayed.
  private static let quiet = Duration.milliseconds(1_500)

  private let state = Guarded(State())

  /// Whether there was an answer.
  var hadNews: Bool { state.value.hadNews }

  /// An answer came.
  func record() {
    state.update { state in
      state.rest = RunningTime(Self.quiet)
      state.hadNews = true
    }
  }

  /// Something was begun that has an end.
  func begin() { state.update { $0.pendingCount += 1 } }

  /// It has ended.
  func end() {
    state.update { state in
      state.pendingCount -= 1
      state.rest = RunningTime(Self.quiet)
    }
  }

  /// Returns when nothing is pending and no answer has come for long enough.
  func untilQuiet() async throws {
    while true {
      let pause = state.update { state in
        if state.pendingCount > 0 { state.rest = RunningTime(Self.quiet) }
        return state.rest.look()
      }
      guard let pause else { return }
      try await Task.sleep(for: pause)
    }
  }
}
