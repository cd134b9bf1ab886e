import Essentials
import Testing

@testable import AppMachines

/// The table of Apple's rules for remote notifications, of `UIApplicationDelegate` and `UserNotifications`.
@Suite("Remote notifications")
struct NotificationTests {
  private static let silent = AppEvent(
    .notification(isSilent: true, hasAlert: false), for: .notifications)
  private static let loud = AppEvent(
    .notification(isSilent: false, hasAlert: true), for: .notifications)

  @Test("an active app gets the notification, without an alert")
  func active() {
    var phone = TestPhone([])
    phone.run([.notifications])
    _ = phone.takeActions()
    phone.arrive(Self.loud)
    let actions = phone.takeActions()
    #expect(actions.count == 1 && actions.events == [Self.loud.kind])
  }

  @Test("a suspended app gets a notification with an alert only when the person taps it")
  func suspended() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([.notifications])
    phone.arrive(Self.loud)
    let id = AppEventID(rawValue: phone.machine.numbers.event)
    #expect(phone.takeActions() == [.alert(TestPhone.app, id)])
    phone.person(.openedAlert(id))
    #expect(phone.takeActions().events == [Self.loud.kind])
  }

  @Test("a silent notification wakes a suspended app, and launches one that the system ended")
  func silent() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([.notifications])
    phone.arrive(Self.silent)
    #expect(phone.takeActions().events == [Self.silent.kind])
    phone = TestPhone(.remoteNotification)
    phone.terminate([.notifications])
    phone.arrive(Self.silent)
    #expect(phone.takeActions().launches.map(\.reasons) == [[.notification]])
    phone.finishLaunching([.notifications])
    #expect(phone.takeActions().events == [Self.silent.kind])
  }

  @Test("a silent notification does nothing for an app without the mode that doesn't run")
  func withoutMode() {
    var phone = TestPhone([])
    phone.terminate([.notifications])
    phone.arrive(Self.silent)
    #expect(phone.takeActions() == [.report(.discarded(TestPhone.app, .notRunning))])
  }

  @Test("a tapped notification is an option and an event, a tapped icon brings neither")
  func tapping() {
    for isIcon in [false, true] {
      var phone = TestPhone([])
      phone.terminate([.notifications])
      var loud = Self.loud
      loud.payload = [1, 2]
      phone.arrive(loud)
      let id = AppEventID(rawValue: phone.machine.numbers.event)
      #expect(phone.takeActions() == [.alert(TestPhone.app, id)])
      phone.person(isIcon ? .opened : .openedAlert(id))
      let launch = phone.takeActions().launches.first
      let options = launch?.options
      #expect(launch?.notification == (isIcon ? [] : [1, 2]))
      phone.finishLaunching([.notifications])
      let deliveries = phone.takeActions().deliveries
      guard !isIcon else {
        #expect(options == nil && deliveries == [.transition(.didBecomeActive)])
        continue
      }
      loud.isTapped = true
      #expect(deliveries.last == options?.notification.map { .event($0, loud) })
    }
  }

  @Test("a notification that is silent and has an alert is delivered once, though it is tapped")
  func both() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([.notifications])
    phone.arrive(AppEvent(.notification(isSilent: true, hasAlert: true), for: .notifications))
    let id = AppEventID(rawValue: phone.machine.numbers.event)
    let actions = phone.takeActions()
    #expect(actions.first == .alert(TestPhone.app, id) && actions.events.count == 1)
    phone.person(.openedAlert(id))
    #expect(phone.takeActions().events.isEmpty)
  }

  @Test("the newest one of several notifications with one collapse identifier waits")
  func collapsing() {
    var phone = TestPhone([])
    for number in 1...3 as ClosedRange<UInt8> {
      var event = Self.loud
      event.key = 5
      event.payload = [number]
      phone.arrive(event)
    }
    #expect(phone.counts.coalescedCount == 2)
    phone.person(.openedAlert(AppEventID(rawValue: 3)))
    phone.finishLaunching([.notifications])
    let payloads = phone.takeActions().deliveries.compactMap { delivery -> [UInt8]? in
      if case .event(_, let event) = delivery { event.payload } else { nil }
    }
    #expect(payloads == [[3]])
  }

  @Test("nothing runs for a notification after a force-quit, but its alert can be tapped")
  func forceQuit() {
    var phone = TestPhone(.remoteNotification)
    phone.suspend([.notifications])
    phone.person(.forceQuit)
    phone.end(.signal(9))
    _ = phone.takeActions()
    phone.arrive(AppEvent(.notification(isSilent: true, hasAlert: true), for: .notifications))
    #expect(phone.takeActions().launches.isEmpty)
    phone.person(.openedAlert(AppEventID(rawValue: phone.machine.numbers.event)))
    #expect(phone.takeActions().launches.count == 1)
    phone.finishLaunching([.notifications])
    #expect(phone.takeActions().events == [.notification(isSilent: true, hasAlert: true)])
  }
}
