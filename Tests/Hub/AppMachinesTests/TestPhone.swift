import Essentials
import Testing

@testable import AppMachines

/// A machine with an app, whose process a test plays.
struct TestPhone {
  static let app = AppID("com.example.lock")
  static let other = AppID("com.example.other")
  static let lock = AppReceiver.central("lock")
  static let server = AppReceiver.peripheral("server")
  static let peer = AppPeer(rawValue: 7)

  var machine: AppMachine
  var now = Instant.zero
  /// The actions since `takeActions` was last called.
  private(set) var actions: [AppMachine.Action] = []

  /// Creates a phone with an app.
  init(
    _ modes: BackgroundModes = .bluetoothCentral, rules: AppRules = .iOS26,
    limits: AppLimits = AppLimits(), description: AppDescription? = nil
  ) {
    machine = AppMachine(limits: limits, rules: rules)
    handle(.installed(Self.app, description ?? AppDescription(modes: modes)))
  }

  mutating func handle(_ event: AppMachine.Event) {
    machine.handle(event, now: now, into: &actions)
    let violations = machine.violations(perTable: 64)
    #expect(violations.isEmpty, "after \(event)")
  }

  mutating func advance(by seconds: Int64) {
    let end = now + .seconds(seconds)
    var wakeCount = 0
    while let next = machine.nextWake, next <= end {
      wakeCount += 1
      guard wakeCount < 100_000 else {
        Issue.record("the machine wakes up for nothing")
        break
      }
      now = max(now, next)
      handle(.wake)
    }
    now = end
  }

  mutating func takeActions() -> [AppMachine.Action] {
    defer { actions = [] }
    return actions
  }

  // MARK: The app

  var state: AppLifeState? { machine.state(of: Self.app) }
  var counts: AppCounts { machine.apps[Self.app]?.counts ?? AppCounts() }
  var process: AppProcessID {
    machine.apps[Self.app]?.process?.id ?? AppProcessID(rawValue: 0)
  }

  mutating func person(_ deed: AppMachine.PersonEvent, _ app: AppID = Self.app) {
    handle(.person(app, deed))
  }

  mutating func report(_ event: AppMachine.ProcessEvent, of process: AppProcessID? = nil) {
    handle(.process(process ?? self.process, event))
  }

  mutating func arrive(_ event: AppEvent) { handle(.arrived(Self.app, event)) }

  mutating func arrive(_ kind: AppEvent.Kind, _ receiver: AppReceiver = Self.lock) {
    arrive(AppEvent(kind, for: receiver))
  }

  /// It handles everything that it got.
  mutating func acknowledgeAll() {
    let count = machine.apps[Self.app]?.process?.handed.count ?? 0
    if count > 0 { report(.acknowledged(count)) }
  }

  /// The process finishes launching, with these managers.
  mutating func finishLaunching(_ receivers: [AppReceiver]) {
    for receiver in receivers { report(.opened(receiver)) }
    report(.launched)
  }

  /// The person opens the app; its process makes managers, and the system does something for each.
  mutating func run(
    _ receivers: [AppReceiver] = [Self.lock], wants: AppWants = [.links, .advertising, .socket]
  ) {
    person(.opened)
    finishLaunching(receivers)
    for receiver in receivers where receiver != .location {
      handle(.wants(Self.app, receiver, wants))
    }
    acknowledgeAll()
    #expect(state == .active)
  }

  /// The same, and then it is suspended.
  mutating func suspend(_ receivers: [AppReceiver] = [Self.lock]) {
    run(receivers)
    person(.sentToBackground)
    acknowledgeAll()
    #expect(state == .suspended)
    _ = takeActions()
  }

  /// The same, and then it doesn't run any more.
  mutating func terminate(_ receivers: [AppReceiver] = [Self.lock]) {
    suspend(receivers)
    handle(.memoryPressure(.critical))
    end(.signal(9))
    _ = takeActions()
  }

  /// Its process ends.
  mutating func end(_ exit: AppExit) {
    report(.exited(exit, hasOthers: false))
    #expect(state == .notRunning || machine.apps[Self.app]?.process != nil)
  }
}

extension [AppMachine.Action] {
  var deliveries: [AppDelivery] {
    flatMap { action -> [AppDelivery] in
      if case .deliver(_, let deliveries) = action { deliveries } else { [] }
    }
  }

  /// The kinds of the events that were delivered.
  var events: [AppEvent.Kind] {
    deliveries.compactMap { if case .event(_, let event) = $0 { event.kind } else { nil } }
  }

  var transitions: [AppTransition] {
    deliveries.compactMap { if case .transition(let transition) = $0 { transition } else { nil } }
  }

  var launches: [AppLaunch] {
    compactMap { if case .start(_, _, let launch) = $0 { launch } else { nil } }
  }

  var reports: [AppReport] {
    compactMap { if case .report(let report) = $0 { report } else { nil } }
  }
}
