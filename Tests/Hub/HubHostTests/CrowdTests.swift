import BluetoothHost
import BluetoothInterface
import Glibc
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("As many programs of a user as a hub serves", .timeLimit(.minutes(5)))
struct CrowdTests {
  @Test(
    "500 programs of a user are served, others are refused with the reason until one of them ends"
  )
  func quota() async throws {
    SimulatedRadio.install()
    let folder = try temporaryFolder()
    let path = folder + "/hub"
    var limits = HubLimits()
    limits.connectionCountPerUserMax = 500
    limits.connectionCountPerProcessMax = 1_000
    let host = try BluetoothHost(radio: .standard)
    let (reports, report) = AsyncStream.makeStream(of: HubReport.self)
    let server = try await HubServer.start(at: .path(path), host, limits: limits) {
      report.yield($0)
    }
    var programs: [TestProgram] = []
    for number in 1...500 {
      programs.append(try await TestProgram.served("app \(number)", at: path))
    }
    for _ in 0..<3 {
      let refused = try await TestProgram(at: path)
      #expect(await refused.refusal()?.reason == .limitReached)
    }
    let counts = await server.counts()
    #expect(counts.connectionCount == 500 && counts.sessionCount == 500)
    #expect(counts.refusedCount == 3)
    // Nothing was taken from the others.
    for program in programs { #expect(try await program.ask { .barrier($0) } == .done) }
    // The first one: of so many that come at once, the last ones are reported later.
    await programs.removeFirst().close()
    for await case .closed(_, app: _, nil) in reports { break }
    let next = try await TestProgram.served("next", at: path)
    #expect(try await next.ask { .barrier($0) } == .done)
    let refused = try await TestProgram(at: path)
    #expect(await refused.refusal()?.reason == .limitReached)
    withExtendedLifetime(programs) {}
    await server.close()
    await host.close()
    unlink(path + ".lock")
    rmdir(folder)
  }
}
