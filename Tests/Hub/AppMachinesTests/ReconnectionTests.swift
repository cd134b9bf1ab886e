import Essentials
import Testing

@testable import AppMachines

/// Wakes of an app that has no connection and wants one.
@Suite struct ReconnectionTests {
  /// The app's socket ends while it is suspended, and its first attempts to connect fail.
  private static func disconnected() throws -> HeldSocketPhone {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.endPeer(chat)
    #expect(phone.phone.state == .background)
    phone.process(.closed(chat.receiver))
    phone.reconnect()
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    return phone
  }

  @Test func `An app without a connection is woken with longer pauses until it has one`() throws {
    var phone = try Self.disconnected()
    #expect(phone.wakeCount == 1)
    var pauses: [Int64] = []
    for _ in 0..<10 {
      let since = phone.phone.now
      let next = try #require(phone.sockets.nextWake)
      phone.advance(by: (next - since).nanoseconds / 1_000_000_000)
      #expect(phone.phone.state == .background)
      pauses.append((phone.phone.now - since).nanoseconds / 1_000_000_000)
      phone.acknowledgeAll()
      #expect(phone.phone.state == .suspended)
    }
    #expect(pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    #expect(phone.wakeCount == 11)
    phone.advance(by: 300)
    phone.hold("chat")
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 86_400)
    #expect(phone.wakeCount == 12)
    let chat = try #require(phone["chat"])
    phone.receive(1, chat)
    #expect(phone.wakeCount == 13, "the new connection is watched")
  }

  @Test func `An app that gives its connection up is not woken for it`() throws {
    var phone = try Self.disconnected()
    let entry = try #require(phone["chat"])
    phone.advance(by: 2)
    phone.process(.closed(entry.receiver))
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 86_400)
    #expect(phone.wakeCount == 2 && phone.sockets.nextWake == nil)
  }

  @Test func `An app in the foreground connects by itself`() throws {
    var phone = try Self.disconnected()
    phone.person(.opened)
    phone.acknowledgeAll()
    phone.advance(by: 3_600)
    #expect(phone.wakeCount == 1 && phone.sockets.nextWake == nil)
    phone.suspend()
    phone.advance(by: 2)
    #expect(phone.wakeCount == 2)
  }

  @Test func `An app that was ended without a connection is launched after a minute`() throws {
    var phone = try Self.disconnected()
    phone.terminate()
    phone.advance(by: 59)
    #expect(phone.launchCount == 1)
    phone.advance(by: 1)
    #expect(phone.launchCount == 2)
    phone.process(.launched)
    phone.take("chat")
    let entry = try #require(phone["chat"])
    phone.process(.closed(entry.receiver))
    phone.reconnect()
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 2)
    #expect(phone.wakeCount == 2)
  }

  @Test func `A force-quit ends the wakes`() throws {
    var phone = try Self.disconnected()
    phone.person(.forceQuit)
    phone.process(.exited(.status(0), hasOthers: false))
    phone.advance(by: 86_400)
    #expect(phone.launchCount == 1 && phone.sockets.nextWake == nil)
  }

  @Test func `An app that never handles its wakes is throttled`() throws {
    var phone = try Self.disconnected()
    phone.advance(by: 3_600)
    #expect(phone.wakeCount + phone.launchCount < 20)
    #expect(phone.phone.machine.waitingCount(of: TestPhone.app) <= 1)
  }
}
