package import Essentials

/// A report for the log: something was given up, or an app broke a rule.
package enum AppReport: Hashable, Sendable {
  /// A process ended with this number of events that it had got and not acknowledged. They are not repeated.
  case unacknowledged(AppID, AppProcessID, count: Int)
  /// Events for an app were discarded, the first ones since its queue was last empty.
  case discarded(AppID, AppDiscard)
  /// Too many values waited: the link with a peer was ended.
  case beyondLimit(AppID, AppReceiver, AppPeer)
  /// An app used more time than it has. It is not woken for a time.
  case throttled(AppID, TimeSpan)
  /// An app's process ended, not by the person's wish.
  case ended(AppID, AppProcessID, AppEnd)
  /// An app is not launched for a time, after this number of crashes in a row.
  case crashPause(AppID, TimeSpan, count: Int)
  /// A process that was launched for a manager didn't make it in its time.
  case unclaimed(AppID, AppReceiver)
  /// A process acknowledged more than it got, opened a receiver twice, or has too many of something:
  /// receivers, background tasks, events that it has not completed, or wishes, with those of its last processes.
  case misuse(AppID, AppProcessID, AppMisuse)
  /// The host refuses a service, a PSM or an advertisement of a manager whose app doesn't run, which it had before the
  /// system was started again, or before the host has lost it.
  case notPublished(AppID, AppReceiver)
  /// A service or PSM that a manager had before the system was started again could not be published. It is tried again.
  case publishingDelayed(AppID, AppReceiver)
  /// The host has refused advertising that goes on in another state of the app, or without a process. It is tried again,
  /// or given up until the app requests it.
  case notAdvertised(AppID, AppReceiver, triesAgain: Bool)
  /// Memory is needed, and no app is suspended.
  case noSuspendedApp
}

/// Why an event was discarded.
package enum AppDiscard: String, Hashable, Sendable {
  /// The app doesn't run, and nothing may launch it for the event.
  case notRunning
  /// The person ended the app.
  case forceQuit
  /// Its manager has ended.
  case noReceiver
  /// Too many events waited.
  case limit
  /// The device was started again.
  case rebooted
  /// A value of a peer whose link was ended at the limit.
  case afterLimit
}

package enum AppMisuse: String, Hashable, Sendable {
  case acknowledgedTooMany, openedTwice, tooManyReceivers, tooManyBackgroundTasks
  case tooManyNotCompleted
}

/// What happened to an app's events, since the machine began.
package struct AppCounts: Hashable, Codable, Sendable {
  /// Events that arrived, and those that the machine made.
  package var arrivedCount = 0
  /// Events that were handed to a process.
  package var handedCount = 0
  /// Events that were replaced by a newer one with the same key before a process got them.
  package var coalescedCount = 0
  /// Events that no process got.
  package var discardedCount = 0
  /// Requests of centrals that were refused before a process got them.
  package var refusedCount = 0
  /// Alerts that the person has not tapped, and that were replaced.
  package var unseenAlertCount = 0
  /// Events that were handed to a process that ended without an acknowledgement.
  package var unacknowledgedCount = 0
  package var launchCount = 0
  package var wakeCount = 0
  /// How often each reason launched it into the background or woke it. One launch or wake may have several.
  package var reasonCounts: [AppWakeReason: Int] = [:]
  package var crashCount = 0
  package var overstayCount = 0
  /// The time in the background, without suspension.
  package var backgroundNanoseconds: Int64 = 0

  package init() {}
}

/// The state of an app, for people.
package struct AppStatus: Hashable, Sendable {
  package var id: AppID
  package var state: AppLifeState
  package var process: AppProcessID?
  /// Events that wait for a process.
  package var waitingCount: Int
  /// Deliveries that the process has not acknowledged.
  package var unacknowledgedCount: Int
  package var backgroundTaskCount: Int
  package var isForceQuit: Bool
  /// Until when it isn't woken or launched; nil if it may be at once.
  package var pausedUntil: Instant?
  package var counts: AppCounts
}
