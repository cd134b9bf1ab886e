import Essentials
import Testing

@testable import AppMachines

/// Apple's "Managing Your App's Life Cycle", and its rules for the time in the background.
@Suite("The states of an app")
struct StateTests {
  @Test("an app that is opened is inactive until it has finished launching, and then active")
  func opening() {
    var phone = TestPhone()
    #expect(phone.state == .notRunning)
    phone.person(.opened)
    #expect(phone.state == .inactive)
    #expect(
      phone.takeActions().launches == [AppLaunch(isInForeground: true, options: nil, reasons: [])])
    phone.report(.launched)
    #expect(phone.state == .active)
    #expect(phone.takeActions().transitions == [.didBecomeActive])
  }

  @Test("an app that the person leaves or opens while it is launched gets the transition")
  func changingWhileLaunching() {
    var phone = TestPhone()
    phone.person(.opened)
    phone.person(.sentToBackground)
    phone.report(.launched)
    #expect(phone.state == .background)
    #expect(phone.takeActions().transitions == [.didEnterBackground])
    phone = TestPhone(.fetch)
    phone.arrive(AppEvent(.refresh, for: .tasks))
    phone.person(.opened)
    phone.report(.launched)
    #expect(phone.state == .active)
    #expect(phone.takeActions().transitions == [.willEnterForeground, .didBecomeActive])
  }

  @Test("an app is suspended as soon as applicationDidEnterBackground has returned")
  func leaving() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.person(.sentToBackground)
    #expect(phone.state == .background)
    #expect(phone.takeActions().transitions == [.willResignActive, .didEnterBackground])
    phone.report(.acknowledged(1))
    #expect(phone.state == .background)
    phone.report(.acknowledged(1))
    #expect(phone.state == .suspended)
    #expect(phone.takeActions() == [.freeze(phone.process)])
  }

  @Test("a suspended app that is opened is thawed, enters the foreground and becomes active")
  func comingBack() {
    var phone = TestPhone()
    phone.suspend()
    phone.person(.opened)
    #expect(phone.state == .active)
    let actions = phone.takeActions()
    #expect(actions.first == .thaw(phone.process))
    #expect(actions.transitions == [.willEnterForeground, .didBecomeActive])
  }

  @Test("an interrupted app is inactive until the interruption ends")
  func interruption() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.person(.interrupted)
    #expect(phone.state == .inactive)
    phone.person(.interruptionEnded)
    #expect(phone.state == .active)
    #expect(phone.takeActions().transitions == [.willResignActive, .didBecomeActive])
  }

  @Test("the app in front goes to the background when another one is opened")
  func oneForeground() {
    var phone = TestPhone()
    phone.handle(.installed(TestPhone.other, AppDescription()))
    phone.run()
    phone.person(.opened, TestPhone.other)
    #expect(phone.state == .background)
    #expect(phone.machine.state(of: TestPhone.other) == .inactive)
    var limits = AppLimits()
    limits.hasOneForeground = false
    phone = TestPhone(limits: limits)
    phone.handle(.installed(TestPhone.other, AppDescription()))
    phone.run()
    phone.person(.opened, TestPhone.other)
    #expect(phone.state == .active)
  }

  @Test("applicationDidEnterBackground that doesn't return within five seconds ends the app")
  func enteringTooSlowly() {
    var phone = TestPhone()
    phone.run()
    phone.person(.sentToBackground)
    phone.advance(by: 4)
    #expect(phone.takeActions().contains(.kill(phone.process)) == false)
    phone.advance(by: 1)
    #expect(phone.takeActions().contains(.kill(phone.process)))
    phone.end(.signal(9))
    let report = AppReport.ended(TestPhone.app, phone.lastProcess, .overstayed(.enteringBackground))
    #expect(phone.takeActions().reports.contains(report))
  }

  @Test("a process that doesn't finish launching in its time is ended")
  func launchingTooSlowly() {
    var phone = TestPhone()
    phone.person(.opened)
    phone.advance(by: 19)
    #expect(phone.state == .inactive)
    phone.advance(by: 1)
    #expect(phone.takeActions().contains(.kill(phone.process)))
  }

  @Test("an app with UIApplicationExitsOnSuspend is terminated where others are suspended")
  func exitingOnSuspend() {
    var phone = TestPhone(description: AppDescription(exitsOnSuspend: true))
    phone.run()
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    #expect(phone.takeActions().contains(.terminate(phone.process)))
    phone.end(.status(0))
    #expect(phone.state == .notRunning)
    #expect(phone.counts.crashCount == 0)
  }

  @Test("applicationWillTerminate is called for an app that runs, and never for a suspended one")
  func willTerminate() {
    var phone = TestPhone()
    phone.run()
    phone.person(.forceQuit)
    #expect(phone.takeActions().contains(.terminate(phone.process)))
    phone = TestPhone()
    phone.suspend()
    phone.person(.forceQuit)
    #expect(phone.takeActions() == [.kill(phone.process)])
  }

  @Test("a process that ignores the request to end is ended by force, until it is gone")
  func ignoringSignals() {
    var phone = TestPhone()
    phone.run()
    phone.person(.forceQuit)
    _ = phone.takeActions()
    phone.advance(by: 5)
    #expect(phone.takeActions() == [.kill(phone.process)])
    phone.advance(by: 10)
    #expect(phone.takeActions() == [.kill(phone.process), .kill(phone.process)])
  }

  @Test("an app that left processes behind starts again only when they are gone")
  func forks() {
    var phone = TestPhone()
    phone.run()
    let first = phone.process
    phone.report(.exited(.status(1), hasOthers: true))
    #expect(phone.takeActions().contains(.kill(first)))
    phone.person(.opened)
    #expect(phone.takeActions().launches.isEmpty)
    phone.report(.gone)
    #expect(phone.takeActions().launches.count == 1)
    #expect(phone.process > first)
  }

  @Test("a report of a process that is gone changes nothing")
  func lateReports() {
    var phone = TestPhone()
    phone.run()
    let first = phone.process
    phone.end(.signal(11))
    phone.person(.opened)
    phone.report(.launched, of: first)
    #expect(phone.state == .inactive)
  }

  @Test("a process that acknowledges more than it got is reported")
  func acknowledgingTooMuch() {
    var phone = TestPhone()
    phone.run()
    phone.report(.acknowledged(5))
    phone.report(.acknowledged(-1))
    let misuse = AppReport.misuse(TestPhone.app, phone.process, .acknowledgedTooMany)
    #expect(phone.takeActions().reports == [misuse, misuse])
  }

  @Test("a removed app is ended, forgotten, and can be installed again")
  func removal() {
    var phone = TestPhone()
    phone.run()
    phone.handle(.removed(TestPhone.app))
    phone.report(.exited(.status(0), hasOthers: false))
    #expect(phone.takeActions().contains(.release(TestPhone.app, TestPhone.lock)))
    #expect(phone.state == nil)
    phone.handle(.installed(TestPhone.app, AppDescription()))
    #expect(phone.state == .notRunning)
  }
}

extension TestPhone {
  /// The process that was started last.
  var lastProcess: AppProcessID { AppProcessID(rawValue: machine.numbers.process) }
}
