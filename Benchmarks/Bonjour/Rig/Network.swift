import BenchmarkSupport
import Foundation

/// Hosts on one Ethernet of their own: network namespaces, gone with this object.
final class Network {
  private static nonisolated(unsafe) var lastNumber = 0  // Only the main thread makes networks.

  let hosts: [NetworkHost]
  private let switchName: String

  /// Makes `hostCount` hosts, 10.214.0.1 and on, with IPv6 or without.
  init(hostCount: Int, hasIPv6: Bool = false) throws {
    Self.lastNumber += 1
    let name = "bench\(getpid())-\(Self.lastNumber)"
    switchName = "\(name)-s"
    hosts = try (1...hostCount).map { try NetworkHost(name: "\(name)-\($0)", number: $0) }
    try ip("netns", "add", switchName)
    try ip(
      "-n", switchName, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
    try ip("-n", switchName, "link", "set", "br0", "up")
    for (number, host) in hosts.enumerated() {
      let space = host.namespace
      try ip("netns", "add", space)
      try ip(
        "link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", "port\(number)",
        "netns", switchName)
      try ip("-n", switchName, "link", "set", "port\(number)", "master", "br0", "up")
      let setting = hasIPv6 ? "accept_dad=0" : "disable_ipv6=1"
      try run("ip", "netns", "exec", space, "sysctl", "-q", "net.ipv6.conf.eth0.\(setting)")
      try ip("-n", space, "address", "add", "\(host.address)/24", "dev", "eth0")
      try ip("-n", space, "link", "set", "lo", "up")
      try ip("-n", space, "link", "set", "eth0", "up")
      try ip("-n", space, "route", "add", "224.0.0.0/4", "dev", "eth0")
    }
  }

  deinit {
    for host in hosts {
      try? ip("netns", "delete", host.namespace)
      try? FileManager.default.removeItem(at: host.folder)
    }
    try? ip("netns", "delete", switchName)
  }

  private func ip(_ arguments: String...) throws { try Self.run(["ip"] + arguments) }

  private func run(_ command: String...) throws { try Self.run(command) }

  private static func run(_ command: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw ChildError("\"\(command.joined(separator: " "))\" failed.")
    }
  }
}

/// A host: a network namespace whose processes have a `/run` and a name of their own.
struct NetworkHost {
  let namespace: String
  let address: String
  /// Where its files are.
  let folder: URL
  private let name: String

  fileprivate init(name: String, number: Int) throws {
    namespace = name
    self.name = "host-\(number)"
    address = "10.214.0.\(number)"
    folder = FileManager.default.temporaryDirectory.appending(path: name)
    try FileManager.default.createDirectory(
      at: folder.appending(path: "run"), withIntermediateDirectories: true)
  }

  /// Starts a program on the host.
  func start(_ command: String..., readsErrors: Bool = false) throws -> Child {
    try start(command, readsErrors: readsErrors)
  }

  /// Starts a program on the host.
  func start(_ command: [String], readsErrors: Bool = false) throws -> Child {
    let setUp = #"hostname "$0" && mount --bind "$1" /run && shift && exec "$@""#
    return try Child(
      ["ip", "netns", "exec", namespace, "unshare", "--uts", "sh", "-c", setUp, name]
        + [folder.appending(path: "run").path] + command, readsErrors: readsErrors)
  }

  /// How many datagrams the kernel has dropped that a process of the host did not read in time.
  func droppedCount(of child: Child) -> Int {
    sockets(of: child).compactMap { $0.last.flatMap { Int($0) } }.reduce(0, +)
  }

  /// Waits until a process of the host has read all packets in its receive buffers. The kernel has
  /// no event for that, so this polls.
  func waitUntilRead(by child: Child) throws {
    for _ in 0..<5_000 {
      // What waits to be sent and to be read, in bytes: 00000000:000001A0.
      let queues = sockets(of: child).compactMap { $0.dropFirst(4).first }
      if queues.allSatisfy({ $0.hasSuffix(":00000000") }) { return }
      usleep(2_000)
    }
    throw ChildError("What was sent is not read.")
  }

  /// The fields of the kernel's table of sockets for those with port 5353 (proc(5)).
  private func sockets(of child: Child) -> [[Substring]] {
    let path = "/proc/\(child.identifier)/net/udp"
    let table = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return table.split(separator: "\n").filter { $0.contains(":14E9 ") }
      .map { $0.split(separator: " ") }
  }
}
