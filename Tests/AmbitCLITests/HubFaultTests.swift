import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("Faults of a hub, its programs and its radio", .serialized, .timeLimit(.minutes(5)))
struct HubFaultTests {
  /// A value of the simulated thermostat that takes an encrypted link.
  private static let maintenance = "7C3B0003-92F1-4E0B-8B1E-5D0A4C1F2E6D"

  private static func run(_ arguments: String..., on hub: String) async throws -> AmbitRun.End {
    let run = try AmbitRun(arguments, environment: ServedHub.environment(hub))
    run.closeInput()
    return await run.end()
  }

  // MARK: Processes that are stopped

  @Test("a program that is stopped holds up no other one, and goes on")
  func stoppedProgram() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    let subscribe = ["subscribe", "strap", "2A37", "--json"]
    let stopped = try AmbitRun(subscribe, environment: hub.environment)
    #expect(await stopped.output.next(containing: "\"value\"") != nil)
    let other = try AmbitRun(subscribe, environment: hub.environment)
    #expect(await other.output.next(containing: "\"value\"") != nil)
    stopped.send(SIGSTOP)
    defer { stopped.send(SIGCONT) }
    for _ in 0..<3 { #expect(await other.output.next(containing: "\"value\"") != nil) }
    stopped.send(SIGCONT)
    // More than the pipe and the socket had when it was stopped.
    for _ in 0..<5 { #expect(await stopped.output.next(containing: "\"value\"") != nil) }
    for run in [stopped, other] {
      run.interrupt()
      #expect(await run.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
    }
  }

  @Test("a hub that is stopped is a radio that doesn't answer, and serves programs when it goes on")
  func stoppedHub() async throws {
    let folder = try TestFolder()
    let hub = try await ServedHub("sim", at: folder.path + "/hub")
    hub.server.send(SIGSTOP)
    defer { hub.server.send(SIGCONT) }
    let end = try await Self.run("scan", on: hub.path)
    #expect(end.status == AmbitCLI.ExitStatus.radioUnavailable.rawValue, "\(end)")
    hub.server.send(SIGCONT)
    // The test's time limit ends the attempts.
    while try await Self.run("read", "strap", "2A38", on: hub.path).status != 0 {}
  }

  // MARK: The machine's resources

  @Test("a hub that has no room for more programs refuses them, and has room when others have gone")
  func crowd() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json"],
      shell: "ulimit -n 48")
    #expect(await run.output.next(containing: "serving") != nil)
    let sockets = try (0..<100).map { _ in try Self.connected(path) }
    let refused = await run.output.next(containing: "programRefused")
    #expect(refused?.contains("as many programs as it can") == true)
    for socket in sockets { close(socket) }
    _ = try await AmbitRun.end(["hub", "status", "--socket", path, "--json"]) { $0.status == 0 }
    run.terminate()
    #expect(await run.end().isSignalled)
  }

  private static func connected(_ path: String) throws -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    return socket
  }

  /// Leaves a process the descriptors that it has (prlimit(1)).
  private static func closeDescriptors(of processID: pid_t) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd")
    let open = Set(names.compactMap { UInt64($0) })
    let free = try #require((0...UInt64(open.count)).first { !open.contains($0) })
    let process = try Process.run(
      URL(filePath: "/usr/bin/prlimit"),
      arguments: ["--pid", "\(processID)", "--nofile=\(free):\(free)"])
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  @Test
  func
    `A hub without descriptors reports it once, counts it, and serves the programs that waited when it has some`()
    async throws
  {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim:empty", "--socket", path, "--json"])
    #expect(await run.output.next(containing: "serving") != nil)
    let status = ["hub", "status", "--socket", path, "--json"]
    var sockets = try (0..<2).map { _ in try Self.connected(path) }
    _ = try await AmbitRun.end(status) {
      $0.output.contains { $0.contains("\"connectionCount\":2") }
    }
    try Self.closeDescriptors(of: run.processID)
    // One at each of its sockets: one shortage.
    sockets += try [path, path + ".metrics"].map(Self.connected)
    let report = await run.output.next(containing: "descriptorsExhausted")
    #expect(report?.contains("open files, its limit (ulimit -n") == true)
    for socket in sockets.prefix(2) { close(socket) }
    let end = try await AmbitRun.end(status) { $0.status == 0 }
    #expect(end.output.contains { $0.contains("\"descriptorShortageCount\":1") })
    for socket in sockets.dropFirst(2) { close(socket) }
    run.terminate()
    let hub = await run.end()
    #expect(hub.isSignalled)
    #expect(hub.output.count { $0.contains("descriptorsExhausted") } == 1)
  }

  @Test("a hub with a damaged file of bonds reports it, serves programs, and leaves the file")
  func damagedBonds() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let bonds = try folder.file("bonds", "no bonds\n")
    #expect(chmod(folder.path, 0o700) == 0 && chmod(bonds, 0o600) == 0)
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim", "--socket", path, "--json"],
      environment: ["AMBIT_BONDS": bonds])
    let problem = await run.complaints.next(containing: "bondProblem")
    #expect(problem?.contains("Pairing is disabled until this is fixed") == true)
    // The file is read before the hub listens.
    #expect(await run.output.next(containing: "serving") != nil)
    #expect(try await Self.run("read", "strap", "2A38", on: path).status == 0)
    let refused = try await Self.run("read", "thermostat", Self.maintenance, on: path)
    #expect(refused.status == AmbitCLI.ExitStatus.failure.rawValue, "\(refused)")
    run.terminate()
    #expect(await run.end().isSignalled)
    #expect(try String(contentsOfFile: bonds, encoding: .utf8) == "no bonds\n")
  }

  @Test("a hub that can't write its bonds reports it, and programs use them while it runs")
  func unwritableBonds() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    // Root can make no file there, either.
    let run = try AmbitRun(
      ["hub", "--no-network", "--radio", "sim", "--socket", path, "--json"],
      environment: ["AMBIT_BONDS": "/proc/bonds"])
    #expect(await run.output.next(containing: "serving") != nil)
    for _ in 0..<2 {
      let read = try await Self.run("read", "thermostat", Self.maintenance, on: path)
      #expect(read.status == 0 && read.output == ["39050000"], "\(read)")
    }
    let problem = await run.complaints.next(containing: "bondProblem")
    #expect(problem?.contains("cannot be written") == true, "\(problem ?? "")")
    run.terminate()
    let end = await run.end()
    #expect(end.isSignalled)
    #expect(end.complaints.count { $0.contains("\"paired\"") } == 1, "\(end)")
  }

  // MARK: The radio

  @Test("a hub's radio that is unplugged and plugged in is off and on for its programs")
  func unplugged() async throws {
    let folder = try TestFolder()
    let place = "unix:" + folder.path + "/radio"
    func plug() async throws -> AmbitRun {
      let radio = try AmbitRun(["radio", "serve", place, "--radio", "sim"])
      #expect(await radio.output.next(containing: "Serving") != nil)
      return radio
    }
    let first = try await plug()
    let hub = try await ServedHub(place, at: folder.path + "/hub")
    let run = try AmbitRun(["watch", "--json", "--no-network"], environment: hub.environment)
    #expect(await run.output.next(containing: "\"discovered\"") != nil)
    first.interrupt()
    _ = await first.end()
    #expect(await run.output.next(containing: "\"works\":false") != nil)
    let second = try await plug()
    #expect(await run.output.next(containing: "\"works\":true") != nil)
    #expect(await run.output.next(containing: "\"discovered\"") != nil)
    run.interrupt()
    #expect(await run.end().status == AmbitCLI.ExitStatus.interrupted.rawValue)
    withExtendedLifetime(second) {}
  }
}
