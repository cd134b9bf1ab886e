import ArgumentParser
import BluetoothHost
import BluetoothMachines
import Essentials
import Foundation
import Logging

/// A command at work: its radio, its options, its output.
struct Session: Sendable {
  let host: BluetoothHost
  let timeout: Seconds?
  let output: Output
  /// When the command began; `timeout` counts from then.
  let start = ContinuousClock.now

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
protocol RadioCommand: AsyncParsableCommand, Sendable {
  var options: GlobalOptions { get }
  /// What other devices are told that this one is called; nil for what every host is called.
  var hostName: String? { get }
  /// Where all traffic is written to, if it is.
  var capturePath: String? { get }
  func run(_ session: Session) async throws
}

extension RadioCommand {
  var hostName: String? { nil }
  var capturePath: String? { nil }

  func run() async throws {
    try await options.withRadio(hostName: hostName, captureTo: capturePath) { session in
      try await run(session)
    }
  }
}

extension GlobalOptions {
  /// Opens the radio, runs a command on it, closes the radio.
  ///
  /// - Parameters:
  ///   - hostName: The GAP device name; nil for what every host is called.
  ///   - capturePath: Where all traffic is written to; nil for where `AMBIT_CAPTURE` says, if it
  ///     says.
  ///   - body: The command.
  /// - Throws: What `body` throws, or that the capture cannot be written.
  func withRadio(
    hostName: String? = nil, captureTo capturePath: String? = nil,
    _ body: @escaping @Sendable (Session) async throws -> Void
  ) async throws {
    let selection = try radioSelection()
    var configuration = HostConfiguration()
    if let hostName { configuration.name = hostName }
    configuration.address = try hostAddress()
    let environment = ProcessInfo.processInfo.environment["AMBIT_CAPTURE"] ?? ""
    let (troubles, trouble) = AsyncStream.makeStream(
      of: String.self, bufferingPolicy: .bufferingNewest(1))
    let host: BluetoothHost
    do throws(CaptureError) {
      host = try BluetoothHost(
        selection, configuration: configuration,
        captureTo: capturePath ?? (environment.isEmpty ? nil : environment),
        logger: Logger(label: "ambit") { _ in SentenceLog { trouble.yield($0) } })
    } catch {
      throw CommandFailure(error)
    }
    let session = Session(host: host, timeout: timeout, output: Output(isJSON: json))
    let result: Result<Void, any Error>
    do {
      try await BluetoothHost.$current.withValue(host) {
        try await Self.whileCaptureWorks(host, troubles) { try await body(session) }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await host.close()
    try result.get()
    // The last of it was written when the host closed.
    if let failure = host.captureFailure { throw CommandFailure(failure) }
  }

  /// Runs `body` as long as the capture, if there is one, can be written.
  ///
  /// What is wrong with the radio is for `body` to tell: it knows whether that matters.
  private static func whileCaptureWorks(
    _ host: BluetoothHost, _ troubles: AsyncStream<String>,
    _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await body() }
      group.addTask {
        for await _ in troubles {
          if let failure = host.captureFailure { throw CommandFailure(failure) }
        }
        throw CancellationError()
      }
      // The first to end ends the other.
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}

extension CommandFailure {
  /// A capture that cannot be written.
  init(_ error: CaptureError) {
    self.init(.cannotCreate, error.description.trimmingSuffix("."))
  }
}
