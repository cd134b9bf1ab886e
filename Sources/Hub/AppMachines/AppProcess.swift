import Essentials

/// A process of an app, from its start until none of its processes is left.
struct AppProcess: Sendable {
  enum Stage: Sendable {
    /// Started, and not finished launching.
    case launching(until: Instant)
    case active
    case inactive
    case background
    /// Frozen. `isForced` if it would have gone on.
    case suspended(since: Instant, isForced: Bool)
    /// It was requested or forced to end, or has ended and left others behind.
    case ending(AppEnd, nextKill: Instant)
  }

  /// A delivery that is not acknowledged.
  struct Handed: Sendable {
    var event: AppEventID?
    /// When it should be acknowledged; nil in the foreground.
    var deadline: Instant?
    /// Whether the process ends if it isn't.
    var isStrict = false
  }

  /// An event with which the process is not done.
  struct Work: Sendable {
    var event: AppEvent
    /// Nil in the foreground, except for requests.
    var deadline: Instant?
    /// The process has been notified that the time ends.
    var isNotified = false
  }

  let id: AppProcessID
  var stage: Stage
  /// Where it goes once it has finished launching.
  var launchesIntoForeground: Bool
  /// Where it was started to go.
  var wasStartedIntoForeground: Bool
  /// False for a process of an earlier system that has not reported to this one: what it has open isn't known. It is
  /// suspended, or launching until it reports.
  var hasResumed = true
  var receivers: Set<AppReceiver> = []
  /// How many more objects there are of receivers that it opened again.
  var extraObjects: [AppReceiver: Int] = [:]
  /// Receivers with a state of an earlier process that this one has not opened.
  var restorable: Set<AppReceiver>
  /// Receivers for whose events it was launched and that it has not opened, and until when it stays awake for that.
  var awaited: Set<AppReceiver>
  var awaitedUntil: Instant?
  /// Receivers that it had the time to open, and didn't. It isn't woken for them.
  var unclaimed: Set<AppReceiver> = []
  /// Deliveries that it gets before all events, once it runs.
  var unsent: [AppDelivery] = []
  var handed: [Handed] = []
  var work: [AppEventID: Work] = [:]
  /// Background tasks, and whether each one's expiration handler was called.
  var backgroundTasks: [AppTaskID: Bool] = [:]
  /// When the background tasks of this time in the background end, or of the last one while it is suspended; nil without
  /// one since it began.
  var backgroundTasksUntil: Instant?
  /// Since when it runs in the background.
  var backgroundSince: Instant?
  var wasInForegroundAtEnd = false

  /// Apple's state. A process that ends is in the background: it gets nothing any more.
  var state: AppLifeState {
    switch stage {
    case .launching: launchesIntoForeground ? .inactive : .background
    case .active: .active
    case .inactive: .inactive
    case .background, .ending: .background
    case .suspended: .suspended
    }
  }

  var isInForeground: Bool {
    switch stage {
    case .launching: launchesIntoForeground
    case .active, .inactive: true
    case .background, .suspended, .ending: false
    }
  }

  /// Whether it can be given something.
  var isAwake: Bool {
    switch stage {
    case .active, .inactive, .background: true
    case .launching, .suspended, .ending: false
    }
  }

  var isEnding: Bool { if case .ending = stage { true } else { false } }
  var isBackground: Bool { if case .background = stage { true } else { false } }

  /// Whether nothing keeps it from being suspended.
  var isIdle: Bool {
    unsent.isEmpty && handed.isEmpty && work.isEmpty && backgroundTasks.isEmpty
      && awaited.isEmpty
  }

  /// Whether it may go on though a delivery is not acknowledged in time.
  var isHeld: Bool { !backgroundTasks.isEmpty || work.values.contains { !$0.event.kind.isRequest } }

  /// When a delivery that is not acknowledged ends the process.
  var strictDeadline: Instant? { handed.lazy.filter(\.isStrict).compactMap(\.deadline).min() }

  /// When it has overstayed; nil while it may go on.
  var eventDeadline: Instant? { isHeld ? nil : handed.lazy.compactMap(\.deadline).min() }

  /// When a background task's expiration handler is due, or the end of all of them.
  func backgroundTaskDeadline(notice: TimeSpan) -> Instant? {
    guard let until = backgroundTasksUntil, !backgroundTasks.isEmpty else { return nil }
    return backgroundTasks.values.contains(false) ? until.before(by: notice) : until
  }

  func workDeadline(notice: TimeSpan) -> Instant? {
    work.values.lazy.compactMap { work in
      guard let deadline = work.deadline else { return nil }
      return work.isExpiring && !work.isNotified ? deadline.before(by: notice) : deadline
    }.min()
  }

  /// Gives all that it has not finished the time of an app in the background.
  mutating func startTimes(_ limits: AppLimits, now: Instant) {
    for index in handed.indices where !handed[index].isStrict {
      handed[index].deadline = now + limits.eventTime
    }
    for id in work.keys.sorted() where work[existing: id].deadline == nil {
      let time = limits.completionTime(of: work[existing: id].event)
      work[existing: id].deadline = time.map { now + $0 }
    }
    if !backgroundTasks.isEmpty { backgroundTasksUntil = now + limits.backgroundTaskTime }
  }

  /// In the foreground nothing has to end.
  mutating func stopTimes() {
    for index in handed.indices {
      handed[index].deadline = nil
      handed[index].isStrict = false
    }
    for id in work.keys where !work[existing: id].event.kind.isRequest {
      work[existing: id].deadline = nil
      work[existing: id].isNotified = false
    }
    for id in backgroundTasks.keys { backgroundTasks[id] = false }
    backgroundTasksUntil = nil
    awaited = []
    awaitedUntil = nil
  }
}

extension AppProcess.Work {
  /// Whether its task has an expiration handler.
  var isExpiring: Bool { event.kind == .refresh || event.kind == .processing }
}

extension Instant {
  /// The instant `span` before this one.
  func before(by span: TimeSpan) -> Instant { self + span * -1 }
}
