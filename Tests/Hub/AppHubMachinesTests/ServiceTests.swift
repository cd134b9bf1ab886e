import AppMachines
import Essentials
import Testing

@testable import AppHubMachines

/// A system with an app whose processes a test plays, and no radio.
private struct ServiceSystem {
  static let app = AppID("com.example.news")
  static let start = 1_800_000_000.0

  var machine: AppHubMachine
  var now = Instant.zero
  /// The calendar differs from the monotonic clock by this.
  var calendarJump = 0.0
  private(set) var launches: [AppLaunch] = []
  private(set) var events: [AppEvent] = []
  private(set) var alerts: [AppEventID] = []
  private(set) var process: AppProcessID?
  /// Whether processes complete what they get.
  var completes = true

  init(_ modes: BackgroundModes, limits: AppServiceLimits = AppServiceLimits()) {
    machine = AppHubMachine(serviceLimits: limits)
    setCalendar()
    handle(.life(.installed(Self.app, AppDescription(modes: modes))))
  }

  var calendar: Double { Self.start + calendarJump + (now - .zero).seconds }
  private mutating func setCalendar() { machine.setCalendar(calendar, now: now) }

  mutating func handle(_ event: AppHubMachine.Event) {
    var actions: [AppHubMachine.Action] = []
    setCalendar()
    machine.handle(event, now: now, into: &actions)
    perform(actions)
  }

  @discardableResult
  mutating func request(_ request: AppServiceRequest) -> AppServiceReply {
    var actions: [AppHubMachine.Action] = []
    setCalendar()
    let reply = machine.answer(request, of: Self.app, now: now, into: &actions)
    perform(actions)
    return reply
  }

  mutating func push(
    silent: Bool = false, alert: Bool = true, id: String = "1", collapse: String? = nil,
    expiration: Double? = nil
  ) -> AppPushOutcome? {
    var actions: [AppHubMachine.Action] = []
    setCalendar()
    let notice = AppNotice(
      identifier: id, isSilent: silent, hasAlert: alert, contents: Array(id.utf8))
    let push = AppPushNote(notice, collapseIdentifier: collapse, expiration: expiration)
    let outcome = machine.push(push, to: Self.app, now: now, into: &actions)
    perform(actions)
    return outcome
  }

  private mutating func perform(_ actions: [AppHubMachine.Action]) {
    #expect(machine.violations().isEmpty)
    for action in actions {
      switch action {
      case .give(let id, let delivery, let number):
        if case .event(let event, let content) = delivery {
          events.append(content)
          if completes { handle(.life(.process(id, .completed(event)))) }
        }
        handle(.handled(id, number))
      case .life(.start(_, let id, let launch)):
        process = id
        launches.append(launch)
        for receiver in [AppReceiver.notifications, .tasks] {
          handle(.life(.process(id, .opened(receiver))))
        }
        handle(.life(.process(id, .launched)))
      case .life(.kill(let id)), .life(.terminate(let id)):
        process = nil
        handle(.life(.process(id, .exited(.signal(9), hasOthers: false))))
      case .life(.alert(_, let event)): alerts.append(event)
      default: break
      }
    }
  }

  mutating func person(_ deed: AppMachine.PersonEvent) { handle(.life(.person(Self.app, deed))) }

  /// Opens the app, lets the person allow notifications, and leaves it.
  mutating func suspend() {
    person(.opened)
    #expect(request(.authorize) == .granted(true))
    person(.sentToBackground)
    #expect(machine.life.state(of: Self.app) == .suspended)
  }

  mutating func terminate() {
    suspend()
    handle(.life(.memoryPressure(.critical)))
    #expect(machine.life.state(of: Self.app) == .notRunning)
  }

  mutating func advance(by span: TimeSpan) {
    let end = now + span
    while let next = machine.nextWake, next <= end {
      now = max(now, next)
      handle(.life(.wake))
    }
    now = end
  }

  var kinds: [AppEvent.Kind] { events.map(\.kind) }

  /// The next system, with what this one has kept.
  func restarted(_ modes: BackgroundModes) -> ServiceSystem? {
    guard let record = machine.serviceRecord(of: Self.app) else { return nil }
    var next = ServiceSystem(modes)
    next.now = now
    next.handle(.preservedServices(Self.app, record))
    return next
  }
}

@Suite struct ServiceTests {
  // MARK: Remote notifications

  @Test func `A silent notification wakes a suspended app and launches one that doesn't run`() {
    var system = ServiceSystem(.remoteNotification)
    system.suspend()
    #expect(system.push(silent: true, alert: false) == .delivered)
    #expect(system.kinds == [.notification(isSilent: true, hasAlert: false)])
    system.handle(.life(.memoryPressure(.critical)))
    #expect(system.push(silent: true, alert: false) == .delivered)
    #expect(system.launches.count == 2 && system.events.count == 2 && system.alerts.isEmpty)
  }

  @Test func `An alert is shown, and given to the app when the person opens it from there`() throws
  {
    var system = ServiceSystem([])
    system.terminate()
    #expect(system.push() == .shown)
    #expect(system.launches.count == 1 && system.events.isEmpty)
    let alert = try #require(system.alerts.first)
    #expect(system.machine.notice(ofAlert: alert, of: ServiceSystem.app)?.identifier == "1")
    #expect(system.machine.serviceRecord(of: ServiceSystem.app)?.delivered.count == 1)
    system.person(.openedAlert(alert))
    #expect(system.launches.last?.notification == Array("1".utf8))
    #expect(system.events.map(\.isTapped) == [true])
    #expect(system.machine.serviceRecord(of: ServiceSystem.app)?.delivered == [])
    #expect(system.machine.alerts(of: ServiceSystem.app).isEmpty)
  }

  @Test func `An app in the foreground gets a notification without an alert`() {
    var system = ServiceSystem([])
    system.person(.opened)
    #expect(system.push() == .delivered)
    #expect(system.events.count == 1 && system.alerts.isEmpty)
  }

  @Test func `After a force-quit a silent notification launches nothing until the app is opened`() {
    var system = ServiceSystem(.remoteNotification)
    system.suspend()
    system.person(.forceQuit)
    #expect(system.push(silent: true, alert: false) == .forceQuit)
    #expect(system.launches.count == 1 && system.events.isEmpty)
    #expect(system.machine.forceQuitApps == [ServiceSystem.app])
    system.person(.opened)
    #expect(system.machine.forceQuitApps.isEmpty)
    system.person(.sentToBackground)
    #expect(system.push(silent: true, alert: false) == .delivered)
    #expect(system.events.count == 1)
  }

  @Test func `Without the person's consent no alert is shown`() {
    var system = ServiceSystem(.remoteNotification)
    system.person(.opened)
    system.person(.sentToBackground)
    #expect(system.push() == .notAuthorized)
    #expect(system.push(silent: true) == .delivered)
    #expect(system.alerts.isEmpty && system.events.count == 1)
  }

  @Test
  func `The fourth silent notification of an hour waits, and only the newest of an identifier`() {
    var system = ServiceSystem(.remoteNotification)
    system.suspend()
    for number in 1...3 {
      #expect(system.push(silent: true, alert: false, id: "\(number)") == .delivered)
    }
    let soon = system.calendar + 60
    #expect(system.push(silent: true, alert: false, id: "4", collapse: "news") == .throttled)
    #expect(system.push(silent: true, alert: false, id: "5", collapse: "news") == .throttled)
    #expect(system.push(silent: true, alert: false, id: "6", expiration: soon) == .throttled)
    #expect(system.push(silent: true, alert: false, id: "7", expiration: 0) == .expired)
    // An alert is not held up.
    #expect(system.push(silent: true, alert: true, id: "8", collapse: "news") == .throttled)
    #expect(system.alerts.count == 1)
    system.advance(by: .seconds(3_599))
    #expect(system.events.count == 3)
    system.advance(by: .seconds(2))
    #expect(
      system.events.map { String(decoding: $0.payload, as: UTF8.self) } == ["1", "2", "3", "8"])
  }

  @Test func `A device token stays, and names its app while it is registered`() {
    var system = ServiceSystem([])
    let token = [UInt8](repeating: 7, count: 32)
    #expect(system.request(.register(random: token)) == .deviceToken(token))
    #expect(
      system.request(.register(random: [UInt8](repeating: 8, count: 32))) == .deviceToken(token))
    #expect(system.machine.app(withToken: token) == ServiceSystem.app)
    system.request(.unregister)
    #expect(system.machine.app(withToken: token) == nil)
    #expect(system.request(.register(random: [1])) == .refused(.unavailable))
    system.handle(.life(.removed(ServiceSystem.app)))
    #expect(system.push() == nil && system.machine.appsWithServices.isEmpty)
  }

  // MARK: Background tasks

  private static let refresh = AppTaskNote("refresh", isProcessing: false)

  @Test func `A task launches the app at its earliest date, once, and not in the foreground`() {
    var system = ServiceSystem(.fetch)
    system.person(.opened)
    var task = Self.refresh
    task.earliestBegin = system.calendar + 600
    #expect(system.request(.submit(task, permitted: ["refresh"])) == .done)
    system.advance(by: .seconds(700))
    #expect(system.events.isEmpty)
    system.person(.sentToBackground)
    #expect(system.kinds == [.refresh])
    system.advance(by: .seconds(10_000))
    #expect(system.events.count == 1)
    #expect(system.machine.life.state(of: ServiceSystem.app) == .suspended)
  }

  @Test func `A task with a time that is no date is taken with one`() {
    var system = ServiceSystem(.fetch)
    system.person(.opened)
    let times: [(sent: Double, kept: Double?)] = [(.nan, nil), (.infinity, 1e11), (-1e300, 0)]
    for (sent, kept) in times {
      var task = Self.refresh
      task.earliestBegin = sent
      #expect(system.request(.submit(task, permitted: ["refresh"])) == .done)
      let record = system.machine.serviceRecord(of: ServiceSystem.app)
      #expect(record?.tasks.map(\.earliestBegin) == [kept])
    }
  }

  @Test
  func `Tasks of an app are launched a quarter of an hour apart, and an ended app is launched`() {
    var system = ServiceSystem([.fetch, .processing])
    system.terminate()
    #expect(system.request(.submit(Self.refresh, permitted: ["refresh"])) == .done)
    #expect(system.launches.count == 2)
    #expect(system.request(.submit(Self.refresh, permitted: ["refresh"])) == .done)
    system.advance(by: .seconds(899))
    #expect(system.events.count == 1)
    system.advance(by: .seconds(1))
    #expect(system.events.count == 2)
  }

  @Test func `A task that is not permitted, or one too many, is refused`() {
    var system = ServiceSystem(.processing)
    #expect(
      system.request(.submit(Self.refresh, permitted: ["refresh"])) == .refused(.notPermitted))
    let permitted = (0...10).map { "\($0)" }
    for name in permitted.prefix(10) {
      let task = AppTaskNote(name, isProcessing: true, earliestBegin: system.calendar + 1e6)
      #expect(system.request(.submit(task, permitted: permitted)) == .done)
      #expect(system.request(.submit(task, permitted: permitted)) == .done)
    }
    let last = AppTaskNote("10", isProcessing: true)
    #expect(system.request(.submit(last, permitted: [])) == .refused(.notPermitted))
    #expect(system.request(.submit(last, permitted: permitted)) == .refused(.tooMany))
    system.request(.cancelTask("3"))
    #expect(system.request(.submit(last, permitted: permitted)) == .done)
  }

  @Test func `A task waits for the network, and follows a calendar that is set`() {
    var system = ServiceSystem(.processing)
    system.terminate()
    system.machine.setSurroundings(isOnline: false, isPowered: true)
    let task = AppTaskNote("a", isProcessing: true, needsNetwork: true)
    system.request(.submit(task, permitted: ["a", "b"]))
    system.advance(by: .seconds(1_000))
    #expect(system.events.isEmpty && system.machine.waitsForSurroundings)
    system.machine.setSurroundings(isOnline: true, isPowered: true)
    system.advance(by: .seconds(61))
    #expect(system.kinds == [.processing])
    let later = AppTaskNote("b", isProcessing: true, earliestBegin: system.calendar + 86_400)
    system.request(.submit(later, permitted: ["a", "b"]))
    system.advance(by: .seconds(1_000))
    #expect(system.events.count == 1)
    system.calendarJump = 100_000
    system.advance(by: .seconds(61))
    #expect(system.events.count == 2)
  }

  @Test func `A task that takes too long is expired and then ends the process`() {
    var system = ServiceSystem(.fetch)
    system.completes = false
    system.terminate()
    system.request(.submit(Self.refresh, permitted: ["refresh"]))
    #expect(system.machine.life.state(of: ServiceSystem.app) == .background)
    system.advance(by: .seconds(31))
    #expect(system.machine.life.state(of: ServiceSystem.app) == .notRunning)
  }

  // MARK: Local notifications

  private static func notice(_ identifier: String) -> AppNotice {
    AppNotice(
      identifier: identifier, isSilent: false, hasAlert: true, contents: Array(identifier.utf8))
  }

  @Test func `A local notification is shown when it is due, and repeats after a minute or more`() {
    var system = ServiceSystem([])
    #expect(
      system.request(.add(Self.notice("a"), after: 5, repeats: false)) == .refused(.notPermitted))
    system.suspend()
    system.request(.add(Self.notice("a"), after: 5, repeats: true))
    system.request(.add(Self.notice("b"), after: 60, repeats: true))
    system.request(.add(Self.notice("c"), after: 70, repeats: false))
    system.request(.removePending(["c"]))
    system.advance(by: .seconds(4))
    #expect(system.alerts.isEmpty)
    system.advance(by: .seconds(186))
    // One of a, and three of b, of which each replaces the one before.
    #expect(system.alerts.count == 4)
    let record = system.machine.serviceRecord(of: ServiceSystem.app)
    #expect(record?.delivered.map(\.identifier) == ["a", "b"])
    #expect(record?.pending.map(\.notice.identifier) == ["b"])
  }

  @Test func `Notifications and tasks are bounded`() {
    var system = ServiceSystem([])
    system.suspend()
    for number in 0..<AppServices.noticeCountMax {
      #expect(
        system.request(.add(Self.notice("\(number)"), after: 1e6, repeats: false)) == .done)
    }
    #expect(
      system.request(.add(Self.notice("x"), after: 1e6, repeats: false)) == .refused(.tooMany))
    let long = Self.notice(String(repeating: "x", count: 2_000))
    #expect(system.request(.add(long, after: 1, repeats: false)) == .refused(.tooLong))
    #expect(system.request(.present(long)) == .refused(.tooLong))
    for number in 0..<200 { _ = system.push(id: "\(number)") }
    #expect(
      system.machine.alerts(of: ServiceSystem.app).count == AppServices.noticeCountMax)
  }

  @Test func `The contents of an app's notifications are bounded together`() throws {
    var system = ServiceSystem([])
    system.suspend()
    func notice(_ identifier: String) -> AppNotice {
      AppNotice(
        identifier: identifier, isSilent: false, hasAlert: true,
        contents: [UInt8](repeating: 7, count: AppServices.contentsByteCountMax))
    }
    let count = AppServices.listByteCountMax / AppServices.contentsByteCountMax
    for number in 0..<count {
      #expect(system.request(.add(notice("\(number)"), after: 60, repeats: false)) == .done)
    }
    #expect(
      system.request(.add(notice("x"), after: 60, repeats: false)) == .refused(.tooMany))
    // One that is replaced makes room for its successor.
    #expect(system.request(.add(notice("0"), after: 60, repeats: false)) == .done)
    system.advance(by: .seconds(61))
    #expect(system.request(.present(notice("y"))) == .done)
    let record = try #require(system.machine.serviceRecord(of: ServiceSystem.app))
    #expect(record.delivered.map(\.identifier) == ["2", "3", "0", "y"])
    #expect(record.alerts?.map(\.identifier) == ["1", "2", "3", "0"])
  }

  @Test func `An app takes back a notification that was shown`() {
    var system = ServiceSystem([])
    system.suspend()
    for identifier in ["a", "b"] {
      system.request(.add(Self.notice(identifier), after: 1, repeats: false))
    }
    system.advance(by: .seconds(2))
    system.request(.removeDelivered(["a"]))
    #expect(system.machine.alerts(of: ServiceSystem.app).count == 1)
    system.request(.removeDelivered(nil))
    #expect(system.machine.alerts(of: ServiceSystem.app).isEmpty)
    #expect(system.machine.serviceRecord(of: ServiceSystem.app)?.delivered == [])
  }

  // MARK: A restart

  @Test func `A record with values that no system writes is taken within the bounds`() {
    var record = AppServiceRecord()
    for (interval, due) in [(0.0, -1e300), (-5, 1e300), (1e300, 0)] {
      record.pending.append(
        AppServiceRecord.Pending(
          notice: Self.notice("\(interval)"), due: due, interval: interval, repeats: true))
    }
    record.tasks = (0..<100).map { AppTaskNote("\($0)", isProcessing: true, earliestBegin: 1e300) }
    record.token = [1]
    record.isRegistered = true
    record.fetchInterval = -1e300
    record.waitingPushes = (0..<100).map { AppPushNote(Self.notice("\($0)"), expiration: -1e300) }
    var system = ServiceSystem([.fetch, .remoteNotification])
    system.handle(.preservedServices(ServiceSystem.app, record))
    system.advance(by: .seconds(10_000))
    let kept = system.machine.serviceRecord(of: ServiceSystem.app)
    #expect(kept?.tasks.count == 11 && kept?.waitingPushes == [] && kept?.token == nil)
    #expect(kept?.pending.count == 1)
  }

  @Test(arguments: 0..<8)
  func `Random tasks, notifications and deeds of the person break no rule`(_ seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var system = ServiceSystem([.fetch, .processing, .remoteNotification])
    func number(_ bound: UInt64) -> UInt64 { random.next(upperBound: bound) }
    for _ in 0..<300 {
      let name = "\(number(4))"
      switch number(12) {
      case 0: system.person(.opened)
      case 1: system.person(.sentToBackground)
      case 2: system.person(.forceQuit)
      case 3: system.handle(.life(.memoryPressure(.critical)))
      case 4: system.request(.authorize)
      case 5:
        let isProcessing = number(2) == 0
        let task = AppTaskNote(
          name, isProcessing: isProcessing, needsNetwork: number(2) == 0,
          earliestBegin: system.calendar + Double(number(5_000)))
        system.request(.submit(task, permitted: ["0", "1", "2"]))
      case 6:
        system.request(
          .add(Self.notice(name), after: Double(number(100)), repeats: number(2) == 0))
      case 7: system.machine.setSurroundings(isOnline: number(2) == 0, isPowered: true)
      case 8: system.calendarJump += Double(number(10_000)) - 5_000
      case 9: if let alert = system.alerts.last { system.person(.openedAlert(alert)) }
      case 10:
        _ = system.push(
          silent: number(2) == 0, alert: number(2) == 0, id: name,
          collapse: number(2) == 0 ? name : nil, expiration: system.calendar + 100)
      default: system.advance(by: .seconds(Int64(number(2_000))))
      }
    }
    #expect(system.events.count > 0, "seed \(seed)")
  }

  @Test func `Tasks, notifications and the token go on with the next system`() throws {
    var first = ServiceSystem(.fetch)
    first.suspend()
    let token = [UInt8](repeating: 7, count: 32)
    first.request(.register(random: token))
    first.request(.add(Self.notice("a"), after: 100, repeats: false))
    var task = Self.refresh
    task.earliestBegin = first.calendar + 200
    first.request(.submit(task, permitted: ["refresh"]))
    first.advance(by: .seconds(50))
    let record = try #require(first.machine.serviceRecord(of: ServiceSystem.app))

    var second = try #require(first.restarted(.fetch))
    #expect(second.machine.serviceRecord(of: ServiceSystem.app) == record)
    #expect(second.machine.app(withToken: token) == ServiceSystem.app)
    second.advance(by: .seconds(49))
    #expect(second.alerts.isEmpty)
    second.advance(by: .seconds(2))
    #expect(second.alerts.count == 1 && second.launches.isEmpty)
    second.advance(by: .seconds(100))
    #expect(second.launches.count == 1 && second.kinds == [.refresh])
  }

  @Test func `An alert that the last system has shown opens the app, and isn't shown again`() throws
  {
    var first = ServiceSystem([])
    first.suspend()
    first.request(.add(Self.notice("a"), after: 1, repeats: false))
    first.request(.add(Self.notice("b"), after: 2, repeats: false))
    first.advance(by: .seconds(5))
    #expect(first.alerts.count == 2)

    var second = try #require(first.restarted([]))
    #expect(second.alerts.isEmpty)
    let alerts = second.machine.alerts(of: ServiceSystem.app)
    #expect(
      alerts.compactMap { second.machine.notice(ofAlert: $0, of: ServiceSystem.app) }
        .map(\.identifier) == ["a", "b"])
    second.person(.openedAlert(try #require(alerts.last)))
    #expect(second.launches.map(\.isInForeground) == [true])
    #expect(second.launches.first?.options?.notification != nil)
    #expect(second.events.map(\.payload) == [Self.notice("b").contents])
    #expect(second.events.first?.isTapped == true)
    #expect(second.machine.alerts(of: ServiceSystem.app) == Array(alerts.prefix(1)))
  }
}
