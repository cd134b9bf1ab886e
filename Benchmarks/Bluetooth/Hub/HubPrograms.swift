import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Foundation
import HubClient
import Logging
import Synchronization

/// Many programs in one process: to a hub, each is a connection of its own with one session. In process they
/// are sessions with one host.
struct HubPrograms {
  /// What the programs do.
  enum Job: String {
    case scan, idle, services, restart
  }

  private let place: String
  private let tally = Tally()
  private let providers: [any HostSessionProvider]
  private var sessions: [any HostSession] = []

  private static let publishToken = RequestToken(rawValue: 1)
  /// Programs of a job that wants links, from the first on.
  static let linkCount = 20
  /// Services of each program whose hub restarts.
  static let servicesToRestore = 5

  /// Does a job and prints what came of it.
  ///
  /// - Parameter place: The path of a hub's socket, or a radio for a host in this process.
  static func run(_ job: String, place: String, count: Int, amount: Double) async throws {
    guard let job = Job(rawValue: job) else { throw RigError("Programs have no job \(job).") }
    raiseDescriptorLimit()
    let programs = try await HubPrograms(place: place, count: count)
    switch job {
    case .idle:
      say("ready")
      try await Rig.sleepForEver()
    case .scan: try await programs.scan(seconds: amount)
    case .services: say("\(try await programs.publish(Int(amount)))")
    case .restart: try await programs.restart()
    }
    programs.close()
  }

  /// Opens the programs, and waits until the radio is on for all of them.
  private init(place: String, count: Int) async throws {
    self.place = place
    if place.hasPrefix("/") {
      providers = (0..<count).map { Self.program("program \($0)", at: place) }
    } else {
      let host = try BluetoothHost(radio: RadioChoice(parsing: place))
      providers = (0..<count).map { _ in host }
    }
    let tally = tally
    for (index, provider) in providers.enumerated() {
      sessions.append(
        provider.openSession(acknowledgesEvents: false, settle: nil) { tally.handle($0, of: index) }
      )
    }
    try await tally.wait { $0.poweredOn.count == count }
  }

  private static func program(_ name: String, at path: String) -> HubSessionProvider {
    HubSessionProvider(
      path: path, app: name,
      logger: Logger(label: "benchmark", factory: { _ in SwiftLogNoOpLogHandler() }))
  }

  private func close() {
    for session in sessions { session.close() }
  }

  /// Descriptors beyond the soft limit, which is 1,024 on most systems.
  private static func raiseDescriptorLimit() {
    var limits = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return }
    limits.rlim_cur = limits.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  }

  // MARK: The jobs

  /// Counts the reports to all programs. Prints a line when the counting begins and reports per second at the end.
  private func scan(seconds: Double) async throws {
    var options = ScanOptions()
    options.allowsDuplicates = true
    for session in sessions { session.send(.startScan(options)) }
    try await tally.wait { $0.scanning.count == sessions.count }
    say("counting")
    let (start, before) = (Clock.wallSeconds(), tally.state.withLock { $0.reportCount })
    try await Task.sleep(for: .seconds(seconds))
    let (end, after) = (Clock.wallSeconds(), tally.state.withLock { $0.reportCount })
    say("\(Double(after - before) / (end - start))")
  }

  /// Publishes services of all programs at once; returns the seconds until the last one is published.
  private func publish(_ countOfEach: Int) async throws -> Double {
    let start = Clock.wallSeconds()
    for number in 0..<countOfEach {
      for (index, session) in sessions.enumerated() {
        session.send(.addService(Self.service(number, of: index), Self.publishToken))
      }
    }
    try await tally.wait { $0.publishedCount == countOfEach * sessions.count }
    return tally.state.withLock { $0.lastChange } - start
  }

  /// Publishes services and connects, waits for another hub, and prints when everything is there again.
  private func restart() async throws {
    _ = try await publish(Self.servicesToRestore)
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    for (index, session) in sessions.prefix(Self.linkCount).enumerated() {
      session.send(.connect(HubServing.address(ofPeripheral: index), options))
    }
    try await tally.wait { $0.linked.count == Self.linkCount }
    say("ready")
    try await tally.wait { [count = sessions.count] in
      $0.lossCount == count && $0.poweredOn.count == count && $0.linked.count == Self.linkCount
    }
    let end = tally.state.withLock { $0.lastChange }
    try await requireServices(Self.servicesToRestore * sessions.count)
    say("\(end)")
  }

  /// Throws unless the hub has published this number of services: their handles precede those of a new one.
  private func requireServices(_ count: Int) async throws {
    let tally = Tally()
    let session = Self.program("last program", at: place)
      .openSession(acknowledgesEvents: false, settle: nil) { tally.handle($0, of: 0) }
    session.send(.addService(Self.service(0, of: 0), Self.publishToken))
    try await tally.wait { $0.publishedCount == 1 }
    let first = Int(tally.state.withLock { $0.lastPublished })
    guard first > Self.handlesOfService * count else {
      throw RigError("The hub has \(first) handles, too few for \(count) services.")
    }
    session.close()
  }

  /// A service, its characteristic, and the value.
  private static let handlesOfService = 3

  private static func service(_ number: Int, of program: Int) -> ServiceDefinition {
    ServiceDefinition(
      uuid: uuid(number, of: program, kind: 0),
      characteristics: [
        CharacteristicDefinition(
          uuid: uuid(number, of: program, kind: 1), properties: [.read], permissions: [.readable],
          value: Agreed.payload)
      ])
  }

  private static func uuid(_ number: Int, of program: Int, kind: Int) -> BluetoothUUID {
    let text = String(format: "0000BE1%d-%04X-%04X-9B1C-0E2D3C4B5A69", kind, program, number)
    guard let uuid = BluetoothUUID(text) else { preconditionFailure("\(text) is no UUID") }
    return uuid
  }
}

/// What the programs have got so far, all together.
private final class Tally: Sendable {
  struct State: Sendable {
    /// Programs whose radio is on, whose scan has found something, and that have their link.
    var poweredOn: Set<Int> = []
    var scanning: Set<Int> = []
    var linked: Set<Int> = []
    /// How often a radio that was on has gone off.
    var lossCount = 0
    var reportCount = 0
    var publishedCount = 0
    /// The first handle of the service that was published last.
    var lastPublished: UInt16 = 0
    var failure: HostError?
    /// When something other than a report came.
    var lastChange = 0.0

    mutating func handle(_ events: [HostEvent], of program: Int) {
      let reportsBefore = reportCount
      for event in events {
        switch event {
        case .discovered: reportCount += 1
        case .stateChanged(.poweredOn): poweredOn.insert(program)
        case .stateChanged: if poweredOn.remove(program) != nil { lossCount += 1 }
        case .connected: linked.insert(program)
        case .disconnected: linked.remove(program)
        case .completed(_, .success(.published(let service))):
          publishedCount += 1
          lastPublished = service.range.start
        case .completed(_, .failure(let error)), .connectionFailed(_, let error): failure = error
        default: break
        }
      }
      if reportCount - reportsBefore < events.count { lastChange = Clock.wallSeconds() }
      if reportCount > reportsBefore { scanning.insert(program) }
    }
  }

  let state = Mutex(State())

  func handle(_ events: [HostEvent], of program: Int) {
    state.withLock { $0.handle(events, of: program) }
  }

  /// Waits until something holds, for a minute at most.
  func wait(_ condition: (State) -> Bool) async throws {
    for _ in 0..<30_000 {
      let (isMet, failure) = state.withLock { (condition($0), $0.failure) }
      if let failure { throw RigError("A program failed: \(failure)") }
      if isMet { return }
      try await Task.sleep(for: .milliseconds(2))
    }
    let found = state.withLock { state in
      "\(state.poweredOn.count) on, \(state.scanning.count) scanning, \(state.linked.count) linked, "
        + "\(state.publishedCount) services, \(state.lossCount) losses"
    }
    throw RigError("Programs waited in vain: \(found).")
  }
}
