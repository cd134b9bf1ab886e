internal import AppMachines
package import AppSessions
internal import Foundation

// The app's side of its session with the system.
extension UIApplication {
  /// Begins an app in this process: a new application, with a session of its own, which waits to be launched. An app
  /// that was begun before ends first, as if its process were killed.
  ///
  /// - Parameters:
  ///   - session: The session with the system that runs the app, which is to start it.
  ///   - makeDelegate: Makes the app's delegate, when the system starts the app.
  @discardableResult
  package static func begin(
    _ session: AppSession,
    delegate makeDelegate: @escaping @MainActor () -> (any UIApplicationDelegate)?
  ) -> UIApplication {
    reset()
    AppSession.current = session
    let application = UIApplication(session: session, makeDelegate: makeDelegate)
    current = application
    session.run { command, done in
      onMain {
        if application === current { application.handle(command) }
        done()
      }
    }
    return application
  }

  /// Ends the app of this process at once, and forgets its delegate, tasks and handlers, so that another one may begin.
  /// Variables of the app, its observers, threads and queues are left.
  package static func reset() {
    guard let application = current else { return }
    current = nil
    application.session.end()
    if AppSession.current === application.session { AppSession.current = nil }
    application.forget()
    BGTaskScheduler.shared.reset()
    UNUserNotificationCenter.current().reset()
  }

  /// Runs something on the main thread, in order.
  ///
  /// As an operation: a notification is posted inside, and Foundation waits for an observer on `OperationQueue.main`
  /// forever where the thread that serves the main queue is neither the main thread nor runs an operation of it.
  nonisolated static func onMain(_ body: @escaping @MainActor @Sendable () -> Void) {
    OperationQueue.main.addOperation { MainActor.assumeIsolated(body) }
  }

  /// Opens a receiver whose events are handled on the main thread.
  func openOnMain(
    _ receiver: AppReceiver,
    _ body: @escaping @MainActor @Sendable (UIApplication, AppDelivery) -> Void
  ) {
    session.open(receiver) { delivery, done in
      UIApplication.onMain {
        if self === UIApplication.current { body(self, delivery) }
        done()
      }
    }
  }

  // MARK: Commands

  func handle(_ command: AppSession.Command) {
    switch command {
    case .start(let launch): start(launch)
    case .transition(let transition): handle(transition)
    case .terminate: terminate()
    case .expire(let task): backgroundTasks.expire(task)
    case .expireTask(let event): BGTaskScheduler.shared.expire(event)
    }
  }

  private func start(_ launch: AppLaunch) {
    applicationState = launch.isInForeground ? .inactive : .background
    BGTaskScheduler.shared.attach(session)
    UNUserNotificationCenter.current().attach(session)
    launchResponse = AppNotification(payload: launch.notification).map(UNNotificationResponse.init)
    installDelegate()
    let options = LaunchOptionsKey.options(launch, launchResponse)
    _ = delegate?.application(self, willFinishLaunchingWithOptions: options)
    _ = delegate?.application(self, didFinishLaunchingWithOptions: options)
    BGTaskScheduler.shared.finishLaunching()
    post(UIApplication.didFinishLaunchingNotification, self, options)
    openOnMain(.notifications) { application, delivery in application.notify(delivery) }
    BGTaskScheduler.shared.open { event in
      UIApplication.onMain { if self === UIApplication.current { self.fetch(event) } }
    }
    session.report(.launched)
  }

  private func handle(_ transition: AppTransition) {
    if hasScenes { return handleWithScene(transition) }
    switch transition {
    case .didBecomeActive:
      applicationState = .active
      delegate?.applicationDidBecomeActive(self)
      post(UIApplication.didBecomeActiveNotification, self)
    case .willResignActive:
      delegate?.applicationWillResignActive(self)
      post(UIApplication.willResignActiveNotification, self)
      applicationState = .inactive
    case .didEnterBackground:
      applicationState = .background
      delegate?.applicationDidEnterBackground(self)
      post(UIApplication.didEnterBackgroundNotification, self)
    case .willEnterForeground:
      post(UIApplication.willEnterForegroundNotification, self)
      delegate?.applicationWillEnterForeground(self)
      applicationState = .inactive
    case .didReceiveMemoryWarning: warnOfMemory()
    }
  }

  private func handleWithScene(_ transition: AppTransition) {
    switch transition {
    case .didBecomeActive:
      connectScene()
      applicationState = .active
      if let scene { activate(scene) }
      post(UIApplication.didBecomeActiveNotification, self)
    case .willResignActive:
      if let scene { deactivate(scene) }
      post(UIApplication.willResignActiveNotification, self)
      applicationState = .inactive
    case .didEnterBackground:
      applicationState = .background
      if let scene { moveToBackground(scene) }
      post(UIApplication.didEnterBackgroundNotification, self)
    case .willEnterForeground:
      connectScene()
      post(UIApplication.willEnterForegroundNotification, self)
      if let scene { moveToForeground(scene) }
      applicationState = .inactive
    case .didReceiveMemoryWarning: warnOfMemory()
    }
  }

  private func warnOfMemory() {
    delegate?.applicationDidReceiveMemoryWarning(self)
    post(UIApplication.didReceiveMemoryWarningNotification, self)
  }

  private func terminate() {
    disconnectScene()
    delegate?.applicationWillTerminate(self)
    post(UIApplication.willTerminateNotification, self)
    session.report(.exited(.status(0), hasOthers: false))
  }

  // MARK: Events

  /// `application(_:performFetchWithCompletionHandler:)`.
  private func fetch(_ event: AppEventID) {
    delegate?.application(self, performFetchWithCompletionHandler: completion(of: event))
  }

  /// Reports the end of an event, once.
  private func completion(of event: AppEventID) -> (UIBackgroundFetchResult) -> Void {
    let session = session
    var isCompleted = false
    return { _ in
      if !isCompleted { session.report(.completed(event)) }
      isCompleted = true
    }
  }

  /// A notification has come, or the person tapped it.
  private func notify(_ delivery: AppDelivery) {
    guard case .event(let id, let event) = delivery else { return }
    guard let notification = AppNotification(payload: event.payload) else {
      NSLog("A notification whose payload is malformed was discarded.")
      return session.report(.completed(id))
    }
    let center = UNUserNotificationCenter.current()
    if event.isTapped, center.respond(to: notification) { return finish(id, of: event) }
    let isPresented =
      !event.isTapped && applicationState != .background && notification.hasAlert
      && center.present(notification)
    let isPush = notification.origin == .remote
    guard isPush, event.isTapped || notification.isSilent || !isPresented else {
      return finish(id, of: event)
    }
    guard let delegate else { return finish(id, of: event) }
    delegate.application(
      self, didReceiveRemoteNotification: UNNotificationContent(notification).userInfo,
      fetchCompletionHandler: completion(of: id))
  }

  private func finish(_ id: AppEventID, of event: AppEvent) {
    if case .notification(isSilent: true, _) = event.kind { session.report(.completed(id)) }
  }
}
