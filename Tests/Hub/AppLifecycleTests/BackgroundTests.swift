import AppLifecycle
import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists
import Synchronization
import Testing

extension AppLifecycleTests {
  @Suite(.serialized) struct BackgroundTasks {
    @Test func `A background task holds off suspension until it is ended`() async {
      let phone = TestPhone { JournalDelegate(Journal()) }
      phone.person(.opened)
      await phone.settle()
      let task = await MainActor.run { UIApplication.shared.beginBackgroundTask(withName: "save") }
      #expect(task != .invalid && task != UIBackgroundTaskInvalid)
      phone.person(.sentToBackground)
      await phone.advance(by: .seconds(10))
      #expect(phone.machineState == .background)
      let remaining = await UIApplication.shared.backgroundTimeRemaining
      #expect(remaining == 20)
      await MainActor.run { UIApplication.shared.endBackgroundTask(task) }
      await phone.settle()
      #expect(phone.machineState == .suspended)
      await phone.end()
    }

    @Test func `The expiration handler is called before the time ends, and once`() async {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      _ = journal.take()
      let application = await MainActor.run { UIApplication.shared }
      let task = Mutex(UIBackgroundTaskIdentifier.invalid)
      // From any thread.
      let begun = application.beginBackgroundTask {
        MainActor.assertIsolated()
        journal.write("expired")
        application.endBackgroundTask(task.withLock { $0 })
      }
      task.withLock { $0 = begun }
      phone.person(.sentToBackground)
      await phone.advance(by: .seconds(24))
      #expect(!journal.all.contains("expired") && phone.machineState == .background)
      await phone.advance(by: .seconds(1))
      #expect(journal.all.last == "expired" && phone.machineState == .suspended)
      await phone.advance(by: .seconds(60))
      #expect(journal.all.count { $0 == "expired" } == 1)
      #expect(!phone.ended(because: .overstayed(.backgroundTask)))
      await phone.end()
    }

    @Test func `An expiration handler is called once, though the system expires the task twice`()
      async
    {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      let application = await MainActor.run { UIApplication.shared }
      let task = application.beginBackgroundTask { journal.write("expired") }
      let id = AppTaskID(rawValue: UInt64(task.rawValue))
      for _ in 0..<2 { phone.session?.receive(.expire(id)) }
      await phone.settle()
      #expect(journal.all.count { $0 == "expired" } == 1)
      // A system that refuses it late, after the end.
      application.endBackgroundTask(task)
      phone.session?.receive(.refuseBackgroundTask(id))
      await phone.settle()
      #expect(journal.all.count { $0 == "expired" } == 1)
      await phone.end()
    }

    @Test func `An app that doesn't end its background task is terminated`() async {
      let phone = TestPhone { JournalDelegate(Journal()) }
      phone.person(.opened)
      await phone.settle()
      let application = await MainActor.run { UIApplication.shared }
      _ = application.beginBackgroundTask()
      phone.person(.sentToBackground)
      await phone.advance(by: .seconds(31))
      #expect(phone.ended(because: .overstayed(.backgroundTask)))
      #expect(phone.machineState == .notRunning)
      // The tasks of the next process are its own.
      #expect(application.beginBackgroundTask() == .invalid)
      await phone.end()
    }

    @Test func `An app that doesn't return from entering the background is terminated`() async {
      final class Stuck: NSObject, UIApplicationDelegate {
        func applicationDidEnterBackground(_ application: UIApplication) {
          AppSession.current?.end()
        }
      }
      let phone = TestPhone { Stuck() }
      phone.person(.opened)
      await phone.settle()
      phone.person(.sentToBackground)
      await phone.advance(by: .seconds(6))
      #expect(phone.ended(because: .overstayed(.enteringBackground)))
      await phone.end()
    }
  }

  @Suite(.serialized) struct Fetching {
    private static func plist(_ modes: String...) -> InfoPlist {
      var plist = InfoPlist()
      plist.backgroundModes = modes
      return plist
    }

    @Test func `A background fetch launches the app, and its completion handler counts once`() async
    {
      let journal = Journal()
      let phone = TestPhone(Self.plist("fetch")) { JournalDelegate(journal) }
      phone.arrive(AppTaskRequest.fetchEvent)
      await phone.settle()
      #expect(journal.take().last == "fetch background")
      #expect(phone.machineState == .suspended)
      await phone.advance(by: .seconds(60))
      #expect(phone.machineState == .suspended)
      await phone.end()
    }

    @Test func `The fetch interval is a request of the system, and never is nil`() async {
      let phone = TestPhone(Self.plist("fetch")) { JournalDelegate(Journal()) }
      phone.person(.opened)
      await phone.settle()
      await MainActor.run {
        let application = UIApplication.shared
        application.setMinimumBackgroundFetchInterval(
          UIApplication.backgroundFetchIntervalMinimum)
        application.setMinimumBackgroundFetchInterval(3_600)
        application.setMinimumBackgroundFetchInterval(UIApplication.backgroundFetchIntervalNever)
        application.setMinimumBackgroundFetchInterval(.nan)
        application.setMinimumBackgroundFetchInterval(-5)
      }
      #expect(
        phone.requests == [
          .setFetchInterval(.zero), .setFetchInterval(3_600), .setFetchInterval(nil),
          .setFetchInterval(nil), .setFetchInterval(.zero),
        ])
      await phone.end()
    }

    @Test func `The keep-alive handler needs the mode voip and ten minutes, and wakes the app`()
      async
    {
      let journal = Journal()
      let without = TestPhone { JournalDelegate(journal) }
      without.person(.opened)
      await without.settle()
      let isSet = await MainActor.run { UIApplication.shared.setKeepAliveTimeout(600) {} }
      #expect(!isSet)
      await without.end()

      let phone = TestPhone(Self.plist("voip")) { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      await MainActor.run {
        let application = UIApplication.shared
        #expect(!application.setKeepAliveTimeout(599) {})
        #expect(application.setKeepAliveTimeout(600) { journal.write("first") })
        #expect(application.setKeepAliveTimeout(900) { journal.write("alive") })
      }
      phone.person(.sentToBackground)
      await phone.settle()
      phone.arrive(AppEvent(.keepAlive, for: .keepAlive))
      await phone.settle()
      #expect(journal.all.last == "alive" && phone.machineState == .suspended)
      await MainActor.run { UIApplication.shared.clearKeepAliveTimeout() }
      #expect(phone.requests.last == .setKeepAliveTimeout(nil))
      phone.arrive(AppEvent(.keepAlive, for: .keepAlive))
      await phone.settle()
      #expect(journal.all.count { $0 == "alive" } == 1)
      await phone.end()
    }
  }

  @Suite(.serialized) struct RemoteNotifications {
    private static let silent = #"{"aps":{"content-available":1},"door":"front"}"#

    @Test func `Registering gives the delegate a device token afterwards`() async {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      _ = journal.take()
      await MainActor.run {
        UIApplication.shared.registerForRemoteNotifications()
        #expect(journal.all.isEmpty)
        #expect(UIApplication.shared.isRegisteredForRemoteNotifications)
      }
      await phone.settle()
      #expect(journal.all == ["token [1, 2, 3]"])
      await phone.end()
    }

    @Test func `A silent notification wakes the app, which has 30 seconds to complete it`()
      async throws
    {
      let journal = Journal()
      var plist = InfoPlist()
      plist.backgroundModes = ["remote-notification"]
      let phone = TestPhone(plist) {
        let delegate = JournalDelegate(journal)
        delegate.completesPushes = false
        return delegate
      }
      phone.person(.opened)
      await phone.settle()
      phone.person(.sentToBackground)
      await phone.settle()
      let push = try #require(AppNotification(remote: Self.silent, identifier: "1")).event()
      phone.arrive(push)
      await phone.advance(by: .seconds(20))
      #expect(journal.take().last == "push front background" && phone.machineState == .background)
      await MainActor.run {
        (UIApplication.shared.delegate as? JournalDelegate)?.fetchCompletion?(.newData)
      }
      await phone.settle()
      #expect(phone.machineState == .suspended)
      phone.arrive(push)
      await phone.advance(by: .seconds(31))
      #expect(phone.ended(because: .overstayed(.completion)))
      await phone.end()
    }

    @Test func `A notification whose payload is malformed is discarded, and the app runs on`() async
    {
      let journal = Journal()
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      _ = journal.take()
      phone.arrive(
        AppEvent(
          .notification(isSilent: true, hasAlert: false), for: .notifications, payload: [0xFF]))
      await phone.settle()
      #expect(journal.all.isEmpty && phone.machineState == .active)
      phone.person(.sentToBackground)
      await phone.settle()
      #expect(phone.machineState == .suspended)
      await phone.end()
    }
  }
}
