import Essentials

// Processes that an earlier system has started. Events that it had given them are not given again.

extension AppState {
  mutating func adopt(
    _ id: AppProcessID, _ adoption: AppMachine.AppAdoption, _ turn: inout Turn
  ) {
    guard process == nil, !isRemoved else { return }
    let stage: AppProcess.Stage =
      adoption.isFrozen
      ? .suspended(since: turn.now, isForced: false)
      : .launching(until: turn.now + turn.limits.launchTime)
    var adopted = AppProcess(
      id: id, stage: stage, launchesIntoForeground: !adoption.isFrozen && adoption.isInForeground,
      wasStartedIntoForeground: adoption.isInForeground,
      restorable: Set(wants.keys.filter(\.isRestored)), awaited: [])
    adopted.hasResumed = false
    process = adopted
    startsByItself = false
    if adoption.isFrozen { turn.actions.append(.freeze(id)) }
    if isForceQuit { end(because: .forceQuit, &turn) }
  }

  mutating func mustResume(_ turn: inout Turn) {
    guard let process else {
      startsByItself = startsByItselfAfterFaults
      return
    }
    guard !process.hasResumed, case .suspended = process.stage else { return }
    thawAdopted(&turn)
  }

  /// Lets a process run that has to report first. It gets nothing before.
  mutating func thawAdopted(_ turn: inout Turn) {
    guard var process else { preconditionFailure("an app is woken that has no process") }
    process.stage = .launching(until: turn.now + turn.limits.launchTime)
    process.launchesIntoForeground = false
    turn.actions.append(.thaw(process.id))
    self.process = process
  }

  /// The process has reported what it has open.
  mutating func resumed(isInForeground: Bool, _ turn: inout Turn) {
    guard var process, !process.hasResumed, !process.isEnding else { return }
    process.hasResumed = true
    guard case .launching = process.stage else {
      // Another program has let it run.
      turn.actions.append(.freeze(process.id))
      process.backgroundTasks = [:]
      self.process = process
      return
    }
    let goesIntoForeground = process.launchesIntoForeground
    process.stage = isInForeground ? .active : .background
    if !isInForeground {
      process.backgroundSince = turn.now
      process.startTimes(turn.limits, now: turn.now)
      awaitReceivers(of: &process, turn)
    }
    self.process = process
    switch (isInForeground, goesIntoForeground) {
    case (true, false): enterBackground(&turn)
    case (false, true): open(nil, &turn)
    case (true, true), (false, false): break
    }
  }

  /// Core Bluetooth finds the system by itself, a moment later; and something may have come for a receiver.
  private func awaitReceivers(of process: inout AppProcess, _ turn: Turn) {
    let bluetooth = wants.keys.filter { $0.isBluetooth && $0.isRestored }
    process.awaited = Set(bluetooth).union(queue.entries.map(\.event.receiver))
      .subtracting(process.receivers)
    if !process.awaited.isEmpty { process.awaitedUntil = turn.now + turn.limits.eventTime }
  }
}
