package import Essentials

/// A notification of an app, as far as the system has to know it.
package struct AppNotice: Hashable, Codable, Sendable {
  /// By which it is replaced or removed.
  package var identifier: String
  /// The app is woken for it.
  package var isSilent: Bool
  /// The person is shown an alert.
  package var hasAlert: Bool
  /// The payload of its event, which only the host and the process understand.
  package var contents: [UInt8]

  package init(identifier: String, isSilent: Bool, hasAlert: Bool, contents: [UInt8]) {
    self.identifier = identifier
    self.isSilent = isSilent
    self.hasAlert = hasAlert
    self.contents = contents
  }
}

/// A pending request of a background task.
package struct AppTaskNote: Hashable, Codable, Sendable {
  package var identifier: String
  package var isProcessing: Bool
  package var needsNetwork: Bool
  package var needsPower: Bool
  /// Not before this calendar time, in seconds since 1970; nil if at any time.
  package var earliestBegin: Double?

  package init(
    _ identifier: String, isProcessing: Bool, needsNetwork: Bool = false, needsPower: Bool = false,
    earliestBegin: Double? = nil
  ) {
    self.identifier = identifier
    self.isProcessing = isProcessing
    self.needsNetwork = needsNetwork
    self.needsPower = needsPower
    self.earliestBegin = earliestBegin
  }
}

/// What a process requests of the system about its tasks and notifications.
package enum AppServiceRequest: Sendable {
  /// One with the same identifier is replaced. `permitted` has `BGTaskSchedulerPermittedIdentifiers`.
  case submit(AppTaskNote, permitted: [String])
  /// Nil for all.
  case cancelTask(String?)
  /// `setMinimumBackgroundFetchInterval(_:)`, in seconds; nil for never.
  case setFetchInterval(Double?)
  case authorize
  /// A local notification, due after a time, and then each time that it has passed if it repeats.
  case add(AppNotice, after: Double, repeats: Bool)
  /// The app shows a notification that came in the foreground.
  case present(AppNotice)
  /// Nil for all.
  case removePending([String]?)
  case removeDelivered([String]?)
  /// With chance for a new token, of 32 bytes, Apple's length.
  case register(random: [UInt8])
  case unregister
  case setBadge(Int)
}

package enum AppServiceReply: Hashable, Sendable {
  case done
  case granted(Bool)
  case deviceToken([UInt8])
  case refused(AppServiceRefusal)
}

package enum AppServiceRefusal: Hashable, Sendable {
  /// The app isn't installed.
  case unavailable
  /// `Info.plist` lacks the identifier or the background mode, or the person has not allowed it.
  case notPermitted
  /// A bound is reached.
  case tooMany
  /// A text or the contents are longer than the bound.
  case tooLong
}

/// A remote notification for an app.
package struct AppPushNote: Hashable, Codable, Sendable {
  package var notice: AppNotice
  /// Of waiting ones with the same identifier, the newest one is kept.
  package var collapseIdentifier: String?
  /// The calendar time, in seconds since 1970, after which it has no use; nil if it has always. One in the past is
  /// delivered at once, or not at all.
  package var expiration: Double?

  package init(_ notice: AppNotice, collapseIdentifier: String? = nil, expiration: Double? = nil) {
    self.notice = notice
    self.collapseIdentifier = collapseIdentifier
    self.expiration = expiration
  }
}

/// What became of a remote notification.
package enum AppPushOutcome: String, Hashable, Codable, Sendable {
  /// The app gets it, now or when its process can.
  case delivered
  /// The person is shown an alert; the app gets it when the person opens it from there.
  case shown
  /// It waits, since the app was woken too often. A newer one with its identifier replaces it.
  case throttled
  /// It waits for the person to open the app, which has not the background mode.
  case waitsForForeground
  /// The person has ended the app.
  case forceQuit
  /// The app may not show alerts, and the notification is not silent.
  case notAuthorized
  /// Its time was over while it would have to wait.
  case expired
}

/// The times of tasks and notifications, which Apple doesn't document.
package struct AppServiceLimits: Hashable, Sendable {
  /// Between two refreshes of an app, and between two processing tasks.
  package var taskInterval = TimeSpan.seconds(900)
  /// How many silent notifications wake an app at once, after a time without any. Apple's documentation names two or
  /// three an hour ("Pushing background updates to your App").
  package var silentCountMax = 3
  /// The time in which as many may.
  package var silentPeriod = TimeSpan.seconds(3_600)
  /// A notification that repeats has this interval at least (`UNTimeIntervalNotificationTrigger`).
  package var repeatIntervalMin = 60.0
  /// How often the calendar, the network and the power supply are looked at while a task waits for them.
  package var surroundingsInterval = TimeSpan.seconds(60)

  package init() {}
}

/// What the system keeps of an app's tasks and notifications over a restart.
package struct AppServiceRecord: Hashable, Codable, Sendable {
  /// A local notification that is not due.
  package struct Pending: Hashable, Codable, Sendable {
    package var notice: AppNotice
    /// In seconds since 1970.
    package var due: Double
    /// The time after which it was due, in seconds.
    package var interval: Double
    package var repeats: Bool
  }

  package var tasks: [AppTaskNote] = []
  /// In seconds; nil for never.
  package var fetchInterval: Double?
  /// Whether the person lets the app show notifications; nil if it has not requested it.
  package var isAuthorized: Bool?
  package var pending: [Pending] = []
  package var delivered: [AppNotice] = []
  package var token: [UInt8]?
  /// It gets notifications that are sent to its token.
  package var isRegistered = false
  /// Remote notifications that wait for the time in which the app may be woken.
  package var waitingPushes: [AppPushNote] = []
  package var badge = 0
  /// The notifications of alerts that the person has not opened, oldest first; nil in the record of an earlier manager.
  package var alerts: [AppNotice]?

  package init() {}
}
