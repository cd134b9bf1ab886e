import Essentials

// Reports of a process, and its end.

extension AppState {
  mutating func handle(
    _ event: AppMachine.ProcessEvent, of id: AppProcessID, _ turn: inout Turn
  ) {
    guard process?.id == id else { preconditionFailure("a process of another app reports") }
    switch event {
    case .launched: launched(turn)
    case .resumed(let isInForeground): resumed(isInForeground: isInForeground, &turn)
    case .opened(let receiver): opened(receiver, &turn)
    case .closed(let receiver): closed(receiver, &turn)
    case .acknowledged(let count): acknowledged(count, &turn)
    case .beganBackgroundTask(let task): began(task, &turn)
    case .endedBackgroundTask(let task): process?.backgroundTasks[task] = nil
    case .completed(let event): process?.work[event] = nil
    case .exited(let exit, let hasOthers): exited(exit, hasOthers: hasOthers, &turn)
    case .gone:
      beginEnding(.crashed(.status(0)), turn.now, &turn)
      finish(&turn)
    case .reclaimed:
      beginEnding(.memoryPressure, turn.now, &turn)
      finish(&turn)
    }
  }

  // MARK: Launching

  /// Starts a process if the person opened the app meanwhile, or something waits that may launch it.
  mutating func startIfNeeded(_ turn: inout Turn) {
    guard !isRemoved else { return }
    if let opening = opensWhenGone {
      opensWhenGone = nil
      return start(opening, &turn)
    }
    let canStartByItself = startsByItself && turn.isUnlocked && !isPaused(at: turn.now)
    let entries = queue.entries.filter { !$0.hasLaunched && mayLaunchNow(for: $0.event, turn) }
    if canStartByItself || !entries.isEmpty { start(for: entries.map(\.event), &turn) }
  }

  /// Launches the app into the background.
  private mutating func start(for events: [AppEvent], _ turn: inout Turn) {
    var options = AppLaunchOptions()
    var awaited = Set(events.map(\.receiver))
    for receiver in awaited {
      switch receiver {
      case .central(let name): options.centrals.append(name)
      case .peripheral(let name): options.peripherals.append(name)
      case .location: options.isForLocation = true
      case .unnamedCentral, .unnamedPeripheral, .notifications, .tasks, .heldSocket, .keepAlive:
        break
      }
    }
    options.centrals.sort()
    options.peripherals.sort()
    if events.isEmpty { awaited = Set(wants.keys.filter(\.isRestored)).union([.keepAlive]) }
    let reasons: Set = events.isEmpty ? [.voip] : Set(events.map(\.wakeReason))
    count(reasons)
    let hasOptions = options != AppLaunchOptions() && !description.hasScenes
    let launch = AppLaunch(
      isInForeground: false, options: hasOptions ? options : nil,
      reasons: reasons.sorted())
    start(launch, awaited: awaited, &turn)
  }

  /// Launches the app into the foreground.
  private mutating func start(_ opening: Opening, _ turn: inout Turn) {
    var options = AppLaunchOptions()
    // Its contents get their number now, behind those of all other events.
    let number = opening.event == nil ? opening.notification : turn.nextEvent()
    options.notification = number
    let hasOptions = number != nil && !description.hasScenes
    let launch = AppLaunch(
      isInForeground: true, options: hasOptions ? options : nil,
      notification: opening.event?.payload ?? [])
    start(launch, awaited: [], &turn)
    if let number { admit(opening, number, &turn) }
  }

  private mutating func start(
    _ launch: AppLaunch, awaited: Set<AppReceiver>, _ turn: inout Turn
  ) {
    let id = turn.nextProcess()
    startsByItself = false
    counts.launchCount += 1
    process = AppProcess(
      id: id, stage: .launching(until: turn.now + turn.limits.launchTime),
      launchesIntoForeground: launch.isInForeground,
      wasStartedIntoForeground: launch.isInForeground,
      restorable: Set(wants.keys.filter(\.isRestored)), awaited: awaited)
    turn.actions.append(.start(self.id, id, launch))
  }

  private mutating func launched(_ turn: Turn) {
    guard var process, case .launching = process.stage, process.hasResumed else { return }
    if process.launchesIntoForeground {
      process.stage = .active
      // The person opened it meanwhile.
      if !process.wasStartedIntoForeground {
        process.unsent.append(.transition(.willEnterForeground))
      }
      process.unsent.append(.transition(.didBecomeActive))
    } else {
      process.stage = .background
      process.backgroundSince = turn.now
      // The person left it meanwhile.
      if process.wasStartedIntoForeground {
        process.unsent.append(.transition(.didEnterBackground))
      }
      process.startTimes(turn.limits, now: turn.now)
      if !process.awaited.isEmpty { process.awaitedUntil = turn.now + turn.limits.eventTime }
    }
    self.process = process
  }

  // MARK: Receivers

  private mutating func opened(_ receiver: AppReceiver, _ turn: inout Turn) {
    guard var process, !process.isEnding else { return }
    guard process.receivers.count < turn.limits.receiverCountMax else {
      return turn.report(.misuse(id, process.id, .tooManyReceivers))
    }
    guard process.receivers.insert(receiver).inserted else {
      self.process?.extraObjects[receiver, default: 0] += 1
      return turn.report(.misuse(id, process.id, .openedTwice))
    }
    if process.restorable.remove(receiver) != nil { process.unsent.append(.restore(receiver)) }
    process.awaited.remove(receiver)
    self.process = process
  }

  private mutating func closed(_ receiver: AppReceiver, _ turn: inout Turn) {
    // Another object with the same name is left.
    if let count = process?.extraObjects[receiver] {
      process?.extraObjects[receiver] = count > 1 ? count - 1 : nil
      return
    }
    guard process?.receivers.remove(receiver) != nil else { return }
    process?.unsent.removeAll { $0 == .restore(receiver) }
    discard(because: .noReceiver, &turn) { $0.event.receiver == receiver }
    cutLinks = cutLinks.filter { $0.receiver != receiver }
    // Regions are the app's, not those of a manager.
    if receiver != .location { wants[receiver] = nil }
  }

  mutating func changeWants(
    of receiver: AppReceiver, to new: AppWants, _ turn: inout Turn
  ) {
    let isKnown =
      wants[receiver] != nil || (hasProcess && receiver == .location)
      || process?.receivers.contains(receiver) ?? false
    guard isKnown else {
      // Its process ends, or has too many receivers: without this the socket would be held for ever.
      if case .heldSocket = receiver, !new.isEmpty { turn.actions.append(.release(id, receiver)) }
      return
    }
    guard wants[receiver] != nil || new.isEmpty || wants.count < turn.limits.receiverCountMax else {
      if let process { turn.report(.misuse(id, process.id, .tooManyReceivers)) }
      return turn.actions.append(.release(id, receiver))
    }
    wants[receiver] = new.isEmpty ? nil : new
  }

  /// Takes over wishes from before the system was started again.
  mutating func preserve(_ wants: AppWants, of receiver: AppReceiver) {
    guard process?.hasResumed != true, receiver.isRestored || receiver == .location,
      !wants.isEmpty
    else { return }
    self.wants[receiver] = wants
    if receiver.isRestored { process?.restorable.insert(receiver) }
  }

  // MARK: Handling

  private mutating func acknowledged(_ count: Int, _ turn: inout Turn) {
    guard var process else { return }
    if count < 0 || count > process.handed.count {
      turn.report(.misuse(id, process.id, .acknowledgedTooMany))
    }
    process.handed.removeFirst(min(max(count, 0), process.handed.count))
    self.process = process
  }

  private mutating func began(_ task: AppTaskID, _ turn: inout Turn) {
    guard var process, !process.isEnding else { return }
    resumeStopping(&process, &turn)
    func refuse() { turn.actions.append(.refuseBackgroundTask(process.id, task)) }
    guard process.backgroundTasks.count < turn.limits.backgroundTaskCountMax else {
      turn.report(.misuse(id, process.id, .tooManyBackgroundTasks))
      return refuse()
    }
    switch process.stage {
    case .launching, .active, .inactive: process.backgroundTasks[task] = false
    case .background:
      // All background tasks since it was woken share one time.
      let until = process.backgroundTasksUntil ?? turn.now + turn.limits.backgroundTaskTime
      process.backgroundTasksUntil = until
      guard until > turn.now else { return refuse() }
      process.backgroundTasks[task] = false
    case .suspended, .ending: return refuse()
    }
    self.process = process
  }

  /// Lets a process run on whose threads had not stopped yet when it reported something, within the time that its
  /// background tasks had.
  private func resumeStopping(_ process: inout AppProcess, _ turn: inout Turn) {
    guard case .suspended(let since, isForced: false) = process.stage, process.hasResumed,
      turn.now - since <= turn.limits.stopTime, !isPaused(at: turn.now),
      process.backgroundTasksUntil.map({ turn.now < $0 }) ?? true
    else { return }
    process.stage = .background
    process.backgroundSince = turn.now
    turn.actions.append(.thaw(process.id))
  }

  // MARK: The end

  private mutating func exited(
    _ exit: AppExit, hasOthers: Bool, _ turn: inout Turn
  ) {
    beginEnding(.crashed(exit), turn.now, &turn)
    guard hasOthers else { return finish(&turn) }
    guard case .ending(let reason, _) = process?.stage, let process else { return }
    // Its children may hold files and sockets of the next process.
    turn.actions.append(.kill(process.id))
    self.process?.stage = .ending(reason, nextKill: turn.now + turn.limits.endingTime)
  }

  /// Ends the process: with a request where Apple calls `applicationWillTerminate`, else at once.
  mutating func end(because reason: AppEnd, _ turn: inout Turn) {
    guard let process, !process.isEnding else { return }
    let isRequested: Bool
    switch reason {
    case .forceQuit, .exitedOnSuspend, .removed: isRequested = process.isAwake
    case .memoryPressure, .overstayed, .crashed, .rebooted: isRequested = false
    }
    beginEnding(reason, turn.now + turn.limits.endingTime, &turn)
    turn.actions.append(isRequested ? .terminate(process.id) : .kill(process.id))
  }

  /// The process gets nothing any more.
  mutating func beginEnding(
    _ reason: AppEnd, _ nextKill: Instant, _ turn: inout Turn
  ) {
    guard var process, !process.isEnding else { return }
    process.wasInForegroundAtEnd = process.isInForeground
    countBackgroundTime(of: &process, now: turn.now)
    process.stage = .ending(reason, nextKill: nextKill)
    for event in process.work.keys.sorted() where process.work[existing: event].event.kind.isRequest
    {
      turn.actions.append(.refuse(id, event))
    }
    process.work = [:]
    process.unsent = []
    self.process = process
  }

  /// All its processes are gone: counts the deliveries that it didn't acknowledge, and keeps the state of managers.
  mutating func finish(_ turn: inout Turn) {
    guard let process, case .ending(let reason, _) = process.stage else {
      preconditionFailure("a process is gone that was not about to end")
    }
    let unacknowledgedCount = process.handed.count { $0.event != nil }
    if unacknowledgedCount > 0 {
      counts.unacknowledgedCount += unacknowledgedCount
      turn.report(.unacknowledged(id, process.id, count: unacknowledgedCount))
    }
    reportUnclaimed(process, &turn)
    if reason != .forceQuit, reason != .removed { turn.report(.ended(id, process.id, reason)) }
    self.process = nil
    if turn.isBluetoothOff { isBluetoothBlocked = true }
    if reason.isFault { pauseAfterCrash(&turn) }
    let isCrash = if case .crashed = reason { true } else { false }
    let closesSockets = isCrash && process.wasInForegroundAtEnd || reason == .rebooted
    let isQuit = reason == .forceQuit || reason == .removed
    releaseWants(closesSockets: closesSockets, isQuit: isQuit, &turn)
    startsByItself = isCrash && startsByItselfAfterFaults
  }

  /// Apps with the mode `voip` were started at boot and after a crash.
  var startsByItselfAfterFaults: Bool {
    description.modes.contains(.voip) && !isForceQuit && !isRemoved
  }

  func reportUnclaimed(_ process: AppProcess, _ turn: inout Turn) {
    let unclaimed = process.awaited.filter { $0.isRestored && wants[$0] != nil }
    for receiver in unclaimed.sorted(by: { $0.rank < $1.rank }) {
      turn.report(.unclaimed(id, receiver))
    }
  }

  private mutating func pauseAfterCrash(_ turn: inout Turn) {
    counts.crashCount += 1
    if let lastCrash, turn.now - lastCrash > turn.limits.crashMemory { crashCount = 0 }
    lastCrash = turn.now
    crashCount += 1
    let pause = turn.limits.pause(afterCrashes: crashCount)
    pausedUntil = max(pausedUntil ?? turn.now, turn.now + pause)
    turn.report(.crashPause(id, pause, count: crashCount))
  }

  /// Keeps the wishes for which the app may be launched or which it gets back when it is opened, and releases the
  /// others.
  mutating func releaseWants(closesSockets: Bool, isQuit: Bool, _ turn: inout Turn) {
    let isQuit = isQuit || isForceQuit
    for receiver in wants.keys.sorted(by: { $0.rank < $1.rank })
    where
      !keeps(
        receiver, wants[existing: receiver], closesSockets: closesSockets, isQuit: isQuit,
        turn.rules)
    {
      wants[receiver] = nil
      turn.actions.append(.release(id, receiver))
    }
    cutLinks = cutLinks.filter { wants[$0.receiver] != nil }
    let useless = Set(queue.entries.filter { !mayLaunch(for: $0.event, turn.rules) }.map(\.id))
    let reason = isForceQuit ? AppDiscard.forceQuit : .notRunning
    discard(because: reason, &turn) { useless.contains($0.id) }
  }

  private func keeps(
    _ receiver: AppReceiver, _ wants: AppWants, closesSockets: Bool, isQuit: Bool,
    _ rules: AppRules
  ) -> Bool {
    guard !isRemoved else { return false }
    let modes = description.modes
    switch receiver {
    case .central:
      let survives =
        !isQuit || rules.launchesForAccessoriesAfterForceQuit && wants.contains(.accessory)
      return modes.contains(.bluetoothCentral) && survives
    case .peripheral: return modes.contains(.bluetoothPeripheral) && !isQuit
    // The location service keeps them.
    case .location: return wants.contains(.regions)
    case .heldSocket: return modes.contains(.voip) && !isQuit && !closesSockets
    case .unnamedCentral, .unnamedPeripheral, .notifications, .tasks, .keepAlive: return false
    }
  }
}
