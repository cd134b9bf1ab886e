package import Essentials

/// The rules that differ between releases of iOS, from Apple's TN3115, QA1962 and the developer forum's thread 826964.
package struct AppRules: Hashable, Codable, Sendable {
  /// After a force-quit, an app is launched for its regions.
  package var launchesForRegionsAfterForceQuit: Bool
  /// After a force-quit, an app is launched for accessories that were set up with AccessorySetupKit.
  package var launchesForAccessoriesAfterForceQuit: Bool

  /// Up to iOS 18.
  package static let iOS18 = AppRules(
    launchesForRegionsAfterForceQuit: true, launchesForAccessoriesAfterForceQuit: false)
  package static let iOS26 = AppRules(
    launchesForRegionsAfterForceQuit: false, launchesForAccessoriesAfterForceQuit: true)
}

/// The time that apps have in the background, and the bounds of the events that wait for them.
package struct AppLimits: Hashable, Sendable {
  // Apple's documented times.
  /// `applicationDidEnterBackground` returns within about five seconds.
  package var enteringBackgroundTime: TimeSpan = .seconds(5)
  /// An app that is woken for an event of Bluetooth, a region or a socket has about ten seconds.
  package var eventTime: TimeSpan = .seconds(10)
  /// Background tasks hold off suspension for about 30 seconds since iOS 13, all together.
  package var backgroundTaskTime: TimeSpan = .seconds(30)
  /// Silent notifications, background fetch and `BGAppRefreshTask`.
  package var refreshTime: TimeSpan = .seconds(30)
  /// `BGProcessingTask` has minutes.
  package var processingTime: TimeSpan = .seconds(300)

  // Times that Apple doesn't document.
  /// The time that a process has until it has finished launching.
  package var launchTime: TimeSpan = .seconds(20)
  /// The expiration handler is called this long before the end of the time.
  package var expirationNotice: TimeSpan = .seconds(5)
  /// The time between the request to end and the signal that can't be ignored, and between repetitions of that one.
  package var endingTime: TimeSpan = .seconds(5)
  /// The threads of a suspended process stop within this time. A background task that it began before wakes it.
  package var stopTime: TimeSpan = .seconds(1)
  /// A request of a central is refused after this time, well before the 30 seconds of the attribute protocol.
  package var requestTime: TimeSpan = .seconds(10)

  /// An app that overstays is not woken for this time, for twice as long the next time, and so on.
  package var throttleTime: TimeSpan = .seconds(60)
  package var throttleTimeMax: TimeSpan = .seconds(3_600)
  /// Overstaying as often as this, without a wake in time between, ends the process.
  package var overstayCountMax = 3
  /// An app whose process crashed is not launched for this time, for twice as long the next time, and so on, unless
  /// the person opens it.
  package var crashPause: TimeSpan = .seconds(2)
  package var crashPauseMax: TimeSpan = .seconds(900)
  /// A crash is forgotten after this time without another one.
  package var crashMemory: TimeSpan = .seconds(1_800)

  /// The maximum number of deliveries that a process has not acknowledged. Events beyond it wait.
  package var handedCountMax = 64
  /// The maximum number of waiting events. At 20 bytes a value, 1,024 are a few minutes of a heart rate monitor.
  package var waitingCountMax = 1_024
  /// With as many events waiting, another value of a peer ends its link. The rest is for events that aren't values.
  package var waitingCountForValuesMax = 960
  /// The maximum size of waiting events.
  package var waitingByteCountMax = 1 << 20
  /// The maximum number of alerts of an app that the person can tap.
  package var alertCountMax = 64
  /// The maximum number of receivers of a process.
  package var receiverCountMax = 256
  /// The maximum number of background tasks of a process.
  package var backgroundTaskCountMax = 256
  /// The maximum number of events whose completion handlers a process has not called. Others are not waited for.
  package var workCountMax = 256
  /// Opening an app sends the others to the background, as on a phone.
  package var hasOneForeground = true

  package init() {}

  /// The pause after this number of crashes in a row.
  func pause(afterCrashes count: Int) -> TimeSpan {
    Self.doubled(crashPause, count - 1, limit: crashPauseMax)
  }

  /// The time without wakes after overstaying this number of times in a row.
  func throttle(afterOverstays count: Int) -> TimeSpan {
    Self.doubled(throttleTime, count - 1, limit: throttleTimeMax)
  }

  private static func doubled(_ span: TimeSpan, _ count: Int, limit: TimeSpan) -> TimeSpan {
    min(span * (1 << Int64(min(max(count, 0), 30))), limit)
  }

  /// The time until a process has to report that it is done with an event; nil if it needn't.
  func completionTime(of event: AppEvent) -> TimeSpan? {
    switch event.kind {
    case .request: requestTime
    case .refresh: refreshTime
    case .processing: processingTime
    case .notification(let isSilent, _): isSilent ? refreshTime : nil
    case .callback, .connected, .disconnected, .value, .discovered, .region, .socket, .keepAlive:
      nil
    }
  }
}
