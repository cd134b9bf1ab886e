import AppMachines
import AppSessions
import Essentials
import EventLoop
import Foundation
import Glibc
import Synchronization
import Testing

@testable import AppManagerHost

/// `kill -9` of the app, of its manager and of the hub at instants around a connection and a write, with real processes.
/// `AMBIT_KILLS` sets the number of instants, and `AMBIT_FIRST_SEED` the seed of the first one. Many of them are divided among
/// four streets, as an instant is mostly waited for; `AMBIT_STREETS` sets another number. An instant after which nothing goes
/// on fails with its seed, and ends its street.
@Suite(.timeLimit(.minutes(60)), .serialized)
struct KillTests {
  private enum Victim: String, CaseIterable {
    case app, manager, hub
  }

  /// What came of the instants for one victim.
  private struct Row {
    var count = 0
    /// The door was opened by one connection, and by no other one.
    var openedCount = 0
    /// The connection was lost with the manager, and the next one has opened the door once more.
    var openedAgainCount = 0
    /// The event was handed to a process that ended without an acknowledgement.
    var unacknowledgedCount = 0
    /// The process had acknowledged the connection, and ended before it wrote.
    var unwrittenCount = 0

    static func += (a: inout Row, b: Row) {
      a.count += b.count
      a.openedCount += b.openedCount
      a.openedAgainCount += b.openedAgainCount
      a.unacknowledgedCount += b.unacknowledgedCount
      a.unwrittenCount += b.unwrittenCount
    }
  }

  private static let lock = "com.example.lock"

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test func `A connection that is killed around its write opens the door, or is counted`()
    async throws
  {
    try await kill(4, "apps and managers") { $0 % 2 == 0 ? .app : .manager }
  }

  @Test func `A connection whose hub is killed around its write opens the door with the next hub`()
    async throws
  {
    try await kill(3, "hubs") { _ in .hub }
  }

  /// Kills at all instants, or at this number of them, and reports what came of it.
  private func kill(
    _ defaultCount: UInt64, _ victims: String, _ victim: @escaping @Sendable (UInt64) -> Victim
  ) async throws {
    let first = Self.number("AMBIT_FIRST_SEED") ?? 1
    let count = Self.number("AMBIT_KILLS") ?? defaultCount
    let streetCount = min(Self.number("AMBIT_STREETS") ?? (count < 20 ? 1 : 4), max(1, count))
    let done = Locked<UInt64>(0)
    var rows: [Victim: Row] = [:]
    try await withThrowingTaskGroup(of: [Victim: Row].self) { group in
      for number in 0..<streetCount {
        let seeds = Array(
          first + count * number / streetCount..<first + count * (number + 1) / streetCount)
        group.addTask {
          try await Self.kill(seeds, victim) { showProgress(done.add(1), of: count, victims) }
        }
      }
      for try await ofStreet in group {
        for (victim, row) in ofStreet { rows[victim, default: Row()] += row }
      }
    }
    report(rows)
  }

  /// The instants of one street.
  private static func kill(
    _ seeds: [UInt64], _ victim: @Sendable (UInt64) -> Victim, _ onInstant: () -> Void
  ) async throws -> [Victim: Row] {
    let street = try await Street(hasHub: seeds.first.map(victim) == .hub)
    var rows: [Victim: Row] = [:]
    for seed in seeds {
      let victim = victim(seed)
      do {
        try await KillTests().kill(victim, seed, street, &rows[victim, default: Row()])
      } catch {
        Issue.record("seed \(seed): \(error)")
        break
      }
      onInstant()
    }
    await street.close()
    return rows
  }

  private func showProgress(_ number: UInt64, of count: UInt64, _ victims: String) {
    if number % 10 == 0, number < count { print("kills of \(victims): \(number) of \(count)") }
  }

  private func report(_ rows: [Victim: Row]) {
    for victim in Victim.allCases {
      guard let row = rows[victim] else { continue }
      print(
        "\(victim.rawValue): \(row.count) kills, \(row.openedCount) opened once, "
          + "\(row.openedAgainCount) again by another connection, "
          + "\(row.unacknowledgedCount) not acknowledged, "
          + "\(row.unwrittenCount) ended before the write")
    }
  }

  private func kill(
    _ victim: Victim, _ seed: UInt64, _ street: Street, _ row: inout Row
  ) async throws {
    var random = SeededGenerator(seed: seed)
    let delay = Double(random.next() % 1_000) / 1_000 * 0.4
    let (before, after, openings) = try await street.bounded(
      "seed \(seed), \(delay) s, \(victim.rawValue)"
    ) {
      try await street.leave()
      let before = try await street.program.app(Self.lock)
      let count = street.openingCount
      street.radio.moveIntoRange()
      try await Task.sleep(for: .seconds(delay))
      switch victim {
      case .app: Glibc.kill(try #require(before.processID), SIGKILL)
      case .manager: try await street.killManager()
      case .hub: try await street.killHub()
      }
      let after = try await street.settle(before, opens: victim != .app, from: count)
      return (before, after, street.openingCount - count)
    }
    row.count += 1
    if victim == .app {
      let unacknowledged = after.counts.unacknowledgedCount - before.counts.unacknowledgedCount
      if openings == 1 {
        row.openedCount += 1
      } else if unacknowledged > 0 {
        row.unacknowledgedCount += 1
      } else {
        row.unwrittenCount += 1
      }
      #expect(openings <= 1, "seed \(seed), \(delay) s: the door was opened \(openings) times")
    } else {
      #expect(after.processID == before.processID, "seed \(seed), \(delay) s: another process")
      #expect((1...2).contains(openings), "seed \(seed), \(delay) s: \(openings) openings")
      if openings == 1 { row.openedCount += 1 } else { row.openedAgainCount += 1 }
    }
    guard victim == .hub else { return }
    // The manager goes on: each event was handed over and acknowledged, and none is left.
    #expect(after.counts.unacknowledgedCount == before.counts.unacknowledgedCount)
    #expect(after.counts.launchCount == before.counts.launchCount, "seed \(seed)")
    #expect(after.counts.crashCount == before.counts.crashCount, "seed \(seed)")
  }
}

/// A door with its lock, and the manager as a program of its own. Used by one task, and by the one that ends what hangs.
private final class Street: @unchecked Sendable {
  // Unchecked: what both tasks use is constant or has a lock.
  let folder: String
  /// The folder of the app.
  private let place: String
  let radio: LockRadio
  let program: ProgramRun
  private let manager = Locked<Process?>(nil)
  private let hub = Locked<Process?>(nil)
  private let counter: OpeningCounter
  private let task: Task<Void, Never>
  private let step = Locked("")
  /// The process of the app, as it was seen last.
  private let processID = Locked<Int32?>(nil)
  private static let lock = "com.example.lock"
  /// A hundred times what an instant takes.
  private static let instantTime = Duration.seconds(240)

  private actor OpeningCounter {
    nonisolated let value = Locked(0)
    func follow(_ openings: AsyncStream<Int>) async {
      for await count in openings { value.set(count) }
    }
  }

  /// - Parameter hasHub: Whether the manager uses the radio of a hub, and not one of its own.
  init(hasHub: Bool = false) async throws {
    folder = try TestManager.makeFolder()
    radio = try await LockRadio(in: folder)
    program = ProgramRun(folder: folder, hub: hasHub ? folder + "/hub" : nil)
    place = try TestManager.makeDoorLock(in: folder)
    let counter = OpeningCounter()
    self.counter = counter
    let openings = radio.openings
    task = Task { await counter.follow(openings) }
    if hasHub { try await startHub() }
    try await startManager()
    try await program.perform(.install(folder: place))
  }

  var openingCount: Int { counter.value.get() }

  /// Runs a body. If it takes too long, that is a failure, and all programs are ended: whatever it waits for ends with them.
  func bounded<Result>(
    _ instant: String, _ body: () async throws -> Result
  ) async throws -> Result {
    let watch = Task {
      try await Task.sleep(for: Self.instantTime)
      Issue.record("\(instant): nothing goes on for \(Self.instantTime): \(step.get())")
      for process in [manager.get(), hub.get()] {
        if let process, process.isRunning { kill(process.processIdentifier, SIGKILL) }
      }
      // Without a manager, a suspended app would stay.
      if let app = processID.get(), app > 0 { kill(app, SIGKILL) }
    }
    defer { watch.cancel() }
    return try await body()
  }

  private func startManager() async throws {
    step.set("a manager is started")
    let radioWords = hub.get() == nil ? ["--radio", "unix:" + radio.path] : []
    manager.set(
      try await program.start(
        ["apps", "run", "--json", "--freezer", "signals", "--no-memory-pressure"] + radioWords))
  }

  private func startHub() async throws {
    step.set("a hub is started")
    hub.set(
      try await program.start(
        ["--no-network", "--radio", "unix:" + radio.path, "--socket", folder + "/hub", "--json"],
        program: "ambit-hub"))
  }

  func killHub() async throws {
    step.set("a hub is killed")
    if let hub = hub.get() {
      kill(hub.processIdentifier, SIGKILL)
      hub.waitUntilExit()
    }
    try await startHub()
  }

  func killManager() async throws {
    step.set("a manager is killed")
    if let manager = manager.get() {
      kill(manager.processIdentifier, SIGKILL)
      manager.waitUntilExit()
    }
    try await startManager()
  }

  /// The person opens the app at home, and leaves.
  func leave() async throws {
    // Each crash makes the next pause longer, also that of the next manager, up to a quarter of an hour.
    if try await program.app(Self.lock).failure != nil {
      step.set("the app is installed anew")
      try await program.perform(.remove(Self.lock))
      try await program.perform(.install(folder: place))
    }
    step.set("the app is opened")
    try await program.perform(.open(Self.lock, attaches: false))
    try await program.until(Self.lock) {
      note("the app is opened", $0)
      return $0.connectionCount == 1
    }
    try await program.perform(.background(Self.lock))
    radio.moveOutOfRange()
    try await program.until(Self.lock) {
      note("the lock is out of range", $0)
      return $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    step.set("the store is written")
    try await program.untilWritten()
  }

  private func note(_ step: String, _ app: AppManagerStatus.App) {
    processID.set(app.processID)
    self.step.set(
      "\(step); the app is \(app.state), with \(app.connectionCount) connections and "
        + "\(app.pendingConnectionCount) pending, \(app.waitingCount) waiting events, \(app.counts)"
    )
  }

  /// Waits until the door was opened, or until a process has got the arrival of the lock and doesn't open it.
  func settle(
    _ before: AppManagerStatus.App, opens: Bool, from count: Int
  ) async throws -> AppManagerStatus.App {
    var handedAt: Instant?
    while true {
      let app = try await program.app(Self.lock)
      note("the door was opened \(openingCount - count) times since the kill", app)
      let isQuiet = app.state == .suspended || app.state == .notRunning
      if isQuiet, app.waitingCount == 0, app.connectionCount == 1 {
        if openingCount > count { return app }
        if !opens, app.counts.handedCount > before.counts.handedCount {
          if let handedAt, Instant.now - handedAt > Self.writeTime { return app }
          handedAt = handedAt ?? .now
        }
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Longer than a write takes.
  private static let writeTime = TimeSpan.seconds(2)

  func close() async {
    for process in [manager.get(), hub.get()] {
      process?.terminate()
      process?.waitUntilExit()
    }
    task.cancel()
    await radio.close()
    try? FileManager.default.removeItem(atPath: folder)
  }
}

private final class Locked<Value: Sendable>: Sendable {
  fileprivate let value: Mutex<Value>
  init(_ value: Value) { self.value = Mutex(value) }
  func get() -> Value { value.withLock { $0 } }
  func set(_ new: Value) { value.withLock { $0 = new } }
}

extension Locked<UInt64> {
  /// Returns the sum.
  fileprivate func add(_ number: UInt64) -> UInt64 {
    value.withLock {
      $0 += number
      return $0
    }
  }
}
