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
    let (openings, opening) = AsyncStream.makeStream(of: Void.self)
    let (id, options) = (id, options)
    // Each task returns whether the command is done.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await options.untilTime {
          try await Self.follow(id, path, output) { opening.finish() }
        }
        return true
      }
      group.addTask {
        // A manager that hangs takes connections, and answers none.
        let isOpen: Void? = try await race(AppReply.timeMax) { for await _ in openings {} }
        guard isOpen != nil else { throw AppReply.timedOut }
        return false
      }
      group.addTask {
        for await number in keys {
          let isStop = number == SIGTSTP
          _ = try await AppReply.only(to: isStop ? .background(id) : .forceQuit(id), options)
          guard isStop else { continue }
          output.note("\(id) is in the background")
          return true
        }
        // Cancelled with the app's end.
        return true
      }
      defer { group.cancelAll() }
      while let isDone = try await group.next(), !isDone {}
    }
  }

  private static func follow(
    _ id: String, _ path: String, _ output: Output, onOpen: () -> Void
  ) async throws {
    do {
      for try await reply in AppCommandClient.replies(to: .open(id, attaches: true), at: path) {
        onOpen()
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
    } catch let error as AppCommandError { throw AppReply.failure(error, at: path) }
  }

  private static func end(_ id: String, _ exit: AppExit, _ output: Output) throws {
    if output.isJSON {
      output.object(AppJSON.ended(id, exit), isOfRadio: false)
    }
    guard let sentence = AppExitText.failure(exit) else { return }
    throw CommandFailure(.failure, "\(id) ended: \(sentence)")
  }
}
