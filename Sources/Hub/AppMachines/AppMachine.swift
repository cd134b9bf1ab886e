package import Essentials

/// The life of apps: when each one is launched, runs in the background, is suspended, woken and ended, and what it is
/// given meanwhile.
///
/// The rules are Apple's, as far as they are documented. Events for apps and reports of their processes come in;
/// starts, deliveries, freezing and ends of processes go out.
///
/// - An event that was handed to one process is never handed to another one. If the process ends without having
///   acknowledged it, it is counted, and not repeated; the next process gets the state of its managers instead.
/// - A manager with a restored state gets it before its events, which it gets in the order of their arrival.
/// - An app has one process at a time: the next one starts when all processes of the last one are gone.
package struct AppMachine: Sendable {
  var limits: AppLimits
  let rules: AppRules
  var apps: [AppID: AppState] = [:]
  /// The apps of processes that are not gone.
  var processes: [AppProcessID: AppID] = [:]
  var isUnlocked: Bool
  /// The person has switched Bluetooth off in Settings, or with airplane mode.
  var isBluetoothOff = false
  /// The last numbers that were given.
  var numbers = Numbers()
  /// When something is due for an app.
  private var wakes: [AppID: Instant] = [:]
  /// The apps whose state may have changed since ``takeChangedApps()``.
  private var changedApps: Set<AppID> = []

  /// Numbers of processes and events, which are not given twice.
  struct Numbers: Hashable, Sendable {
    var process: UInt64 = 0
    var event: UInt64 = 0
  }

  /// - Parameters:
  ///   - limits: Times and bounds.
  ///   - rules: The release of iOS whose rules apply.
  ///   - isUnlocked: Whether the person has unlocked the device since it was started.
  package init(
    limits: AppLimits = AppLimits(), rules: AppRules = .iOS26, isUnlocked: Bool = true
  ) {
    self.limits = limits
    self.rules = rules
    self.isUnlocked = isUnlocked
  }

  /// A number for a process that is none of an app, and that no other one gets.
  package mutating func takeProcessNumber() -> AppProcessID {
    numbers.process += 1
    return AppProcessID(rawValue: numbers.process)
  }

  /// The apps whose state may have changed since the last call.
  package mutating func takeChangedApps() -> Set<AppID> {
    defer { changedApps = [] }
    return changedApps
  }

  /// When to report `wake`; nil while nothing is waited for.
  package var nextWake: Instant? { wakes.values.min() }

  /// Handles an event.
  package mutating func handle(_ event: Event, now: Instant, into actions: inout [Action]) {
    switch event {
    case .installed(let id, let description):
      if apps[id] == nil { apps[id] = AppState(id, description) }
      change(id, now, &actions) { app, _ in app.install(description) }
    case .removed(let id): remove(id, now, &actions)
    case .arrived(let id, let event):
      change(id, now, &actions) { app, turn in app.arrived(event, &turn) }
    case .wants(let id, let receiver, let wants):
      change(id, now, &actions) { app, turn in app.changeWants(of: receiver, to: wants, &turn) }
    case .preserved(let id, let receiver, let wants):
      change(id, now, &actions) { app, _ in app.preserve(wants, of: receiver) }
    case .adopted(let id, let process, let adoption):
      numbers.process = max(numbers.process, process.rawValue)
      // What the process reports of events of the earlier system concerns none of this one: a system has fewer events
      // than microseconds.
      numbers.event = max(numbers.event, UInt64(max(0, now.nanoseconds / 1_000)))
      change(id, now, &actions) { app, turn in app.adopt(process, adoption, &turn) }
    case .mustResume(let id): change(id, now, &actions) { app, turn in app.mustResume(&turn) }
    case .preservedAlert(let id, let event):
      change(id, now, &actions) { app, turn in app.preserveAlert(event, &turn) }
    case .process(let process, let event):
      // A report of a process that is gone was on its way when it ended.
      guard let id = processes[process] else { return }
      change(id, now, &actions) { app, turn in app.handle(event, of: process, &turn) }
    case .person(let id, let deed): handle(deed, for: id, now, &actions)
    case .displaySwitchedOn:
      for id in apps.keys.sorted() where apps[existing: id].wantsRegionsOnDisplay {
        actions.append(.reportRegionStates(id))
      }
    case .memoryPressure(let pressure): handle(pressure, now, &actions)
    case .rebooted: reboot(now, &actions)
    case .unlocked: unlock(now, &actions)
    case .radio(let change): handle(change, now, &actions)
    case .wake:
      for id in wakes.filter({ $0.value <= now }).keys.sorted() {
        change(id, now, &actions) { app, turn in app.wake(&turn) }
      }
    }
    assert(violations(perTable: 8).isEmpty, "\(violations(perTable: 8)) after \(event)")
  }

  // MARK: Apps

  /// What an app's part of the machine needs of the rest, and its actions.
  struct Turn {
    let now: Instant
    let limits: AppLimits
    let rules: AppRules
    let isUnlocked: Bool
    let isBluetoothOff: Bool
    var numbers: Numbers
    var actions: [Action]

    mutating func report(_ report: AppReport) { actions.append(.report(report)) }

    mutating func nextEvent() -> AppEventID {
      numbers.event += 1
      return AppEventID(rawValue: numbers.event)
    }

    mutating func nextProcess() -> AppProcessID {
      numbers.process += 1
      return AppProcessID(rawValue: numbers.process)
    }
  }

  /// Changes an app, and does what follows from the change. Nothing happens for an app that isn't installed.
  private mutating func change(
    _ id: AppID, _ now: Instant, _ actions: inout [Action],
    _ body: (inout AppState, inout Turn) -> Void
  ) {
    guard let index = apps.index(forKey: id) else { return }
    let before = apps.values[index].process?.id
    var turn = Turn(
      now: now, limits: limits, rules: rules, isUnlocked: isUnlocked,
      isBluetoothOff: isBluetoothOff, numbers: numbers, actions: [])
    swap(&turn.actions, &actions)
    body(&apps.values[index], &turn)
    apps.values[index].settle(&turn)
    swap(&turn.actions, &actions)
    numbers = turn.numbers
    changedApps.insert(id)
    let after = apps.values[index].process?.id
    if before != after {
      if let before { processes[before] = nil }
      if let after { processes[after] = id }
    }
    wakes[id] = apps.values[index].nextWake(turn)
    if apps.values[index].isRemoved, after == nil {
      apps[id] = nil
      wakes[id] = nil
    }
  }

  private mutating func remove(_ id: AppID, _ now: Instant, _ actions: inout [Action]) {
    change(id, now, &actions) { app, turn in app.remove(&turn) }
  }

  // MARK: The person

  private mutating func handle(
    _ deed: PersonEvent, for id: AppID, _ now: Instant, _ actions: inout [Action]
  ) {
    switch deed {
    case .opened, .openedAlert:
      guard apps[id] != nil else { return }
      // An app can only be opened on a device that is unlocked.
      if !isUnlocked { unlock(now, &actions) }
      if limits.hasOneForeground {
        for other in apps.keys.sorted()
        where other != id && apps[existing: other].isInForeground {
          change(other, now, &actions) { app, turn in app.enterBackground(&turn) }
        }
      }
      change(id, now, &actions) { app, turn in
        if case .openedAlert(let event) = deed {
          app.openAlert(event, &turn)
        } else {
          app.open(nil, &turn)
        }
      }
    case .sentToBackground: change(id, now, &actions) { app, turn in app.enterBackground(&turn) }
    case .interrupted: change(id, now, &actions) { app, _ in app.interrupt() }
    case .interruptionEnded: change(id, now, &actions) { app, _ in app.endInterruption() }
    case .forceQuit: change(id, now, &actions) { app, turn in app.forceQuit(&turn) }
    }
  }

  // MARK: The system

  private mutating func handle(
    _ pressure: MemoryPressure, _ now: Instant, _ actions: inout [Action]
  ) {
    switch pressure {
    case .warning:
      for id in apps.keys.sorted() {
        change(id, now, &actions) { app, turn in app.warnOfMemory(turn.limits) }
      }
    case .critical:
      let suspended = apps.values.compactMap { app in app.suspendedSince.map { ($0, app.id) } }
      guard let longest = suspended.min(by: <) else {
        return actions.append(.report(.noSuspendedApp))
      }
      change(longest.1, now, &actions) { app, turn in app.end(because: .memoryPressure, &turn) }
    case .criticalFor(let id):
      guard apps[id]?.suspendedSince != nil else { return actions.append(.report(.noSuspendedApp)) }
      change(id, now, &actions) { app, turn in app.end(because: .memoryPressure, &turn) }
    }
  }

  private mutating func reboot(_ now: Instant, _ actions: inout [Action]) {
    isUnlocked = false
    for id in apps.keys.sorted() { change(id, now, &actions) { app, turn in app.reboot(&turn) } }
  }

  private mutating func unlock(_ now: Instant, _ actions: inout [Action]) {
    isUnlocked = true
    for id in apps.keys.sorted() { change(id, now, &actions) { _, _ in } }
  }

  private mutating func handle(
    _ change: RadioChange, _ now: Instant, _ actions: inout [Action]
  ) {
    switch change {
    case .on: isBluetoothOff = false
    case .off(.settings), .off(.airplaneMode(switchesBluetooth: true)):
      isBluetoothOff = true
      for id in apps.keys.sorted() {
        self.change(id, now, &actions) { app, _ in app.bluetoothWasSwitchedOff() }
      }
    // The wishes of apps stay, and their peers are found again.
    case .off(.controlCenter), .off(.airplaneMode(switchesBluetooth: false)), .off(.unplugged):
      break
    }
  }
}
