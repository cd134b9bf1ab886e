import Essentials
import Testing

@testable import AppMachines

/// Sockets that the system holds while their app is suspended or doesn't run.
@Suite struct HeldSocketTests {
  @Test func `A byte wakes a suspended app, which is suspended again when it has handled it`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    phone.receive(5, chat)
    #expect(phone.wakeCount == 0, "an app that runs reads by itself")
    phone.kernel[chat]?.read = 5
    phone.suspend()
    #expect(phone.phone.state == .suspended)
    phone.receive(1, chat)
    #expect(phone.phone.state == .background)
    let events = phone.phone.takeActions().events
    #expect(events == [.socket])
    phone.kernel[chat]?.read = 6
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    #expect(phone.phone.counts.reasonCounts == [.socket: 1])
  }

  @Test func `Bytes that came before the suspension and were not read wake the app once`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    phone.receive(7, chat)
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    #expect(phone.phone.state == .background)
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 86_400)
    #expect(phone.wakeCount == 1)
  }

  @Test func `Bytes that a thread of the app reads before it stops wake the app once`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.kernel[chat]?.received = 5
    phone.kernel[chat]?.read = 5
    phone.advance(by: 1)
    #expect(phone.phone.state == .background)
    #expect(phone.phone.counts.reasonCounts == [.socket: 1])
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 86_400)
    #expect(phone.wakeCount == 1)
  }

  @Test func `Bytes that an app has read just before its suspension wake it once`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    phone.receive(5, chat)
    phone.kernel[chat]?.read = 5
    phone.kernel[chat]?.receivedAt = phone.phone.now
    phone.person(.sentToBackground)
    phone.acknowledgeAll()
    #expect(phone.phone.state == .background)
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    #expect(phone.phone.counts.reasonCounts == [.socket: 1])
    phone.advance(by: 86_400)
    #expect(phone.wakeCount == 1)
  }

  @Test func `Bytes that came long before the suspension, or woke the app, don't wake it again`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    phone.receive(5, chat)
    phone.kernel[chat]?.read = 5
    phone.kernel[chat]?.receivedAt = phone.phone.now
    phone.advance(by: 2)
    phone.suspend()
    #expect(phone.wakeCount == 0)
    phone.kernel[chat]?.receivedAt = phone.phone.now
    phone.receive(1, chat)
    phone.kernel[chat]?.read = 6
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    phone.advance(by: 60)
    #expect(phone.wakeCount == 1)
  }

  @Test func `An app that reads a part is woken for the rest, and one that reads nothing is not`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.receive(100, chat)
    for read in [40, 80] as [UInt64] {
      phone.kernel[chat]?.read = read
      phone.acknowledgeAll()
      #expect(phone.phone.state == .background, "there are bytes, and the app reads")
    }
    phone.acknowledgeAll()
    #expect(phone.phone.state == .suspended)
    #expect(phone.wakeCount == 3)
    phone.receive(1, chat)
    #expect(phone.wakeCount == 4)
  }

  @Test func `A terminated app is launched for a byte, and gets its socket before the event`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.terminate()
    #expect(phone.phone.state == .notRunning)
    _ = phone.phone.takeActions()
    phone.receive(3, chat)
    let process = phone.phone.process
    #expect(phone.launchCount == 2)
    phone.process(.launched)
    phone.take("chat")
    #expect(phone.given == [chat])
    #expect(phone.phone.process == process)
    #expect(phone.kernel[chat]?.isHeld == true && phone.kernel[chat]?.isWatched == false)
    phone.acknowledgeAll()
    #expect(phone.phone.state == .background || phone.phone.state == .suspended)
    #expect(phone.phone.counts.handedCount == 1)
  }

  @Test func `A socket is given back to a later process only, and once`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    phone.take("chat")
    #expect(phone.given == [])
    phone.suspend()
    phone.terminate()
    phone.person(.opened)
    phone.process(.launched)
    phone.take("chat")
    phone.take("chat")
    #expect(phone.given == [phone["chat"]])
  }

  @Test(arguments: ["force-quit", "crash in the foreground", "removal"])
  func `A force-quit, a crash in the foreground and a removal close the duplicate`(_ end: String)
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    switch end {
    case "force-quit":
      phone.person(.forceQuit)
      phone.process(.exited(.status(0), hasOthers: false))
    case "removal":
      phone.life(.removed(TestPhone.app))
      phone.life(.process(AppProcessID(rawValue: 1), .exited(.status(0), hasOthers: false)))
    default: phone.process(.exited(.signal(11), hasOthers: false))
    }
    #expect(phone.kernel[chat]?.isHeld == false)
    #expect(phone.sockets.entries.isEmpty)
    phone.receive(5, chat)
    #expect(phone.launchCount <= 2)
  }

  @Test func `A crash in the background keeps the socket for the next process`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.receive(1, chat)
    #expect(phone.phone.state == .background)
    phone.process(.exited(.signal(11), hasOthers: false))
    #expect(phone.kernel[chat]?.isHeld == true)
    phone.advance(by: 3)
    phone.process(.launched)
    phone.take("chat")
    #expect(phone.given == [chat])
  }

  @Test func `A socket that the app closes is shut down`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    let chat = try #require(phone["chat"])
    phone.process(.closed(chat.receiver))
    #expect(phone.kernel[chat]?.isShutDown == true)
    phone.suspend()
    phone.terminate()
    #expect(phone.launchCount == 1)
  }

  @Test func `The end of the peer wakes the app once`() throws {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.endPeer(chat)
    #expect(phone.phone.state == .background)
    phone.acknowledgeAll()
    phone.endPeer(chat)
    #expect(phone.phone.state == .suspended)
    #expect(phone.wakeCount == 1)
    #expect(phone.sockets.sockets(of: TestPhone.app).map(\.hasEnded) == [true])
  }

  @Test
  func `An app that was launched and doesn't take its socket loses it, so that no peer waits`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.terminate()
    phone.receive(1, chat)
    phone.process(.launched)
    phone.acknowledgeAll()
    phone.advance(by: 60)
    #expect(phone.kernel[chat]?.isShutDown == true)
    #expect(phone.unclaimed == ["chat"])
  }

  @Test func `A process that ends before it has taken its socket leaves it to the next one`() throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    phone.terminate()
    phone.receive(1, chat)
    phone.process(.launched)
    phone.process(.exited(.signal(9), hasOthers: false))
    phone.advance(by: 60)
    #expect(phone.kernel[chat]?.isHeld == true)
    // Apps with the mode are started after a crash.
    #expect(phone.launchCount == 3)
  }

  @Test func `A socket that a process handed over and never opened ends with it`() throws {
    var phone = HeldSocketPhone()
    phone.run(holding: [])
    phone.hold("chat", opens: false)
    let chat = try #require(phone["chat"])
    phone.suspend()
    phone.terminate()
    #expect(phone.kernel[chat]?.isHeld == false)
  }

  @Test func `A socket from before a restart of the system launches its app, and keeps its number`()
  {
    var phone = HeldSocketPhone()
    let chat = HeldSocketID(rawValue: 7)
    phone.kernel[chat] = HeldSocketPhone.Socket()
    phone.handle(
      .preserved(chat, TestPhone.app, HeldSocketDescription(identifier: "chat")))
    phone.receive(1, chat)
    phone.process(.launched)
    phone.take("chat")
    #expect(phone.given == [chat])
    phone.hold("other")
    #expect(phone["other"] == HeldSocketID(rawValue: 8))
  }

  @Test func `Requests beyond the bounds are refused, and an identifier is replaced`() throws {
    var phone = HeldSocketPhone()
    phone.run(holding: (0..<16).map { "chat \($0)" })
    phone.hold("one more")
    #expect(phone.refusals == [.limit])
    let first = try #require(phone["chat 0"])
    phone.hold("chat 0")
    #expect(phone.kernel[first]?.isHeld == false)
    #expect(phone["chat 0"] != first)
    phone.hold("")
    phone.hold(String(repeating: "a", count: 257))
    #expect(phone.refusals == [.limit, .badIdentifier, .badIdentifier])
    var other = HeldSocketPhone([])
    other.run(holding: [])
    other.hold("chat", hasMode: false)
    #expect(other.refusals == [.noMode])
  }

  @Test
  func `The keep-alive timeout wakes the app each time it has passed, and ends with a force-quit`()
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.process(.opened(.keepAlive))
    phone.handle(.keepAlive(TestPhone.app, .seconds(1)))
    phone.suspend()
    for count in 1...3 {
      phone.advance(by: 600)
      #expect(phone.wakeCount == count)
      #expect(phone.phone.state == .background)
      phone.acknowledgeAll()
    }
    #expect(phone.phone.counts.reasonCounts[.keepAlive] == 3)
    phone.person(.forceQuit)
    phone.process(.exited(.status(0), hasOthers: false))
    phone.advance(by: 86_400)
    #expect(phone.launchCount == 1 && phone.sockets.nextWake == nil)
  }

  @Test func `A peer that floods an app which never handles an event is throttled with the app`()
    throws
  {
    var phone = HeldSocketPhone()
    phone.run()
    phone.suspend()
    let chat = try #require(phone["chat"])
    for _ in 0..<600 {
      phone.receive(1_000, chat)
      phone.advance(by: 1)
    }
    #expect(phone.wakeCount + phone.launchCount < 20)
    #expect(phone.phone.machine.waitingCount(of: TestPhone.app) <= 1)
  }

  /// Processes that hang, crash, read and close while peers send and go: no socket is open that no app may get, and
  /// none is watched while its process runs.
  @Test(arguments: 0..<200) func `Random lives keep the rules`(_ seed: UInt64) {
    var chance = SeededGenerator(seed: seed)
    var phone = HeldSocketPhone()
    phone.run()
    for _ in 0..<150 {
      let ids = phone.sockets.entries.keys.sorted()
      let id = ids.randomElement(using: &chance)
      let hasProcess = phone.phone.process.rawValue != 0
      switch Int.random(in: 0..<13, using: &chance) {
      case 0: phone.person(.opened)
      case 1: phone.person(.sentToBackground)
      case 2 where Int.random(in: 0..<8, using: &chance) == 0: phone.person(.forceQuit)
      case 3: if hasProcess { phone.process(.launched) }
      case 4:
        if let id {
          phone.kernel[id]?.receivedAt = phone.phone.now
          phone.receive(UInt64.random(in: 1...9, using: &chance), id)
        }
      case 5:
        if let id, let received = phone.kernel[id]?.received { phone.kernel[id]?.read = received }
      case 6: if hasProcess { phone.acknowledgeAll() }
      case 7: if hasProcess { phone.process(.exited(.signal(11), hasOthers: false)) }
      case 8: phone.life(.memoryPressure(.critical))
      case 9: if hasProcess { phone.take("chat \(Int.random(in: 0..<4, using: &chance))") }
      case 10:
        if hasProcess { phone.hold("chat \(Int.random(in: 0..<4, using: &chance))") }
      case 11:
        if hasProcess { phone.reconnect("chat \(Int.random(in: 0..<4, using: &chance))") }
      default: phone.advance(by: Int64.random(in: 0...40, using: &chance))
      }
      for (id, socket) in phone.kernel where phone.sockets.entries[id] == nil {
        #expect(!socket.isHeld, "seed \(seed): a duplicate is left open")
      }
    }
    phone.person(.forceQuit)
    if phone.phone.process.rawValue != 0 {
      phone.process(.exited(.status(0), hasOthers: false))
    }
    #expect(
      phone.kernel.values.allSatisfy { !$0.isHeld }, "seed \(seed): a peer waits for a quit app")
  }
}
