import BluetoothInterface
import Essentials
import Glibc
import HubClient
import HubWire

/// What a hub doesn't report to the programs that use it as a radio, as Core Bluetooth has no error for it.
extension Session {
  /// How long a scan may take to reach the hub.
  private static let scanStartTime = Duration.milliseconds(500)
  /// How long the hub may take to answer a question about what it refused.
  private static let hubAnswerTime = TimeSpan.seconds(1)
  /// How long a hub may take to try to write a bond.
  private static let bondWriteTime = Duration.milliseconds(250)

  /// Runs `body`, which scans.
  ///
  /// - Throws: `CommandFailure` if the hub that is used refuses the scan, and what `body` throws.
  func whileHubScans<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    guard let hub = host.hubPath else { return try await body() }
    let pause = min(Self.scanStartTime, (remaining ?? Self.searchTime.duration) / 2)
    return try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask { .some(try await body()) }
      group.addTask {
        try await RunningTime.wait(for: pause)
        if let failure = await Self.scanRefusal(at: hub) { throw failure }
        return nil
      }
      defer { group.cancelAll() }
      while let next = try await group.next() {
        if let next { return next }
      }
      throw CancellationError()
    }
  }

  /// The failure of a command whose scan the hub refuses: the hub knows the program, has refused requests, and scans
  /// for none of the program's sessions.
  private static func scanRefusal(at hub: String) async -> CommandFailure? {
    guard let status = try? await HubStatusReader.read(at: hub, within: hubAnswerTime),
      status.radio.state == .poweredOn, status.counts.limitedRequestCount > 0
    else { return nil }
    let own = status.programs.filter { $0.processID == Int(getpid()) && $0.keptFor == .zero }
    guard !own.isEmpty, own.allSatisfy({ $0.scanCount == 0 }) else { return nil }
    return CommandFailure(
      .notPermitted,
      "the hub at \(hub) does not scan for this program: its rules allow no more scans")
  }

  /// The reason why the bond of a pairing is not kept by the hub that is used; nil if it is, or if the hub tells this
  /// user nothing of its bonds.
  func hubBondProblem() async -> String? {
    guard let hub = host.hubPath else { return nil }
    try? await RunningTime.wait(for: Self.bondWriteTime)
    let status = try? await HubStatusReader.read(at: hub, within: Self.hubAnswerTime)
    return status?.bondFile?.problem
  }
}
