import Essentials

/// The part of the machine that belongs to one app.
struct AppState: Sendable {
  typealias Turn = AppMachine.Turn

  /// A link of a manager.
  struct Link: Hashable, Sendable {
    var receiver: AppReceiver
    var peer: AppPeer
  }

  /// A notification's alert that the person has not tapped. `event` is nil if the process gets it without that.
  struct Alert: Sendable {
    var id: AppEventID
    var event: AppEvent?
    var key: UInt64?
  }

  /// An opening by the person, with the notification whose alert was tapped.
  struct Opening: Sendable {
    var notification: AppEventID?
    var event: AppEvent?
  }

  let id: AppID
  var description: AppDescription
  /// Nil if all its processes are gone.
  var process: AppProcess?
  var queue = AppQueue()
  /// The wishes of its managers. Those that outlive their process wait here for the next one.
  var wants: [AppReceiver: AppWants] = [:]
  var alerts: [Alert] = []
  /// Links that were ended since too many values waited.
  var cutLinks: Set<Link> = []
  /// The person ended it, and has not opened it since.
  var isForceQuit = false
  /// Bluetooth was switched off in Settings while it didn't run.
  var isBluetoothBlocked = false
  var isRemoved = false
  /// The person opened it before its last process was gone.
  var opensWhenGone: Opening?
  /// It is started without an event, as an app with the mode `voip`.
  var startsByItself = false
  /// Until when it isn't woken or launched, since it overstayed or crashed.
  var pausedUntil: Instant?
  /// How often it overstayed, less the wakes that ended in time.
  var overstayCount = 0
  /// Crashes in a row.
  var crashCount = 0
  var lastCrash: Instant?
  /// The events that were discarded for the room of another one, since the last one arrived.
  var displaced: [AppEvent] = []
  /// A discarded event was reported since the queue was last empty.
  var hasReportedDiscard = false
  var counts = AppCounts()

  init(_ id: AppID, _ description: AppDescription) {
    self.id = id
    self.description = description
  }

  // MARK: Reading

  var state: AppLifeState { process?.state ?? .notRunning }
  var isInForeground: Bool { process?.isInForeground ?? false }
  var wantsRegionsOnDisplay: Bool {
    wants[.location]?.isSuperset(of: [.regions, .regionsOnDisplay]) ?? false
  }

  /// Since when it is suspended; nil if it isn't.
  var suspendedSince: Instant? {
    if case .suspended(let since, _) = process?.stage { since } else { nil }
  }

  /// A process that isn't about to end.
  var hasProcess: Bool { process.map { !$0.isEnding } ?? false }

  func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

  var status: AppStatus {
    AppStatus(
      id: id, state: state, process: process?.id, waitingCount: queue.count,
      unacknowledgedCount: process?.handed.count ?? 0,
      backgroundTaskCount: process?.backgroundTasks.count ?? 0, isForceQuit: isForceQuit,
      pausedUntil: pausedUntil, counts: counts)
  }

  func backgroundTimeRemaining(_ limits: AppLimits, now: Instant) -> TimeSpan? {
    guard let process, process.isBackground else { return nil }
    let until =
      process.isHeld
      ? process.backgroundTasksUntil ?? process.workDeadline(notice: .zero)
      : process.eventDeadline ?? process.awaitedUntil
    return max(.zero, (until ?? now) - now)
  }

  // MARK: Consequences

  /// Does what follows from a change: starts or wakes the app, gives it what waits, suspends it.
  mutating func settle(_ turn: inout Turn) {
    if process == nil { startIfNeeded(&turn) }
    wakeIfNeeded(&turn)
    deliver(&turn)
    suspendIfIdle(&turn)
  }

  private mutating func wakeIfNeeded(_ turn: inout Turn) {
    guard let process, case .suspended = process.stage, !isPaused(at: turn.now) else { return }
    let reasons = queue.entries.filter {
      !$0.waitsForForeground && mayWake(for: $0.event, process)
        && (!$0.hasLaunched || process.receivers.contains($0.event.receiver))
    }.map(\.event.wakeReason)
    guard !reasons.isEmpty else { return }
    counts.wakeCount += 1
    count(Set(reasons))
    thaw(&turn)
  }

  /// Counts a wake or a launch for these reasons.
  mutating func count(_ reasons: Set<AppWakeReason>) {
    for reason in reasons { counts.reasonCounts[reason, default: 0] += 1 }
  }

  /// Whether a suspended process runs for an event.
  func mayWake(for event: AppEvent, _ process: AppProcess) -> Bool {
    guard let mode = event.mode, description.modes.isSuperset(of: mode) else { return false }
    return process.receivers.contains(event.receiver) || !process.hasResumed
      || process.restorable.contains(event.receiver)
        && !process.unclaimed.contains(event.receiver)
  }

  /// Lets a suspended process run in the background.
  mutating func thaw(_ turn: inout Turn) {
    guard var process else { preconditionFailure("an app is woken that has no process") }
    guard process.hasResumed else { return thawAdopted(&turn) }
    process.stage = .background
    process.backgroundSince = turn.now
    process.backgroundTasksUntil = nil
    process.startTimes(turn.limits, now: turn.now)
    // It was suspended before it had made its managers.
    let missing = queue.entries.filter { !$0.hasLaunched && mayWake(for: $0.event, process) }
      .map(\.event.receiver).filter { process.restorable.contains($0) }
    if !missing.isEmpty {
      process.awaited.formUnion(missing)
      process.awaitedUntil = turn.now + turn.limits.eventTime
    }
    turn.actions.append(.thaw(process.id))
    self.process = process
  }

  /// Gives the process what waits for it, if it runs.
  private mutating func deliver(_ turn: inout Turn) {
    guard var process, process.isAwake else { return }
    let (now, limits) = (turn.now, turn.limits)
    let isBackground = process.isBackground
    let deadline = isBackground ? now + limits.eventTime : nil
    var deliveries = process.unsent
    process.unsent = []
    for delivery in deliveries {
      if isBackground, delivery == .transition(.didEnterBackground) {
        let end = now + limits.enteringBackgroundTime
        process.handed.append(AppProcess.Handed(deadline: end, isStrict: true))
      } else {
        process.handed.append(AppProcess.Handed(deadline: deadline))
      }
    }
    let room = limits.handedCountMax - process.handed.count
    let taken = queue.take(room) {
      process.receivers.contains($0.event.receiver) && !(isBackground && $0.waitsForForeground)
    }
    for entry in taken {
      deliveries.append(.event(entry.id, entry.event))
      process.handed.append(AppProcess.Handed(event: entry.id, deadline: deadline))
      counts.handedCount += 1
      guard let time = limits.completionTime(of: entry.event) else { continue }
      guard entry.event.kind.isRequest || process.work.count < limits.workCountMax else {
        turn.report(.misuse(id, process.id, .tooManyNotCompleted))
        continue
      }
      var work = AppProcess.Work(event: entry.event)
      work.event.payload = []
      work.deadline = entry.deadline ?? (isBackground ? now + time : nil)
      process.work[entry.id] = work
    }
    if !deliveries.isEmpty { turn.actions.append(.deliver(process.id, deliveries)) }
    if queue.isEmpty { hasReportedDiscard = false }
    self.process = process
  }

  private mutating func suspendIfIdle(_ turn: inout Turn) {
    guard let process, process.isBackground, process.isIdle else { return }
    if description.exitsOnSuspend { return end(because: .exitedOnSuspend, &turn) }
    overstayCount = max(0, overstayCount - 1)
    suspend(isForced: false, &turn)
  }

  mutating func suspend(isForced: Bool, _ turn: inout Turn) {
    guard var process else { preconditionFailure("an app is suspended that has no process") }
    countBackgroundTime(of: &process, now: turn.now)
    process.stage = .suspended(since: turn.now, isForced: isForced)
    self.process = process
    turn.actions.append(.freeze(process.id))
  }

  /// Counts the time in the background that ends now.
  mutating func countBackgroundTime(of process: inout AppProcess, now: Instant) {
    guard let since = process.backgroundSince else { return }
    counts.backgroundNanoseconds += (now - since).nanoseconds
    process.backgroundSince = nil
  }

  // MARK: Discarding

  mutating func discard(
    _ entry: AppQueue.Entry, because reason: AppDiscard, _ turn: inout Turn
  ) {
    if entry.event.kind.isRequest {
      counts.refusedCount += 1
      turn.actions.append(.refuse(id, entry.id))
      return
    }
    // The person may still tap its alert.
    if reason != .limit,
      let index = alerts.firstIndex(where: { $0.id == entry.id && $0.event == nil })
    {
      alerts[index].event = entry.event
      return
    }
    counts.discardedCount += 1
    guard !hasReportedDiscard else { return }
    hasReportedDiscard = true
    turn.report(.discarded(id, reason))
  }

  mutating func discard(
    because reason: AppDiscard, _ turn: inout Turn, where isDiscarded: (AppQueue.Entry) -> Bool
  ) {
    for entry in queue.take(where: isDiscarded) { discard(entry, because: reason, &turn) }
  }
}
