import Essentials
import Glibc
import HubPlaces
import Testing

@testable import BonjourHost

/// Another process with a hub, which a test may stop: this program again, with ``OtherProcessTests`` as its
/// only test.
struct OtherProcess: Sendable {
  static let variable = "AMBIT_TEST_PROCESS"

  let id: pid_t
  private let socket: Peer

  /// Starts a hub, and returns once it listens.
  ///
  /// - Parameter run: The run of the test, which is part of all names.
  static func hub(_ run: String) async throws -> OtherProcess {
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
      "/proc/self/exe", "--testing-library", "swift-testing", "--filter", "OtherProcessTests",
    ]
    let environment = ["\(variable)=\(run)", "PATH=/usr/bin:/bin"]
    var id: pid_t = 0
    let status = unsafe withStrings(arguments) { arguments in
      unsafe withStrings(environment) { environment in
        unsafe posix_spawn(&id, "/proc/self/exe", &actions, nil, arguments, environment)
      }
    }
    try #require(status == 0)
    let process = OtherProcess(id: id, socket: Peer(descriptors[0]))
    try await process.untilReady()
    return process
  }

  /// What the process writes once its hub listens.
  static let ready = "The process is ready."

  private func untilReady() async throws {
    var text = ""
    while !text.contains(Self.ready) {
      let bytes = try await socket.read()
      try #require(!bytes.isEmpty, "the process has ended: \(text)")
      text += String(decoding: bytes, as: UTF8.self)
    }
  }

  func signal(_ number: Int32) { kill(id, number) }

  /// Lets it end in order, and returns when it has.
  func close() async throws {
    try socket.write(Array("\n".utf8))
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

/// Where the hub of a run listens.
func hubPath(_ run: String) -> String { "/tmp/ambit-test-\(run).bonjour" }

/// The configuration of a run's hub and of hosts that use it, on the interface that every machine has.
func sharingConfiguration(_ run: String, name: String = "shared") -> BonjourConfiguration {
  var configuration = BonjourConfiguration(hostName: "\(name)-\(run)", interfaceNames: ["lo"])
  configuration.hubOverride = BonjourPlaces(paths: [hubPath(run)], isNamed: false)
  return configuration
}

@Suite("Another process of a test", .enabled(if: getenv(OtherProcess.variable) != nil))
struct OtherProcessTests {
  @Test("another process runs a hub until it gets a line")
  func hub() async throws {
    let run = String(cString: try #require(getenv(OtherProcess.variable)))
    let hub = try BonjourHub.start(
      at: hubPath(run), configuration: sharingConfiguration(run),
      admits: { _ in BonjourAdmission() })
    let line = Array(OtherProcess.ready.utf8)
    _ = unsafe write(STDOUT_FILENO, line, line.count)
    _ = try await Peer(dup(STDIN_FILENO)).read()
    await hub.close()
  }
}
