import AppLifecycle
import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists
import Testing

/// One application at a time: a process has one.
@Suite(.serialized) struct AppLifecycleTests {}

extension AppLifecycleTests {
  @Suite(.serialized) struct Transitions {
    private static let notifications = [
      UIApplication.didFinishLaunchingNotification, UIApplication.didBecomeActiveNotification,
      UIApplication.willResignActiveNotification, UIApplication.didEnterBackgroundNotification,
      UIApplication.willEnterForegroundNotification, UIApplication.willTerminateNotification,
      UIApplication.didReceiveMemoryWarningNotification,
    ]

    @Test func `A launch into the foreground is inactive until the app becomes active`() async {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal, observing: Self.notifications) }
      phone.person(.opened)
      await phone.settle()
      #expect(
        journal.take() == [
          "willFinishLaunching inactive", "didFinishLaunching inactive",
          "UIApplicationDidFinishLaunchingNotification", "didBecomeActive active",
          "UIApplicationDidBecomeActiveNotification",
        ])
      #expect(phone.machineState == .active)
      let remaining = await UIApplication.shared.backgroundTimeRemaining
      #expect(remaining == .greatestFiniteMagnitude)
      await phone.end()
    }

    @Test func `An app without scenes goes through background and foreground in Apple's order`()
      async
    {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal, observing: Self.notifications) }
      phone.person(.opened)
      await phone.settle()
      _ = journal.take()
      phone.person(.sentToBackground)
      await phone.settle()
      #expect(
        journal.take() == [
          "willResignActive active", "UIApplicationWillResignActiveNotification",
          "didEnterBackground background", "UIApplicationDidEnterBackgroundNotification",
        ])
      #expect(phone.machineState == .suspended)
      phone.person(.opened)
      await phone.settle()
      #expect(
        journal.take() == [
          "UIApplicationWillEnterForegroundNotification", "willEnterForeground background",
          "didBecomeActive active", "UIApplicationDidBecomeActiveNotification",
        ])
      phone.person(.interrupted)
      phone.send(.memoryPressure(.warning))
      phone.person(.interruptionEnded)
      await phone.settle()
      #expect(
        journal.take() == [
          "willResignActive active", "UIApplicationWillResignActiveNotification",
          "didReceiveMemoryWarning inactive", "UIApplicationDidReceiveMemoryWarningNotification",
          "didBecomeActive active", "UIApplicationDidBecomeActiveNotification",
        ])
      await phone.end()
    }

    @Test func `An app that runs is requested to terminate, and a suspended one isn't`() async {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal, observing: Self.notifications) }
      phone.person(.opened)
      await phone.settle()
      _ = journal.take()
      phone.person(.forceQuit)
      await phone.settle()
      #expect(
        journal.take() == ["willTerminate active", "UIApplicationWillTerminateNotification"])
      #expect(phone.machineState == .notRunning)
      phone.person(.opened)
      phone.person(.sentToBackground)
      await phone.settle()
      _ = journal.take()
      phone.person(.forceQuit)
      await phone.settle()
      #expect(journal.take() == [] && phone.machineState == .notRunning)
      await phone.end()
    }

    @Test func `An app that was ended begins again in the same process, with a new delegate`() async
    {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      let first = await MainActor.run { UIApplication.shared }
      phone.person(.sentToBackground)
      await phone.settle()
      phone.send(.memoryPressure(.critical))
      await phone.settle()
      #expect(phone.machineState == .notRunning && phone.ended(because: .memoryPressure))
      let forgotten = await MainActor.run { first.delegate == nil }
      #expect(forgotten)
      _ = journal.take()
      phone.person(.opened)
      await phone.settle()
      let second = await MainActor.run { UIApplication.shared }
      #expect(first !== second)
      #expect(journal.all.first == "willFinishLaunching inactive")
      await phone.end()
    }

    @Test func `An app that exits on suspend is terminated where others are suspended`() async {
      var plist = InfoPlist()
      plist.exitsOnSuspend = true
      let journal = Journal()
      let phone = TestPhone(plist) { JournalDelegate(journal) }
      phone.person(.opened)
      phone.person(.sentToBackground)
      await phone.settle()
      phone.person(.opened)
      phone.person(.sentToBackground)
      await phone.settle()
      #expect(journal.take().last == "willTerminate background")
      #expect(phone.machineState == .notRunning)
      await phone.end()
    }

    @Test func `A program that only uses the application has one that is active`() async {
      let states = await MainActor.run {
        let application = UIApplication.shared
        return (application === UIApplication.shared, application.delegate == nil)
      }
      #expect(states.0 && states.1)
      while await UIApplication.shared.applicationState != .active { await Task.yield() }
      let task = await UIApplication.shared.beginBackgroundTask()
      #expect(task != .invalid)
      await MainActor.run {
        UIApplication.shared.endBackgroundTask(task)
        UIApplication.reset()
      }
    }

    @Test func `The older delegate methods are called where the newer ones aren't there`() async {
      final class Older: NSObject, UIApplicationDelegate {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }
        func applicationDidFinishLaunching(_ application: UIApplication) {
          journal.write("didFinishLaunching")
        }
        func application(
          _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any]
        ) { journal.write("push") }
      }
      let journal = Journal()
      let phone = TestPhone { Older(journal) }
      phone.person(.opened)
      await phone.settle()
      let push = AppNotification(remote: #"{"aps":{"alert":"Hi"}}"#, identifier: "1")
      if let push { phone.arrive(push.event()) }
      await phone.settle()
      #expect(journal.all == ["didFinishLaunching", "push"])
      await phone.end()
    }
  }

  @Suite(.serialized) struct LaunchOptions {
    private static func plist(_ modes: String..., hasScenes: Bool = false) -> InfoPlist {
      var plist = InfoPlist()
      plist.backgroundModes = modes
      if hasScenes { plist.sceneManifest = InfoPlist.SceneManifest() }
      return plist
    }

    /// Opens an app that wishes for links and regions, and lets the system end it.
    private func preserved(_ plist: InfoPlist, _ journal: Journal) async -> TestPhone {
      let phone = TestPhone(plist) {
        let delegate = JournalDelegate(journal)
        delegate.onLaunch = {
          for receiver in [AppReceiver.central("lock"), .location] {
            AppSession.current?.open(receiver) { delivery, done in
              if case .restore = delivery { journal.write("restore") }
              if case .event(_, let event) = delivery { journal.write("event \(event.kind)") }
              done()
            }
          }
        }
        return delegate
      }
      phone.person(.opened)
      await phone.settle()
      phone.send(.wants(TestPhone.id, .central("lock"), .links))
      phone.send(.wants(TestPhone.id, .location, .regions))
      phone.person(.sentToBackground)
      await phone.settle()
      phone.send(.memoryPressure(.critical))
      await phone.settle()
      _ = journal.take()
      return phone
    }

    @Test func `A launch for a manager has its identifier, and the state before the event`() async {
      let journal = Journal()
      let phone = await preserved(Self.plist("bluetooth-central"), journal)
      phone.arrive(AppEvent(.connected(AppPeer(rawValue: 1)), for: .central("lock")))
      await phone.settle()
      #expect(
        journal.take() == [
          "willFinishLaunching background", "didFinishLaunching background",
          "UIApplicationLaunchOptionsBluetoothCentralsKey", "restore",
          "event connected(AppMachines.AppPeer(rawValue: 1))",
        ])
      let centrals = await MainActor.run {
        let delegate = UIApplication.shared.delegate as? JournalDelegate
        return delegate?.launchOptions?[.bluetoothCentrals] as? [String]
      }
      #expect(centrals == ["lock"] && phone.machineState == .suspended)
      await phone.end()
    }

    @Test func `A launch for a region has the key of locations`() async {
      let journal = Journal()
      let phone = await preserved(Self.plist(), journal)
      phone.arrive(AppEvent(.region, for: .location))
      await phone.settle()
      #expect(
        journal.take().contains("UIApplicationLaunchOptionsLocationKey"))
      await phone.end()
    }

    @Test func `An app with scenes has no launch options, and its managers are restored`() async {
      let journal = Journal()
      let phone = await preserved(Self.plist("bluetooth-central", hasScenes: true), journal)
      phone.arrive(AppEvent(.connected(AppPeer(rawValue: 1)), for: .central("lock")))
      await phone.settle()
      #expect(
        journal.take() == [
          "willFinishLaunching background", "didFinishLaunching background", "restore",
          "event connected(AppMachines.AppPeer(rawValue: 1))",
        ])
      await phone.end()
    }

    @Test func `A tapped notification is in the launch options, and given to the app, too`()
      async
      throws
    {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      let text = #"{"aps":{"alert":"Open?"},"door":"front"}"#
      phone.arrive(try #require(AppNotification(remote: text, identifier: "1")).event())
      phone.person(.openedAlert(try #require(phone.alerts.first)))
      await phone.settle()
      #expect(
        journal.take() == [
          "willFinishLaunching inactive", "didFinishLaunching inactive",
          "UIApplicationLaunchOptionsRemoteNotificationKey", "didBecomeActive active",
          "push front active",
        ])
      await phone.end()
    }
  }
}
