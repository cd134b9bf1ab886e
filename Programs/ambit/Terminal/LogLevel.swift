import Logging
import Foundation

/// Which messages are printed: `--verbose`, or the environment variable `AMBIT_LOG`.
enum LogLevel {
  /// The level of this process: `--verbose` is debug; else that of `AMBIT_LOG`, else info.
  static let current =
    named(
      ProcessInfo.processInfo.environment["AMBIT_LOG"] ?? "", arguments: CommandLine.arguments)
    ?? .info

  /// Whether each step of a command is printed.
  static var isVerbose: Bool { current <= .debug }

  /// The level that the environment and the arguments name; nil if they name none that exists.
  static func named(_ name: String, arguments: [String]) -> Logger.Level? {
    if arguments.dropFirst().prefix(while: { $0 != "--" }).contains("--verbose") { return .debug }
    return name.isEmpty ? .info : Logger.Level(rawValue: name.lowercased())
  }

  /// Checks `AMBIT_LOG`.
  static func check() throws(CommandFailure) {
    let name = ProcessInfo.processInfo.environment["AMBIT_LOG"] ?? ""
    guard named(name, arguments: []) == nil else { return }
    let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
    throw CommandFailure(.usage, "AMBIT_LOG is \"\(name)\", and not one of \(levels)")
  }

  /// A line of a step, with its time.
  static func line(_ text: String) -> String {
    let time = Date.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return "\(time) \(text)"
  }
}
