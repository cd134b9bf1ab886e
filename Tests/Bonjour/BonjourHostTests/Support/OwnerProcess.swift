import DNSWire
import DiscoveryMachines
import Essentials
import Glibc
import Testing

@testable import BonjourHost

/// Another process with a host that is the owner, which a test may stop and kill: this program
/// again, with ``OwnerProcessTests`` as its only test.
struct OwnerProcess: Sendable {
  static let variable = "AMBIT_TEST_OWNER"

  let id: pid_t
  private let socket: Peer

  /// Starts it, and returns once it has registered its services.
  ///
  /// - Parameters:
  ///   - run: The run of the test, which is part of all names.
  ///   - serviceCount: How many services it registers.
  static func start(_ run: String, serviceCount: Int = 1) async throws -> OwnerProcess {
    var descriptors: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &descriptors) == 0)
    defer { Glibc.close(descriptors[1]) }
    var actions = posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for standard in [STDIN_FILENO, STDOUT_FILENO] {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptors[1], standard)
    }
    let arguments = [
      "/proc/self/exe", "--testing-library", "swift-testing", "--filter", "OwnerProcessTests",
    ]
    let environment = ["\(variable)=\(run)/\(serviceCount)", "PATH=/usr/bin:/bin"]
    var id: pid_t = 0
    let status = unsafe withStrings(arguments) { arguments in
      unsafe withStrings(environment) { environment in
        unsafe posix_spawn(&id, "/proc/self/exe", &actions, nil, arguments, environment)
      }
    }
    try #require(status == 0)
    let process = OwnerProcess(id: id, socket: Peer(descriptors[0]))
    try await process.untilReady()
    return process
  }

  /// What the process writes once its services are registered.
  static let ready = "The services of the owner are registered."

  private func untilReady() async throws {
    var text = ""
    while !text.contains(Self.ready) {
      let bytes = try await socket.read()
      try #require(!bytes.isEmpty, "the owner has ended: \(text)")
      text += String(decoding: bytes, as: UTF8.self)
    }
  }

  func signal(_ number: Int32) { kill(id, number) }

  /// Writes to its standard input: a line lets it end in order.
  func write(_ text: String) throws { try socket.write(Array(text.utf8)) }

  /// Lets it end in order.
  func close() async throws {
    try write("\n")
    try await wait()
  }

  /// Returns when it has ended.
  func wait() async throws {
    while try await !socket.read().isEmpty {}
    while waitpid(id, nil, 0) < 0, errno == EINTR {}
  }
}

/// Calls back with C strings, and nil behind them.
private func withStrings<Result>(
  _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
  let strings = unsafe texts.map { unsafe strdup($0) }
  defer { for string in unsafe strings { unsafe free(string) } }
  return unsafe body(strings + [nil])
}

/// The configuration of hosts that meet at a place of their own, on the interface that every machine
/// has.
func sharingConfiguration(_ run: String, name: String = "shared") -> BonjourConfiguration {
  var configuration = BonjourConfiguration(hostName: "\(name)-\(run)", interfaceNames: ["lo"])
  configuration.ownerSocketNameOverride = "ambit-test-\(run)"
  return configuration
}

@Suite("The process of an owner", .enabled(if: getenv(OwnerProcess.variable) != nil))
struct OwnerProcessTests {
  @Test("the process of an owner has services until it gets a line")
  func own() async throws {
    let variable = try #require(getenv(OwnerProcess.variable))
    let parts = String(cString: variable).split(separator: "/").map(String.init)
    let (run, count) = (parts[0], try #require(Int(parts[1])))
    let host = BonjourHost(configuration: sharingConfiguration(run))
    #expect(await host.settledRole == .owner)
    let (names, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
    var registrations = try (1...count).map { number in
      let name = try ServiceName(
        instance: "Owner's \(number)", type: try ServiceType(text: "_b-\(run)._tcp"))
      return try host.register(ServiceRegistration(name, port: 80)) { continuation.yield($0) }
    }
    let record = DNSRecord(
      name: try DNSName(text: "owner-\(run).local."), ttlSeconds: 120,
      data: .a(Inet4Address(192, 0, 2, 1)))
    registrations.append(
      host.register(RecordRegistration(record, .unique)) { continuation.yield($0) })
    var iterator = names.makeAsyncIterator()
    for _ in registrations { _ = await iterator.next() }
    let line = Array(OwnerProcess.ready.utf8)
    _ = unsafe write(STDOUT_FILENO, line, line.count)
    _ = try await Peer(dup(STDIN_FILENO)).read()
    withExtendedLifetime(registrations) {}
    await host.close()
  }
}
