import Foundation
import Glibc

/// A run of a program of this build that prints lines.
final class ProgramRun {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var rest = ""

  /// Starts the program, without the settings of this process.
  init(_ program: String, _ environment: [String: String]) throws {
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: program)
    var inherited = ProcessInfo.processInfo.environment
    for name in ["AMBIT_AUTHORIZATION", "AMBIT_HUB", "AMBIT_RADIO"] { inherited[name] = nil }
    process.environment = inherited.merging(environment) { $1 }
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    try output.fileHandleForWriting.close()
  }

  /// The next line; nil when the program has ended.
  func next() async -> String? {
    while true {
      if let end = rest.firstIndex(of: "\n") {
        defer { rest = String(rest[rest.index(after: end)...]) }
        return String(rest[..<end])
      }
      let handle = output.fileHandleForReading
      let data = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: handle.availableData) }
      }
      if data.isEmpty { return nil }
      rest += String(decoding: data, as: UTF8.self)
    }
  }

  /// Ends the program and waits for it.
  func end() async -> Int32 {
    try? input.fileHandleForWriting.close()
    while await next() != nil {}
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Kills the program, which can do nothing more.
  func kill() {
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
