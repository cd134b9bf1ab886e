import AmbitCLI
import AppMachines
import AppManagerHost
import AppSessions
import ArgumentParser
import Foundation
import Glibc
import JSONWire

/// Opens an app, with its output in this terminal.
struct AppOpen: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "open", abstract: "Open an app, and show its output until it ends.",
    discussion: """
      Ctrl-Z sends the app to the background, and returns, as --timeout and a closed terminal do. Ctrl-C ends \
      it, as a person does. The app has no input. If it fails, so does the command.

      EXAMPLES:
        ambit app open com.example.lock
      """)

  @OptionGroup var options: RunOptions
  @Argument(help: "The app's identifier.") var id: String

  func run() async throws {
    let output = Output(isJSON: options.json)
    let path = try AppsPlace.path()
    let (keys, key) = AsyncStream.makeStream(of: Int32.self)
    TerminalKeys.intercept { key.yield($0) }
    let (id, options) = (id, options)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await options.untilTime { try await Self.follow(id, path, output) }
      }
      group.addTask {
        for await number in keys {
          let isStop = number == SIGTSTP
          _ = try await AppReply.only(to: isStop ? .background(id) : .forceQuit(id), options)
          if isStop { return output.note("\(id) is in the background") }
        }
        // Cancelled with the app's end.
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private static func follow(_ id: String, _ path: String, _ output: Output) async throws {
    do {
      for try await reply in AppCommandClient.replies(to: .open(id, attaches: true), at: path) {
        switch reply {
        case .output(let line):
          if output.isJSON {
            output.object(.object(["line": .string(line)]), isOfRadio: false)
          } else {
            output.line(Fit.safe(line))
          }
        case .failed(let kind, let sentence):
          throw CommandFailure(AppReply.status(of: kind), Fit.safe(sentence))
        case .ended(let exit): try end(id, exit, output)
        case .opened, .done, .installed, .status, .log, .pushed: break
        }
      }
    } catch let error as AppManagerError { throw AppReply.failure(error) }
  }

  private static func end(_ id: String, _ exit: AppExit, _ output: Output) throws {
    if output.isJSON {
      output.object(AppJSON.ended(id, exit), isOfRadio: false)
    }
    guard let sentence = AppExitText.failure(exit) else { return }
    throw CommandFailure(.failure, "\(id) ended: \(sentence)")
  }
}
