import Essentials
import Testing

@testable import AppMachines

/// Wakes of an app that has no connection and wants one.
@Suite struct ReconnectionTests {
  /// The app's socket ends while it is suspended, and its first attempts to connect fail.
  private static func disconnected(seed: UInt64 = 1) throws -> HeldSocketPhone {
    var phone = HeldSocketPhone(seed: seed)
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
    for (index, longest) in [2.0, 4, 8, 16, 32, 64, 128, 256, 300, 300].enumerated() {
      let next = try #require(phone.sockets.nextWake)
      let pause = next - phone.phone.now
      let shortest = index > 0 ? longest / 2 : 0
      #expect((shortest...longest).contains(Double(pause.nanoseconds) / 1e9))
      phone.advance(by: pause.nanoseconds / 1_000_000_000 + 1)
      #expect(phone.phone.state == .background)
      phone.acknowledgeAll()
      #expect(phone.phone.state == .suspended)
    }
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

  @Test func `Devices that have lost their server together come back at different times`() throws {
    var wakes: [Int64] = []
    var launches: [Int64] = []
    for seed in 0..<200 as Range<UInt64> {
      var phone = try Self.disconnected(seed: seed)
      wakes.append(try #require(phone.sockets.nextWake).nanoseconds)
      phone.terminate()
      launches.append(try #require(phone.sockets.nextWake).nanoseconds)
    }
    let second: Int64 = 1_000_000_000
    for (times, span) in [(wakes, 2 * second), (launches, 60 * second)] {
      let first = try #require(times.min())
      // In each tenth of the time about a tenth of them, and nowhere more than a quarter.
      let tenths = Dictionary(grouping: times) { ($0 - first) * 10 / span }
      #expect(tenths.count >= 10 && tenths.values.allSatisfy { $0.count < 50 })
    }
  }

  @Test func `An app that was ended without a connection is launched after one or two minutes`()
    throws
  {
    var phone = try Self.disconnected()
    phone.terminate()
    phone.advance(by: 59)
    #expect(phone.launchCount == 1)
    phone.advance(by: 61)
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
