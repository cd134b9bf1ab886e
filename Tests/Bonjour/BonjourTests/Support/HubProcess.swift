import BonjourHost
import Foundation
import HubPlaces
import Testing

/// Another process with a hub, which a test may stop and kill: this program again, with ``HubProcessTests`` as its only
/// test.
final class HubProcess: @unchecked Sendable {
  // Unchecked: set up once, and signalled then.

  static let variable = "AMBIT_TEST_HUB"
  /// What the process writes once its hub listens.
  static let ready = "The hub is ready."

  private let process = Process()
  private let run: String
  private let input = Pipe()

  /// Starts a hub, and returns once it listens.
  ///
  /// - Parameter run: The run of the test, which is part of all names.
  init(_ run: String) async throws {
    self.run = run
    let output = Pipe()
    process.executableURL = URL(
      filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    process.arguments = ["--testing-library", "swift-testing", "--filter", "HubProcessTests"]
    process.environment = [Self.variable: run, "PATH": "/usr/bin:/bin"]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let (lines, line) = AsyncStream.makeStream(of: String.self)
    output.fileHandleForReading.readabilityHandler = { handle in
      let data = handle.availableData
      if data.isEmpty {
        handle.readabilityHandler = nil
        line.finish()
      } else {
        line.yield(String(decoding: data, as: UTF8.self))
      }
    }
    var text = ""
    for await part in lines {
      text += part
      if text.contains(Self.ready) { return }
    }
    Issue.record("the process has ended: \(text)")
  }

  deinit {
    // The number of one that has crashed may be another process's.
    guard process.isRunning else { return }
    kill(process.processIdentifier, SIGKILL)
    unlink(Self.path(run))
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Ends it as a crash does, and returns when it has ended.
  func crash() {
    signal(SIGKILL)
    process.waitUntilExit()
  }

  /// Where the hub of a run listens.
  static func path(_ run: String) -> String { "/tmp/ambit-\(run).bonjour" }

  /// The configuration of a run's hub and of hosts that use it, on the interface that every machine has.
  static func configuration(_ run: String) -> BonjourConfiguration {
    var configuration = BonjourConfiguration(hostName: "faults-\(run)", interfaceNames: ["lo"])
    configuration.hubOverride = BonjourPlaces(paths: [path(run)], isNamed: false)
    return configuration
  }
}

@Suite("Another process of a test", .enabled(if: getenv(HubProcess.variable) != nil))
struct HubProcessTests {
  @Test func `Another process runs a hub until its input ends`() throws {
    let run = String(cString: try #require(getenv(HubProcess.variable)))
    let hub = try BonjourHub.start(
      at: HubProcess.path(run), configuration: HubProcess.configuration(run),
      admits: { _ in BonjourAdmission() })
    FileHandle.standardOutput.write(Data(HubProcess.ready.utf8))
    _ = FileHandle.standardInput.readDataToEndOfFile()
    withExtendedLifetime(hub) {}
  }
}
