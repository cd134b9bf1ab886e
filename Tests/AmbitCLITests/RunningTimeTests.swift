import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("Time in which a command runs", .timeLimit(.minutes(5)))
struct RunningTimeTests {
  @Test("a time in which a process doesn't run counts as one step")
  func stopped() {
    let start = ContinuousClock.now
    var time = RunningTime(.milliseconds(350), from: start)
    #expect(time.look(at: start) == .milliseconds(100))
    #expect(time.look(at: start + .milliseconds(40)) == .milliseconds(100))
    #expect(time.look(at: start + .seconds(90)) == .milliseconds(100))
    #expect(time.look(at: start + .seconds(91)) == .milliseconds(100))
    #expect(time.look(at: start + .seconds(91) + .milliseconds(70)) == .milliseconds(40))
    #expect(time.look(at: start + .seconds(92)) == nil)
    #expect(time.look(at: start + .seconds(92)) == nil)
  }

  @Test("a command that is stopped beyond the end of its time ends as if it had not been")
  func stoppedBeyondTheEnd() async throws {
    let run = try AmbitRun(["scan", "--json", "--timeout", "4"])
    _ = await run.output.next(containing: "\"discovered\"")
    run.send(SIGSTOP)
    // The time limit is over, and all that the end may take beyond it.
    try await Task.sleep(for: .seconds(8))
    run.send(SIGCONT)
    let end = await run.end()
    #expect(end.status == 0 && end.complaints.isEmpty, "\(end)")
  }

  private static func session() -> Session {
    Session(
      host: .hub(at: "/nonexistent/hub") { _ in }, timeout: nil, output: Output(isJSON: true))
  }

  @Test("Ctrl-C lets a command that goes on report what it did, whichever of its tasks ends first")
  func interrupted() async throws {
    for _ in 0..<200 {
      let (events, event) = AsyncStream.makeStream(of: Void.self)
      let task = Task {
        try await Self.session().untilTime(default: .seconds(600)) { for await _ in events {} }
      }
      task.cancel()
      try await task.value
      withExtendedLifetime(event) {}
    }
  }

  @Test("a device that isn't found in time is the reason, also where the time for all is over, too")
  func notFound() async throws {
    for _ in 0..<50 {
      let failure = await #expect(throws: CommandFailure.self) {
        let result: Int? = try await raceToTheEnd(.milliseconds(1)) {
          // The time is over now.
          try? await Task.sleep(for: .seconds(600))
          throw CommandFailure(.notFound, "no device was found")
        }
        #expect(result == nil)
      }
      #expect(failure?.status == .notFound)
    }
  }

  @Test("a body that is done when its time is over is done, and one that is not takes too long")
  func lateWork() async throws {
    let late = try await raceToTheEnd(.milliseconds(1)) {
      try? await Task.sleep(for: .seconds(600))
      return 7
    }
    #expect(late == 7)
    let undone: Int? = try await raceToTheEnd(.milliseconds(1)) {
      try await Task.sleep(for: .seconds(600))
      return 7
    }
    #expect(undone == nil)
    let lost: Int? = try await raceToTheEnd(.milliseconds(1)) {
      try? await Task.sleep(for: .seconds(600))
      throw CommandFailure(.failure, "the device disconnected")
    }
    #expect(lost == nil)
  }
}
