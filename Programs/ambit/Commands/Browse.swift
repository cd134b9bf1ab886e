import ArgumentParser
import BonjourHost
import DNSWire
import DiscoveryMachines
import Foundation
import JSONWire

/// Finds services on the local network.
struct Browse: NetworkCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find services on the local network (Bonjour), as they come and go.",
    discussion: """
      Runs until Ctrl-C or --timeout. A type is written with its underscores, or as the name alone \
      for TCP. --types lists the types of existing services instead, --all the services of all \
      types. --once ends when no more answers are expected, and fails if none came.

      EXAMPLES:
        ambit browse _http._tcp
        ambit browse ipp --resolve --timeout 5
        ambit browse --all --once
        ambit browse --types
        ambit browse http --json | jq -r .name
      """)

  @OptionGroup var options: NetworkOptions

  @Argument(help: "The type of service: _http._tcp, or http.")
  var type: String?

  @Flag(help: "The types of all services instead of the services of one type.")
  var types = false

  @Flag(name: [.customShort("a"), .long], help: "The services of all types.")
  var all = false

  @Flag(
    name: [.customShort("r"), .long],
    help: "Resolve each service, too: host, port, addresses and text.")
  var resolve = false

  @Flag(
    name: [.customShort("t"), .long], help: "End when no more answers are to be expected.")
  var once = false

  @Option(help: ArgumentHelp("Only services of this subtype.", valueName: "subtype"))
  var subtype: String?

  func validate() throws {
    guard [type != nil, types, all].filter({ $0 }).count == 1 else {
      throw ValidationError("It takes the type of a service, or --types, or --all.")
    }
    guard subtype == nil || type != nil, !(resolve && types) else {
      throw ValidationError("Types have neither subtypes nor addresses.")
    }
  }

  var endsByItself: Bool { once }

  /// How long `--once` follows a network on which something new never stops coming.
  private static let onceTimeMax = Duration.seconds(60)

  func run(_ session: NetworkSession) async throws {
    let browsing = Browsing(session: session, resolves: resolve, showsType: all)
    let type = try type.map { try NetworkText.browsed($0, subtype: subtype) }
    session.output.progress("Browsing …")
    guard once else { return try await follow(type, browsing) }
    _ = try await race(options.timeout?.duration ?? Self.onceTimeMax) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await follow(type, browsing) }
        group.addTask { try await browsing.activity.untilQuiet() }
        defer { group.cancelAll() }
        _ = try await group.next()
      }
    }
    guard browsing.activity.hadNews else {
      throw CommandFailure(.notFound, "nothing was found")
    }
  }

  private func follow(
    _ type: (type: ServiceType, subtype: String?)?, _ browsing: Browsing
  ) async throws {
    if let (type, subtype) = type {
      try await browsing.follow(type, subtype: subtype)
    } else {
      try await browsing.followTypes(withServices: all)
    }
  }

  /// The object that `--json` writes for a service that came or went.
  static func json(_ event: String, _ name: ServiceName, _ interface: String?) -> JSON {
    .object([
      "event": .string(event), "name": .string(name.instanceText),
      "type": .string("\(name.type)"), "domain": .string("\(name.domain)"),
      "interface": interface.map { .string($0) }, "time": .time(Date()),
    ])
  }
}

/// Tells what comes and goes.
struct Browsing: Sendable {
  let session: NetworkSession
  let resolves: Bool
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
          group.addTask { try await follow(type, subtype: nil) }
        case .typeAdded(let type): tell("found", type, interface)
        case .typeRemoved(let type): if !withServices { tell("gone", type, interface) }
        case .failed(let error): throw NetworkText.failure(error)
        default: break
        }
      }
    }
  }

  /// Follows the services of a type.
  func follow(_ type: ServiceType, subtype: String?) async throws {
    var names = InterfaceNames(of: session.host)
    var resolving: [Place: Task<Void, Never>] = [:]
    defer { for task in resolving.values { task.cancel() } }
    for await found in session.events(of: .browse(type, subtype: subtype)) {
      let interface = await names.name(of: found.interface)
      switch found.event {
      case .serviceAdded(let name):
        tell("found", name, interface)
        guard resolves else { break }
        let place = Place(name: name, interface: found.interface)
        resolving[place]?.cancel()
        activity.begin()
        resolving[place] = Task { await resolve(place, interface) }
      case .serviceRemoved(let name):
        resolving.removeValue(forKey: Place(name: name, interface: found.interface))?.cancel()
        tell("gone", name, interface)
      case .failed(let error): throw NetworkText.failure(error)
      default: break
      }
    }
  }

  private struct Place: Hashable {
    var name: ServiceName
    var interface: InterfaceIndex?
  }

  /// Tells where a service is, and again whenever that changes.
  private func resolve(_ place: Place, _ interface: String?) async {
    let isFirst = Guarded(true)
    let finishFirst = { @Sendable () -> Void in
      let wasFirst = isFirst.update { isFirst -> Bool in
        defer { isFirst = false }
        return isFirst
      }
      if wasFirst { activity.end() }
    }
    defer { finishFirst() }
    let timer = Task {
      try await Task.sleep(for: session.limit.duration)
      if isFirst.value {
        output.warn("\"\(place.name.instanceText)\" did not answer within \(session.limit)")
      }
      finishFirst()
    }
    defer { timer.cancel() }
    for await found in session.locations(of: place.name, on: place.interface) {
      guard let location = Resolve.place(found.event) else { continue }
      timer.cancel()
      let addresses = try? await session.addresses(
        of: location.host, on: place.interface, within: session.limit.duration)
      guard !Task.isCancelled else { return }
      if addresses?.isEmpty ?? true {
        output.warn("\(location.host), the host of \"\(place.name.instanceText)\", has no address")
      }
      tell(ResolvedPlace(place: location, addresses: addresses ?? [], interface: interface))
      finishFirst()
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

  private func tell(_ event: String, _ name: ServiceName, _ interface: String?) {
    activity.note()
    if output.isJSON { return output.object(Browse.json(event, name, interface)) }
    let type = showsType ? "  \(name.type)" : ""
    line(event, Fit.safe(name.instanceText) + type, interface)
  }

  private func tell(_ event: String, _ type: ServiceType, _ interface: String?) {
    activity.note()
    if output.isJSON {
      return output.object(
        .object([
          "event": .string(event), "type": .string("\(type)"),
          "interface": interface.map { .string($0) }, "time": .time(Date()),
        ]))
    }
    line(event, "\(type)", interface)
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
