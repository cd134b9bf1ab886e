import AppMachines
import AppSessions
import Synchronization
import Testing

@Suite struct AppSessionTests {
  let system = RecordingSystem()
  let session: AppSession

  init() {
    session = AppSession(system: system)
    system.session = session
  }

  private func settle() async {
    await withCheckedContinuation { continuation in session.settle { continuation.resume() } }
  }

  private func event(_ number: UInt64, _ receiver: AppReceiver) -> AppDelivery {
    .event(AppEventID(rawValue: number), AppEvent(.callback, for: receiver))
  }

  @Test func `Deliveries are acknowledged in their order, once all earlier ones were handled`()
    async
  {
    let late = Mutex<(@Sendable () -> Void)?>(nil)
    session.open(.central("slow")) { _, done in late.withLock { $0 = done } }
    session.open(.central("fast")) { _, done in done() }
    session.receive(.deliver([event(1, .central("slow")), event(2, .central("fast"))]))
    await settle()
    #expect(system.reports == [.opened(.central("slow")), .opened(.central("fast"))])
    late.withLock { $0 }?()
    #expect(system.reports.last == .acknowledged(2))
    // A handler that calls back twice acknowledges nothing else.
    session.receive(.deliver([event(3, .central("slow"))]))
    await settle()
    let first = late.withLock { $0 }
    first?()
    first?()
    #expect(system.reports.count == 4)
  }

  @Test func `An event for a receiver that was closed is acknowledged, and given to no handler`()
    async
  {
    session.open(.location) { _, _ in Issue.record("it was closed") }
    session.close(.location)
    session.close(.location)
    session.receive(.deliver([event(1, .location)]))
    await settle()
    #expect(system.reports == [.opened(.location), .closed(.location), .acknowledged(1)])
  }

  @Test func `The start waits for the application, and comes before the transitions`() async {
    let launch = AppLaunch(isInForeground: true)
    session.receive(.start(launch))
    session.receive(.deliver([.transition(.didBecomeActive)]))
    await settle()
    let commands = Mutex<[AppSession.Command]>([])
    session.run { command, done in
      commands.withLock { $0.append(command) }
      done()
    }
    await settle()
    #expect(commands.withLock { $0 } == [.start(launch), .transition(.didBecomeActive)])
    #expect(system.reports == [.acknowledged(1)])
  }

  @Test func `A background task that the system refuses at once is nil`() async {
    let task = session.beginBackgroundTask()
    #expect(task != nil)
    system.refuseTasks()
    #expect(session.beginBackgroundTask() == nil)
  }

  @Test func `A background task that the system refuses late is expired`() async throws {
    let commands = Mutex<[AppSession.Command]>([])
    session.run { command, done in
      commands.withLock { $0.append(command) }
      done()
    }
    let task = try #require(session.beginBackgroundTask())
    session.receive(.refuseBackgroundTask(task))
    await settle()
    #expect(commands.withLock { $0 } == [.expire(task)])
    session.endBackgroundTask(task)
    session.endBackgroundTask(task)
    #expect(system.reports == [.beganBackgroundTask(task), .endedBackgroundTask(task)])
  }

  @Test func `A background task of the library is expired without a command for the application`()
    async throws
  {
    session.run { command, _ in Issue.record("the application got \(command)") }
    let tasks = (0..<3).map { _ in LibraryTask(session) }
    let numbers = (1...3).map { AppTaskID(rawValue: $0) }
    session.receive(.expire(numbers[0]))
    session.receive(.refuseBackgroundTask(numbers[1]))
    await settle()
    let ended = numbers.prefix(2).map(AppMachine.ProcessEvent.endedBackgroundTask)
    #expect(system.reports == numbers.map { .beganBackgroundTask($0) } + ended)
    for task in tasks { task.end() }
    #expect(system.reports.dropFirst(5) == [.endedBackgroundTask(numbers[2])])
    system.refuseTasks()
    LibraryTask(session).end()
    await settle()
    #expect(system.reports.count == 7)
  }

  @Test func `A session that has ended reports nothing and calls no handler`() async {
    let late = Mutex<(@Sendable () -> Void)?>(nil)
    session.open(.central("a")) { _, done in late.withLock { $0 = done } }
    session.receive(.deliver([event(1, .central("a"))]))
    await settle()
    session.end()
    late.withLock { $0 }?()
    session.open(.location) { _, _ in Issue.record("it has ended") }
    session.receive(.deliver([event(2, .location)]))
    await settle()
    #expect(system.reports == [.opened(.central("a"))])
    #expect(session.request(.cancelAllTasks) == .refused(.unavailable))
  }

  @Test func `A notification comes back from the payload of its event, and a malformed one is nil`()
    throws
  {
    let text = #"{"aps":{"content-available":1,"alert":"Hi"},"door":3}"#
    let notification = try #require(AppNotification(remote: text, identifier: "a"))
    #expect(notification.isSilent && notification.hasAlert)
    #expect(AppNotification(payload: notification.event().payload) == notification)
    #expect(AppNotification(payload: [1, 2, 3]) == nil)
    #expect(AppNotification(remote: "[]", identifier: "a") == nil)
    #expect(AppNotification(remote: #"{"aps":1}"#, identifier: "a") == nil)
    let large = #"{"aps":{},"x":""# + String(repeating: "x", count: 5_000) + #""}"#
    #expect(AppNotification(remote: large, identifier: "a") == nil)
  }
}
