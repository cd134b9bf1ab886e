import Essentials
import Testing

@testable import AppMachines

/// "Core Bluetooth Background Processing for iOS Apps", of Apple's Core Bluetooth Programming Guide.
@Suite("Waking a suspended app")
struct WakeTests {
  @Test("a foreground-only app gets the events of its suspension, in order, when opened")
  func foregroundOnly() {
    var phone = TestPhone([])
    phone.suspend()
    let kinds: [AppEvent.Kind] = [
      .connected(TestPhone.peer), .value(TestPhone.peer), .callback,
      .disconnected(TestPhone.peer, isBeyondLimit: false),
    ]
    for kind in kinds { phone.arrive(kind) }
    phone.advance(by: 3_600)
    #expect(phone.state == .suspended && phone.takeActions().isEmpty)
    phone.person(.opened)
    let actions = phone.takeActions()
    #expect(actions.events == kinds)
    #expect(actions.deliveries.first == .transition(.willEnterForeground))
  }

  /// An app that is opened again, and left before it has made its manager.
  private static func leftEarly() -> TestPhone {
    var phone = TestPhone()
    phone.terminate()
    phone.person(.opened)
    phone.report(.launched)
    phone.acknowledgeAll()
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    #expect(phone.state == .suspended)
    _ = phone.takeActions()
    return phone
  }

  @Test func `An app that was suspended before it has made its manager is woken for its events`() {
    var phone = Self.leftEarly()
    phone.arrive(.connected(TestPhone.peer))
    #expect(phone.takeActions() == [.thaw(phone.process)])
    phone.advance(by: 1)
    #expect(phone.state == .background)
    phone.report(.opened(TestPhone.lock))
    let actions = phone.takeActions()
    #expect(actions.deliveries.first == .restore(TestPhone.lock))
    #expect(actions.events == [.connected(TestPhone.peer)])
    phone.acknowledgeAll()
    #expect(phone.state == .suspended)
  }

  @Test func `An app that never makes its manager is suspended again, and not woken twice for it`()
  {
    var phone = Self.leftEarly()
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 11)
    #expect(phone.state == .suspended)
    #expect(phone.takeActions().reports == [.unclaimed(TestPhone.app, TestPhone.lock)])
    phone.advance(by: 3_600)
    #expect(phone.takeActions().isEmpty)
  }

  @Test("events of a foreground-only app wait for the foreground, though something else wakes it")
  func foregroundOnlyWokenForOther() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([TestPhone.lock, .notifications])
    phone.arrive(.connected(TestPhone.peer))
    let silent = AppEvent.Kind.notification(isSilent: true, hasAlert: false)
    phone.arrive(silent, .notifications)
    #expect(phone.takeActions().events == [silent])
    phone.arrive(.value(TestPhone.peer))
    #expect(phone.takeActions().isEmpty)
    phone.person(.opened)
    #expect(phone.takeActions().events == [.connected(TestPhone.peer), .value(TestPhone.peer)])
  }

  @Test("an app with the mode bluetooth-central is woken for each callback of its managers")
  func central() {
    let kinds: [AppEvent.Kind] = [
      .callback, .connected(TestPhone.peer), .value(TestPhone.peer), .discovered(TestPhone.peer),
      .disconnected(TestPhone.peer, isBeyondLimit: false),
    ]
    for receiver in [TestPhone.lock, .unnamedCentral(1)] {
      var phone = TestPhone()
      phone.suspend([receiver])
      for kind in kinds {
        phone.arrive(kind, receiver)
        #expect(phone.takeActions().events == [kind])
        phone.acknowledgeAll()
        #expect(phone.state == .suspended)
      }
      #expect(phone.counts.wakeCount == 5)
      #expect(phone.counts.reasonCounts == [.bluetoothCentral: 5])
    }
  }

  @Test("an app isn't woken for a manager whose mode it doesn't have")
  func modes() {
    for (mode, other) in [
      (BackgroundModes.bluetoothCentral, TestPhone.server),
      (.bluetoothPeripheral, TestPhone.lock), (.voip, TestPhone.lock),
      (.bluetoothCentral, .heldSocket(1)),
    ] {
      var phone = TestPhone(mode)
      phone.suspend([other])
      phone.arrive(.callback, other)
      phone.advance(by: 600)
      #expect(phone.state == .suspended && phone.takeActions().isEmpty)
    }
  }

  @Test("a request of a central wakes an app with the mode bluetooth-peripheral")
  func request() {
    var phone = TestPhone(.bluetoothPeripheral)
    phone.suspend([TestPhone.server])
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    #expect(phone.takeActions().events == [.request(TestPhone.peer)])
    phone.acknowledgeAll()
    #expect(phone.state == .background)
    phone.report(.completed(AppEventID(rawValue: phone.machine.numbers.event)))
    #expect(phone.state == .suspended && phone.takeActions() == [.freeze(phone.process)])
  }

  @Test("a central gets an error at once from a suspended peripheral without the mode")
  func refusedRequest() {
    var phone = TestPhone([])
    phone.suspend([TestPhone.server])
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    #expect(phone.takeActions() == [.refuse(TestPhone.app, AppEventID(rawValue: 1))])
    #expect(phone.counts.refusedCount == 1)
  }

  @Test("a request that an app doesn't answer is refused after ten seconds, in the foreground, too")
  func unansweredRequest() {
    var phone = TestPhone(.bluetoothPeripheral)
    phone.run([TestPhone.server])
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    _ = phone.takeActions()
    phone.advance(by: 9)
    #expect(phone.takeActions().isEmpty)
    phone.advance(by: 1)
    #expect(phone.takeActions() == [.refuse(TestPhone.app, AppEventID(rawValue: 1))])
    // Its late answer is no error.
    phone.report(.completed(AppEventID(rawValue: 1)))
    #expect(phone.takeActions().isEmpty)
  }

  @Test("requests are refused when the process ends, and at once while it isn't woken")
  func requestsOfGoneApp() {
    var phone = TestPhone(.bluetoothPeripheral)
    phone.suspend([TestPhone.server])
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    phone.advance(by: 10)
    #expect(phone.state == .suspended)
    _ = phone.takeActions()
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    #expect(phone.takeActions() == [.refuse(TestPhone.app, AppEventID(rawValue: 2))])
    phone.advance(by: 60)
    phone.arrive(.request(TestPhone.peer), TestPhone.server)
    phone.end(.signal(6))
    #expect(phone.takeActions().contains(.refuse(TestPhone.app, AppEventID(rawValue: 3))))
  }

  @Test("discoveries of one peripheral are one event while the app is in the background")
  func coalescing() {
    var phone = TestPhone([])
    phone.suspend()
    for number in 0..<100 as Range<UInt8> {
      for peer in 1...2 as ClosedRange<UInt64> {
        phone.arrive(
          AppEvent(
            .discovered(AppPeer(rawValue: peer)), for: TestPhone.lock, key: peer,
            payload: [number]))
      }
    }
    #expect(phone.counts.coalescedCount == 198)
    phone.person(.opened)
    let payloads = phone.takeActions().deliveries.compactMap { delivery -> [UInt8]? in
      if case .event(_, let event) = delivery { event.payload } else { nil }
    }
    #expect(payloads == [[99], [99]])
  }

  @Test("events with one key are not combined in the foreground")
  func duplicatesInForeground() {
    var phone = TestPhone()
    phone.run()
    _ = phone.takeActions()
    for _ in 0..<3 {
      phone.arrive(AppEvent(.discovered(TestPhone.peer), for: TestPhone.lock, key: 1))
    }
    #expect(phone.takeActions().events.count == 3)
  }

  @Test("events that come while an app isn't woken are one wake")
  func oneWake() {
    var phone = TestPhone()
    phone.suspend()
    phone.arrive(.connected(TestPhone.peer))
    phone.advance(by: 10)
    for _ in 0..<5 { phone.arrive(.value(TestPhone.peer)) }
    phone.advance(by: 60)
    #expect(phone.takeActions().filter { $0 == .thaw(phone.process) }.count == 2)
    #expect(phone.counts.wakeCount == 2)
  }

  @Test("a process that doesn't acknowledge gets no more than 64 events")
  func window() {
    var phone = TestPhone()
    phone.run()
    for _ in 0..<100 { phone.arrive(.value(TestPhone.peer)) }
    #expect(phone.counts.handedCount == 64)
    phone.report(.acknowledged(10))
    #expect(phone.counts.handedCount == 74)
  }

  @Test("an alert that the app has asked for is shown while it is suspended, and opens it")
  func connectionAlert() {
    var phone = TestPhone([])
    phone.run()
    let event = AppEvent(.connected(TestPhone.peer), for: TestPhone.lock, showsAlert: true)
    phone.arrive(event)
    #expect(!phone.takeActions().contains(.alert(TestPhone.app, AppEventID(rawValue: 1))))
    phone.acknowledgeAll()
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    phone.arrive(event)
    #expect(phone.takeActions().contains(.alert(TestPhone.app, AppEventID(rawValue: 2))))
    phone.person(.openedAlert(AppEventID(rawValue: 2)))
    #expect(phone.takeActions().events == [.connected(TestPhone.peer)])
  }

  @Test("data of a held socket and the keep-alive timeout wake an app with the mode voip")
  func sockets() {
    var phone = TestPhone(.voip)
    phone.suspend([.heldSocket(3), .keepAlive])
    phone.arrive(.socket, .heldSocket(3))
    #expect(phone.takeActions().events == [.socket])
    phone.acknowledgeAll()
    phone.arrive(.keepAlive, .keepAlive)
    #expect(phone.takeActions().events == [.keepAlive])
    phone.advance(by: 10)
    #expect(phone.takeActions().contains(.freeze(phone.process)))
  }

  @Test("the display reports the states of regions to apps that want it")
  func display() {
    var phone = TestPhone([])
    phone.suspend([.location])
    phone.handle(.wants(TestPhone.app, .location, .regions))
    phone.handle(.displaySwitchedOn)
    #expect(phone.takeActions().isEmpty)
    phone.handle(.wants(TestPhone.app, .location, [.regions, .regionsOnDisplay]))
    phone.handle(.displaySwitchedOn)
    #expect(phone.takeActions() == [.reportRegionStates(TestPhone.app)])
    phone.arrive(.region, .location)
    #expect(phone.takeActions().events == [.region])
  }

  @Test("an event for a manager that has ended is discarded, and reported once")
  func endedManager() {
    var phone = TestPhone([])
    phone.suspend()
    phone.arrive(.callback)
    phone.report(.closed(TestPhone.lock))
    phone.arrive(.callback)
    #expect(phone.takeActions().reports == [.discarded(TestPhone.app, .noReceiver)])
    #expect(phone.counts.discardedCount == 2)
  }
}
