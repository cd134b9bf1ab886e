import BluetoothHost
import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubHost
import HubMachines
import SimulatedRadio
import Testing

@Suite("A scan that programs of a hub share", .timeLimit(.minutes(5)))
struct SharedScanTests {
  private let folder: String
  private var path: String { folder + "/hub" }

  init() throws {
    SimulatedRadio.install()
    var template = Array(("/tmp/ambit-scans-" + String(repeating: "X", count: 6)).utf8CString)
    let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(name)
  }

  /// A program that gets a report of each advertisement.
  private func scanning(_ name: String) async throws -> TestProgram {
    let program = try await TestProgram.served(name, at: path)
    try await program.first { $0 == .stateChanged(.poweredOn) ? () : nil }
    var options = ScanOptions()
    options.allowsDuplicates = true
    try await program.send(.startScan(options))
    try await hears(program, after: .now)
    return program
  }

  /// Waits for a report of an advertisement that came so late that a scan which ended would not have it.
  private func hears(_ program: TestProgram, after time: Instant) async throws {
    let begin = time + .milliseconds(500)
    try await program.first { event -> Void? in
      if case .discovered(let report) = event, report.heardAt > begin { () } else { nil }
    }
  }

  @Test("a program that stops its scan, and one that is gone, stop the scan of no other one")
  func stops() async throws {
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), host) { report.yield($0) }
    let other = try await scanning("other")
    let stopping = try await scanning("stopping")
    try await stopping.send(.stopScan)
    #expect(try await stopping.ask { .barrier($0) } == .done)
    try await hears(other, after: .now)

    let ending = try await scanning("ending")
    await ending.close()
    for await report in reports {
      if case .closed(_, app: "ending", nil) = report { break }
    }
    try await hears(other, after: .now)

    // The program that has stopped hears nothing until it scans again.
    let silence = Instant.now
    try await stopping.send(.startScan(ScanOptions()))
    try await stopping.first { event -> Void? in
      guard case .discovered(let report) = event else { return nil }
      #expect(report.heardAt > silence)
      return ()
    }
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }
}
