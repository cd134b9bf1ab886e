import Essentials
import Testing

@testable import AppMachines

@Suite("The queue of an app that doesn't run")
struct LimitTests {
  private static func value(_ peer: UInt64, bytes: Int = 1) -> AppEvent {
    AppEvent(
      .value(AppPeer(rawValue: peer)), for: TestPhone.lock,
      payload: [UInt8](repeating: 0, count: bytes))
  }

  @Test("values that are too many end a link with leGattExceededBackgroundNotificationLimit")
  func valueLimit() {
    var phone = TestPhone([])
    phone.suspend()
    for _ in 0..<959 { phone.arrive(Self.value(1)) }
    phone.arrive(Self.value(2))
    #expect(phone.takeActions().isEmpty)
    let peer = AppPeer(rawValue: 1)
    for _ in 0..<10 { phone.arrive(Self.value(1)) }
    phone.arrive(.disconnected(peer, isBeyondLimit: false))
    #expect(
      phone.takeActions() == [
        .report(.discarded(TestPhone.app, .limit)),
        .disconnect(TestPhone.app, TestPhone.lock, peer),
        .report(.beyondLimit(TestPhone.app, TestPhone.lock, peer)),
      ])
    #expect(phone.counts.discardedCount == 10)
    phone.person(.opened)
    var events = phone.takeActions().events
    while events.count < 961 {
      phone.acknowledgeAll()
      let more = phone.takeActions().events
      guard !more.isEmpty else { break }
      events += more
    }
    #expect(events.count == 961)
    #expect(events.last == .disconnected(peer, isBeyondLimit: true))
    #expect(events.dropLast().last == .value(AppPeer(rawValue: 2)))
  }

  @Test("values are counted by their bytes, too")
  func byteLimit() {
    var phone = TestPhone([])
    phone.suspend()
    for _ in 0..<2_048 { phone.arrive(Self.value(1, bytes: 2_048)) }
    let peer = AppPeer(rawValue: 1)
    #expect(phone.takeActions().contains(.disconnect(TestPhone.app, TestPhone.lock, peer)))
    phone.arrive(Self.value(2, bytes: 2 << 20))
    #expect(phone.counts.discardedCount == 2_048 - 512 + 1)
  }

  @Test("a peer that connects again begins anew, and its values end its link again")
  func reconnecting() {
    var limits = AppLimits()
    limits.waitingCountMax = 20
    limits.waitingCountForValuesMax = 10
    var phone = TestPhone([], limits: limits)
    phone.suspend()
    let peer = AppPeer(rawValue: 1)
    for _ in 0..<100 {
      phone.arrive(.connected(peer))
      for _ in 0..<20 { phone.arrive(Self.value(1)) }
      phone.arrive(.disconnected(peer, isBeyondLimit: false))
    }
    let cuts = phone.takeActions().filter {
      $0 == .disconnect(TestPhone.app, TestPhone.lock, peer)
    }
    #expect(cuts.count == 100)
    phone.person(.opened)
    #expect(phone.takeActions().events.last == .disconnected(peer, isBeyondLimit: true))
  }

  @Test("the oldest event makes room for a new one where no values wait, and is counted")
  func otherEvents() {
    var phone = TestPhone([])
    phone.suspend()
    for number in 0..<1_100 as Range<UInt64> {
      phone.arrive(.connected(AppPeer(rawValue: number)))
    }
    #expect(phone.counts.discardedCount == 76)
    #expect(phone.takeActions().reports == [.discarded(TestPhone.app, .limit)])
    phone.person(.opened)
    #expect(phone.takeActions().events.first == .connected(AppPeer(rawValue: 76)))
  }

  @Test("a process may open 256 receivers and begin as many background tasks")
  func tables() {
    var phone = TestPhone()
    phone.run([])
    _ = phone.takeActions()
    for number in 0...256 as ClosedRange<UInt64> {
      phone.report(.opened(.unnamedCentral(number)))
      phone.report(.beganBackgroundTask(AppTaskID(rawValue: number)))
    }
    #expect(
      phone.takeActions() == [
        .report(.misuse(TestPhone.app, phone.process, .tooManyReceivers)),
        .report(.misuse(TestPhone.app, phone.process, .tooManyBackgroundTasks)),
        .refuseBackgroundTask(phone.process, AppTaskID(rawValue: 256)),
      ])
  }

  @Test("an app keeps the wishes of 256 managers, though each process has others")
  func wishes() {
    var phone = TestPhone()
    for number in 0..<10 {
      phone.person(.opened)
      for other in 0..<100 {
        let receiver = AppReceiver.central("\(number) \(other)")
        phone.report(.opened(receiver))
        phone.handle(.wants(TestPhone.app, receiver, .links))
      }
      phone.end(.signal(6))
    }
    #expect(phone.machine.apps[TestPhone.app]?.wants.count == 256)
    let last = AppReceiver.central("9 99")
    #expect(phone.takeActions().contains(.release(TestPhone.app, last)))
  }

  @Test("the completion handlers of 256 events are waited for")
  func handlers() {
    var phone = TestPhone()
    phone.run([.notifications])
    for _ in 0..<300 {
      phone.arrive(.notification(isSilent: true, hasAlert: false), .notifications)
      phone.acknowledgeAll()
    }
    #expect(phone.machine.apps[TestPhone.app]?.process?.work.count == 256)
    let misuse = AppReport.misuse(TestPhone.app, phone.process, .tooManyNotCompleted)
    #expect(phone.takeActions().reports.filter { $0 == misuse }.count == 44)
  }

  @Test("alerts beyond their number replace the oldest ones, which are counted")
  func alerts() {
    var phone = TestPhone([])
    for _ in 0..<70 {
      phone.arrive(.notification(isSilent: false, hasAlert: true), .notifications)
    }
    #expect(phone.counts.unseenAlertCount == 6)
  }
}
