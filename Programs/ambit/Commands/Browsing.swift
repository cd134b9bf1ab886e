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
      var known: Set<ServiceType> = []
      var isCut = false
      var names = InterfaceNames(of: session.host)
      let times =
        output.isJSON && !withServices
        ? RecordTimes(of: .serviceTypes, .ptr, with: session.host) : nil
      for await found in session.events(of: .serviceTypes()) {
        let interface = await names.name(of: found.interface)
        switch found.event {
        case .typeAdded(let type) where withServices:
          guard !known.contains(type) else { break }
          guard known.count < Self.typeCountMax else {
            if !isCut { output.warn("only the first \(Self.typeCountMax) types are followed") }
            isCut = true
            break
          }
          known.insert(type)
          activity.note()
          group.addTask { try await follow(NetworkText.Services(type: type)) }
        case .typeAdded(let type):
          let ttl = times?.secondsOfPointer(to: type, on: found.interface)
          tell("found", type, interface, ttl)
        case .typeRemoved(let type): if !withServices { tell("gone", type, interface) }
        case .failed(let error): throw NetworkText.failure(error)
        default: break
        }
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
        // Nothing is told of it from now on.
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
    activity.note()
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
    activity.note()
    if output.isJSON { return output.object(Browse.json(event, name, interface, ttl: ttl)) }
    let type = showsType ? "  \(Fit.safe("\(name.type)"))" : ""
    line(event, Fit.safe(name.instanceText) + type, interface)
  }

  private func tell(
    _ event: String, _ type: ServiceType, _ interface: String?, _ ttl: UInt32? = nil
  ) {
    activity.note()
    if output.isJSON {
      return output.object(
        .object([
          "event": .string(event), "type": .string("\(type)"),
          "ttl": ttl.map { .integer(Int64($0)) },
          "interface": interface.map { .string($0) }, "time": .time(Date()),
        ]))
    }
    line(event, Fit.safe("\(type)"), interface)
  }

  private func line(_ event: String, _ text: String, _ interface: String?) {
    let clock = output.style.dim(ValueReport.clock(Date()))
    let sign = event == "found" ? "+" : "-"
    output.line("\(clock)  \(sign)  \(text)  \(output.style.dim(interface ?? ""))")
  }
}

/// Knows when no more answers are to be expected.
final class Activity: Sendable {
  private struct State {
    var latest = ContinuousClock.now
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
  func note() {
    state.update { state in
      state.latest = .now
      state.hadNews = true
    }
  }

  /// Something was begun that has an end.
  func begin() { state.update { $0.pendingCount += 1 } }

  /// It has ended.
  func end() {
    state.update { state in
      state.pendingCount -= 1
      state.latest = .now
    }
  }

  /// Returns when nothing is pending and no answer has come for long enough.
  func untilQuiet() async throws {
    while true {
      let (end, isPending) = state.update { ($0.latest + Self.quiet, $0.pendingCount > 0) }
      let now = ContinuousClock.now
      if !isPending, end <= now { return }
      try await Task.sleep(until: isPending ? now + Self.quiet : end, clock: .continuous)
    }
  }
}
