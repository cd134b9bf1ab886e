import AppManagerHost
import AppMachines
import AppSessions
import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothWire
import Essentials
import EventLoop
import Foundation
import HubWire
import SimulatedRadio
import Simulation

/// Many suspended apps, each with five pending connections, held sockets and regions: the processor time of the manager
/// and the hub while nothing happens, their memory, and how long a manager that was killed takes until the next one has
/// all of it.
func runCrowd(into table: inout Table, isSmoke: Bool) async throws {
  let crowd = try await Crowd(count: isSmoke ? 10 : 200)
  do {
    try await crowd.suspendAll()
    table.heading("\(crowd.count) apps, five of each kind for each of them", "")
    let share = try await crowd.idleShare(seconds: isSmoke ? 2 : 30)
    table.add("idle processor time of manager and hub", share * 100, "%")
    table.add("memory of manager and hub", crowd.megabytes, "MB")
    table.add("restart of the manager", try await crowd.restart(), "s")
  } catch {
    await crowd.close()
    throw error
  }
  await crowd.close()
}

private final class Crowd {
  let count: Int
  private static let each = 5
  private static let openedTogether = 10
  private let folder: String
  private let radio: RadioServer
  private let hub: Child
  private let server: CrowdServer
  private let store: CrowdStore
  private var manager: StartedManager
  private var path: String { folder + "/ambit/apps" }

  init(count: Int) async throws {
    self.count = count
    try DescriptorCount.raise(to: Self.descriptorCount(of: count))
    let folder = "/tmp/ambit-benchmark-\(UUID().uuidString.prefix(8))"
    self.folder = folder
    try FileManager.default.createDirectory(
      atPath: folder + "/ambit", withIntermediateDirectories: true)
    SimulatedRadio.install()
    let place = folder + "/radio"
    radio = try await RadioServer.start(at: [.unix(path: place)]) { World(seed: 1) }
    hub = try Child([
      Self.program("ambit-hub"), "--no-network", "--radio", "unix:" + place, "--socket",
      folder + "/hub", "--json",
    ])
    while try !hub.line().contains("\"serving\"") {}
    server = try CrowdServer()
    store = try CrowdStore(at: folder + "/notify", countMax: count * Self.each)
    try Self.makeApps(count, in: folder, port: server.port)
    manager = try StartedManager(Self.program("ambit-apps"), in: folder, store)
  }

  /// For each app, the manager has its sockets, and some ten descriptors of its process; this program has both ends of each
  /// connection in its server and its store, above the numbers that a manager gets.
  private static func descriptorCount(of apps: Int) -> Int { 256 + apps * (3 * each + 10) }

  private static func program(_ name: String) -> String {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: name).path
  }

  private static func identifier(_ number: Int) -> String { "com.example.crowd\(number)" }

  /// The folders of the apps, and the store of a manager that had their pending connections.
  private static func makeApps(_ count: Int, in folder: String, port: UInt16) throws {
    let modes = ["bluetooth-central", "voip"]
    var contents = AppStoreContents()
    for number in 0..<count {
      let place = "\(folder)/\(number)"
      try FileManager.default.createDirectory(
        atPath: place, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: place + "/crowd-app", withDestinationPath: program("crowd-app"))
      try "\(port)".write(toFile: place + "/server", atomically: true, encoding: .utf8)
      let plist: [String: Any] = [
        "CFBundleIdentifier": identifier(number), "CFBundleExecutable": "crowd-app",
        "UIBackgroundModes": modes,
        "NSLocationAlwaysAndWhenInUseUsageDescription": "Greets visitors.",
        "NSLocationWhenInUseUsageDescription": "Greets visitors.",
      ]
      try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0)
        .write(to: URL(filePath: place + "/Info.plist"))
      contents.apps.append(
        InstalledAppRecord(
          identifier: identifier(number), folder: place,
          description: AppDescription(modes: [.bluetoothCentral, .voip])))
      contents.managers.append(
        PreservedManagerRecord(
          app: identifier(number), manager: "central:crowd",
          holdings: try pendingConnections(of: number)))
    }
    try AppStoreFile(path: folder + "/ambit/apps.json").write(contents)
  }

  private static func pendingConnections(of number: Int) throws -> [UInt8] {
    var holdings = SessionHoldings()
    holdings.links = (0..<each).map { index in
      let bits = 0xC000_0000_0000 + UInt64(number * each + index)
      return SessionHoldings.Link(
        peer: DeviceAddress(bits: bits, kind: .random), options: ConnectOptions(),
        isConnected: false)
    }
    var writer = HubFrameWriter()
    let attachment = SessionAttachment(holdsName: true, keptFor: .zero, holdings: holdings)
    try writer.append(HubMessage.attached(HubSessionID(rawValue: 1), attachment))
    return writer.takeBytes()
  }

  // MARK: The apps

  private func perform(_ command: AppManagerCommand) async throws -> AppCommandReply? {
    for try await reply in AppCommandClient.replies(to: command, at: path) { return reply }
    return nil
  }

  /// Waits until the manager has a state for which `condition` is true.
  private func until(
    _ title: String, _ condition: (AppManagerStatus) -> Bool
  ) async throws {
    let deadline = Instant.now + .seconds(120)
    var last: AppManagerStatus?
    while Instant.now < deadline {
      if case .status(let status) = try? await perform(.status) {
        if condition(status) { return }
        last = status
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw ChildError("\(title): \(last.map { $0.apps.prefix(2).map { "\($0)" } } ?? [])")
  }

  func suspendAll() async throws {
    try await until("the manager doesn't serve") { $0.apps.count == count }
    // The start of an app takes a processor's time, and the status that of all apps: several begin at once. Each one that
    // is opened sends the one before it to the background.
    for start in stride(from: 0, to: count, by: Self.openedTogether) {
      let names = (start..<min(count, start + Self.openedTogether)).map(Self.identifier)
      for name in names { _ = try await perform(.open(name, attaches: false)) }
      try await until("apps don't begin") { status in
        status.apps.count { names.contains($0.identifier) && hasAll($0) } == names.count
      }
    }
    _ = try await perform(.background(Self.identifier(count - 1)))
    try await until("the apps aren't suspended", areComplete)
  }

  private func hasAll(_ app: AppManagerStatus.App) -> Bool {
    app.pendingConnectionCount == Self.each && app.regionCount == Self.each
      && app.heldSockets?.count == Self.each
  }

  private func areComplete(_ status: AppManagerStatus) -> Bool {
    status.apps.count == count && (status.isWritten ?? false)
      && status.apps.allSatisfy { $0.state == .suspended && hasAll($0) }
  }

  // MARK: Measuring

  private var processorTime: Double { hub.cpuSeconds + manager.processorTime }

  func idleShare(seconds: Int64) async throws -> Double {
    // Looks at sockets and writes of lists follow a suspension, and the state of a region is determined after half a minute
    // without its beacon.
    try await Task.sleep(for: .seconds(seconds < 30 ? 2 : 35))
    let (start, before) = (Instant.now, processorTime)
    try await Task.sleep(for: .seconds(seconds))
    return (processorTime - before) / (Instant.now - start).seconds
  }

  /// Their own memory, and a part of the memory that they share with other processes (proc(5), `Pss`).
  var megabytes: Double {
    [hub.identifier, manager.processID].map { process in
      let text = try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)
      let line = text?.split(separator: "\n").first { $0.hasPrefix("Pss:") }
      let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
      return (kilobytes ?? .nan) * 1_024 / 1e6
    }.reduce(0, +)
  }

  func restart() async throws -> Double {
    manager.kill()
    let start = Instant.now
    manager = try StartedManager(Self.program("ambit-apps"), in: folder, store)
    try await until("the next manager hasn't all of it", areComplete)
    return (Instant.now - start).seconds
  }

  func close() async {
    manager.terminate()
    hub.end()
    server.close()
    store.close()
    await radio.close()
    try? FileManager.default.removeItem(atPath: folder)
  }
}
