import Essentials
import Testing

@testable import AppMachines

@Suite("The time of an app in the background")
struct BudgetTests {
  private static let task = AppTaskID(rawValue: 1)

  @Test("an app that handles an event in time is suspended again at once, and its time is counted")
  func inTime() {
    var phone = TestPhone()
    phone.suspend()
    phone.advance(by: 60)
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.state == .background)
    let actions = phone.takeActions()
    #expect(actions.first == .thaw(phone.process))
    #expect(actions.events == [.connected(TestPhone.peer)])
    phone.advance(by: 9)
    phone.acknowledgeAll()
    #expect(phone.state == .suspended)
    #expect(phone.counts.backgroundNanoseconds == TimeSpan.seconds(9).nanoseconds)
  }

  @Test("an app that needs more than ten seconds is suspended and not woken for a minute")
  func throttling() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 10)
    #expect(phone.state == .suspended)
    #expect(phone.takeActions().reports == [.throttled(TestPhone.app, .seconds(60))])
    phone.arrive(.value(TestPhone.peer))
    phone.advance(by: 59)
    #expect(phone.state == .suspended)
    phone.advance(by: 1)
    #expect(phone.state == .background)
    #expect(phone.takeActions().events == [.value(TestPhone.peer)])
  }

  @Test("overstaying doubles the time without wakes, and the third time ends the process")
  func overstayingAgain() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 10)
    phone.arrive(.value(TestPhone.peer))
    phone.advance(by: 70)
    #expect(phone.takeActions().reports.last == .throttled(TestPhone.app, .seconds(120)))
    phone.arrive(.value(TestPhone.peer))
    phone.advance(by: 130)
    #expect(phone.takeActions().contains(.kill(phone.process)))
    phone.end(.signal(9))
    #expect(phone.counts.unacknowledgedCount == 3)
  }

  @Test("a wake in time makes up for one that was too long")
  func forgiveness() {
    var phone = TestPhone()
    phone.suspend()
    for _ in 0..<6 {
      phone.arrive(.value(TestPhone.peer))
      phone.advance(by: 10)
      #expect(phone.state == .suspended)
      phone.acknowledgeAll()
      phone.arrive(.value(TestPhone.peer))
      phone.advance(by: 60)
      phone.acknowledgeAll()
      #expect(phone.state == .suspended)
    }
    #expect(phone.counts.overstayCount == 6 && phone.counts.launchCount == 1)
  }

  @Test("a background task holds off suspension for thirty seconds, and its handler comes before")
  func backgroundTask() {
    var phone = TestPhone()
    phone.run()
    phone.report(.beganBackgroundTask(Self.task))
    #expect(phone.machine.backgroundTimeRemaining(of: TestPhone.app, now: phone.now) == nil)
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    let remaining = phone.machine.backgroundTimeRemaining(of: TestPhone.app, now: phone.now)
    #expect(remaining == .seconds(30))
    _ = phone.takeActions()
    phone.advance(by: 24)
    #expect(phone.state == .background && phone.takeActions().isEmpty)
    phone.advance(by: 1)
    #expect(phone.takeActions() == [.expire(phone.process, Self.task)])
    phone.report(.endedBackgroundTask(Self.task))
    #expect(phone.state == .suspended)
  }

  @Test("a background task that isn't ended in its time ends the app")
  func endlessBackgroundTask() {
    var phone = TestPhone()
    phone.run()
    phone.report(.beganBackgroundTask(Self.task))
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    phone.advance(by: 29)
    #expect(phone.state == .background)
    phone.advance(by: 1)
    #expect(phone.takeActions().contains(.kill(phone.process)))
  }

  @Test("background tasks that follow each other share one time")
  func chain() {
    var phone = TestPhone()
    phone.run()
    phone.report(.beganBackgroundTask(Self.task))
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    phone.advance(by: 20)
    phone.report(.beganBackgroundTask(AppTaskID(rawValue: 2)))
    phone.report(.endedBackgroundTask(Self.task))
    #expect(phone.state == .background)
    phone.advance(by: 10)
    #expect(phone.takeActions().contains(.kill(phone.process)))
  }

  @Test("a background task of a suspended app, or after the time of all, is refused")
  func refusedBackgroundTask() {
    var phone = TestPhone()
    phone.suspend()
    phone.advance(by: 2)
    phone.report(.beganBackgroundTask(Self.task))
    #expect(phone.takeActions() == [.refuseBackgroundTask(phone.process, Self.task)])
    #expect(phone.state == .suspended)
    // Awake by values for longer than a background task may last.
    for second in 0..<40 {
      phone.arrive(.value(TestPhone.peer))
      if second == 0 { phone.report(.beganBackgroundTask(Self.task)) }
      phone.advance(by: 1)
      if second == 10 { phone.report(.endedBackgroundTask(Self.task)) }
      phone.report(.acknowledged(second == 0 ? 0 : 1))
    }
    #expect(phone.state == .background)
    _ = phone.takeActions()
    phone.report(.beganBackgroundTask(Self.task))
    #expect(phone.takeActions() == [.refuseBackgroundTask(phone.process, Self.task)])
  }

  @Test("a background task that begins before the threads of a suspended app stop lets it run on")
  func backgroundTaskOfStoppingApp() {
    var phone = TestPhone()
    phone.suspend()
    phone.report(.beganBackgroundTask(Self.task))
    #expect(phone.takeActions() == [.thaw(phone.process)])
    #expect(phone.state == .background)
    let remaining = phone.machine.backgroundTimeRemaining(of: TestPhone.app, now: phone.now)
    #expect(remaining == .seconds(30))
    phone.report(.endedBackgroundTask(Self.task))
    #expect(phone.takeActions() == [.freeze(phone.process)])
    #expect(phone.state == .suspended && phone.counts.overstayCount == 0)
  }

  @Test("background tasks that begin before the threads of an app stop share one time")
  func chainOfStoppingApp() {
    var phone = TestPhone()
    phone.suspend()
    for number in 1...100 where phone.state == .suspended {
      let task = AppTaskID(rawValue: UInt64(number))
      phone.report(.beganBackgroundTask(task))
      phone.advance(by: 1)
      phone.report(.endedBackgroundTask(task))
    }
    #expect(phone.takeActions().contains(.kill(phone.process)))
    #expect(phone.counts.backgroundNanoseconds == TimeSpan.seconds(30).nanoseconds)
  }

  @Test("an app that is suspended for its overstay isn't woken by a background task")
  func backgroundTaskAfterOverstay() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 10)
    #expect(phone.state == .suspended)
    _ = phone.takeActions()
    phone.report(.beganBackgroundTask(Self.task))
    #expect(phone.takeActions() == [.refuseBackgroundTask(phone.process, Self.task)])
  }

  @Test("an app with a background task may handle an event later than in ten seconds")
  func eventsDuringBackgroundTask() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.report(.beganBackgroundTask(Self.task))
    phone.advance(by: 20)
    #expect(phone.state == .background)
    phone.report(.endedBackgroundTask(Self.task))
    phone.advance(by: 0)
    #expect(phone.state == .suspended && phone.counts.overstayCount == 1)
  }

  @Test("a silent notification has thirty seconds, and its completion handler has to be called")
  func silentNotification() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([.notifications])
    for isCompleted in [true, false] {
      _ = phone.takeActions()
      phone.arrive(.notification(isSilent: true, hasAlert: false), .notifications)
      guard case .event(let id, _) = phone.takeActions().deliveries.first else {
        Issue.record("the notification was not delivered")
        return
      }
      phone.acknowledgeAll()
      phone.advance(by: 29)
      #expect(phone.state == .background)
      if isCompleted { phone.report(.completed(id)) }
      phone.advance(by: 1)
      #expect(phone.takeActions().contains(.kill(phone.process)) == !isCompleted)
      if isCompleted { #expect(phone.state == .suspended) }
    }
  }

  @Test(
    "the handler of a task is called before its time ends: thirty seconds, or minutes for processing",
    arguments: [(AppEvent.Kind.refresh, Int64(30)), (.processing, 300)])
  func tasks(kind: AppEvent.Kind, seconds: Int64) {
    var phone = TestPhone([.fetch, .processing])
    phone.suspend([.tasks])
    phone.arrive(kind, .tasks)
    let id = AppEventID(rawValue: phone.machine.numbers.event)
    phone.acknowledgeAll()
    phone.advance(by: seconds - 6)
    #expect(!phone.takeActions().contains(.expireTask(phone.process, id)))
    phone.advance(by: 1)
    #expect(phone.takeActions() == [.expireTask(phone.process, id)])
    phone.advance(by: 5)
    #expect(phone.takeActions().contains(.kill(phone.process)))
  }

  @Test("the foreground ends all times, and they begin again in the background")
  func foreground() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.report(.beganBackgroundTask(Self.task))
    phone.advance(by: 26)
    phone.person(.opened)
    phone.advance(by: 1_000)
    #expect(phone.state == .active)
    _ = phone.takeActions()
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    phone.advance(by: 25)
    #expect(phone.takeActions().last == .expire(phone.process, Self.task))
  }
}
