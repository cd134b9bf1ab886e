import BluetoothHost
import BluetoothInterface
import Essentials
import EventLoop
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("The file of a hub's socket", .timeLimit(.minutes(5)))
struct SocketFileTests {
  private let folder: String
  private var path: String { folder + "/ambit/hub" }

  init() throws {
    SimulatedRadio.install()
    var template = Array(("/tmp/ambit-file-" + String(repeating: "X", count: 6)).utf8CString)
    let name = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(name)
  }

  /// Runs a hub that looks at its file in each tenth of a second, with what it reports of it.
  private func withHub(
    _ body: (_ next: () async -> HubReport?) async throws -> Void
  ) async throws {
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(
      at: .ownFolder(path: path), host, fileCheckSpan: .milliseconds(100)
    ) { report.yield($0) }
    try await body {
      for await report in reports {
        switch report {
        case .listensAgain, .unreachable: return report
        case .opened, .closed, .refused, .scanRefused, .unreported, .forgotten,
          .descriptorsExhausted:
          continue
        }
      }
      return nil
    }
    await server.close()
    await host.close()
    #expect(access(path, F_OK) != 0, "the socket is removed")
    unlink(path + ".lock")
    rmdir(folder + "/ambit")
    rmdir(folder)
  }

  private func expectService() async throws {
    let program = try await TestProgram.served("guide", at: path)
    #expect(try await program.ask { .barrier($0) } == .done)
    await program.close()
  }

  @Test("a hub whose socket is removed listens again, and programs that it serves don't notice")
  func removed() async throws {
    try await withHub { next in
      let program = try await TestProgram.served("guide", at: path)
      unlink(path)
      #expect(await next() == .listensAgain(path: path))
      #expect(try await program.ask { .barrier($0) } == .done)
      await program.close()
      try await expectService()
    }
  }

  @Test("a hub whose folder is removed makes it again, with its claim to the path")
  func removedFolder() async throws {
    try await withHub { next in
      for file in [path, path + ".lock"] { unlink(file) }
      rmdir(folder + "/ambit")
      #expect(await next() == .listensAgain(path: path))
      try await expectService()
      let host = try BluetoothHost(radio: .standard)
      await #expect {
        _ = try await HubServer.start(at: .ownFolder(path: path), host)
      } throws: { ($0 as? HubServerError)?.kind == .isTaken }
      await host.close()
    }
  }

  @Test("a file in the place of a hub's socket is kept and reported once, until it is gone")
  func replaced() async throws {
    try await withHub { next in
      // A new name for a file that exists, so that the path never names nothing.
      let file = folder + "/ambit/file"
      close(creat(file, 0o600))
      rename(file, path)
      let text = "The hub cannot listen at \(path): the file exists and is not a socket."
      #expect(await next() == .unreachable(text))
      #expect(access(path, F_OK) == 0)
      unlink(path)
      #expect(await next() == .listensAgain(path: path))
      try await expectService()
    }
  }
}
