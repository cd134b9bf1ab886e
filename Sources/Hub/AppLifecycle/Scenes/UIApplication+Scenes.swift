internal import AppSessions
internal import Foundation
internal import InfoPlists

// The scene of an app with scenes.
extension UIApplication {
  var hasScenes: Bool { session.infoPlist.sceneManifest != nil }

  /// Connects the scene, unless it is connected.
  func connectScene() {
    guard scene == nil, let manifest = session.infoPlist.sceneManifest else { return }
    let configuration = UISceneConfiguration(name: manifest.name, sessionRole: .windowApplication)
    if let name = manifest.delegateClassName {
      configuration.delegateClass = NSClassFromString(name)
      if configuration.delegateClass == nil {
        NSLog(
          "Info.plist names %@ as the class of the scene's delegate, which doesn't exist.", name)
      }
    }
    let options = UIScene.ConnectionOptions(notificationResponse: launchResponse)
    launchResponse = nil
    let session = UISceneSession(role: .windowApplication, configuration: configuration)
    session.configuration =
      delegate?.application(self, configurationForConnecting: session, options: options)
      ?? configuration
    let type = session.configuration.sceneClass as? UIScene.Type ?? UIWindowScene.self
    let scene = type.init(session: session, connectionOptions: options)
    session.scene = scene
    self.scene = scene
    if let type = session.configuration.delegateClass {
      scene.delegate = instance(of: type) as? any UISceneDelegate
      if scene.delegate == nil {
        NSLog("%@ is not the class of a scene's delegate.", String(describing: type))
      }
    }
    scene.delegate?.scene(scene, willConnectTo: session, options: options)
    post(UIScene.willConnectNotification, scene)
  }

  func activate(_ scene: UIScene) {
    if scene.activationState == .unattached { moveToForeground(scene) }
    scene.activationState = .foregroundActive
    scene.delegate?.sceneDidBecomeActive(scene)
    post(UIScene.didActivateNotification, scene)
  }

  func moveToForeground(_ scene: UIScene) {
    scene.delegate?.sceneWillEnterForeground(scene)
    post(UIScene.willEnterForegroundNotification, scene)
    scene.activationState = .foregroundInactive
  }

  func deactivate(_ scene: UIScene) {
    scene.delegate?.sceneWillResignActive(scene)
    post(UIScene.willDeactivateNotification, scene)
    scene.activationState = .foregroundInactive
  }

  func moveToBackground(_ scene: UIScene) {
    scene.activationState = .background
    scene.delegate?.sceneDidEnterBackground(scene)
    post(UIScene.didEnterBackgroundNotification, scene)
  }

  func disconnectScene() {
    guard let scene else { return }
    scene.delegate?.sceneDidDisconnect(scene)
    post(UIScene.didDisconnectNotification, scene)
    scene.activationState = .unattached
    self.scene = nil
  }

  func post(_ name: Notification.Name, _ object: Any?, _ userInfo: [AnyHashable: Any]? = nil) {
    NotificationCenter.default.post(name: name, object: object, userInfo: userInfo)
  }
}
