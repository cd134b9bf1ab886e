import AppMachines
import Essentials
import Glibc
import Synchronization
import Testing

@testable import AppSessions

/// A process whose system was started again.
@Suite struct ResumingTests {
  let system = RecordingSystem()
  let session: AppSession

  init() {
    session = AppSession(system: system)
    system.session = session
  }

  private func settle() async {
    await withCheckedContinuation { continuation in session.settle { continuation.resume() } }
  }

  private func launch(isInForeground: Bool) async {
    session.run { command, done in done() }
    session.receive(.start(AppLaunch(isInForeground: isInForeground)))
    await settle()
    session.report(.launched)
  }

  @Test func `It reports its receivers, its background tasks and its state`() async throws {
    await launch(isInForeground: true)
    session.open(.location) { _, done in done() }
    session.open(.tasks) { _, done in done() }
    session.close(.tasks)
    let task = try #require(session.beginBackgroundTask())
    let ended = try #require(session.beginBackgroundTask())
    session.endBackgroundTask(ended)
    #expect(session.canResume)
    #expect(
      session.resumptionReports() == [
        .opened(.location), .beganBackgroundTask(task), .resumed(isInForeground: true),
      ])
    session.receive(.deliver([.transition(.willResignActive), .transition(.didEnterBackground)]))
    await settle()
    #expect(session.resumptionReports().last == .resumed(isInForeground: false))
  }

  @Test func `The next system gives a socket the number that another one had before`() async throws
  {
    await launch(isInForeground: true)
    let sockets = try ["a", "b"].map { name in
      try session.holdSocket(STDIN_FILENO, as: name, isPlain: true) { $0() }
    }
    #expect(
      session.resumptionReports().prefix(2) == [.opened(.heldSocket(1)), .opened(.heldSocket(2))])
    system.setNextSocket(2)
    session.holdSocketsAgain()
    #expect(
      session.resumptionReports().prefix(2) == [.opened(.heldSocket(2)), .opened(.heldSocket(3))])
    for socket in sockets { socket.close() }
    #expect(
      system.reports.suffix(2) == [.closed(.heldSocket(2)), .closed(.heldSocket(3))])
    session.holdSocketsAgain()
    #expect(session.resumptionReports() == [.resumed(isInForeground: true)])
  }

  @Test func `The next system wakes the app to connect as the last one did`() async throws {
    await launch(isInForeground: true)
    let reconnection = try #require(session.requestReconnection(as: "chat") { $0() })
    #expect(system.reports.last == .opened(.heldSocket(1)))
    system.setNextSocket(5)
    session.holdSocketsAgain()
    #expect(session.resumptionReports().first == .opened(.heldSocket(5)))
    reconnection.close()
    #expect(system.reports.last == .closed(.heldSocket(5)))
    session.holdSocketsAgain()
    #expect(session.resumptionReports() == [.resumed(isInForeground: true)])
  }

  @Test func `A socket that is closed while the next system takes it over is closed there`()
    async throws
  {
    await launch(isInForeground: true)
    let sockets = try ["a", "b"].map { name in
      try session.holdSocket(STDIN_FILENO, as: name, isPlain: true) { $0() }
    }
    system.setNextSocket(7)
    system.setOnExchange { sockets[0].close() }
    session.holdSocketsAgain()
    system.setOnExchange(nil)
    sockets[1].close()
    // Reports are lost until then.
    let reports = session.resumptionReports()
    #expect(
      reports == [
        .closed(.heldSocket(7)), .closed(.heldSocket(8)), .resumed(isInForeground: true),
      ])
    #expect(session.resumptionReports() == [.resumed(isInForeground: true)])
  }

  /// Sockets that threads close at any instant of a change of systems.
  @Test(arguments: 0..<20) func `No closed socket is left with the next system`(_ seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    await launch(isInForeground: true)
    let sockets = try (0..<6).map { number in
      try session.holdSocket(STDIN_FILENO, as: "\(number)", isPlain: true) { $0() }
    }
    let closed = sockets.filter { _ in Bool.random(using: &random) }
    let instants = closed.map { _ in Int.random(in: 0...14, using: &random) }
    let exchangeCount = Mutex(0)
    let close: @Sendable () -> Void = {
      let now = exchangeCount.withLock { count in
        count += 1
        return count
      }
      for (socket, instant) in zip(closed, instants) where instant == now { socket.close() }
    }
    system.setNextSocket(100)
    system.setOnExchange(close)
    session.holdSocketsAgain()
    while exchangeCount.withLock({ $0 < 13 }) { close() }
    let before = system.reports.count
    var reports = session.resumptionReports()
    while exchangeCount.withLock({ $0 < 14 }) { close() }
    for (socket, instant) in zip(closed, instants) where instant == 0 { socket.close() }
    reports += system.reports[before...]
    // Each number that the system gave is open or closed at the end, and no more are open than sockets are left.
    var open: Set<AppReceiver> = []
    for report in reports {
      if case .opened(let receiver) = report { open.insert(receiver) }
      if case .closed(let receiver) = report { open.remove(receiver) }
    }
    #expect(open.count == sockets.count - closed.count, "seed \(seed): \(reports)")
    let given = Set((100..<system.nextSocket).map { AppReceiver.heldSocket($0) })
    let ended = Set(
      reports.compactMap { if case .closed(let receiver) = $0 { receiver } else { nil } })
    #expect(given == open.union(ended), "seed \(seed): \(reports)")
  }

  @Test func `A delivery of the last system is not acknowledged to the next one`() async {
    await launch(isInForeground: false)
    let late = Mutex<[@Sendable () -> Void]>([])
    session.open(.location) { _, done in late.withLock { $0.append(done) } }
    func deliver(_ number: UInt64) async {
      session.receive(
        .deliver([.event(AppEventID(rawValue: number), AppEvent(.region, for: .location))]))
      await settle()
    }
    await deliver(1)
    _ = session.resumptionReports()
    await deliver(1)
    let handled = late.withLock { $0 }
    handled[0]()
    #expect(!system.reports.contains(.acknowledged(1)))
    handled[1]()
    #expect(system.reports.last == .acknowledged(1))
  }

  @Test func `The end of a launch is the report that the next system waits for`() async {
    session.run { command, done in done() }
    #expect(!session.canResume)
    session.receive(.start(AppLaunch(isInForeground: false)))
    await settle()
    session.open(.tasks) { _, done in done() }
    #expect(session.canResume)
    #expect(session.resumptionReports() == [.opened(.tasks)])
    session.report(.launched)
    #expect(system.reports.last == .resumed(isInForeground: false))
  }
}
