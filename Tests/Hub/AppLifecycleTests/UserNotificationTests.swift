@testable import AppLifecycle
import AppMachines
import AppSessions
import Essentials
import Foundation
import Synchronization
import Testing

extension AppLifecycleTests {
  @Suite(.serialized) struct UserNotifications {
    final class Presenter: NSObject, UNUserNotificationCenterDelegate {
      let journal: Journal
      init(_ journal: Journal) { self.journal = journal }
      func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
        withCompletionHandler completionHandler:
          @escaping (UNNotificationPresentationOptions) -> Void
      ) {
        journal.write("present \(notification.request.content.title)")
        completionHandler([.banner])
        completionHandler([.banner])
      }
      func userNotificationCenter(
        _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
        withCompletionHandler completionHandler: @escaping () -> Void
      ) {
        let content = response.notification.request.content
        journal.write("respond \(content.title) \(content.userInfo["door"] ?? "")")
        #expect(response.actionIdentifier == UNNotificationDefaultActionIdentifier)
        completionHandler()
      }
    }

    final class AsyncPresenter: NSObject, UNUserNotificationCenterDelegate {
      let journal: Journal
      init(_ journal: Journal) { self.journal = journal }
      func userNotificationCenter(
        _ center: UNUserNotificationCenter, willPresent notification: UNNotification
      ) async -> UNNotificationPresentationOptions {
        journal.write("present")
        return [.list]
      }
    }

    private func opened(_ presenter: any UNUserNotificationCenterDelegate, _ journal: Journal)
      async -> TestPhone
    {
      let phone = TestPhone { JournalDelegate(journal) }
      phone.person(.opened)
      await phone.settle()
      UNUserNotificationCenter.current().delegate = presenter
      _ = journal.take()
      return phone
    }

    private var request: UNNotificationRequest {
      let content = UNMutableNotificationContent()
      content.title = "Door"
      content.body = "is open"
      content.userInfo = ["door": 3]
      content.sound = .default
      content.badge = 1
      return UNNotificationRequest(
        identifier: "door", content: content,
        trigger: UNTimeIntervalNotificationTrigger(timeInterval: 60, repeats: true))
    }

    @Test func `A local notification is added with its content, and comes back in the foreground`()
      async throws
    {
      let journal = Journal()
      let presenter = Presenter(journal)
      let phone = await opened(presenter, journal)
      let center = UNUserNotificationCenter.current()
      let isGranted = try await center.requestAuthorization(options: [.alert, .sound])
      #expect(isGranted)
      let settings = await center.notificationSettings()
      #expect(settings.authorizationStatus == .authorized)
      try await center.add(request)
      guard case .addNotification(let added) = phone.requests.last else {
        Issue.record("nothing was added")
        return
      }
      #expect(added.origin == .local(seconds: 60, repeats: true) && added.hasAlert)
      phone.arrive(added.event())
      await phone.settle()
      #expect(journal.take() == ["present Door"])
      #expect(phone.requests.count { $0 == .presentNotification(added) } == 1)
      phone.person(.sentToBackground)
      await phone.settle()
      _ = journal.take()
      phone.arrive(added.event())
      phone.person(.openedAlert(try #require(phone.alerts.first)))
      await phone.settle()
      #expect(journal.all.last == "respond Door 3")
      await phone.end()
    }

    @Test func `Categories are kept by the center until the app begins anew`() async {
      let journal = Journal()
      let phone = await opened(Presenter(journal), journal)
      let center = UNUserNotificationCenter.current()
      let reply = UNTextInputNotificationAction(
        identifier: "reply", title: "Reply", options: .authenticationRequired,
        textInputButtonTitle: "Send", textInputPlaceholder: "Message")
      let category = UNNotificationCategory(
        identifier: "message", actions: [reply], intentIdentifiers: [],
        options: .customDismissAction)
      center.setNotificationCategories([category])
      #expect(await center.notificationCategories() == [category])
      let found = await withCheckedContinuation { continuation in
        center.getNotificationCategories { continuation.resume(returning: $0) }
      }
      #expect(found.first?.actions.map(\.identifier) == ["reply"])
      await phone.end()
      #expect(await center.notificationCategories().isEmpty)
    }

    @Test(arguments: [
      ("passive", UNNotificationInterruptionLevel.passive), ("time-sensitive", .timeSensitive),
      ("critical", .critical), ("active", .active), ("loud", .active),
    ])
    func `A payload names how much a notification interrupts`(
      name: String, level: UNNotificationInterruptionLevel
    ) throws {
      let json = #"{"aps":{"alert":"Hi","interruption-level":"\#(name)","relevance-score":0.5}}"#
      let push = try #require(AppNotification(remote: json, identifier: "1"))
      let content = UNNotificationContent(push)
      #expect(content.interruptionLevel == level)
      #expect(content.relevanceScore == 0.5)
    }

    @Test func `A local notification keeps how much it interrupts`() throws {
      let content = UNMutableNotificationContent()
      content.body = "The door is open"
      content.interruptionLevel = .timeSensitive
      content.relevanceScore = 0.25
      let request = UNNotificationRequest(identifier: "door", content: content, trigger: nil)
      let read = UNNotificationContent(try #require(request.notification))
      #expect(read.interruptionLevel == .timeSensitive && read.relevanceScore == 0.25)
    }

    @Test func `A delegate may be written with async methods`() async throws {
      let journal = Journal()
      let presenter = AsyncPresenter(journal)
      let phone = await opened(presenter, journal)
      let push = AppNotification(remote: #"{"aps":{"alert":"Hi"}}"#, identifier: "1")
      phone.arrive(try #require(push).event())
      while !phone.requests.contains(where: {
        if case .presentNotification = $0 { true } else { false }
      }) {
        await phone.settle()
      }
      #expect(journal.all == ["present"])
      await phone.end()
    }

    @Test func `Content that is no property list, and a center without a system, give errors`()
      async
    {
      let content = UNMutableNotificationContent()
      content.userInfo = ["delegate": Journal()]
      let center = UNUserNotificationCenter.current()
      let invalid = UNNotificationRequest(identifier: "a", content: content, trigger: nil)
      await #expect(throws: UNError(.notificationInvalidNoContent)) {
        try await center.add(invalid)
      }
      await #expect(throws: UNError(.notificationsNotAllowed)) { try await center.add(request) }
      await #expect(throws: UNError(.notificationsNotAllowed)) {
        try await center.requestAuthorization()
      }
    }

    @Test func `A request's content doesn't change with the mutable one from which it was made`() {
      let content = UNMutableNotificationContent()
      content.title = "one"
      let request = UNNotificationRequest(identifier: "a", content: content, trigger: nil)
      content.title = "two"
      #expect(request.content.title == "one" && content.title == "two")
    }

    @Test func `A remote notification's content is that of its dictionary aps`() async throws {
      let text = """
        {"aps":{"alert":{"title":"T","subtitle":"S","body":"B"},"badge":2,"sound":"default",
        "category":"C","thread-id":"I"},"own":true}
        """
      let journal = Journal()
      let kept = Mutex<UNNotificationContent?>(nil)
      final class Keeper: NSObject, UNUserNotificationCenterDelegate {
        let keep: @Sendable (UNNotification) -> Void
        init(_ keep: @escaping @Sendable (UNNotification) -> Void) { self.keep = keep }
        func userNotificationCenter(
          _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
          withCompletionHandler completionHandler:
            @escaping (UNNotificationPresentationOptions) -> Void
        ) {
          keep(notification)
          completionHandler([])
        }
      }
      let keeper = Keeper { notification in
        kept.withLock { $0 = notification.request.content }
        #expect(notification.request.trigger is UNPushNotificationTrigger)
      }
      let phone = await opened(keeper, journal)
      phone.arrive(try #require(AppNotification(remote: text, identifier: "1")).event())
      await phone.settle()
      let content = try #require(kept.withLock { $0 })
      #expect(content.title == "T" && content.subtitle == "S" && content.body == "B")
      #expect(content.badge == 2 && content.sound != nil && content.categoryIdentifier == "C")
      #expect(content.threadIdentifier == "I" && content.userInfo["own"] as? Bool == true)
      await phone.end()
    }
  }
}
