import AppManagerHost
import AppMachines
import AppSessions
import BenchmarkSupport
import BluetoothHost
import Essentials
import EventLoop
import Foundation
import Glibc
import SimulatedRadio
import Simulation

/// Messages over a connection that the manager of apps holds, to the app of `Examples/Standby` with real processes: the
/// time from sending a message to the app's acknowledgement, which its delegate sends.
func runHeldSockets(into table: inout Table, isSmoke: Bool) async throws {
  let run = try await HeldSocketRun()
  let wakes = try await run.times(isSmoke ? 50 : 1_000) { _ in }
  let launches = try await run.times(isSmoke ? 5 : 50) { run in
    _ = try await run.perform(.terminate(HeldSocketRun.app))
    try await run.until(.notRunning)
  }
  await run.close()
  table.heading("A held connection, real processes", "")
  table.add("packet to a suspended app and back, p50", wakes.percentile(50) * 1_000, "ms")
  table.add("packet to a suspended app and back, p99", wakes.percentile(99) * 1_000, "ms")
  table.add("packet to a terminated app and back, p50", launches.percentile(50) * 1_000, "ms")
}

private struct HeldSocketRun {
  static let app = "com.example.standby"

  let folder: String
  let radio: RadioServer
  let host: BluetoothHost
  let manager: AppManagerServer
  private(set) var connection: Int32 = -1

  init() async throws {
    folder = "/tmp/ambit-benchmark-\(UUID().uuidString.prefix(8))"
    let place = folder + "/Standby"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    SimulatedRadio.install()
    radio = try await RadioServer.start(at: [.unix(path: folder + "/radio")]) { World(seed: 1) }
    host = try BluetoothHost(radio: .unix(path: folder + "/radio"))
    manager = try await AppManagerServer.start(
      at: folder + "/run/apps", host, store: AppStoreFile(path: folder + "/state/apps.json"),
      freezer: .signals, memory: .none)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { Glibc.close(listener) }
    let address = SocketAddress(.v4(Inet4Address(127, 0, 0, 1)), port: 0)
    guard address.with({ bind(listener, $0, $1) }) == 0, listen(listener, 1) == 0,
      let port = SocketAddress(boundTo: listener)?.port
    else { throw SystemError.current }
    try Self.makeApp(in: place, port: port)
    _ = try await perform(.install(folder: place))
    _ = try await perform(.open(Self.app, attaches: false))
    let accepted = accept(listener, nil, nil)
    guard accepted >= 0 else { throw SystemError.current }
    var flag: Int32 = 1
    setsockopt(
      accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &flag, socklen_t(MemoryLayout<Int32>.size))
    connection = accepted
    _ = try await perform(.background(Self.app))
    try await until(.suspended)
  }

  private static func makeApp(in place: String, port: UInt16) throws {
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "standby")
    try FileManager.default.createSymbolicLink(
      atPath: place + "/standby", withDestinationPath: program.path)
    try "127.0.0.1 \(port)\n".write(
      toFile: place + "/server", atomically: true, encoding: .utf8)
    let plist: [String: Any] = [
      "CFBundleIdentifier": app, "CFBundleExecutable": "standby", "UIBackgroundModes": ["voip"],
    ]
    try PropertyListSerialization.data(fromPropertyList: plist, format: .xml, options: 0)
      .write(to: URL(filePath: place + "/Info.plist"))
  }

  func perform(_ command: AppManagerCommand) async throws -> AppCommandReply? {
    for try await reply in AppCommandClient.replies(to: command, at: manager.path) { return reply }
    return nil
  }

  func until(_ state: AppLifeState) async throws {
    while true {
      guard case .status(let status) = try await perform(.status) else { continue }
      if status.apps.first?.state == state { return }
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// The seconds from a message to the acknowledgement, each time with the app suspended or as `prepare` leaves it.
  func times(
    _ count: Int, _ prepare: (HeldSocketRun) async throws -> Void
  ) async throws -> [Double] {
    var times: [Double] = []
    for _ in 0..<count {
      try await until(.suspended)
      try await prepare(self)
      let start = Instant.now
      try exchange()
      times.append((Instant.now - start).seconds)
    }
    return times
  }

  private func exchange() throws {
    let message = Array("message\n".utf8)
    guard send(connection, message, message.count, Int32(MSG_NOSIGNAL)) == message.count else {
      throw SystemError.current
    }
    var answer = [UInt8](repeating: 0, count: 64)
    var count = 0
    while !answer.prefix(count).contains(UInt8(ascii: "\n")) {
      let new = recv(connection, &answer, answer.count, 0)
      guard new > 0 else { throw SystemError.current }
      count = new
    }
  }

  func close() async {
    Glibc.close(connection)
    await manager.close()
    await host.close()
    await radio.close()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

extension [Double] {
  fileprivate func percentile(_ percent: Int) -> Double {
    isEmpty ? 0 : sorted()[Swift.min(count - 1, count * percent / 100)]
  }
}
