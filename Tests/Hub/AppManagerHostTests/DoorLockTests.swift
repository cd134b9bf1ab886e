import AppMachines
import AppSessions
import Essentials
import Testing

@testable import AppManagerHost

/// The door lock with real processes.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct DoorLockTests {
  private static let lock = "com.example.lock"

  @Test func `A terminated app is launched when its lock comes into range, and opens it once`()
    async throws
  {
    let manager = try await TestManager.start()
    let folder = try manager.makeDoorLock()
    #expect(
      try await manager.perform(.install(folder: folder)) == .installed(Self.lock, isNew: true))
    #expect(try await manager.perform(.open(Self.lock, attaches: false)) == .done)
    try await manager.until(Self.lock) { $0.connectionCount == 1 }
    try await manager.perform(.background(Self.lock))
    let suspended = try await manager.until(Self.lock) { $0.state == .suspended }
    let processID = try #require(suspended.processID)
    #expect(ProcessTable.isStopped(processID))

    manager.radio.moveOutOfRange()
    let waiting = try await manager.until(Self.lock) {
      $0.state == .suspended && $0.pendingConnectionCount == 1
    }
    #expect(waiting.counts.reasonCounts == [.bluetoothCentral: 1])
    #expect(waiting.processID == processID)
    #expect(try await manager.perform(.terminate(Self.lock)) == .done)
    let ended = try await manager.until(Self.lock) { $0.state == .notRunning }
    #expect(ended.pendingConnectionCount == 1)
    #expect(processState(processID) == nil)

    manager.radio.moveIntoRange()
    var openings = manager.radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let relaunched = try await manager.until(Self.lock) { $0.state == .suspended }
    #expect(relaunched.counts.launchCount == 2)
    #expect(relaunched.counts.unacknowledgedCount == 0)
    // Without those of the log, such as that a hub is used.
    let lines = try await manager.lines(of: Self.lock).filter { !$0.contains(" ambit.hub: ") }
    #expect(lines == ["in the background", "launched for lock"])

    // Nothing starts it after the person has ended it.
    try await manager.perform(.forceQuit(Self.lock))
    let quit = try await manager.until(Self.lock) { $0.state == .notRunning }
    #expect(quit.isForceQuit && quit.pendingConnectionCount == 0 && quit.connectionCount == 0)
    await manager.close()
  }

  @Test
  func `The next manager launches an app for the connection that was pending with the last one`()
    async throws
  {
    let first = try await TestManager.start()
    try await first.perform(.install(folder: first.makeDoorLock()))
    try await first.perform(.open(Self.lock, attaches: false))
    try await first.until(Self.lock) { $0.connectionCount == 1 }
    try await first.perform(.background(Self.lock))
    first.radio.moveOutOfRange()
    try await first.until(Self.lock) { $0.state == .suspended && $0.pendingConnectionCount == 1 }
    await first.server.close()

    let second = try await TestManager.start(after: first)
    let waiting = try await second.app(Self.lock)
    #expect(waiting.state == .notRunning && waiting.pendingConnectionCount == 1)
    second.radio.moveIntoRange()
    var openings = second.radio.openings.makeAsyncIterator()
    #expect(await openings.next() == 1)
    let app = try await second.until(Self.lock) { $0.state == .suspended }
    #expect(app.counts.launchCount == 1 && app.counts.unacknowledgedCount == 0)
    #expect(try await second.lines(of: Self.lock).contains("launched for lock"))
    await second.close()
  }

  @Test func `An app goes to the background when the terminal in which it was opened is gone`()
    async throws
  {
    let manager = try await TestManager.start()
    try await manager.perform(.install(folder: manager.makeDoorLock()))
    for try await reply in AppCommandClient.replies(
      to: .open(Self.lock, attaches: true), at: manager.path)
    {
      #expect(reply == .opened)
      try await manager.until(Self.lock) { $0.state == .active && $0.connectionCount == 1 }
      break
    }
    let app = try await manager.until(Self.lock) { $0.state == .suspended }
    #expect(app.counts.launchCount == 1 && app.counts.crashCount == 0)
    await manager.close()
  }
}
