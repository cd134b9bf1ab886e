import AppMachines
import Essentials

/// Checks what apps may rely on, from the machine's events and actions alone.
struct GuaranteeChecker {
  private struct App {
    var modes: BackgroundModes
    var process: AppProcessID?
    /// What its managers want, as far as it was not released.
    var wants: [AppReceiver: AppWants] = [:]
    var isForceQuit = false
    var isOpened = false
    /// When the last process ended by a fault.
    var faultedAt: Instant?
    /// The number of the last event that was delivered for each receiver.
    var last: [AppReceiver: UInt32] = [:]
    var eventCount = 0
    var unacknowledgedCount = 0
    /// Events that arrived and were not delivered; some of them were discarded.
    var pending: [UInt32: AppEvent] = [:]
  }

  private struct Process {
    var app: AppID
    var restorable: Set<AppReceiver>
    var restored: Set<AppReceiver> = []
    var opened: Set<AppReceiver> = []
    var startedAt: Instant
    var isLaunched = false
    var isActive = false
    var isFrozen = false
    /// When it was last frozen.
    var frozenAt: Instant?
    /// When it was last requested or forced to end.
    var endingAt: Instant?
    /// When it last got a reason to run.
    var activeAt: Instant
    var isProcessing = false
    /// It was started by an earlier system, and has not reported to this one.
    var isAdopted = false
    /// Whether each delivery that is not acknowledged is an event.
    var unacknowledged: [Bool] = []
  }

  private let limits: AppLimits
  private let rules: AppRules
  private var apps: [AppID: App] = [:]
  private var processes: [AppProcessID: Process] = [:]
  private var isLocked = false
  /// The app that the person opens with the event that is being handled.
  private var openedApp: AppID?
  /// The app whose process has to report with the event that is being handled.
  private var mustResumeApp: AppID?
  /// The process that begins a background task with the event that is being handled, before its threads stopped.
  private var beginningProcess: AppProcessID?
  private var arrived: Set<UInt32> = []
  private var delivered: Set<UInt32> = []
  private var deliveredIDs: Set<AppEventID> = []
  private var requests: [AppEventID: Instant] = [:]
  private(set) var violations: [String] = []
  private(set) var deliveredCount = 0
  private(set) var restoredCount = 0
  private(set) var launchCount = 0

  init(_ limits: AppLimits, _ rules: AppRules) {
    self.limits = limits
    self.rules = rules
  }

  mutating func expect(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { violations.append(text()) }
  }

  // MARK: Events

  /// - Parameter id: The number that the machine gives the next event.
  mutating func note(_ event: AppMachine.Event, id: AppEventID, now: Instant) {
    openedApp = nil
    mustResumeApp = nil
    beginningProcess = nil
    switch event {
    case .installed(let id, let description): apps[id] = App(modes: description.modes)
    case .arrived(let app, let event):
      arrived.insert(Self.number(event))
      apps[app]?.pending[Self.number(event)] = event
      if case .request = event.kind { requests[id] = now }
    case .wants(let id, let receiver, let wants): note(id, receiver, wants)
    case .preserved(let id, let receiver, let wants):
      let process = apps[id]?.process.flatMap { processes[$0] }
      guard process?.isLaunched != true || process?.isFrozen == true else { return }
      apps[id]?.wants[receiver] = wants
      if receiver.isRestored, let id = apps[id]?.process {
        processes[id]?.restorable.insert(receiver)
      }
    case .adopted(let app, let id, let adoption):
      apps[app]?.process = id
      // It is frozen again, so that each of its processes is.
      processes[id] = Process(
        app: app, restorable: [], startedAt: now, isLaunched: adoption.isFrozen, activeAt: now)
      processes[id]?.isAdopted = true
    case .mustResume(let app): mustResumeApp = app
    case .process(let id, let event): note(event, id, now)
    case .person(let id, let deed): note(id, deed, now)
    case .rebooted:
      isLocked = true
      for id in processes.keys.sorted() { gone(id, isFault: false, now) }
      for id in apps.keys { apps[id]?.faultedAt = nil }
    case .unlocked: isLocked = false
    case .preservedAlert, .removed, .displaySwitchedOn, .memoryPressure, .radio, .wake: break
    }
  }

  private mutating func note(_ id: AppID, _ receiver: AppReceiver, _ wants: AppWants) {
    let process = apps[id]?.process.flatMap { processes[$0] }
    let isOpen = process?.opened.contains(receiver) ?? false
    guard isOpen || apps[id]?.wants[receiver] != nil else { return }
    apps[id]?.wants[receiver] = wants.isEmpty ? nil : wants
  }

  private mutating func note(_ id: AppID, _ deed: AppMachine.PersonEvent, _ now: Instant) {
    switch deed {
    case .opened, .openedAlert:
      isLocked = false
      openedApp = id
      apps[id]?.isForceQuit = false
      apps[id]?.isOpened = true
      apps[id]?.faultedAt = nil
    case .forceQuit: apps[id]?.isForceQuit = true
    case .sentToBackground, .interrupted, .interruptionEnded: break
    }
  }

  private mutating func note(
    _ event: AppMachine.ProcessEvent, _ id: AppProcessID, _ now: Instant
  ) {
    guard let process = processes[id] else { return }
    switch event {
    case .resumed(let isInForeground):
      processes[id]?.isAdopted = false
      processes[id]?.isLaunched = true
      processes[id]?.isActive = isInForeground
      processes[id]?.activeAt = now
    case .launched:
      processes[id]?.isLaunched = true
      processes[id]?.activeAt = now
    case .opened(let receiver):
      if process.endingAt == nil { processes[id]?.opened.insert(receiver) }
    case .closed(let receiver):
      if processes[id]?.opened.remove(receiver) != nil { apps[process.app]?.wants[receiver] = nil }
    case .acknowledged(let count):
      let handled = min(max(count, 0), process.unacknowledged.count)
      processes[id]?.unacknowledged.removeFirst(handled)
    case .completed(let event): if process.endingAt == nil { requests[event] = nil }
    case .exited(_, let hasOthers):
      let isFault = process.endingAt == nil
      if hasOthers {
        processes[id]?.endingAt = now
        if isFault { apps[process.app]?.faultedAt = now }
      } else {
        gone(id, isFault: isFault, now)
      }
    case .gone: gone(id, isFault: process.endingAt == nil, now)
    case .reclaimed: gone(id, isFault: false, now)
    case .beganBackgroundTask:
      let isStopping = process.frozenAt.map { now - $0 <= limits.stopTime } ?? false
      if isStopping, !process.isAdopted { beginningProcess = id }
    case .endedBackgroundTask: break
    }
  }

  private mutating func gone(_ id: AppProcessID, isFault: Bool, _ now: Instant) {
    guard let process = processes.removeValue(forKey: id) else { return }
    apps[process.app]?.process = nil
    if isFault { apps[process.app]?.faultedAt = now }
    apps[process.app]?.unacknowledgedCount += process.unacknowledged.count { $0 }
  }

  /// The system was killed, and the next one begins: events that waited are lost, and it counts from the beginning.
  mutating func restarted() {
    processes = [:]
    requests = [:]
    deliveredIDs = []
  }

  // MARK: Actions

  mutating func check(_ action: AppMachine.Action, now: Instant) {
    switch action {
    case .start(let app, let id, let launch): start(app, id, launch, now)
    case .deliver(let id, let deliveries): deliver(id, deliveries, now)
    case .freeze(let id):
      let isRunning = processes[id].map { $0.isLaunched && !$0.isFrozen && $0.endingAt == nil }
      expect(isRunning == true, "process \(id.rawValue) is frozen and doesn't run")
      processes[id]?.isFrozen = true
      processes[id]?.frozenAt = now
    case .thaw(let id):
      let isFrozen = processes[id].map { $0.isFrozen && $0.endingAt == nil }
      expect(isFrozen == true, "process \(id.rawValue) is thawed and not frozen")
      expect(mayWake(id), "process \(id.rawValue) is thawed without a reason")
      processes[id]?.isFrozen = false
      processes[id]?.activeAt = now
      if processes[id]?.isAdopted == true {
        processes[id]?.isLaunched = false
        processes[id]?.startedAt = now
      }
    case .terminate(let id), .kill(let id):
      expect(processes[id] != nil, "process \(id.rawValue) is ended twice")
      processes[id]?.endingAt = now
    case .refuse(_, let id):
      expect(requests.removeValue(forKey: id) != nil, "a request is refused twice")
    case .release(let app, let receiver): apps[app]?.wants[receiver] = nil
    case .expire(let id, _), .expireTask(let id, _):
      let isRunning = processes[id].map { !$0.isFrozen && $0.endingAt == nil }
      expect(isRunning == true, "a handler of process \(id.rawValue) is called")
    case .refuseBackgroundTask, .alert, .disconnect, .reportRegionStates, .report: break
    }
  }

  private mutating func start(
    _ id: AppID, _ process: AppProcessID, _ launch: AppLaunch, _ now: Instant
  ) {
    guard let app = apps[id] else { return violations.append("an unknown app starts") }
    launchCount += 1
    expect(app.process == nil, "\(id.rawValue) starts and has a process")
    expect(!isLocked, "\(id.rawValue) starts before the first unlock")
    if launch.isInForeground {
      expect(app.isOpened, "\(id.rawValue) starts in the foreground by itself")
    } else {
      expect(!launch.reasons.isEmpty, "\(id.rawValue) starts without a reason")
      for reason in launch.reasons {
        let mode = Self.mode(of: reason)
        expect(app.modes.isSuperset(of: mode), "\(id.rawValue) starts for \(reason)")
      }
      if let faultedAt = app.faultedAt {
        expect(now >= faultedAt + limits.crashPause, "\(id.rawValue) starts without a pause")
      }
      if app.isForceQuit {
        let isRegion = launch.reasons == [.region] && rules.launchesForRegionsAfterForceQuit
        let isAccessory =
          launch.reasons == [.bluetoothCentral] && rules.launchesForAccessoriesAfterForceQuit
        expect(isRegion || isAccessory, "\(id.rawValue) starts after a force-quit")
      }
    }
    apps[id]?.isOpened = false
    apps[id]?.process = process
    expect(processes[process] == nil, "process \(process.rawValue) starts twice")
    let restorable = Set(app.wants.keys.filter(\.isRestored))
    processes[process] = Process(
      app: id, restorable: restorable, startedAt: now, activeAt: now)
  }

  private mutating func deliver(
    _ id: AppProcessID, _ deliveries: [AppDelivery], _ now: Instant
  ) {
    guard let process = processes[id] else {
      return violations.append("process \(id.rawValue) is gone and gets something")
    }
    expect(process.isLaunched, "process \(id.rawValue) gets something before it is launched")
    expect(!process.isFrozen, "process \(id.rawValue) is frozen and gets something")
    expect(process.endingAt == nil, "process \(id.rawValue) ends and gets something")
    processes[id]?.activeAt = now
    for delivery in deliveries {
      switch delivery {
      case .transition(let transition):
        if transition == .didBecomeActive { processes[id]?.isActive = true }
        if transition == .didEnterBackground { processes[id]?.isActive = false }
      case .restore(let receiver): restore(receiver, id)
      case .event(let number, let event): deliver(number, event, id)
      }
      if case .event = delivery {
        processes[id]?.unacknowledged.append(true)
      } else {
        processes[id]?.unacknowledged.append(false)
      }
    }
    let count = processes[id]?.unacknowledged.count { $0 } ?? 0
    expect(count <= limits.handedCountMax, "process \(id.rawValue) gets too much at once")
  }

  /// Whether the person opens the app, or something waits that its modes allow to wake it.
  private func mayWake(_ id: AppProcessID) -> Bool {
    guard let process = processes[id], let app = apps[process.app] else { return false }
    if openedApp == process.app || mustResumeApp == process.app || beginningProcess == id {
      return true
    }
    return app.pending.values.contains { event in
      guard
        process.isAdopted || process.opened.contains(event.receiver)
          || process.restorable.contains(event.receiver),
        let mode = Self.mode(of: event)
      else {
        return false
      }
      return app.modes.isSuperset(of: mode)
    }
  }

  private mutating func restore(_ receiver: AppReceiver, _ id: AppProcessID) {
    restoredCount += 1
    let isRestorable = processes[id]?.restorable.contains(receiver) ?? false
    expect(isRestorable, "\(receiver) has nothing to restore")
    let isFirst = processes[id]?.restored.insert(receiver).inserted ?? false
    expect(isFirst, "\(receiver) is restored twice")
  }

  private mutating func deliver(
    _ number: AppEventID, _ event: AppEvent, _ id: AppProcessID
  ) {
    guard let process = processes[id] else { return }
    deliveredCount += 1
    apps[process.app]?.eventCount += 1
    let receiver = event.receiver
    expect(deliveredIDs.insert(number).inserted, "event \(number.rawValue) is delivered twice")
    expect(process.opened.contains(receiver), "\(receiver) gets an event and isn't there")
    if process.restorable.contains(receiver) {
      expect(process.restored.contains(receiver), "\(receiver) gets an event before its state")
    }
    if event.kind == .processing { processes[id]?.isProcessing = true }
    // The machine's own events have no number.
    guard !event.payload.isEmpty else { return }
    let content = Self.number(event)
    expect(arrived.contains(content), "an event is delivered that did not arrive")
    apps[process.app]?.pending[content] = nil
    expect(delivered.insert(content).inserted, "event \(content) is delivered a second time")
    if case .notification(_, hasAlert: true) = event.kind { return }
    let last = apps[process.app]?.last[receiver] ?? 0
    expect(content > last, "event \(content) is delivered after event \(last)")
    apps[process.app]?.last[receiver] = content
  }

  // MARK: Time

  /// Checks what must be over at this time, once the machine has handled everything that is due.
  mutating func check(at now: Instant) {
    for (id, process) in processes {
      let name = "process \(id.rawValue)"
      if let endingAt = process.endingAt {
        expect(now - endingAt < limits.endingTime, "\(name) may live though it was to end")
      } else if !process.isLaunched {
        expect(now - process.startedAt < limits.launchTime, "\(name) may take its time to launch")
      } else if !process.isFrozen, !process.isActive {
        // A background task may begin just before the time of an event ends.
        let work = process.isProcessing ? limits.processingTime : limits.refreshTime
        let most = work + limits.backgroundTaskTime
        expect(now - process.activeAt < most, "\(name) runs in the background without a reason")
      }
    }
    for (id, time) in requests {
      expect(now - time < limits.requestTime, "request \(id.rawValue) has no answer")
    }
  }

  /// Compares the machine's counts.
  mutating func checkCounts(_ status: [AppStatus]) {
    for app in status {
      guard let checked = apps[app.id] else { continue }
      let name = app.id.rawValue
      expect(app.counts.handedCount == checked.eventCount, "\(name) has a wrong number of events")
      expect(
        app.counts.unacknowledgedCount == checked.unacknowledgedCount,
        "\(name) lost \(checked.unacknowledgedCount), not \(app.counts.unacknowledgedCount)")
      expect(app.waitingCount <= limits.waitingCountMax, "too many events wait for \(name)")
    }
  }

  /// The mode without which an event doesn't wake an app; nil if it never does.
  private static func mode(of event: AppEvent) -> BackgroundModes? {
    switch event.receiver {
    case .central, .unnamedCentral: .bluetoothCentral
    case .peripheral, .unnamedPeripheral: .bluetoothPeripheral
    case .location: []
    case .notifications:
      if case .notification(isSilent: true, _) = event.kind { .remoteNotification } else { nil }
    case .tasks: event.kind == .processing ? .processing : .fetch
    case .heldSocket, .keepAlive: .voip
    }
  }

  static func mode(of reason: AppWakeReason) -> BackgroundModes {
    switch reason {
    case .bluetoothCentral: .bluetoothCentral
    case .bluetoothPeripheral: .bluetoothPeripheral
    case .region: []
    case .notification: .remoteNotification
    case .refresh: .fetch
    case .processing: .processing
    case .socket, .keepAlive, .voip: .voip
    }
  }

  /// The number in the contents of an event of a test.
  static func number(_ event: AppEvent) -> UInt32 {
    event.payload.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
