import Essentials
import Testing

@testable import AppMachines

/// QA1962, TN3115, and the thread 826964 of Apple's developer forum, about relaunching apps for Bluetooth.
@Suite("Launching an app that doesn't run")
struct LaunchTests {
  private static let eras: [AppRules] = [.iOS18, .iOS26]

  @Test("an app that was removed from memory is launched for its manager, and gets its state first")
  func memoryPressure() {
    var phone = TestPhone()
    phone.terminate()
    phone.advance(by: 3 * 86_400)
    #expect(phone.counts.launchCount == 1)
    phone.arrive(.connected(TestPhone.peer))
    var options = AppLaunchOptions()
    options.centrals = ["lock"]
    let launch = AppLaunch(isInForeground: false, options: options, reasons: [.bluetoothCentral])
    #expect(phone.takeActions().launches == [launch])
    #expect(phone.state == .background)
    phone.report(.opened(TestPhone.lock))
    #expect(phone.takeActions().isEmpty)
    phone.report(.launched)
    let deliveries = phone.takeActions().deliveries
    #expect(deliveries.first == .restore(TestPhone.lock) && deliveries.count == 2)
    phone.acknowledgeAll()
    #expect(phone.state == .suspended)
  }

  @Test("an app that crashed is launched, in both eras", arguments: eras)
  func crash(rules: AppRules) {
    var phone = TestPhone(rules: rules)
    phone.suspend()
    phone.end(.signal(11))
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 2)
    #expect(phone.takeActions().launches.count == 1)
  }

  @Test("an app that the person ended is not launched until the person opens it", arguments: eras)
  func forceQuit(rules: AppRules) {
    let modes: BackgroundModes = [
      .bluetoothCentral, .bluetoothPeripheral, .voip, .fetch, .remoteNotification, .processing,
    ]
    var phone = TestPhone(modes, rules: rules)
    let receivers = [TestPhone.lock, TestPhone.server, .heldSocket(1), .notifications, .tasks]
    phone.suspend(receivers)
    phone.person(.forceQuit)
    phone.end(.signal(9))
    let actions = phone.takeActions()
    for receiver in receivers.prefix(3) {
      #expect(actions.contains(.release(TestPhone.app, receiver)))
    }
    let events = [
      AppEvent(.connected(TestPhone.peer), for: TestPhone.lock),
      AppEvent(.callback, for: TestPhone.server), AppEvent(.socket, for: .heldSocket(1)),
      AppEvent(.notification(isSilent: true, hasAlert: false), for: .notifications),
      AppEvent(.refresh, for: .tasks), AppEvent(.processing, for: .tasks),
    ]
    for event in events { phone.arrive(event) }
    phone.handle(.rebooted)
    phone.handle(.unlocked)
    for event in events { phone.arrive(event) }
    phone.advance(by: 86_400)
    #expect(phone.takeActions().launches.isEmpty && phone.counts.discardedCount >= 10)
    phone.person(.opened)
    phone.finishLaunching(receivers)
    // The person's force-quit ended all that there was to restore.
    #expect(phone.takeActions().deliveries == [.transition(.didBecomeActive)])
  }

  @Test("after a force-quit, regions launch an app up to iOS 18", arguments: eras)
  func regionAfterForceQuit(rules: AppRules) {
    var phone = TestPhone([], rules: rules)
    phone.suspend([.location])
    phone.handle(.wants(TestPhone.app, .location, .regions))
    phone.person(.forceQuit)
    phone.end(.signal(9))
    _ = phone.takeActions()
    phone.arrive(.region, .location)
    #expect(phone.takeActions().launches.isEmpty == (rules == .iOS26))
    #expect(phone.counts.discardedCount == (rules == .iOS26 ? 1 : 0))
  }

  @Test("after a force-quit, accessories that were set up launch an app in iOS 26", arguments: eras)
  func accessoryAfterForceQuit(rules: AppRules) {
    var phone = TestPhone(rules: rules)
    phone.suspend()
    phone.handle(.wants(TestPhone.app, TestPhone.lock, [.links, .accessory]))
    phone.person(.forceQuit)
    phone.end(.signal(9))
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.takeActions().launches.isEmpty)
    phone.arrive(
      AppEvent(.connected(TestPhone.peer), for: TestPhone.lock, isOfAccessory: true))
    #expect(phone.takeActions().launches.isEmpty == (rules == .iOS18))
  }

  @Test("after a reboot an app is launched once the device was unlocked", arguments: eras)
  func reboot(rules: AppRules) {
    var phone = TestPhone(rules: rules)
    phone.suspend()
    phone.arrive(.value(TestPhone.peer))
    phone.handle(.rebooted)
    #expect(phone.state == .notRunning && phone.counts.unacknowledgedCount == 1)
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 3_600)
    #expect(phone.takeActions().launches.isEmpty)
    phone.handle(.unlocked)
    #expect(phone.takeActions().launches.count == 1)
    phone.finishLaunching([TestPhone.lock])
    #expect(phone.takeActions().events == [.connected(TestPhone.peer)])
  }

  @Test(
    "Control Center, airplane mode and an unplugged radio leave apps their launches",
    arguments: [
      AppMachine.RadioOff.controlCenter, .airplaneMode(switchesBluetooth: false), .unplugged,
    ])
  func radioOff(way: AppMachine.RadioOff) {
    var phone = TestPhone()
    phone.terminate()
    phone.handle(.radio(.off(way)))
    phone.handle(.radio(.on))
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.takeActions().launches.count == 1)
  }

  @Test(
    "Bluetooth off in Settings ends launches until the device is started again or the app is opened",
    arguments: [AppMachine.RadioOff.settings, .airplaneMode(switchesBluetooth: true)])
  func radioOffInSettings(way: AppMachine.RadioOff) {
    for isRebooted in [true, false] {
      var phone = TestPhone()
      phone.terminate()
      phone.handle(.radio(.off(way)))
      phone.handle(.radio(.on))
      phone.arrive(.connected(TestPhone.peer))
      phone.advance(by: 86_400)
      #expect(phone.takeActions().launches.isEmpty)
      if isRebooted {
        phone.handle(.rebooted)
        phone.handle(.unlocked)
        phone.arrive(.connected(TestPhone.peer))
        #expect(phone.takeActions().launches.count == 1)
      } else {
        phone.person(.opened)
        phone.finishLaunching([TestPhone.lock])
        #expect(phone.takeActions().events == [.connected(TestPhone.peer)])
      }
    }
  }

  @Test("an app that ends while Bluetooth is off in Settings is not launched")
  func endsWhileOff() {
    var phone = TestPhone()
    phone.suspend()
    phone.handle(.radio(.off(.settings)))
    phone.arrive(.callback)
    #expect(phone.takeActions().events == [.callback])
    phone.acknowledgeAll()
    phone.handle(.memoryPressure(.critical))
    phone.end(.signal(9))
    phone.handle(.radio(.on))
    phone.arrive(.callback)
    #expect(phone.takeActions().launches.isEmpty)
  }

  @Test("a peripheral manager launches its app only if it was advertising")
  func peripheral() {
    var phone = TestPhone(.bluetoothPeripheral)
    phone.terminate([TestPhone.server])
    phone.handle(.wants(TestPhone.app, TestPhone.server, .services))
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    #expect(phone.takeActions() == [.refuse(TestPhone.app, AppEventID(rawValue: 1))])
    phone.handle(.wants(TestPhone.app, TestPhone.server, [.services, .advertising]))
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    let launches = phone.takeActions().launches
    #expect(launches.first?.options?.peripherals == ["server"])
    #expect(launches.first?.reasons == [.bluetoothPeripheral])
  }

  @Test("a request for an app that is launched waits ten seconds for an answer")
  func requestDuringLaunch() {
    var phone = TestPhone(.bluetoothPeripheral)
    phone.terminate([TestPhone.server])
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    _ = phone.takeActions()
    phone.advance(by: 9)
    #expect(phone.takeActions().isEmpty)
    phone.advance(by: 1)
    #expect(phone.takeActions() == [.refuse(TestPhone.app, AppEventID(rawValue: 1))])
  }

  @Test("launch options name only the managers with something to do, and are nil with scenes")
  func launchOptions() {
    for hasScenes in [false, true] {
      var phone = TestPhone(
        description: AppDescription(
          modes: [.bluetoothCentral, .bluetoothPeripheral], hasScenes: hasScenes))
      phone.suspend([.central("b"), .central("a"), .central("idle"), TestPhone.server, .location])
      phone.handle(.wants(TestPhone.app, .location, .regions))
      phone.handle(.memoryPressure(.critical))
      // Before its process is gone, so that one launch is for all of them.
      for receiver in [AppReceiver.central("b"), .central("a"), TestPhone.server] {
        phone.arrive(.callback, receiver)
      }
      phone.arrive(.region, .location)
      phone.end(.signal(9))
      let launch = phone.takeActions().launches.first
      #expect(launch?.reasons == [.bluetoothCentral, .bluetoothPeripheral, .region])
      var options = AppLaunchOptions()
      options.centrals = ["a", "b"]
      options.peripherals = ["server"]
      options.isForLocation = true
      #expect(launch?.options == (hasScenes ? nil : options))
      phone.finishLaunching([.central("b"), .location])
      #expect(
        phone.takeActions().deliveries.map(\.receiver)
          == [.central("b"), .central("b"), .location])
    }
  }

  @Test("state is restored also when the person opens the app after the system ended it")
  func restorationWhenOpened() {
    var phone = TestPhone()
    phone.terminate()
    phone.person(.opened)
    #expect(phone.takeActions().launches.first?.options == nil)
    phone.finishLaunching([TestPhone.lock])
    #expect(
      phone.takeActions().deliveries
        == [.restore(TestPhone.lock), .transition(.didBecomeActive)])
  }

  @Test("an app without the mode, or a manager without a name, leaves nothing to restore")
  func nothingToRestore() {
    for (modes, receiver) in [
      (BackgroundModes(), TestPhone.lock), (.bluetoothCentral, AppReceiver.unnamedCentral(1)),
      (.bluetoothCentral, TestPhone.server),
    ] {
      var phone = TestPhone(modes)
      phone.suspend([receiver])
      phone.handle(.memoryPressure(.critical))
      phone.end(.signal(9))
      #expect(phone.takeActions().contains(.release(TestPhone.app, receiver)))
      phone.arrive(.callback, receiver)
      #expect(phone.takeActions().launches.isEmpty)
    }
  }

  @Test("a manager that is made late gets its state, and one that isn't made is reported")
  func lateManagers() {
    var phone = TestPhone()
    phone.terminate()
    phone.arrive(.connected(TestPhone.peer))
    phone.report(.launched)
    phone.advance(by: 9)
    phone.report(.opened(TestPhone.lock))
    let late = phone.takeActions()
    #expect(late.deliveries.first == .restore(TestPhone.lock))
    #expect(late.events == [.connected(TestPhone.peer)])
    phone.acknowledgeAll()
    phone.handle(.memoryPressure(.critical))
    phone.end(.signal(9))
    phone.arrive(.value(TestPhone.peer))
    phone.finishLaunching([.central("new name")])
    _ = phone.takeActions()
    phone.advance(by: 10)
    #expect(phone.state == .suspended)
    let reports = phone.takeActions().reports
    #expect(reports == [.unclaimed(TestPhone.app, TestPhone.lock)])
    // It is not woken for events that no manager takes.
    phone.arrive(.value(TestPhone.peer))
    #expect(phone.takeActions().isEmpty)
  }

  @Test("an event whose manager is not made launches one process, and waits for the manager")
  func noLaunchLoop() {
    var phone = TestPhone(
      description: AppDescription(modes: .bluetoothCentral, exitsOnSuspend: true))
    phone.run()
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    phone.end(.status(0))
    phone.arrive(.connected(TestPhone.peer))
    phone.finishLaunching([.central("new name")])
    phone.advance(by: 10)
    phone.end(.status(0))
    phone.advance(by: 86_400)
    #expect(phone.state == .notRunning && phone.counts.launchCount == 2)
    phone.person(.opened)
    phone.finishLaunching([TestPhone.lock])
    #expect(phone.takeActions().events == [.connected(TestPhone.peer)])
  }

  @Test("a manager that is made again with its identifier keeps its events when the first one ends")
  func replacedManager() {
    var phone = TestPhone()
    phone.run()
    phone.report(.opened(TestPhone.lock))
    phone.report(.closed(TestPhone.lock))
    _ = phone.takeActions()
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.takeActions().events == [.connected(TestPhone.peer)])
    phone.report(.closed(TestPhone.lock))
    phone.arrive(.callback)
    #expect(phone.takeActions().reports == [.discarded(TestPhone.app, .noReceiver)])
  }

  @Test("two managers with one restore identifier are reported, and the state is given once")
  func oneIdentifierTwice() {
    var phone = TestPhone()
    phone.terminate()
    phone.person(.opened)
    phone.finishLaunching([TestPhone.lock, TestPhone.lock])
    let actions = phone.takeActions()
    #expect(actions.deliveries.filter { $0 == .restore(TestPhone.lock) }.count == 1)
    let misuse = AppReport.misuse(TestPhone.app, phone.process, .openedTwice)
    #expect(actions.reports == [misuse])
  }

  @Test("the first region event waits for a delegate that is set late")
  func lateRegionDelegate() {
    var phone = TestPhone([])
    phone.suspend([.location])
    phone.handle(.wants(TestPhone.app, .location, .regions))
    phone.handle(.memoryPressure(.critical))
    phone.end(.signal(9))
    phone.arrive(.region, .location)
    #expect(phone.takeActions().launches.first?.options?.isForLocation == true)
    phone.report(.launched)
    phone.advance(by: 5)
    phone.report(.opened(.location))
    #expect(phone.takeActions().events == [.region])
  }
}

extension AppDelivery {
  var receiver: AppReceiver? {
    switch self {
    case .transition: nil
    case .restore(let receiver): receiver
    case .event(_, let event): event.receiver
    }
  }
}
