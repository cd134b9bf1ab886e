internal import AppSessions
internal import Foundation

/// The app that runs in this process: its state, and the requests that it makes of the system that runs it.
///
/// A program that no system runs is launched, becomes active, and stays so until it ends.
@preconcurrency @MainActor open class UIApplication: UIResponder {
  /// The state of an app that runs.
  public enum State: Int, Sendable {
    /// In the foreground, and receives events.
    case active = 0
    /// In the foreground, and receives none: it becomes active or leaves the foreground, or something is in front of
    /// it.
    case inactive = 1
    /// In the background.
    case background = 2
  }

  /// The app. It may be used before `UIApplicationMain(_:_:_:_:)`, too, and is then one without a delegate.
  public class var shared: UIApplication {
    current ?? begin(.standalone(isTerminatedBySignals: false)) { nil }
  }

  static var current: UIApplication?

  nonisolated let session: AppSession
  nonisolated let backgroundTasks: BackgroundTaskTable
  private let makeDelegate: @MainActor () -> (any UIApplicationDelegate)?
  /// The delegate that was made for the app, which nothing else may own.
  private var ownedDelegate: (any UIApplicationDelegate)?
  var keepAliveHandler: (() -> Void)?
  var isRegisteredForPushes = false
  var badgeNumber = 0
  /// The one scene of an app with scenes, once it is connected.
  var scene: UIScene?
  /// The tapped notification that launched the app, until its scene is connected.
  var launchResponse: UNNotificationResponse?

  init(
    session: AppSession, makeDelegate: @escaping @MainActor () -> (any UIApplicationDelegate)?
  ) {
    self.session = session
    self.makeDelegate = makeDelegate
    backgroundTasks = BackgroundTaskTable(session: session)
    super.init()
  }

  /// The app's delegate, which `UIApplicationMain(_:_:_:_:)` makes and owns.
  open weak var delegate: (any UIApplicationDelegate)?

  /// The app's state. `applicationWillEnterForeground(_:)` is still called in the background, and
  /// `applicationWillResignActive(_:)` while the app is active.
  open internal(set) var applicationState = State.inactive

  /// Whether protected files can be read: always here.
  open var isProtectedDataAvailable: Bool { true }

  /// Whether the display stays on while the app is active. Has no effect here.
  open var isIdleTimerDisabled = false

  /// Makes the delegate that the app was begun with.
  func installDelegate() {
    ownedDelegate = makeDelegate()
    delegate = ownedDelegate
  }

  /// Forgets the delegate, as the end of the process does.
  func forget() {
    ownedDelegate = nil
    delegate = nil
    scene = nil
    keepAliveHandler = nil
    backgroundTasks.forget()
  }
}
