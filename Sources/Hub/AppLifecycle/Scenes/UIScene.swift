public import Foundation

/// One user interface of an app. An app with `UIApplicationSceneManifest` in its `Info.plist` has one scene here, which
/// is connected when the app first enters the foreground, and has no views.
@preconcurrency @MainActor open class UIScene: UIResponder {
  /// The state of a scene.
  public enum ActivationState: Int, Sendable {
    case unattached = -1
    case foregroundActive = 0
    case foregroundInactive = 1
    case background = 2
  }

  /// The reasons for which a scene is connected.
  @preconcurrency @MainActor open class ConnectionOptions: NSObject {
    /// The person's response to a notification that launched the app.
    public let notificationResponse: UNNotificationResponse?

    init(notificationResponse: UNNotificationResponse?) {
      self.notificationResponse = notificationResponse
      super.init()
    }
  }

  /// The session of the scene.
  public let session: UISceneSession
  /// The delegate of the scene.
  open var delegate: (any UISceneDelegate)?
  /// The state of the scene.
  open internal(set) var activationState = ActivationState.unattached
  /// The name of the scene for people.
  open var title: String! = ""

  /// Creates a scene. The app does so for its scene.
  public required init(session: UISceneSession, connectionOptions: ConnectionOptions) {
    self.session = session
    super.init()
  }

  /// A scene was connected.
  public nonisolated static let willConnectNotification = Notification.Name(
    "UISceneWillConnectNotification")
  /// A scene was disconnected.
  public nonisolated static let didDisconnectNotification = Notification.Name(
    "UISceneDidDisconnectNotification")
  /// A scene is active.
  public nonisolated static let didActivateNotification = Notification.Name(
    "UISceneDidActivateNotification")
  /// A scene will no longer be active.
  public nonisolated static let willDeactivateNotification = Notification.Name(
    "UISceneWillDeactivateNotification")
  /// A scene will enter the foreground.
  public nonisolated static let willEnterForegroundNotification = Notification.Name(
    "UISceneWillEnterForegroundNotification")
  /// A scene is in the background.
  public nonisolated static let didEnterBackgroundNotification = Notification.Name(
    "UISceneDidEnterBackgroundNotification")
}

/// A scene with windows, of which there are none here.
open class UIWindowScene: UIScene {}

/// A window, which shows nothing: the type of the property that application and scene delegates have for it. Code that
/// makes views is behind `canImport(UIKit)`.
@preconcurrency @MainActor open class UIWindow: UIResponder {
  /// Its scene.
  open weak var windowScene: UIWindowScene?

  /// Makes a window of a scene.
  public convenience init(windowScene: UIWindowScene) {
    self.init()
    self.windowScene = windowScene
  }
}

/// The session of a scene.
@preconcurrency @MainActor open class UISceneSession: NSObject {
  /// The purpose of a scene.
  public struct Role: RawRepresentable, Hashable, Sendable {
    /// The name of the role.
    public let rawValue: String

    /// Creates a role with a name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A scene on the device's own display.
    public static let windowApplication = Role(rawValue: "UIWindowSceneSessionRoleApplication")
  }

  /// The purpose of the scene.
  public let role: Role
  /// The configuration with which it was connected.
  open internal(set) var configuration: UISceneConfiguration
  /// The name of the session, which is the same in each launch.
  public let persistentIdentifier = "scene"
  /// The scene, while it is connected.
  open internal(set) weak var scene: UIScene?
  /// Values of the app's own.
  open var userInfo: [String: Any]?

  init(role: Role, configuration: UISceneConfiguration) {
    self.role = role
    self.configuration = configuration
    super.init()
  }
}

/// The objects of which a scene is made.
@preconcurrency @MainActor open class UISceneConfiguration: NSObject {
  /// The name in `Info.plist`.
  public let name: String?
  /// The purpose of the scene.
  public let role: UISceneSession.Role
  /// The class of the scene; nil for ``UIWindowScene``.
  open var sceneClass: AnyClass?
  /// The class of its delegate. The delegate is made with `init()`.
  open var delegateClass: AnyClass?

  /// Creates a configuration.
  public init(name: String?, sessionRole: UISceneSession.Role) {
    self.name = name
    role = sessionRole
    super.init()
  }
}

/// The events of a scene. All methods are optional, and are called on the main thread.
@MainActor public protocol UISceneDelegate: NSObjectProtocol {
  /// The scene was connected.
  func scene(
    _ scene: UIScene, willConnectTo session: UISceneSession,
    options connectionOptions: UIScene.ConnectionOptions)
  /// The scene was disconnected: the app will be terminated.
  func sceneDidDisconnect(_ scene: UIScene)
  /// The scene has become active.
  func sceneDidBecomeActive(_ scene: UIScene)
  /// The scene will no longer be active.
  func sceneWillResignActive(_ scene: UIScene)
  /// The scene will enter the foreground.
  func sceneWillEnterForeground(_ scene: UIScene)
  /// The scene is in the background.
  func sceneDidEnterBackground(_ scene: UIScene)
}

/// The events of a scene with windows.
@MainActor public protocol UIWindowSceneDelegate: UISceneDelegate {}

extension UISceneDelegate {
  /// Does nothing.
  public func scene(
    _ scene: UIScene, willConnectTo session: UISceneSession,
    options connectionOptions: UIScene.ConnectionOptions
  ) {}
  /// Does nothing.
  public func sceneDidDisconnect(_ scene: UIScene) {}
  /// Does nothing.
  public func sceneDidBecomeActive(_ scene: UIScene) {}
  /// Does nothing.
  public func sceneWillResignActive(_ scene: UIScene) {}
  /// Does nothing.
  public func sceneWillEnterForeground(_ scene: UIScene) {}
  /// Does nothing.
  public func sceneDidEnterBackground(_ scene: UIScene) {}
}

extension UIApplication {
  /// The scenes that are connected.
  public var connectedScenes: Set<UIScene> { scene.map { [$0] } ?? [] }
  /// The sessions of scenes.
  public var openSessions: Set<UISceneSession> { scene.map { [$0.session] } ?? [] }
  /// Whether the app may have several scenes: never here.
  public var supportsMultipleScenes: Bool { false }
}
