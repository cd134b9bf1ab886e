import AppLifecycle
import AppMachines
import AppSessions
import Foundation
import InfoPlists
import Synchronization
import Testing

/// Writes down the calls of a scene's delegate. The journal is the test's, since the class is made by its name.
@MainActor final class JournalScene: UIResponder, UIWindowSceneDelegate {
  nonisolated static let journal = Journal()

  func scene(
    _ scene: UIScene, willConnectTo session: UISceneSession,
    options connectionOptions: UIScene.ConnectionOptions
  ) {
    let request = connectionOptions.notificationResponse?.notification.request
    let name = session.configuration.name ?? "-"
    Self.write("connect \(name) \(request?.content.body ?? "")", scene)
    guard scene is UIWindowScene else { return Self.write("no window scene", scene) }
  }
  func sceneDidDisconnect(_ scene: UIScene) { Self.write("disconnect", scene) }
  func sceneDidBecomeActive(_ scene: UIScene) { Self.write("active", scene) }
  func sceneWillResignActive(_ scene: UIScene) { Self.write("resign", scene) }
  func sceneWillEnterForeground(_ scene: UIScene) { Self.write("foreground", scene) }
  func sceneDidEnterBackground(_ scene: UIScene) { Self.write("background", scene) }

  private static func write(_ name: String, _ scene: UIScene) {
    journal.write("\(name) \(scene.activationState) \(UIApplication.shared.applicationState)")
  }
}

extension AppLifecycleTests {
  @Suite(.serialized) struct Scenes {
    private static let plist: InfoPlist = {
      var plist = InfoPlist()
      plist.sceneManifest = InfoPlist.SceneManifest(
        name: "Default", delegateClassName: "AppLifecycleTests.JournalScene")
      return plist
    }()

    private static let notifications = [
      UIScene.willConnectNotification, UIScene.willEnterForegroundNotification,
      UIScene.didActivateNotification, UIApplication.didBecomeActiveNotification,
      UIScene.willDeactivateNotification, UIApplication.willResignActiveNotification,
      UIScene.didEnterBackgroundNotification, UIApplication.didEnterBackgroundNotification,
      UIScene.didDisconnectNotification,
    ]

    /// An app with a scene whose two delegates and notifications write into one journal.
    private func phone() -> TestPhone {
      _ = JournalScene.journal.take()
      return TestPhone(Self.plist) {
        JournalDelegate(JournalScene.journal, observing: Self.notifications)
      }
    }

    @Test func `A scene is connected after launching, and gets the calls instead of the app`() async
    {
      let phone = phone()
      phone.person(.opened)
      await phone.settle()
      #expect(
        JournalScene.journal.take() == [
          "willFinishLaunching inactive", "didFinishLaunching inactive",
          "connect Default  unattached inactive", "UISceneWillConnectNotification",
          "foreground unattached active", "UISceneWillEnterForegroundNotification",
          "active foregroundActive active", "UISceneDidActivateNotification",
          "UIApplicationDidBecomeActiveNotification",
        ])
      phone.person(.sentToBackground)
      await phone.settle()
      #expect(
        JournalScene.journal.take() == [
          "resign foregroundActive active", "UISceneWillDeactivateNotification",
          "UIApplicationWillResignActiveNotification", "background background background",
          "UISceneDidEnterBackgroundNotification", "UIApplicationDidEnterBackgroundNotification",
        ])
      phone.person(.opened)
      await phone.settle()
      #expect(
        JournalScene.journal.take().filter { !$0.hasPrefix("UI") } == [
          "foreground background background", "active foregroundActive active",
        ])
      phone.person(.forceQuit)
      await phone.settle()
      #expect(
        JournalScene.journal.take() == [
          "disconnect foregroundActive active", "UISceneDidDisconnectNotification",
          "willTerminate active",
        ])
      await phone.end()
    }

    @Test func `A launch into the background connects no scene before the person opens the app`()
      async throws
    {
      let phone = phone()
      var plist = Self.plist
      plist.backgroundModes = ["remote-notification"]
      phone.send(.installed(TestPhone.id, plist.description))
      let text = #"{"aps":{"content-available":1}}"#
      phone.arrive(try #require(AppNotification(remote: text, identifier: "1")).event())
      await phone.settle()
      #expect(
        JournalScene.journal.take() == [
          "willFinishLaunching background", "didFinishLaunching background", "push  background",
        ])
      phone.person(.opened)
      await phone.settle()
      #expect(
        JournalScene.journal.take().filter { !$0.hasPrefix("UI") } == [
          "connect Default  unattached background", "foreground unattached background",
          "active foregroundActive active",
        ])
      await phone.end()
    }

    @Test func `A tapped notification is in the options with which the scene is connected`()
      async throws
    {
      let phone = phone()
      let text = #"{"aps":{"alert":{"body":"Open?"}}}"#
      phone.arrive(try #require(AppNotification(remote: text, identifier: "1")).event())
      phone.person(.openedAlert(try #require(phone.alerts.first)))
      await phone.settle()
      let entries = JournalScene.journal.take()
      #expect(entries.contains("connect Default Open? unattached inactive"))
      #expect(!entries.contains("UIApplicationLaunchOptionsRemoteNotificationKey"))
      await phone.end()
    }

    @Test func `A scene whose delegate's class doesn't exist has none, and the app runs`() async {
      var plist = Self.plist
      plist.sceneManifest?.delegateClassName = "Nothing.AtAll"
      let journal = Journal()
      let phone = TestPhone(plist) { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      let hasDelegate = await MainActor.run {
        UIApplication.shared.connectedScenes.first?.delegate != nil
      }
      #expect(!hasDelegate && phone.machineState == .active)
      await phone.end()
    }
  }
}
