import Essentials
import Testing

@testable import AppMachines

@Suite("The ends of processes")
struct EndTests {
  @Test("memory pressure ends the app that was suspended for the longest time, and no other one")
  func memoryPressure() {
    var phone = TestPhone()
    phone.handle(.memoryPressure(.critical))
    #expect(phone.takeActions().reports == [.noSuspendedApp])
    phone.suspend()
    phone.advance(by: 10)
    // The other one is woken later than it was suspended.
    phone.handle(.installed(TestPhone.other, AppDescription()))
    phone.person(.opened, TestPhone.other)
    let other = phone.lastProcess
    phone.report(.launched, of: other)
    phone.report(.acknowledged(1), of: other)
    phone.person(.sentToBackground, TestPhone.other)
    phone.report(.acknowledged(2), of: other)
    phone.advance(by: 10)
    phone.arrive(.callback)
    phone.acknowledgeAll()
    _ = phone.takeActions()
    phone.handle(.memoryPressure(.critical))
    #expect(phone.takeActions() == [.kill(other)])
    phone.handle(.memoryPressure(.critical))
    #expect(phone.takeActions() == [.kill(phone.process)])
    phone.handle(.memoryPressure(.critical))
    #expect(phone.takeActions().reports == [.noSuspendedApp])
  }

  @Test("an app in the foreground whose process is reclaimed has not crashed")
  func reclaimed() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    let process = phone.process
    phone.report(.reclaimed)
    let reports = phone.takeActions().reports
    #expect(reports == [.ended(TestPhone.app, process, .memoryPressure)])
    #expect(phone.machine.state(of: TestPhone.app) == .notRunning)
    phone.person(.opened)
    #expect(phone.takeActions().contains { if case .start = $0 { true } else { false } })
  }

  @Test("an app whose memory is needed ends if it is suspended, and goes on otherwise")
  func memoryOfOneApp() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.handle(.memoryPressure(.criticalFor(TestPhone.app)))
    #expect(phone.takeActions().reports == [.noSuspendedApp])
    #expect(phone.state == .active)
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    _ = phone.takeActions()
    phone.handle(.memoryPressure(.criticalFor(TestPhone.other)))
    #expect(phone.takeActions().reports == [.noSuspendedApp])
    phone.handle(.memoryPressure(.criticalFor(TestPhone.app)))
    #expect(phone.takeActions() == [.kill(phone.process)])
  }

  @Test("an app that runs gets a memory warning, a suspended one doesn't")
  func memoryWarning() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.handle(.memoryPressure(.warning))
    #expect(phone.takeActions().transitions == [.didReceiveMemoryWarning])
    for _ in 0..<1_000 { phone.handle(.memoryPressure(.warning)) }
    #expect(phone.takeActions().transitions.count == 63)
    phone = TestPhone()
    phone.suspend()
    phone.handle(.memoryPressure(.warning))
    #expect(phone.takeActions().isEmpty)
  }

  @Test("events that were handed over are counted and not repeated, and those that waited follow")
  func handedOver() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.arrive(.value(TestPhone.peer))
    phone.report(.acknowledged(1))
    phone.end(.signal(9))
    let first = phone.lastProcess
    let reports = phone.takeActions().reports
    #expect(reports.first == .unacknowledged(TestPhone.app, first, count: 1))
    #expect(phone.counts.unacknowledgedCount == 1)
    phone.arrive(.callback)
    phone.advance(by: 2)
    phone.finishLaunching([TestPhone.lock])
    let actions = phone.takeActions()
    #expect(actions.deliveries.first == .restore(TestPhone.lock))
    #expect(actions.events == [.callback])
  }

  @Test("an app that crashes again and again is launched with pauses that grow to fifteen minutes")
  func crashLoop() {
    var phone = TestPhone()
    phone.terminate()
    var pauses: [TimeSpan] = []
    for _ in 0..<12 {
      phone.arrive(.value(TestPhone.peer))
      if phone.state == .notRunning { phone.advance(by: 899) }
      if phone.state == .notRunning { phone.advance(by: 1) }
      phone.finishLaunching([TestPhone.lock])
      phone.end(.signal(6))
      for case .crashPause(_, let pause, _) in phone.takeActions().reports { pauses.append(pause) }
    }
    let seconds = pauses.map { Int($0.seconds) }
    #expect(seconds == [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900])
    phone.advance(by: 3_600)
    #expect(phone.state == .notRunning)
    phone.arrive(.value(TestPhone.peer))
    phone.end(.notStarted)
    #expect(phone.takeActions().reports.last == .crashPause(TestPhone.app, .seconds(2), count: 1))
  }

  @Test("an app that crashed waits for its pause, and for nothing when the person opens it")
  func openingAfterCrash() {
    var phone = TestPhone()
    phone.suspend()
    phone.end(.signal(11))
    phone.arrive(.value(TestPhone.peer))
    #expect(phone.state == .notRunning)
    phone.advance(by: 1)
    #expect(phone.state == .notRunning)
    phone.person(.opened)
    #expect(phone.state == .inactive)
    #expect(phone.takeActions().launches.count == 1)
  }

  @Test("an app that ends in willRestoreState loses that event and backs off")
  func endInRestoration() {
    var phone = TestPhone()
    phone.terminate()
    phone.arrive(.connected(TestPhone.peer))
    phone.finishLaunching([TestPhone.lock])
    phone.end(.status(0))
    let reports = phone.takeActions().reports
    #expect(reports.contains(.crashPause(TestPhone.app, .seconds(2), count: 1)))
    #expect(phone.counts.unacknowledgedCount == 1)
  }

  @Test("a held socket is closed when the app crashes in the foreground, and lives on otherwise")
  func sockets() {
    var phone = TestPhone(.voip)
    phone.run([.heldSocket(1)])
    phone.end(.signal(11))
    #expect(phone.takeActions().contains(.release(TestPhone.app, .heldSocket(1))))
    phone = TestPhone(.voip)
    phone.terminate([.heldSocket(1)])
    phone.arrive(.socket, .heldSocket(1))
    #expect(phone.takeActions().launches.first?.reasons == [.socket])
    phone.finishLaunching([.heldSocket(1)])
    #expect(phone.takeActions().deliveries.first == .restore(.heldSocket(1)))
  }

  @Test("what a reboot, a force-quit or a removal ends is released of a process that ends, too")
  func endedWhileEnding() {
    var phone = TestPhone(.voip)
    phone.suspend([.heldSocket(1)])
    phone.handle(.memoryPressure(.critical))
    phone.handle(.rebooted)
    #expect(phone.takeActions().contains(.release(TestPhone.app, .heldSocket(1))))
    phone = TestPhone()
    phone.suspend()
    phone.handle(.memoryPressure(.critical))
    phone.person(.forceQuit)
    phone.person(.opened)
    #expect(phone.takeActions().contains(.release(TestPhone.app, TestPhone.lock)))
    phone = TestPhone()
    phone.suspend([.location])
    phone.handle(.wants(TestPhone.app, .location, .regions))
    phone.handle(.removed(TestPhone.app))
    phone.handle(.installed(TestPhone.app, AppDescription()))
    #expect(phone.takeActions().contains(.release(TestPhone.app, .location)))
  }

  @Test("an app with the mode voip is started after a crash and after a reboot")
  func voip() {
    var phone = TestPhone(.voip)
    phone.handle(.rebooted)
    phone.handle(.unlocked)
    #expect(phone.takeActions().isEmpty, "it was never opened")
    phone.suspend([.heldSocket(1)])
    phone.end(.signal(11))
    phone.advance(by: 2)
    #expect(phone.takeActions().launches.map(\.reasons) == [[.voip]])
    phone.finishLaunching([.heldSocket(1), .keepAlive])
    phone.acknowledgeAll()
    #expect(phone.state == .suspended)
    phone.handle(.rebooted)
    phone.advance(by: 100)
    #expect(phone.takeActions().launches.isEmpty)
    phone.handle(.unlocked)
    #expect(phone.takeActions().launches.map(\.reasons) == [[.voip]])
  }

  @Test("an app that is opened while its last process ends starts when that one is gone")
  func openedWhileEnding() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.person(.forceQuit)
    phone.person(.opened)
    #expect(phone.takeActions().launches.isEmpty)
    phone.end(.status(0))
    #expect(phone.takeActions().launches.count == 1)
    phone.finishLaunching([TestPhone.lock])
    #expect(phone.takeActions().deliveries == [.transition(.didBecomeActive)])
  }
}

/// Failures of an app that the next system takes over.
@Suite struct FailureTests {
  private func isLaunched(_ phone: inout TestPhone) -> Bool {
    phone.takeActions().contains { if case .start = $0 { true } else { false } }
  }

  @Test
  func `An app that can't be started is launched by the next system after the rest of its pause`() {
    var phone = TestPhone()
    phone.run()
    phone.handle(.wants(TestPhone.app, TestPhone.lock, .links))
    for count in 1...3 {
      phone.report(.exited(.notStarted, hasOthers: false))
      #expect(phone.machine.failures(of: TestPhone.app, now: phone.now)?.crashCount == count)
      if count < 3 {
        phone.arrive(.callback)
        phone.advance(by: 10)
      }
    }
    guard let failures = phone.machine.failures(of: TestPhone.app, now: phone.now) else {
      Issue.record("nothing is kept")
      return
    }
    #expect(failures.pausedUntil == phone.now + .seconds(8))
    var next = TestPhone()
    next.now = phone.now + .seconds(3)
    next.machine.restore(failures, of: TestPhone.app, now: next.now)
    next.handle(.preserved(TestPhone.app, TestPhone.lock, .links))
    next.arrive(.callback)
    #expect(!isLaunched(&next))
    next.advance(by: 4)
    #expect(!isLaunched(&next))
    next.advance(by: 1)
    #expect(isLaunched(&next))
    next.report(.exited(.notStarted, hasOthers: false))
    #expect(next.machine.failures(of: TestPhone.app, now: next.now)?.crashCount == 4)
    #expect(
      next.machine.failures(of: TestPhone.app, now: next.now)?.pausedUntil
        == next.now + .seconds(16))
  }

  @Test func `A calendar that was set makes no pause longer than it was`() {
    let limits = AppLimits()
    var phone = TestPhone()
    let far = phone.now + .seconds(1_000_000_000)
    phone.machine.restore(
      AppFailures(crashCount: .max, lastCrash: far, overstayCount: .max, pausedUntil: far),
      of: TestPhone.app, now: phone.now)
    let failures = phone.machine.failures(of: TestPhone.app, now: phone.now)
    #expect(
      (failures?.pausedUntil).map {
        $0 - phone.now <= max(limits.crashPauseMax, limits.throttleTimeMax)
      }
        == true)
    #expect(failures?.lastCrash == phone.now)
    phone.machine.restore(
      AppFailures(crashCount: -1, overstayCount: -1, pausedUntil: far), of: TestPhone.other,
      now: phone.now)
    #expect(phone.machine.violations(perTable: 64).isEmpty)
  }

  @Test
  func `Failures are forgotten after half an hour, and the pause when the person opens the app`() {
    var phone = TestPhone()
    phone.run()
    phone.report(.exited(.notStarted, hasOthers: false))
    phone.person(.opened)
    let opened = phone.machine.failures(of: TestPhone.app, now: phone.now)
    #expect(opened?.crashCount == 1)
    #expect(opened?.pausedUntil == nil)
    phone.report(.launched)
    phone.acknowledgeAll()
    phone.now = phone.now + .seconds(1_801)
    #expect(phone.machine.failures(of: TestPhone.app, now: phone.now) == nil)
    var next = TestPhone()
    next.now = phone.now
    if let opened { next.machine.restore(opened, of: TestPhone.app, now: next.now) }
    #expect(next.machine.failures(of: TestPhone.app, now: next.now) == nil)
  }
}
