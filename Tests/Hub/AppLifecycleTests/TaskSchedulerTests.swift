import AppLifecycle
import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists
import Synchronization
import Testing

extension AppLifecycleTests {
  @Suite(.serialized) struct TaskScheduler {
    private static let plist: InfoPlist = {
      var plist = InfoPlist()
      plist.backgroundModes = ["fetch", "processing"]
      plist.permittedTaskIdentifiers =
        ["refresh", "process", "other"] + (0..<11).map { "process\($0)" }
      return plist
    }()

    /// An app that registers handlers of two tasks, which it keeps in `tasks`.
    private func phone(_ tasks: TaskBox, _ plist: InfoPlist = plist) -> TestPhone {
      TestPhone(plist) {
        let delegate = JournalDelegate(Journal())
        delegate.onLaunch = {
          let scheduler = BGTaskScheduler.shared
          #expect(
            scheduler.register(
              forTaskWithIdentifier: "refresh", using: .main, launchHandler: tasks.add))
          #expect(
            scheduler.register(
              forTaskWithIdentifier: "process", using: nil, launchHandler: tasks.add))
          #expect(!scheduler.register(forTaskWithIdentifier: "foreign", using: nil) { _ in })
        }
        return delegate
      }
    }

    @Test func `A refresh launches the app, and its handler gets the task`() async {
      let tasks = TaskBox()
      let phone = phone(tasks)
      phone.arrive(AppTaskRequest("refresh", .refresh).event)
      await phone.settle()
      #expect(tasks.all.first is BGAppRefreshTask && tasks.all.first?.identifier == "refresh")
      #expect(phone.machineState == .background)
      tasks.all.first?.setTaskCompleted(success: true)
      tasks.all.first?.setTaskCompleted(success: true)
      await phone.settle()
      #expect(phone.machineState == .suspended)
      await phone.end()
    }

    @Test func `A task's expiration handler is called before its time ends, else it is completed`()
      async
    {
      let tasks = TaskBox()
      let phone = phone(tasks)
      phone.arrive(
        AppTaskRequest("process", .processing(needsNetwork: false, needsPower: true)).event)
      await phone.settle()
      await tasks.wait(for: 1)
      #expect(tasks.all.first is BGProcessingTask)
      let journal = Journal()
      tasks.all.first?.expirationHandler = { [weak task = tasks.all.first] in
        journal.write("expired")
        task?.setTaskCompleted(success: false)
      }
      await phone.advance(by: .seconds(290))
      #expect(journal.all.isEmpty && phone.machineState == .background)
      await phone.advance(by: .seconds(5))
      await tasks.drain()
      await phone.settle()
      #expect(journal.all == ["expired"] && phone.machineState == .suspended)
      // Without a handler.
      phone.arrive(AppTaskRequest("refresh", .refresh).event)
      await phone.advance(by: .seconds(26))
      #expect(phone.machineState == .suspended)
      #expect(!phone.ended(because: .overstayed(.completion)))
      await phone.end()
    }

    @Test func `An app that doesn't complete its task is terminated`() async {
      let tasks = TaskBox()
      let phone = phone(tasks)
      phone.arrive(AppTaskRequest("refresh", .refresh).event)
      await phone.settle()
      tasks.all.first?.expirationHandler = {}
      await phone.advance(by: .seconds(31))
      #expect(phone.ended(because: .overstayed(.completion)))
      await phone.end()
    }

    @Test func `Requests are submitted, listed, replaced and cancelled`() async throws {
      let phone = phone(TaskBox())
      phone.person(.opened)
      await phone.settle()
      let scheduler = BGTaskScheduler.shared
      let refresh = BGAppRefreshTaskRequest(identifier: "refresh")
      refresh.earliestBeginDate = Date(timeIntervalSince1970: 1_000)
      try scheduler.submit(refresh)
      try scheduler.submit(refresh)
      let process = BGProcessingTaskRequest(identifier: "process")
      process.requiresExternalPower = true
      try await scheduler.submitTaskRequest(process)
      var pending = await scheduler.pendingTaskRequests()
      #expect(pending.map(\.identifier) == ["refresh", "process"])
      #expect(pending.first?.earliestBeginDate == Date(timeIntervalSince1970: 1_000))
      let found = pending.last as? BGProcessingTaskRequest
      #expect(found?.requiresExternalPower == true && found?.requiresNetworkConnectivity == false)
      scheduler.cancel(taskRequestWithIdentifier: "refresh")
      pending = await scheduler.pendingTaskRequests()
      #expect(pending.map(\.identifier) == ["process"])
      scheduler.cancelAllTaskRequests()
      let count = await withCheckedContinuation { continuation in
        scheduler.getPendingTaskRequests { continuation.resume(returning: $0.count) }
      }
      #expect(count == 0)
      await phone.end()
    }

    private func code(_ body: () throws -> Void) -> Int? {
      do {
        try body()
        return nil
      } catch let error as BGTaskScheduler.Error {
        #expect((error as NSError).domain == "BGTaskSchedulerErrorDomain")
        return (error as NSError).code
      } catch {
        return -1
      }
    }

    @Test func `A request that can't be submitted fails with Apple's codes`() async throws {
      let scheduler = BGTaskScheduler.shared
      #expect(code { try scheduler.submit(BGAppRefreshTaskRequest(identifier: "refresh")) } == 3)
      let phone = phone(TaskBox())
      phone.person(.opened)
      await phone.settle()
      #expect(code { try scheduler.submit(BGAppRefreshTaskRequest(identifier: "foreign")) } == 3)
      try scheduler.submit(BGAppRefreshTaskRequest(identifier: "refresh"))
      #expect(code { try scheduler.submit(BGAppRefreshTaskRequest(identifier: "other")) } == 2)
      for number in 0..<10 {
        try scheduler.submit(BGProcessingTaskRequest(identifier: "process\(number)"))
      }
      let eleventh = BGProcessingTaskRequest(identifier: "process10")
      #expect(code { try scheduler.submit(eleventh) } == 2)
      do {
        try scheduler.submit(eleventh)
      } catch BGTaskScheduler.Error.tooManyPendingTaskRequests {
      } catch {
        Issue.record("\(error)")
      }
      await phone.end()
      var plist = Self.plist
      plist.backgroundModes = ["fetch"]
      let fetching = self.phone(TaskBox(), plist)
      fetching.person(.opened)
      await fetching.settle()
      #expect(code { try scheduler.submit(eleventh) } == 3)
      // The process has ended.
      fetching.session?.end()
      let refresh = BGAppRefreshTaskRequest(identifier: "refresh")
      #expect(code { try scheduler.submit(refresh) } == 1)
      await fetching.end()
    }
  }

  /// Programming errors end the process, with Apple's texts.
  @Suite struct Traps {
    private func expect(_ text: String, _ result: ExitTest.Result?) {
      let output = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(output.contains(text))
    }

    @Test func `A launch handler that is registered after launching traps`() async {
      expect(
        "All launch handlers must be registered before application finishes launching",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          let phone = TestPhone { JournalDelegate(Journal()) }
          phone.person(.opened)
          await phone.settle()
          _ = BGTaskScheduler.shared.register(forTaskWithIdentifier: "a", using: nil) { _ in }
        })
    }

    @Test func `A launch handler that is registered twice traps`() async {
      expect(
        "Launch handler for task with identifier a has already been registered",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          var plist = InfoPlist()
          plist.permittedTaskIdentifiers = ["a"]
          AppSession.current = AppSession(system: TestPhone { nil }, infoPlist: plist)
          for _ in 0..<2 {
            _ = BGTaskScheduler.shared.register(forTaskWithIdentifier: "a", using: nil) { _ in }
          }
        })
    }

    @Test func `A task without a launch handler traps`() async {
      expect(
        "No launch handler registered for task with identifier a",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          var plist = InfoPlist()
          plist.backgroundModes = ["fetch"]
          plist.permittedTaskIdentifiers = ["a"]
          let phone = TestPhone(plist) { JournalDelegate(Journal()) }
          phone.arrive(AppTaskRequest("a", .refresh).event)
          await phone.settle()
        })
    }

    @Test func `An app whose delegate's class doesn't exist traps`() async {
      expect(
        "Unable to instantiate the UIApplication delegate instance.",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          @MainActor in
          UIApplicationMain(0, nil, nil, "Nothing.AtAll")
        })
    }

    @Test func `A time interval that isn't positive, or is short and repeats, traps`() async {
      expect(
        "time interval must be greater than 0",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          _ = UNTimeIntervalNotificationTrigger(timeInterval: 0, repeats: false)
        })
      expect(
        "time interval must be at least 60 if repeating",
        await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
          _ = UNTimeIntervalNotificationTrigger(timeInterval: 59, repeats: true)
        })
    }
  }
}

/// The tasks that an app was given.
final class TaskBox: Sendable {
  private let tasks = Mutex<[BGTask]>([])

  var all: [BGTask] { tasks.withLock { $0 } }
  func add(_ task: BGTask) { tasks.withLock { $0.append(task) } }

  /// Waits until the handler on another queue was called.
  func wait(for count: Int) async { while all.count < count { await Task.yield() } }

  /// Waits until the queue of the scheduler has nothing to do.
  func drain() async {
    await withCheckedContinuation { continuation in
      BGTaskScheduler.shared.getPendingTaskRequests { _ in continuation.resume() }
    }
  }
}
