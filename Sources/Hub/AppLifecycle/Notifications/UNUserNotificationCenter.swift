internal import AppSessions
internal import Essentials
public import Foundation
internal import Synchronization

/// The notifications of the app. May be used on any thread; completion handlers are called on a queue in the background.
open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `state`.

  private struct State {
    var session: AppSession?
    // The reference is guarded; the delegate is only called on the main thread.
    nonisolated(unsafe) weak var delegate: (any UNUserNotificationCenterDelegate)?
    var categories: Set<UNNotificationCategory> = []
  }

  private static let shared = UNUserNotificationCenter()
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "UNUserNotificationCenter")

  private override init() { super.init() }

  /// The center of the app.
  open class func current() -> UNUserNotificationCenter { shared }

  /// The delegate, which should be set before the app has finished launching.
  open var delegate: (any UNUserNotificationCenterDelegate)? {
    get { state.withLock { $0.delegate } }
    set { state.withLock { $0.delegate = newValue } }
  }

  /// Whether an extension of the app may show the content of its notifications: not here.
  open var supportsContentExtensions: Bool { false }

  // MARK: Authorization

  /// Requests that the person lets the app show notifications.
  open func requestAuthorization(
    options: UNAuthorizationOptions = [],
    completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
  ) {
    let session = currentSession()
    session.call(on: queue) {
      let isGranted = session.request(.authorizeNotifications) == .granted(true)
      completionHandler(isGranted, isGranted ? nil : Self.refusal(session))
    }
  }

  /// The same, as a task.
  open func requestAuthorization(options: UNAuthorizationOptions = []) async throws -> Bool {
    let session = currentSession()
    if session.request(.authorizeNotifications) == .granted(true) { return true }
    if let error = Self.refusal(session) { throw error }
    return false
  }

  /// An error where nothing can show notifications; nil where the person has denied them.
  private static func refusal(_ session: AppSession) -> (any Error)? {
    let reply = session.request(.notificationAuthorization)
    if case .refused = reply { return UNError(.notificationsNotAllowed) }
    return nil
  }

  /// Calls back with the settings for the app's notifications.
  open func getNotificationSettings(
    completionHandler: @escaping @Sendable (UNNotificationSettings) -> Void
  ) {
    let session = currentSession()
    session.call(on: queue) { completionHandler(Self.settings(session)) }
  }

  /// The settings for the app's notifications.
  open func notificationSettings() async -> UNNotificationSettings {
    Self.settings(currentSession())
  }

  private static func settings(_ session: AppSession) -> UNNotificationSettings {
    guard case .authorization(let isGranted) = session.request(.notificationAuthorization) else {
      return UNNotificationSettings(.denied)
    }
    guard let isGranted else { return UNNotificationSettings(.notDetermined) }
    return UNNotificationSettings(isGranted ? .authorized : .denied)
  }

  // MARK: Categories

  /// Replaces the kinds of notifications of the app. They last as long as the process.
  open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) {
    state.withLock { $0.categories = categories }
  }

  /// Calls back with the kinds of notifications of the app.
  open func getNotificationCategories(
    completionHandler: @escaping @Sendable (Set<UNNotificationCategory>) -> Void
  ) {
    let categories = state.withLock { $0.categories }
    currentSession().call(on: queue) { completionHandler(categories) }
  }

  /// The kinds of notifications of the app.
  open func notificationCategories() async -> Set<UNNotificationCategory> {
    state.withLock { $0.categories }
  }

  // MARK: Requests

  /// Adds a notification. It replaces one with the same identifier.
  open func add(
    _ request: UNNotificationRequest,
    withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    let error = added(request)
    if let completionHandler { currentSession().call(on: queue) { completionHandler(error) } }
  }

  /// The same, as a task.
  open func add(_ request: UNNotificationRequest) async throws {
    if let error = added(request) { throw error }
  }

  private func added(_ request: UNNotificationRequest) -> UNError? {
    guard let notification = request.notification else {
      return UNError(.notificationInvalidNoContent)
    }
    let reply = currentSession().request(.addNotification(notification))
    return reply == .done ? nil : UNError(.notificationsNotAllowed)
  }

  /// Calls back with the requests that are not due yet.
  open func getPendingNotificationRequests(
    completionHandler: @escaping @Sendable ([UNNotificationRequest]) -> Void
  ) {
    let session = currentSession()
    session.call(on: queue) {
      completionHandler(
        Self.notifications(session, .pendingNotifications).map(UNNotificationRequest.init))
    }
  }

  /// The requests that are not due yet.
  open func pendingNotificationRequests() async -> [UNNotificationRequest] {
    Self.notifications(currentSession(), .pendingNotifications).map(UNNotificationRequest.init)
  }

  /// Calls back with the notifications that the person was shown and has not tapped.
  open func getDeliveredNotifications(
    completionHandler: @escaping @Sendable ([UNNotification]) -> Void
  ) {
    let session = currentSession()
    session.call(on: queue) {
      completionHandler(
        Self.notifications(session, .deliveredNotifications).map(UNNotification.init))
    }
  }

  /// The notifications that the person was shown and has not tapped.
  open func deliveredNotifications() async -> [UNNotification] {
    Self.notifications(currentSession(), .deliveredNotifications).map(UNNotification.init)
  }

  private static func notifications(
    _ session: AppSession, _ request: AppRequest
  ) -> [AppNotification] {
    if case .notifications(let found) = session.request(request) { found } else { [] }
  }

  /// Removes requests that are not due yet.
  open func removePendingNotificationRequests(withIdentifiers identifiers: [String]) {
    _ = currentSession().request(.removePendingNotifications(identifiers))
  }

  /// Removes all requests that are not due yet.
  open func removeAllPendingNotificationRequests() {
    _ = currentSession().request(.removePendingNotifications(nil))
  }

  /// Removes notifications that the person was shown.
  open func removeDeliveredNotifications(withIdentifiers identifiers: [String]) {
    _ = currentSession().request(.removeDeliveredNotifications(identifiers))
  }

  /// Removes all notifications that the person was shown.
  open func removeAllDeliveredNotifications() {
    _ = currentSession().request(.removeDeliveredNotifications(nil))
  }

  /// Sets the number on the app's icon.
  open func setBadgeCount(
    _ newBadgeCount: Int,
    withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
  ) {
    let isDone = currentSession().request(.setBadge(newBadgeCount)) == .done
    let error = isDone ? nil : UNError(.notificationsNotAllowed)
    if let completionHandler { currentSession().call(on: queue) { completionHandler(error) } }
  }

  // MARK: The app

  func attach(_ session: AppSession) { state.withLock { $0.session = session } }

  func reset() { state.withLock { $0 = State() } }

  private func currentSession() -> AppSession {
    state.withLock { $0.session } ?? AppSession.current ?? .unavailable
  }

  /// Gives a notification that has come in the foreground to the delegate, which decides whether it is shown. Returns
  /// false without a delegate.
  @MainActor func present(_ notification: AppNotification) -> Bool {
    guard let delegate else { return false }
    let session = currentSession()
    let isAnswered = Mutex(false)
    delegate.userNotificationCenter(self, willPresent: UNNotification(notification)) { options in
      let isFirst = isAnswered.withLock { answered in
        defer { answered = true }
        return !answered
      }
      guard isFirst, !options.isDisjoint(with: [.alert, .banner, .list]) else { return }
      _ = session.request(.presentNotification(notification))
    }
    return true
  }

  /// Gives the person's response to the delegate. Returns false without one.
  @MainActor func respond(to notification: AppNotification) -> Bool {
    guard let delegate else { return false }
    let response = UNNotificationResponse(notification)
    delegate.userNotificationCenter(self, didReceive: response) {}
    return true
  }
}

/// The events of notifications. All methods are optional, and are called on the main thread.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
  /// A notification has come while the app is in the foreground. The completion handler gets the way in which it is
  /// presented.
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler:
      @escaping (UNNotificationPresentationOptions) -> Void)
  /// The same, as a task. Called by the default implementation of the method above.
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification
  ) async -> UNNotificationPresentationOptions
  /// The person has opened the app from a notification.
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping () -> Void)
  /// The same, as a task. Called by the default implementation of the method above.
  func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse) async
}

extension UNUserNotificationCenterDelegate {
  /// Calls the method that is a task.
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
    withCompletionHandler completionHandler:
      @escaping (UNNotificationPresentationOptions) -> Void
  ) {
    let call = DelegateCall(delegate: self, completion: completionHandler)
    Task { @MainActor in
      call.completion(
        await call.delegate.userNotificationCenter(center, willPresent: notification))
    }
  }
  /// Returns no options: the notification is not shown.
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, willPresent notification: UNNotification
  ) async -> UNNotificationPresentationOptions { [] }
  /// Calls the method that is a task.
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
    withCompletionHandler completionHandler: @escaping () -> Void
  ) {
    let call = DelegateCall(delegate: self, completion: completionHandler)
    Task { @MainActor in
      await call.delegate.userNotificationCenter(center, didReceive: response)
      call.completion()
    }
  }
  /// Does nothing.
  public func userNotificationCenter(
    _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse
  ) async {}
}

/// A delegate and a completion handler for a task on the main thread.
private struct DelegateCall<Delegate, Completion>: @unchecked Sendable {
  // Unchecked: made and used on the main thread, on which the center calls its delegate.
  let delegate: Delegate
  let completion: Completion
}
