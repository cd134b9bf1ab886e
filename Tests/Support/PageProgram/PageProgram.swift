internal import Foundation

/// A program of this build that serves pages, as its users run it: it writes “Open ADDRESS” when it
/// listens, and ends when it is asked to.
public final class PageProgram {
  private let process: Process
  /// Where it can be opened.
  public let address: String

  /// Starts a program and waits until it listens.
  ///
  /// - Parameters:
  ///   - name: The name of the product.
  ///   - port: The port; 0 for one that is free.
  ///   - arguments: The rest of its command line.
  ///   - environment: Added to that of the tests.
  ///   - prefix: A command that runs it, with its arguments.
  public convenience init(
    _ name: String, port: Int = 0, _ arguments: [String] = [],
    environment: [String: String] = [:], prefix: [String] = []
  ) throws {
    try self.init(
      name, commandLine: ["\(port)"] + arguments, environment: environment, prefix: prefix)
  }

  /// Starts a program with all of its arguments and waits until it listens.
  public init(
    _ name: String, commandLine: [String], environment: [String: String] = [:],
    prefix: [String] = []
  ) throws {
    let path = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: name).path
    process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = prefix + [path] + commandLine
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    address = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      .replacing("Open ", with: "").trimmingCharacters(in: .whitespacesAndNewlines)
    guard let components = URLComponents(string: address), components.port != nil else {
      process.terminate()
      throw Failure(reason: "\(name) didn't say where it can be opened: \(address)")
    }
  }

  deinit { if process.isRunning { process.terminate() } }

  /// What isn't as it should be.
  public struct Failure: Error {
    /// In words.
    public var reason: String
  }

  /// The port on which it listens.
  public var port: Int { URLComponents(string: address)?.port ?? 0 }

  /// Sends SIGTERM, and waits for the program to end.
  ///
  /// - Returns: Its exit status, or 128 more than the number of the signal that ended it.
  @discardableResult
  public func stop() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationReason == .exit
      ? process.terminationStatus : 128 + process.terminationStatus
  }

  /// Sends a request as it is written, also one that no browser sends.
  ///
  /// - Parameters:
  ///   - target: The path and the query.
  ///   - fields: Header fields beside those that every request needs.
  public func request(
    _ method: String, _ target: String, _ fields: [String: String] = [:], body: [UInt8] = []
  ) async throws -> RawAnswer {
    let port = port
    return try await withCheckedThrowingContinuation { continuation in
      // Waits in the kernel, so it has a thread of its own.
      Thread.detachNewThread {
        continuation.resume(
          with: Result { try RawAnswer(to: method, target, fields, body, port: port) })
      }
    }
  }
}
