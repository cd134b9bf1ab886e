import Essentials

// What the person and the system do with an app, and what happens when times end.

extension AppState {
  mutating func install(_ description: AppDescription) {
    self.description = description
    isRemoved = false
  }

  mutating func remove(_ turn: inout Turn) {
    isRemoved = true
    counts.unseenAlertCount += alerts.count { $0.event != nil }
    alerts = []
    quit(because: .removed, &turn)
  }

  mutating func forceQuit(_ turn: inout Turn) {
    isForceQuit = true
    quit(because: .forceQuit, &turn)
  }

  private mutating func quit(because reason: AppEnd, _ turn: inout Turn) {
    forgetOpening()
    startsByItself = false
    let hadProcess = hasProcess
    end(because: reason, &turn)
    // At once, if it was about to end for another reason: it may be opened or installed before it is gone.
    if !hadProcess || isRemoved { releaseWants(closesSockets: true, isQuit: true, &turn) }
  }

  // MARK: Foreground and background

  /// The person opens the app.
  mutating func open(_ opening: Opening?, _ turn: inout Turn) {
    isForceQuit = false
    isBluetoothBlocked = false
    pausedUntil = nil
    overstayCount = 0
    let opening = opening ?? Opening()
    guard var process, !process.isEnding else {
      // The next process is started when this one is gone.
      forgetOpening()
      opensWhenGone = opening
      return
    }
    switch process.stage {
    case .launching: process.launchesIntoForeground = true
    case .suspended where !process.hasResumed:
      thawAdopted(&turn)
      self.process?.launchesIntoForeground = true
      if opening.event != nil { admit(opening, turn.nextEvent(), &turn) }
      return
    case .suspended, .background:
      if !process.isBackground { turn.actions.append(.thaw(process.id)) }
      countBackgroundTime(of: &process, now: turn.now)
      process.stage = .active
      process.unsent += [.transition(.willEnterForeground), .transition(.didBecomeActive)]
    case .inactive:
      process.stage = .active
      process.unsent.append(.transition(.didBecomeActive))
    case .active, .ending: break
    }
    process.stopTimes()
    self.process = process
    if opening.event != nil { admit(opening, turn.nextEvent(), &turn) }
  }

  /// The person has done something else since opening it.
  private mutating func forgetOpening() {
    if opensWhenGone?.event != nil { counts.unseenAlertCount += 1 }
    opensWhenGone = nil
  }

  /// The person leaves the app.
  mutating func enterBackground(_ turn: inout Turn) {
    forgetOpening()
    guard var process else { return }
    switch process.stage {
    case .launching:
      process.launchesIntoForeground = false
      self.process = process
      return
    case .active: process.unsent.append(.transition(.willResignActive))
    case .inactive: break
    case .background, .suspended, .ending: return
    }
    process.unsent.append(.transition(.didEnterBackground))
    process.stage = .background
    process.backgroundSince = turn.now
    process.startTimes(turn.limits, now: turn.now)
    self.process = process
  }

  mutating func interrupt() {
    guard case .active = process?.stage else { return }
    process?.stage = .inactive
    process?.unsent.append(.transition(.willResignActive))
  }

  mutating func endInterruption() {
    guard case .inactive = process?.stage else { return }
    process?.stage = .active
    process?.unsent.append(.transition(.didBecomeActive))
  }

  // MARK: The system

  mutating func warnOfMemory(_ limits: AppLimits) {
    guard let process, process.isAwake else { return }
    // A process that handles nothing has warnings enough.
    if process.handed.count >= limits.handedCountMax { return }
    self.process?.unsent.append(.transition(.didReceiveMemoryWarning))
  }

  mutating func reboot(_ turn: inout Turn) {
    forgetOpening()
    discard(because: .rebooted, &turn) { _ in true }
    if let process {
      if !process.isEnding { beginEnding(.rebooted, turn.now, &turn) }
      finish(&turn)
    }
    releaseWants(closesSockets: true, isQuit: false, &turn)
    cutLinks = []
    isBluetoothBlocked = false
    pausedUntil = nil
    startsByItself = startsByItselfAfterFaults && counts.launchCount > 0
  }

  mutating func bluetoothWasSwitchedOff() {
    if process == nil { isBluetoothBlocked = true }
  }

  // MARK: Times

  /// When something is due.
  func nextWake(_ turn: Turn) -> Instant? {
    var due: [Instant?] = [queue.nextDeadline]
    if let pausedUntil, !hasProcess || suspendedSince != nil, !queue.isEmpty || startsByItself {
      due.append(pausedUntil)
    }
    if let process {
      let notice = turn.limits.expirationNotice
      due.append(process.workDeadline(notice: notice))
      switch process.stage {
      case .launching(let until): due.append(until)
      case .ending(_, let nextKill): due.append(nextKill)
      case .background:
        due += [
          process.strictDeadline, process.eventDeadline, process.awaitedUntil,
          process.backgroundTaskDeadline(notice: notice),
        ]
      case .active, .inactive, .suspended: break
      }
    }
    return due.compactMap { $0 }.min()
  }

  mutating func wake(_ turn: inout Turn) {
    let now = turn.now
    if let pausedUntil, pausedUntil <= now { self.pausedUntil = nil }
    discard(because: .limit, &turn) { $0.deadline.map { $0 <= now } ?? false }
    refuseRequests(&turn) { $0.deadline.map { $0 <= now } ?? false }
    guard let process else { return }
    switch process.stage {
    case .launching(let until):
      if until <= now { end(because: .overstayed(.launch), &turn) }
    case .background: checkTimes(of: process, &turn)
    case .ending(let reason, let nextKill):
      guard nextKill <= now else { return }
      self.process?.stage = .ending(reason, nextKill: now + turn.limits.endingTime)
      turn.actions.append(.kill(process.id))
    case .active, .inactive, .suspended: break
    }
  }

  /// Refuses requests that the process has got and not answered.
  private mutating func refuseRequests(
    _ turn: inout Turn, where isRefused: (AppProcess.Work) -> Bool
  ) {
    guard let process else { return }
    for event in process.work.keys.sorted() {
      let work = process.work[existing: event]
      guard work.event.kind.isRequest, isRefused(work) else { continue }
      self.process?.work[event] = nil
      turn.actions.append(.refuse(id, event))
    }
  }

  private mutating func checkTimes(of process: AppProcess, _ turn: inout Turn) {
    let (now, notice) = (turn.now, turn.limits.expirationNotice)
    func isDue(_ time: Instant?) -> Bool { time.map { $0 <= now } ?? false }
    if isDue(process.strictDeadline) {
      return end(because: .overstayed(.enteringBackground), &turn)
    }
    for event in process.work.keys.sorted() {
      let work = process.work[existing: event]
      if work.event.kind.isRequest { continue }
      if isDue(work.deadline) { return end(because: .overstayed(.completion), &turn) }
      guard work.isExpiring, !work.isNotified, isDue(work.deadline?.before(by: notice)) else {
        continue
      }
      self.process?.work[existing: event].isNotified = true
      turn.actions.append(.expireTask(process.id, event))
    }
    if !process.backgroundTasks.isEmpty, let until = process.backgroundTasksUntil {
      if until <= now { return end(because: .overstayed(.backgroundTask), &turn) }
      if until.before(by: notice) <= now { expireBackgroundTasks(of: process, &turn) }
    }
    if isDue(process.awaitedUntil) {
      reportUnclaimed(process, &turn)
      queue.endLaunches(for: process.awaited)
      self.process?.unclaimed.formUnion(process.awaited)
      self.process?.awaited = []
      self.process?.awaitedUntil = nil
    }
    if isDue(process.eventDeadline) { overstayed(&turn) }
  }

  private mutating func expireBackgroundTasks(of process: AppProcess, _ turn: inout Turn) {
    for task in process.backgroundTasks.keys.sorted()
    where process.backgroundTasks[task] == false {
      self.process?.backgroundTasks[task] = true
      turn.actions.append(.expire(process.id, task))
    }
  }

  /// It didn't handle an event in its time: it is suspended and not woken for a time, or ended.
  private mutating func overstayed(_ turn: inout Turn) {
    counts.overstayCount += 1
    overstayCount += 1
    guard overstayCount < turn.limits.overstayCountMax, !description.exitsOnSuspend else {
      overstayCount = 0
      return end(because: .overstayed(.event), &turn)
    }
    let time = turn.limits.throttle(afterOverstays: overstayCount)
    pausedUntil = max(pausedUntil ?? turn.now, turn.now + time)
    turn.report(.throttled(id, time))
    refuseRequests(&turn) { _ in true }
    process?.awaited = []
    process?.awaitedUntil = nil
    suspend(isForced: true, &turn)
  }
}
