import AppLifecycleTesting
import Essentials
import Testing

/// The story that the module is made for.
@Suite(.serialized)
struct DoorLockStoryTests {
  @Test func `A door lock is opened once when its owner comes home after three days`() async throws
  {
    try await SimulatedPhone.run(seed: 42, apps: [.doorLock]) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      try phone.until("connected", limit: .seconds(10)) { lock.isConnected }
      phone.advance(by: .seconds(1))
      app.sendToBackground()
      phone.advance(by: .seconds(60))
      #expect(app.state == .suspended)

      lock.moveOutOfRange()
      phone.advance(by: .seconds(30))
      #expect(app.callbackNames.last == "didDisconnect")
      #expect(app.state == .suspended)
      #expect(app.pendingConnectionCount == 1)

      app.terminate(.memoryPressure)
      #expect(app.state == .notRunning)
      #expect(app.pendingConnectionCount == 1)
      phone.advance(by: .days(3))
      #expect(app.launches.count == 1)

      lock.moveIntoRange()
      try phone.until("opened", limit: .seconds(10)) { lock.openedCount == 1 }
      #expect(app.launches.count == 2)
      #expect(app.launches.last?.bluetoothCentrals == ["lock"])
      #expect(app.launches.last?.isInForeground == false)
      #expect(
        app.callbackNames.prefix(3) == [
          "willRestoreState", "didUpdateState(poweredOn)", "didConnect",
        ])
      phone.advance(by: .minutes(10))
      #expect(lock.openedCount == 1)
      #expect(app.state == .suspended)
      #expect(app.backgroundTime < .seconds(10))

      app.forceQuit()
      lock.moveOutOfRange()
      phone.advance(by: .days(1))
      lock.moveIntoRange()
      phone.advance(by: .hours(1))
      #expect(app.launches.count == 2)
      #expect(lock.openedCount == 1)
    }
  }

  @Test(arguments: isolations)
  func `A door lock is opened at each of fourteen home-comings in a week`(
    _ isolation: SimulatedPhone.Isolation
  ) async throws {
    try await SimulatedPhone.run(seed: 43, apps: [.doorLock], isolation: isolation) { phone in
      let lock = LockDevice(of: phone)
      let app = phone[.doorLock]
      app.open()
      phone.advance(by: .seconds(30))
      app.sendToBackground()
      for number in 1...14 {
        lock.moveOutOfRange()
        phone.advance(by: .minutes(5))
        app.terminate(.memoryPressure)
        phone.advance(by: .hours(11))
        lock.moveIntoRange()
        phone.advance(by: .minutes(1))
        #expect(lock.openedCount == number)
      }
      #expect(app.launches.count == 15)
      #expect(app.unhandledEventCount == 0)
    }
  }
}
