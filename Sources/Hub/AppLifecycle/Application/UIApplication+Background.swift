public import Foundation
internal import AppMachines
internal import AppSessions
internal import Essentials

/// Whether an app is woken to refresh its content.
public enum UIBackgroundRefreshStatus: Int, Sendable {
  /// It can't be, and the person can't change that.
  case restricted = 0
  /// The person has switched it off.
  case denied = 1
  case available = 2
}

/// The outcome of a background fetch.
public enum UIBackgroundFetchResult: UInt, Sendable {
  case newData = 0
  case noData = 1
  case failed = 2
}

/// The shortest keep-alive timeout, in seconds.
public let UIMinimumKeepAliveTimeout: TimeInterval = 600

extension UIApplication {
  /// Whether the app is woken to refresh its content: `available`.
  public var backgroundRefreshStatus: UIBackgroundRefreshStatus { .available }

  /// The smallest interval that the system supports.
  public nonisolated static let backgroundFetchIntervalMinimum: TimeInterval = 0
  /// An interval that is never over.
  public nonisolated static let backgroundFetchIntervalNever = TimeInterval
    .greatestFiniteMagnitude

  /// Sets the minimum time between background fetches, in seconds: `backgroundFetchIntervalNever` at first. Needs the
  /// background mode `fetch`.
  public func setMinimumBackgroundFetchInterval(_ minimumBackgroundFetchInterval: TimeInterval) {
    let isNever = !(minimumBackgroundFetchInterval < TimeSpan.longest.seconds)
    let interval = isNever ? nil : max(0, minimumBackgroundFetchInterval)
    _ = session.request(.setFetchInterval(interval))
  }

  /// Sets the handler that is called each time the timeout has passed, also in the background, so that a connection
  /// can be kept alive. Has ten seconds. Needs the background mode `voip`.
  ///
  /// - Parameters:
  ///   - keepAliveTimeout: In seconds, ``UIMinimumKeepAliveTimeout`` or more.
  ///   - keepAliveHandler: Called on the main thread.
  /// - Returns: Whether it was set.
  @discardableResult
  public func setKeepAliveTimeout(
    _ keepAliveTimeout: TimeInterval, handler keepAliveHandler: (() -> Void)? = nil
  ) -> Bool {
    guard keepAliveTimeout >= UIMinimumKeepAliveTimeout, let keepAliveHandler,
      session.infoPlist.description.modes.contains(.voip),
      session.request(.setKeepAliveTimeout(min(keepAliveTimeout, TimeSpan.longest.seconds)))
        == .done
    else { return false }
    let isFirst = self.keepAliveHandler == nil
    self.keepAliveHandler = keepAliveHandler
    if isFirst { openOnMain(.keepAlive) { application, _ in application.keepAliveHandler?() } }
    return true
  }

  /// Removes the handler of the keep-alive timeout.
  public func clearKeepAliveTimeout() {
    guard keepAliveHandler != nil else { return }
    keepAliveHandler = nil
    _ = session.request(.setKeepAliveTimeout(nil))
    session.close(.keepAlive)
  }

  // MARK: Remote notifications

  /// Whether the app gets remote notifications.
  public var isRegisteredForRemoteNotifications: Bool { isRegisteredForPushes }

  /// Registers for remote notifications. The delegate gets a device token, or an error, afterwards.
  public func registerForRemoteNotifications() {
    let reply = session.request(.registerForRemoteNotifications)
    if case .deviceToken = reply { isRegisteredForPushes = true }
    UIApplication.onMain {
      if case .deviceToken(let token) = reply {
        self.delegate?.application(
          self, didRegisterForRemoteNotificationsWithDeviceToken: Data(token))
      } else {
        // Apple's error where there is no service for them.
        let error = NSError(
          domain: NSCocoaErrorDomain, code: 3010,
          userInfo: [
            NSLocalizedDescriptionKey: "remote notifications are not supported in this program"
          ])
        self.delegate?.application(
          self, didFailToRegisterForRemoteNotificationsWithError: error)
      }
    }
  }

  /// The app gets no remote notifications any more.
  public func unregisterForRemoteNotifications() {
    isRegisteredForPushes = false
    _ = session.request(.unregisterForRemoteNotifications)
  }

  /// The number on the app's icon.
  public var applicationIconBadgeNumber: Int {
    get { badgeNumber }
    set {
      badgeNumber = newValue
      _ = session.request(.setBadge(newValue))
    }
  }
}

extension TimeSpan {
  /// The longest span of whole seconds.
  static let longest = TimeSpan.seconds(Int64.max / 1_000_000_000)
}
