import Essentials
import Testing

@testable import AppMachines

/// Processes of a system that was killed, and the next system.
@Suite struct AdoptionTests {
  private static let process = AppProcessID(rawValue: 41)

  /// A system that has found a process of an earlier one.
  private static func phone(
    isFrozen: Bool, isInForeground: Bool = false, modes: BackgroundModes = .bluetoothCentral,
    wants: AppWants? = .links
  ) -> TestPhone {
    var phone = TestPhone(modes)
    phone.handle(
      .adopted(
        TestPhone.app, process,
        AppMachine.AppAdoption(isFrozen: isFrozen, isInForeground: isInForeground)))
    if let wants { phone.handle(.preserved(TestPhone.app, TestPhone.lock, wants)) }
    return phone
  }

  @Test func `A frozen process stays frozen until something happens for it`() {
    var phone = Self.phone(isFrozen: true)
    #expect(phone.state == .suspended && phone.process == Self.process)
    #expect(phone.takeActions() == [.freeze(Self.process)])
    phone.advance(by: 100_000)
    #expect(phone.takeActions().isEmpty)

    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.takeActions() == [.thaw(Self.process)])
    #expect(phone.state == .background)
    phone.report(.opened(.location))
    phone.report(.resumed(isInForeground: false))
    #expect(phone.takeActions().isEmpty)
    // Core Bluetooth has found the system, too.
    phone.report(.opened(TestPhone.lock))
    let actions = phone.takeActions()
    #expect(actions.deliveries.first == .restore(TestPhone.lock))
    #expect(actions.events == [.connected(TestPhone.peer)])
    phone.acknowledgeAll()
    #expect(phone.state == .suspended && phone.counts.launchCount == 0)
    #expect(phone.counts.unacknowledgedCount == 0)
  }

  @Test func `A process in the foreground stays there, and is told nothing again`() {
    var phone = Self.phone(isFrozen: false, isInForeground: true)
    phone.report(.opened(TestPhone.lock))
    phone.report(.resumed(isInForeground: true))
    #expect(phone.state == .active)
    #expect(phone.takeActions().transitions.isEmpty)
    phone.person(.sentToBackground)
    #expect(phone.takeActions().transitions == [.willResignActive, .didEnterBackground])
  }

  @Test func `What the person did meanwhile is told to the process when it has reported`() {
    var left = Self.phone(isFrozen: false, isInForeground: true)
    left.person(.sentToBackground)
    left.report(.resumed(isInForeground: true))
    #expect(left.takeActions().transitions == [.willResignActive, .didEnterBackground])
    #expect(left.state == .background)

    var opened = Self.phone(isFrozen: true)
    opened.person(.opened)
    #expect(opened.state == .inactive)
    #expect(opened.takeActions() == [.freeze(Self.process), .thaw(Self.process)])
    opened.report(.resumed(isInForeground: false))
    #expect(opened.takeActions().transitions == [.willEnterForeground, .didBecomeActive])
    #expect(opened.state == .active)
  }

  @Test func `A process in the background has the time of one that was woken, and no more`() {
    var phone = Self.phone(isFrozen: false, wants: nil)
    phone.report(.beganBackgroundTask(AppTaskID(rawValue: 9)))
    phone.report(.resumed(isInForeground: false))
    #expect(phone.state == .background)
    _ = phone.takeActions()
    phone.advance(by: 26)
    #expect(phone.takeActions() == [.expire(Self.process, AppTaskID(rawValue: 9))])
    phone.advance(by: 5)
    #expect(phone.takeActions().contains(.kill(Self.process)))
  }

  @Test func `A process that doesn't report in time is ended, and the next one is launched`() {
    var phone = Self.phone(isFrozen: true)
    phone.arrive(.connected(TestPhone.peer))
    _ = phone.takeActions()
    phone.advance(by: 21)
    #expect(phone.takeActions().contains(.kill(Self.process)))
    phone.end(.signal(9))
    phone.advance(by: 3)
    let launches = phone.takeActions().launches
    #expect(launches.map(\.options?.centrals) == [["lock"]])
    #expect(phone.process > Self.process)
  }

  @Test func `An event for an app without the mode doesn't wake its process`() {
    var phone = Self.phone(isFrozen: true, modes: [])
    _ = phone.takeActions()
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.state == .suspended && phone.takeActions().isEmpty)
    phone.handle(.mustResume(TestPhone.app))
    #expect(phone.takeActions() == [.thaw(Self.process)])
  }

  @Test func `An app with the mode voip and no process is launched if it has to find the system`() {
    for (modes, launches) in [(BackgroundModes.voip, [[AppWakeReason.voip]]), ([], [])] {
      var phone = TestPhone(modes)
      phone.handle(.mustResume(TestPhone.app))
      #expect(phone.takeActions().launches.map(\.reasons) == launches)
    }
    var phone = TestPhone(.voip)
    phone.handle(.person(TestPhone.app, .forceQuit))
    phone.handle(.mustResume(TestPhone.app))
    #expect(phone.takeActions().launches.isEmpty)
  }

  @Test func `A process can't complete an event with the number of one of the earlier system`() {
    var earlier = TestPhone()
    earlier.run()
    for _ in 0..<100 { earlier.arrive(.value(TestPhone.peer)) }
    earlier.advance(by: 1)
    var next = TestPhone()
    next.now = earlier.now
    next.handle(
      .adopted(
        TestPhone.app, Self.process,
        AppMachine.AppAdoption(isFrozen: true, isInForeground: false)))
    #expect(next.machine.nextEvent > earlier.machine.nextEvent)
  }

  @Test func `A server needs its process after a restart, and a preserved connection doesn't`() {
    var phone = TestPhone([.bluetoothCentral, .bluetoothPeripheral])
    phone.run([TestPhone.lock, TestPhone.server], wants: .links)
    #expect(phone.machine.needsProcess(TestPhone.app))
    phone.handle(.wants(TestPhone.app, TestPhone.server, []))
    #expect(!phone.machine.needsProcess(TestPhone.app))
  }

  @Test func `A process of an app that was force-quit is ended`() {
    var phone = Self.phone(isFrozen: true)
    phone.person(.forceQuit)
    #expect(phone.takeActions().contains(.kill(Self.process)))
    phone.end(.signal(9))
    #expect(phone.state == .notRunning && phone.counts.crashCount == 0)
  }

  @Test func `A process that another program has let run is frozen again, and keeps what it has`() {
    var phone = Self.phone(isFrozen: true)
    phone.report(.opened(TestPhone.lock))
    phone.report(.resumed(isInForeground: false))
    #expect(phone.state == .suspended)
    #expect(phone.takeActions() == [.freeze(Self.process), .freeze(Self.process)])
    phone.arrive(.value(TestPhone.peer))
    #expect(phone.takeActions().events == [.value(TestPhone.peer)])
  }

  @Test
  func `Reports of a process that was not adopted as one of an earlier system have no effect`() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    phone.report(.resumed(isInForeground: false))
    #expect(phone.state == .active && phone.takeActions().isEmpty)
  }
}
