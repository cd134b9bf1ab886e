import ArgumentParser
import BluetoothHost
import Essentials
import Foundation

/// A command at work: its radio, its options, its output.
struct Session: Sendable {
  let host: BluetoothHost
  let timeout: Seconds?
  let output: Output

  /// How long to look for a device, unless the user says otherwise.
  static let searchTime = TimeSpan.seconds(10)
  /// How long to work with a device, unless the user says otherwise.
  static let workTime = TimeSpan.seconds(30)
  /// How long a radio may take to start.
  static let startTime = Duration.seconds(5)

  /// Runs `body`, which ends by itself; gives up when the time is over.
  func withinTime<Result: Sendable>(
    _ what: String, _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let limit = timeout ?? Seconds(span: Self.workTime)
    if let result = try await race(limit.duration, body) { return result }
    throw CommandFailure(.timedOut, "\(what) took longer than \(limit)")
  }

  /// Runs `body`, which would go on for ever, until the time is over or Ctrl-C.
  func untilTime(
    default limit: Duration? = nil, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard let limit = timeout?.duration ?? limit else { return try await body() }
    _ = try await race(limit, body)
  }
}

/// Runs `body`; nil if it took longer than `limit`.
func race<Result: Sendable>(
  _ limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    guard let first = try await group.next() else { return nil }
    return first
  }
}

/// A command that uses a radio.
protocol RadioCommand: AsyncParsableCommand {
  var options: GlobalOptions { get }
  /// Where all traffic is written to, if it is.
  var capturePath: String? { get }
  func run(_ session: Session) async throws
}

extension RadioCommand {
  var capturePath: String? { nil }

  func run() async throws { try await runWithRadio() }

  /// Opens the radio, runs the command on it, closes the radio.
  func runWithRadio() async throws {
    let radio = try options.radioChoice()
    let host: BluetoothHost
    do {
      let environment = ProcessInfo.processInfo.environment["AMBIT_CAPTURE"]
      host = try BluetoothHost(radio: radio, captureTo: capturePath ?? environment)
    } catch {
      throw CommandFailure(.cannotCreate, "\(error)".trimmingSuffix("."))
    }
    let session = Session(
      host: host, timeout: options.timeout, output: Output(isJSON: options.json))
    let result: Result<Void, any Error>
    do {
      try await BluetoothHost.$current.withValue(host) { try await run(session) }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await host.close()
    try result.get()
  }
}
