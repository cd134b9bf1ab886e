import Essentials

@testable import AppMachines

/// Apps that hang, crash, overstay, leave processes behind and ignore requests to end, while peers come and go and
/// the person does anything; all from one seed.
struct AppRun {
  /// A process as it behaves.
  private struct Player {
    var app: AppID
    var isFrozen = false
    var isEnded = false
    /// The chance that it doesn't acknowledge a batch.
    var hanging = 0.0
    /// The chance that it crashes when it gets something.
    var crashing = 0.0
    var isSlow = false
    var ignoresRequests = false
    var leavesOthers = false
    var completes = true
    /// Steps that wait until it is thawed.
    var frozenSteps: [AppMachine.ProcessEvent] = []
    var isLaunched = false
    /// As it was last told.
    var isInForeground = false
    var opened: [AppReceiver] = []
    /// It has to report to a system that has adopted it.
    var mustReport = false
  }

  private struct Step {
    var time: Instant
    var process: AppProcessID
    var event: AppMachine.ProcessEvent
  }

  static let names = ["a", "b", "c"].map(AppID.init)

  private(set) var machine: AppMachine
  /// How often the system was killed, and how many processes the next one has taken over.
  private(set) var restartCount = 0
  private(set) var adoptedCount = 0
  private(set) var checker: GuaranteeChecker
  private(set) var now = Instant.zero
  private(set) var transcript: [String] = []
  private let keepsTranscript: Bool
  private var random: SeededGenerator
  private var players: [AppProcessID: Player] = [:]
  private var steps: [Step] = []
  private var lastNumber: UInt32 = 0
  private var alerts: [(AppID, AppEventID)] = []

  init(seed: UInt64, keepsTranscript: Bool = false) {
    var random = SeededGenerator(seed: seed)
    let rules = Bool.random(using: &random) ? AppRules.iOS18 : .iOS26
    var limits = AppLimits()
    if Bool.random(using: &random) {
      limits.waitingCountMax = 12
      limits.waitingCountForValuesMax = 8
      limits.waitingByteCountMax = 40
      limits.handedCountMax = 3
      limits.alertCountMax = 2
    }
    limits.hasOneForeground = Bool.random(using: &random)
    self.random = random
    self.keepsTranscript = keepsTranscript
    machine = AppMachine(limits: limits, rules: rules)
    checker = GuaranteeChecker(limits, rules)
    for name in Self.names {
      let modes = UInt16.random(in: 0..<128, using: &self.random)
      let description = AppDescription(
        modes: BackgroundModes(rawValue: modes), hasScenes: chance(0.3),
        exitsOnSuspend: chance(0.1))
      handle(.installed(name, description))
    }
  }

  private mutating func chance(_ probability: Double) -> Bool { random.unit() < probability }

  private mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  // MARK: Running

  mutating func perform(stepCount: Int = 100) {
    for _ in 0..<stepCount where checker.violations.isEmpty {
      let spans: [Int64] = [0, 0, 1, 100, 1_000, 4_000, 11_000, 40_000]
      advance(by: .milliseconds(chance(0.03) ? 1_000_000 : pick(spans)))
      act()
    }
    guard checker.violations.isEmpty else { return }
    advance(by: .seconds(7_200))
    checker.checkCounts(machine.status)
    checker.check(at: now)
  }

  /// Lets time pass, with all that is due.
  private mutating func advance(by span: TimeSpan) {
    let end = now + span
    var count = 0
    while checker.violations.isEmpty {
      let step = steps.indices.min { steps[$0].time < steps[$1].time }
      let due = [machine.nextWake, step.map { steps[$0].time }].compactMap { $0 }.min()
      guard let due, due <= end else { break }
      count += 1
      checker.expect(count < 20_000, "time does not pass")
      now = max(now, due)
      if let wake = machine.nextWake, wake <= now {
        handle(.wake)
      } else if let step {
        let next = steps.remove(at: step)
        report(next.event, next.process)
      }
      if machine.nextWake.map({ $0 > now }) ?? true { checker.check(at: now) }
    }
    now = end
  }

  private mutating func handle(_ event: AppMachine.Event) {
    if keepsTranscript { transcript.append("\(now.nanoseconds) \(event)") }
    var actions: [AppMachine.Action] = []
    let id = AppEventID(rawValue: machine.numbers.event + 1)
    checker.note(event, id: id, now: now)
    machine.handle(event, now: now, into: &actions)
    for action in actions {
      if keepsTranscript { transcript.append("\(now.nanoseconds)   \(action)") }
      checker.check(action, now: now)
    }
    for action in actions { perform(action) }
  }

  // MARK: Processes

  private mutating func perform(_ action: AppMachine.Action) {
    switch action {
    case .start(let app, let id, let launch):
      start(id, of: app)
      players[id]?.isInForeground = launch.isInForeground
    case .deliver(let id, let deliveries): receive(deliveries, id)
    case .freeze(let id): players[id]?.isFrozen = true
    case .thaw(let id):
      players[id]?.isFrozen = false
      planResumption(of: id)
      for step in players[id]?.frozenSteps ?? [] { plan(step, id, in: 10) }
      players[id]?.frozenSteps = []
    case .terminate(let id):
      guard let player = players[id], !player.ignoresRequests else { return }
      plan(.exited(.status(0), hasOthers: player.leavesOthers), id, in: 3_000)
    case .kill(let id):
      guard let player = players[id] else { return }
      if player.isEnded {
        plan(.gone, id, in: 20)
      } else {
        plan(.exited(.signal(9), hasOthers: player.leavesOthers && chance(0.5)), id, in: 20)
      }
    case .alert(let app, let id): alerts.append((app, id))
    case .expire(let id, let task):
      if chance(0.7) { plan(.endedBackgroundTask(task), id, in: 4_000) }
    case .expireTask(let id, let event):
      if chance(0.7) { plan(.completed(event), id, in: 4_000) }
    case .refuseBackgroundTask, .refuse, .disconnect, .release, .reportRegionStates, .report: break
    }
  }

  private mutating func plan(
    _ event: AppMachine.ProcessEvent, _ id: AppProcessID, in milliseconds: Int64
  ) {
    let delay = Int64.random(in: 0...max(1, milliseconds), using: &random)
    steps.append(Step(time: now + .milliseconds(delay), process: id, event: event))
  }

  private mutating func start(_ id: AppProcessID, of app: AppID) {
    var player = Player(app: app)
    player.hanging = chance(0.2) ? 0.5 : 0
    player.crashing = chance(0.2) ? 0.2 : 0
    player.isSlow = chance(0.2)
    player.ignoresRequests = chance(0.3)
    player.leavesOthers = chance(0.2)
    player.completes = chance(0.8)
    players[id] = player
    if chance(0.05) { return plan(.exited(.notStarted, hasOthers: false), id, in: 10) }
    let areManagersLate = chance(0.2)
    let receivers: [AppReceiver] = [
      .central("1"), .central("2"), .peripheral("1"), .unnamedCentral(id.rawValue), .location,
      .notifications, .tasks, .heldSocket(1), .keepAlive,
    ]
    for receiver in receivers where chance(0.8) {
      steps.append(
        Step(
          time: now + .milliseconds(areManagersLate ? pick([500, 5_000, 15_000]) : 1), process: id,
          event: .opened(receiver)))
    }
    if chance(0.95) {
      steps.append(Step(time: now + .milliseconds(pick([2, 100])), process: id, event: .launched))
    }
  }

  private mutating func receive(_ deliveries: [AppDelivery], _ id: AppProcessID) {
    guard let player = players[id] else { return }
    for case .transition(let transition) in deliveries {
      switch transition {
      case .willEnterForeground, .didBecomeActive: players[id]?.isInForeground = true
      case .didEnterBackground: players[id]?.isInForeground = false
      case .willResignActive, .didReceiveMemoryWarning: break
      }
    }
    if chance(player.crashing) {
      let crash = AppMachine.ProcessEvent.exited(.signal(11), hasOthers: player.leavesOthers)
      return plan(chance(0.2) ? .reclaimed : crash, id, in: 50)
    }
    if chance(player.hanging) { return }
    let delay: Int64 = player.isSlow ? 12_000 : 200
    if chance(0.1) {
      let task = AppTaskID(rawValue: UInt64.random(in: 0..<3, using: &random))
      plan(.beganBackgroundTask(task), id, in: delay)
      if chance(0.8) { plan(.endedBackgroundTask(task), id, in: 40_000) }
    }
    plan(.acknowledged(chance(0.01) ? 1_000 : deliveries.count), id, in: delay)
    for case .event(let number, let event) in deliveries where event.needsCompletion {
      if player.completes { plan(.completed(number), id, in: player.isSlow ? 32_000 : 5_000) }
    }
  }

  /// A process does something, unless it is frozen or has ended.
  private mutating func report(_ event: AppMachine.ProcessEvent, _ id: AppProcessID) {
    guard let player = players[id] else { return }
    switch event {
    case .exited(_, let hasOthers):
      if player.isEnded { return }
      players[id]?.isEnded = true
      // The others of a process that ended by itself end when they are forced to.
      if !hasOthers { players[id] = nil }
    case .gone:
      guard player.isEnded else { return }
      players[id] = nil
    case .reclaimed: players[id] = nil
    case .launched, .opened, .closed, .acknowledged, .beganBackgroundTask, .endedBackgroundTask,
      .completed, .resumed:
      if player.isEnded { return }
      // What it reported just before it was frozen may be late.
      if player.isFrozen, !chance(0.1) {
        players[id]?.frozenSteps.append(event)
        return
      }
    }
    switch event {
    case .opened(let receiver): players[id]?.opened.append(receiver)
    case .closed(let receiver): players[id]?.opened.removeAll { $0 == receiver }
    case .launched: players[id]?.isLaunched = true
    default: break
    }
    handle(.process(id, event))
  }

  // MARK: A restart of the system

  /// The system is killed. The next one takes over the processes that it finds, and the preserved state of each app.
  private mutating func restartSystem() {
    let old = machine
    machine = AppMachine(limits: old.limits, rules: old.rules, isUnlocked: old.isUnlocked)
    restartCount += 1
    alerts = []
    checker.restarted()
    // What it reports of events of the last system, the next one doesn't get.
    steps.removeAll { step in
      switch step.event {
      case .acknowledged, .completed, .beganBackgroundTask, .endedBackgroundTask, .opened, .closed,
        .launched, .resumed:
        true
      case .exited, .gone, .reclaimed: false
      }
    }
    for name in Self.names {
      if let app = old.apps[name] { handle(.installed(name, app.description)) }
    }
    for id in players.keys.sorted() { adopt(id) }
    for name in Self.names {
      guard let app = old.apps[name] else { continue }
      for (receiver, wants) in app.wants.sorted(by: { $0.key.rank < $1.key.rank }) {
        handle(.preserved(name, receiver, wants))
      }
      if app.isForceQuit { handle(.person(name, .forceQuit)) }
      if chance(0.2) { handle(.mustResume(name)) }
    }
  }

  private mutating func adopt(_ id: AppProcessID) {
    guard let player = players[id] else { return }
    // Of a process that was being launched or ended, the next system knows nothing: it is ended.
    guard player.isLaunched, !player.isEnded, machine.state(of: player.app) == .notRunning,
      isNewest(id)
    else {
      players[id] = nil
      steps.removeAll { $0.process == id }
      return
    }
    adoptedCount += 1
    players[id]?.mustReport = true
    players[id]?.frozenSteps = []
    handle(
      .adopted(
        player.app, id,
        AppMachine.AppAdoption(
          isFrozen: player.isFrozen,
          isInForeground: chance(0.9) ? player.isInForeground : !player.isInForeground)))
    if !player.isFrozen { planResumption(of: id) }
  }

  /// Whether it is the newest process of its app.
  private func isNewest(_ id: AppProcessID) -> Bool {
    !players.contains { $0.key > id && $0.value.app == players[id]?.app }
  }

  /// A process that runs on finds the system, and reports what it has open.
  private mutating func planResumption(of id: AppProcessID) {
    guard let player = players[id], player.mustReport else { return }
    players[id]?.mustReport = false
    players[id]?.opened = []
    if chance(0.05) { return }
    for receiver in player.opened { plan(.opened(receiver), id, in: 0) }
    if chance(0.2) { plan(.beganBackgroundTask(AppTaskID(rawValue: 1)), id, in: 0) }
    steps.append(
      Step(
        time: now + .milliseconds(2), process: id,
        event: .resumed(isInForeground: player.isInForeground)))
  }

  // MARK: The world

  private mutating func act() {
    let app = pick(Self.names)
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<52: for _ in 0..<pick([1, 1, 2, 15]) { arrive(app) }
    case 52..<62: handle(.person(app, .opened))
    case 62..<68: handle(.person(app, .sentToBackground))
    case 68..<70: handle(.person(app, pick([.interrupted, .interruptionEnded])))
    case 70..<73: handle(.person(app, .forceQuit))
    case 73..<75:
      if !alerts.isEmpty {
        let (app, id) = pick(alerts)
        handle(.person(app, .openedAlert(id)))
      }
    case 75..<84:
      let receiver = pick([AppReceiver.central("1"), .central("2"), .peripheral("1"), .location])
      handle(.wants(app, receiver, AppWants(rawValue: UInt16.random(in: 0..<256, using: &random))))
    case 84..<89: handle(.memoryPressure(chance(0.7) ? .critical : .warning))
    case 89..<90:
      if chance(0.5) { return restartSystem() }
      handle(.rebooted)
      players = [:]
    case 90..<92: handle(.unlocked)
    case 92..<95:
      let ways: [AppMachine.RadioOff] = [
        .settings, .controlCenter, .unplugged, .airplaneMode(switchesBluetooth: false),
      ]
      handle(.radio(chance(0.6) ? .on : .off(pick(ways))))
    case 95..<96: handle(.displaySwitchedOn)
    default:
      guard let id = players.keys.sorted().last, let player = players[id] else { return }
      let hasOthers = player.leavesOthers && chance(0.5)
      if chance(0.5) {
        report(.exited(.signal(6), hasOthers: hasOthers), id)
      } else if !player.isFrozen {
        report(.closed(pick([.central("1"), .peripheral("1"), .heldSocket(1)])), id)
      }
    }
  }

  private mutating func arrive(_ app: AppID) {
    lastNumber += 1
    let peer = AppPeer(rawValue: UInt64.random(in: 0..<3, using: &random))
    let kinds: [AppEvent.Kind] = [
      .callback, .connected(peer), .value(peer), .value(peer), .value(peer), .discovered(peer),
      .disconnected(peer, isBeyondLimit: false),
    ]
    let process = machine.apps[app]?.process?.id.rawValue ?? 0
    var event: AppEvent
    switch Int.random(in: 0..<12, using: &random) {
    case 0..<4: event = AppEvent(pick(kinds), for: pick([.central("1"), .central("2")]))
    case 4: event = AppEvent(pick(kinds), for: .unnamedCentral(process))
    case 5: event = AppEvent(.request(peer), for: .peripheral("1"))
    case 6: event = AppEvent(.callback, for: .peripheral("1"))
    case 7: event = AppEvent(.region, for: .location)
    case 8:
      event = AppEvent(
        .notification(isSilent: chance(0.6), hasAlert: chance(0.5)), for: .notifications)
    case 9: event = AppEvent(pick([.refresh, .processing]), for: .tasks)
    case 10: event = AppEvent(.socket, for: .heldSocket(1))
    default: event = AppEvent(.keepAlive, for: .keepAlive)
    }
    if chance(0.2), !event.kind.isRequest { event.key = UInt64.random(in: 0..<3, using: &random) }
    event.showsAlert = chance(0.1)
    event.isOfAccessory = chance(0.3)
    event.payload = (0..<4).map { UInt8(truncatingIfNeeded: lastNumber >> (24 - 8 * $0)) }
    handle(.arrived(app, event))
  }
}
