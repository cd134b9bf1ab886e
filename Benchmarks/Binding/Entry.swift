import BenchmarkSupport
import Foundation

/// What the program does; `Benchmarks/run binding` explains.
@main
struct Entry {
  private static let parts = ["typing", "memory", "board"]

  static func main() async {
    var wanted = Array(CommandLine.arguments.dropFirst())
    let isSmoke = wanted.contains("--smoke")
    wanted.removeAll { $0 == "--smoke" }
    guard wanted.allSatisfy(parts.contains) else {
      say("The parts are \(parts.joined(separator: ", ")); --smoke is the only option.")
      exit(2)
    }
    do {
      var table = try Table(suite: "binding", isSmoke: isSmoke)
      for part in parts where wanted.isEmpty || wanted.contains(part) {
        try await table.run { table in
          switch part {
          case "typing": try typing(&table, isSmoke: isSmoke)
          case "memory": try memory(&table, isSmoke: isSmoke)
          default: try board(&table, isSmoke: isSmoke)
          }
        }
      }
      guard table.finish(isComplete: wanted.isEmpty) else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  /// Starts a server, and finds the port that it listens on.
  private static func start(_ arguments: [String]) throws -> (Child, UInt16) {
    let path = try Child.ownPath() + "-host"
    let child = try Child([path] + arguments)
    let line = try child.line()
    guard let port = line.split(separator: " ").last.flatMap({ URL(string: String($0))?.port })
    else { throw ChildError("The host says: \(line)") }
    return (child, UInt16(port))
  }

  // MARK: Typing

  /// A browser types, and measures until what follows from it is shown.
  private static func typing(_ table: inout Table, isSmoke: Bool) throws {
    table.heading("A page in headless Chromium, on loopback", "")
    let (host, port) = try start(["typing"])
    defer { host.end() }
    let count = isSmoke ? 40 : 400
    let profile = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: profile) }
    let sandbox = getuid() == 0 ? ["--no-sandbox"] : []
    let browser = try Child(
      ["chromium", "--headless", "--disable-gpu", "--disable-dev-shm-usage"] + sandbox + [
        "--user-data-dir=\(profile.path)", "--remote-debugging-port=0",
        "http://127.0.0.1:\(port)/?count=\(count)",
      ])
    defer { browser.end() }
    let times = try report(of: host).sorted()
    guard times.count == count else { throw ChildError("The page measured \(times.count) times.") }
    table.add("keystroke to page, median", times[count / 2], "ms")
    table.add("keystroke to page, 99th percentile", times[count * 99 / 100], "ms")

    var resyncs: [Double] = []
    for _ in 0..<(isSmoke ? 2 : 10) {
      try host.tell("restart")
      resyncs.append(try number(after: "typed ", of: host))
    }
    table.add("typed again into a new server, median", resyncs.sorted()[resyncs.count / 2], "ms")
    table.add("typed again into a new server, longest", resyncs.max() ?? .nan, "ms")
  }

  private static func number(after word: String, of host: Child) throws -> Double {
    while true {
      let line = try host.line()
      if line.hasPrefix(word) { return Double(line.dropFirst(word.count)) ?? .nan }
    }
  }

  private static func report(of host: Child) throws -> [Double] {
    while true {
      let line = try host.line(within: 120)
      guard line.hasPrefix("report ") else { continue }
      return line.dropFirst(7).split(separator: " ").compactMap { Double($0) }
    }
  }

  // MARK: Memory

  private static func memory(_ table: inout Table, isSmoke: Bool) throws {
    let count = isSmoke ? 200 : 1_000
    for (role, title) in [("desks", "a view model each"), ("board", "one view model of 200 rows")] {
      table.heading("\(count) clients that do nothing, \(title)", "")
      let (host, port) = try start([role, "200", "0"])
      defer { host.end() }
      // Warm up, so that one-time allocations don't count.
      do { _ = try Clients(count: 10, port: port) }
      let before = host.residentBytes
      let clients = try Clients(count: count, port: port)
      let after = host.residentBytes
      let each = Double(after - before) / Double(count) / 1_000
      table.add("a client, \(title)", each, "kB")
      if !isSmoke { table.add("1,000 clients, \(title)", Double(after) / 1e6, "MB") }
      withExtendedLifetime(clients) {}
    }
  }

  // MARK: A board of devices

  /// Five hundred pages with two hundred devices, each of which changes ten times a second.
  private static func board(_ table: inout Table, isSmoke: Bool) throws {
    let seconds = isSmoke ? 2.0 : 15
    table.heading("500 clients, 200 devices, 10 changes a second each", "")
    let ours = try load("board", "200", "2000", seconds: seconds)
    table.add("patches to a client", ours.events / 500, "a second")
    table.add("a patch", ours.bytes / ours.events / 1_000, "kB")
    table.add("all that is sent", ours.bytes / 1e6, "MB a second")
    table.add("500 clients and 2,000 changes a second", ours.cores, "of a core")
    let floor = try load(
      "floor", "\(Int(ours.bytes / ours.events))", "\(ours.events / 500)", seconds: seconds)
    table.add("bare hummingbird, as many events of as many bytes", floor.cores, "of a core")
  }

  private static func load(
    _ arguments: String..., seconds: Double
  ) throws -> (events: Double, bytes: Double, cores: Double) {
    let (host, port) = try start(arguments)
    defer { host.end() }
    let clients = try Clients(count: 500, port: port)
    try clients.read(seconds: 1)
    let (events, bytes, cpu, start) = (
      clients.eventCount, clients.byteCount, host.cpuSeconds, Date()
    )
    try clients.read(seconds: seconds)
    let time = Date().timeIntervalSince(start)
    return (
      Double(clients.eventCount - events) / time, Double(clients.byteCount - bytes) / time,
      (host.cpuSeconds - cpu) / time
    )
  }
}
