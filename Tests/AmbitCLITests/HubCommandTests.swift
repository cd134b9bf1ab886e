import Foundation
import Testing

@testable import AmbitCLI

@Suite("The command that serves a hub", .serialized, .timeLimit(.minutes(2)))
struct HubCommandTests {
  @Test(
    "a hub reports that its radio is simulated, ends on SIGTERM within a second, and leaves no socket"
  )
  func serving() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/hub"
    let run = try AmbitRun(["hub", "--radio", "sim:empty", "--socket", path, "--json"])
    let line = try #require(await run.output.next(containing: "serving"))
    #expect(line.contains("\"simulated\":true") && line.contains(path.suffix(20)))
    #expect(FileManager.default.fileExists(atPath: path))
    let start = ContinuousClock.now
    run.send(SIGTERM)
    let end = await run.end()
    #expect(ContinuousClock.now - start < .seconds(1))
    #expect(end.isSignalled && end.complaints.isEmpty, "\(end)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(
    "a second hub at the same path ends with a sentence, and the first one after a kill is replaced"
  )
  func twice() async throws {
    let folder = try TestFolder()
    let command = ["hub", "--radio", "sim:empty", "--socket", folder.path + "/hub", "--json"]
    let first = try AmbitRun(command)
    #expect(await first.output.next(containing: "serving") != nil)
    let second = try await AmbitRun(command).end()
    #expect(second.status == ExitStatus.radioUnavailable.rawValue)
    #expect(second.complaints.count == 1 && second.complaints[0].contains("Another hub runs at"))
    first.send(SIGKILL)
    _ = await first.end()
    let third = try AmbitRun(command)
    #expect(await third.output.next(containing: "serving") != nil)
    third.send(SIGTERM)
    _ = await third.end()
  }
}
