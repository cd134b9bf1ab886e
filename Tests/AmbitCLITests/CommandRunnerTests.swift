import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("Commands and what they start", .timeLimit(.minutes(5)))
struct CommandRunnerTests {
  /// A command of a shell that writes lines to a pipe with a name.
  private final class Started: Sendable {
    let runner: CommandRunner
    let lines: AmbitRun.Lines
    private let ends: AsyncStream<Void>

    init(_ script: String, in folder: borrowing TestFolder) throws {
      let path = folder.path + "/pipe"
      try #require(mkfifo(path, 0o600) == 0)
      // Both ends, so that opening doesn't wait; the writing end goes when the script has its own.
      let both = try #require(FileHandle(forUpdatingAtPath: path))
      let reading = try #require(FileHandle(forReadingAtPath: path))
      lines = AmbitRun.Lines(reading)
      runner = CommandRunner(command: ["sh", "-c", script], output: Output(isJSON: true))
      let (ends, continuation) = AsyncStream.makeStream(of: Void.self)
      self.ends = ends
      writer = both
      #expect(
        runner.start(["PIPE": path], for: "hall") { continuation.yield() } == .started)
    }

    private let writer: FileHandle

    /// The number in the first line, once the script has opened the pipe.
    func number() async throws -> pid_t {
      let line = try #require(await lines.next(containing: "pid "))
      try writer.close()
      return try #require(pid_t(line.dropFirst(4)))
    }

    /// Returns when the runner has reported the end of the command.
    func ended() async { for await _ in ends { return } }
  }

  /// Returns when a process has ended, although no process has waited for it.
  private static func untilEnded(_ process: pid_t) async throws {
    while let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .isoLatin1),
      !text.contains(") Z ")
    { try await Task.sleep(for: .milliseconds(5)) }
  }

  @Test("a child that ignores the request to end is killed, although its shell ended at once")
  func stubbornChild() async throws {
    let folder = try TestFolder()
    let command = try Started(
      "(trap '' TERM; exec > \"$PIPE\"; echo pid $$; exec sleep 1000) & wait", in: folder)
    let shell = try await command.number()
    command.runner.end(region: "hall", isForced: false)
    try await Self.untilEnded(shell)
    command.runner.end(region: "hall", isForced: true)
    #expect(await command.lines.next(containing: "pid ") == nil, "nobody has the pipe any more")
    await command.ended()
  }

  @Test("a child that ends when it is asked to has its time, and needs no force")
  func orderlyChild() async throws {
    let folder = try TestFolder()
    let command = try Started(
      "(exec > \"$PIPE\"; trap 'sleep 0.3; echo done; exit' TERM; echo pid $$; while :; do sleep 0.05; done)"
        + " & wait", in: folder)
    _ = try await command.number()
    command.runner.end(region: "hall", isForced: false)
    #expect(await command.lines.next(containing: "done") != nil)
    await command.ended()
  }

  @Test("when all commands are to end, those that ignore it are killed, with what they started")
  func endOfAll() async throws {
    let folder = try TestFolder()
    let command = try Started(
      "trap '' TERM; (exec > \"$PIPE\"; echo pid $$; while :; do sleep 1000; done) & "
        + "while :; do sleep 1000; done", in: folder)
    #expect(
      command.runner.start(["PIPE": "/dev/null"], for: "attic") {} == .started, "a second one")
    _ = try await command.number()
    await command.runner.endAll()
    #expect(await command.lines.next(containing: "pid ") == nil, "they are gone")
    await command.ended()
    // With none that runs it returns at once.
    await command.runner.endAll()
  }

  @Test("a child that has left the group is not waited for, and gets no signal")
  func otherGroup() async throws {
    let folder = try TestFolder()
    let command = try Started(
      "setsid sh -c 'exec > \"$PIPE\"; echo pid $$; exec sleep 1000' & wait", in: folder)
    let child = try await command.number()
    command.runner.end(region: "hall", isForced: false)
    await command.ended()
    #expect(kill(child, SIGKILL) == 0, "it goes on")
    #expect(await command.lines.next(containing: "pid ") == nil)
  }

  @Test("what a command that ends by itself leaves behind goes on, and nothing waits for it")
  func background() async throws {
    let folder = try TestFolder()
    let command = try Started("sleep 1000 > \"$PIPE\" & echo pid $! > \"$PIPE\"; exit", in: folder)
    let child = try await command.number()
    await command.ended()
    #expect(kill(child, SIGKILL) == 0, "it goes on")
    #expect(await command.lines.next(containing: "pid ") == nil)
  }
}
