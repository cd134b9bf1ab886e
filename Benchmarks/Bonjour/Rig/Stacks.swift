import BenchmarkSupport
import Foundation

/// An implementation of Multicast DNS.
enum Stack: String, CaseIterable {
  case ambit = "Ambit"
  case avahi = "Avahi"
  case zeroconf = "zeroconf"

  /// Those that a part compares: ours alone where all that is asked is whether it works.
  static func compared(isSmoke: Bool) -> [Stack] { isSmoke ? [.ambit] : available }

  /// Those that can be had here.
  static let available: [Stack] = allCases.filter { stack in
    switch stack {
    case .ambit: true
    case .avahi: Paths.avahi != nil
    case .zeroconf: Paths.python != nil
    }
  }
}

/// The paths of the programs, set by `Benchmarks/run`.
enum Paths {
  private static let environment = ProcessInfo.processInfo.environment
  static let python = environment["BENCH_PYTHON"]
  static let zeroconf = environment["BENCH_ZEROCONF"] ?? ""
  static let avahiDaemon = environment["BENCH_AVAHI_DAEMON"] ?? ""
  /// The folder with the unpacked packages of Avahi.
  static let avahi = environment["BENCH_AVAHI"]

  static func ownHost() throws -> String {
    URL(fileURLWithPath: try Child.ownPath()).deletingLastPathComponent()
      .appending(path: "bonjour-benchmark-host").path
  }
}

/// The type that everything is of.
let serviceType = "_bench._tcp"

/// A process that publishes a number of services at each request.
final class Publisher {
  let child: Child
  private let stack: Stack
  private let host: NetworkHost
  private let count: Int
  private var round = -1

  init(_ stack: Stack, on host: NetworkHost, count: Int) throws {
    (self.stack, self.host, self.count) = (stack, host, count)
    switch stack {
    case .ambit:
      child = try host.start(
        Paths.ownHost(), "publish", serviceType, "Bench", "\(count)", readsErrors: true)
      _ = try child.report("ready")
    case .zeroconf:
      child = try host.start(
        Paths.python ?? "", Paths.zeroconf, "publish", serviceType, "Bench", "\(count)",
        host.address)
      _ = try child.report("ready")
    case .avahi: child = try startAvahi(on: host)
    }
  }

  deinit { child.end() }

  /// The instance's name in this round, for `count` of 1.
  var name: String { "Bench \(round)" }

  /// Publishes; returns the time of the request and the time when the names were confirmed.
  func publish() throws -> (asked: Int64, published: Int64) {
    round += 1
    guard stack == .avahi else {
      try child.tell("go")
      let asked = try child.report("asked").nanoseconds
      return (asked, try child.report("published", within: 120).nanoseconds)
    }
    let services = host.folder.appending(path: "avahi/services")
    let files = (0..<count).map { number in
      let instance = "Bench \(count == 1 ? round : number)"
      let text = """
        <service-group><name>\(instance)</name><service><type>\(serviceType)</type>
        <port>8080</port></service></service-group>
        """
      return (services.appending(path: "\(round)-\(number).service"), Data(text.utf8))
    }
    let asked = nanosecondsNow
    for (file, text) in files { try text.write(to: file) }
    var left = count
    while left > 0 {
      if try child.line(within: 120).contains("successfully established") { left -= 1 }
    }
    return (asked, nanosecondsNow)
  }
}

/// A process that browses.
final class Browser {
  /// What uses the network: the process itself, or the daemon that it talks to.
  let child: Child
  private let stack: Stack
  private let host: NetworkHost
  private var tool: Child?
  private var askedAt: Int64 = 0

  init(_ stack: Stack, on host: NetworkHost, count: Int = 1, resolves: Bool = false) throws {
    (self.stack, self.host) = (stack, host)
    switch stack {
    case .ambit:
      child = try host.start(
        Paths.ownHost(), "browse", serviceType, "\(count)", resolves ? "resolve" : "",
        readsErrors: true)
      _ = try child.report("ready")
    case .zeroconf:
      child = try host.start(Paths.python ?? "", Paths.zeroconf, "browse", serviceType)
      _ = try child.report("ready")
    case .avahi: child = try startAvahi(on: host)
    }
  }

  deinit {
    tool?.end()
    child.end()
  }

  /// Begins to browse.
  func start() throws {
    guard stack == .avahi else {
      try child.tell("go")
      askedAt = try child.report("asked").nanoseconds
      return
    }
    askedAt = nanosecondsNow
    tool = try host.start(
      "env", "LD_LIBRARY_PATH=\(avahiLibraries)",
      "DBUS_SYSTEM_BUS_ADDRESS=unix:path=\(host.folder.appending(path: "avahi/bus").path)",
      "stdbuf", "-oL", "\(Paths.avahi ?? "")/usr/bin/avahi-browse", "-p", "-k", serviceType)
  }

  /// Ends what `start` began.
  func stop() throws {
    if stack != .avahi { try child.tell("stop") }
    tool?.end()
    tool = nil
  }

  /// Milliseconds from the start to the first service.
  func untilFirst() throws -> Double {
    guard stack == .avahi else {
      return Double(try child.report("found").nanoseconds - askedAt) / 1e6
    }
    while try tool?.line().hasPrefix("+") == false {}
    return Double(nanosecondsNow - askedAt) / 1e6
  }
}

private let avahiLibraries: String = {
  let root = URL(fileURLWithPath: Paths.avahi ?? "/")
  let walker = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
  let folders = (walker?.compactMap { ($0 as? URL)?.path } ?? []).filter {
    $0.hasSuffix("-linux-gnu") && $0.contains("/lib/")
  }
  return folders.joined(separator: ":")
}()

/// Starts Avahi's daemon, and waits until it has a name.
private func startAvahi(on host: NetworkHost) throws -> Child {
  let state = host.folder.appending(path: "avahi")
  let name = "avahi-" + (host.address.split(separator: ".").last ?? "")
  let child = try host.start(
    Paths.avahiDaemon, Paths.avahi ?? "", state.path, name, readsErrors: true)
  while try !child.line().contains("Server startup complete") {}
  return child
}

/// Counts what some hosts send.
final class PacketCounter {
  private let children: [Child]

  init(_ hosts: [NetworkHost]) throws {
    children = try hosts.map { try $0.start(Paths.ownHost(), "count", "eth0") }
    for child in children { _ = try child.report("ready") }
  }

  deinit {
    for child in children { child.end() }
  }

  /// Packets and bytes since the last time.
  func count() throws -> (packets: Int, bytes: Int) {
    var sum = (packets: 0, bytes: 0)
    for child in children {
      try child.tell("count")
      let numbers = try child.report("counted").numbers
      guard numbers.count == 2 else { throw ChildError("Nothing was counted.") }
      sum = (sum.packets + Int(numbers[0]), sum.bytes + Int(numbers[1]))
    }
    return sum
  }
}
