import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

@Suite("Clients that do not handle their events in time")
struct LateClientTests {
  private let peer = DeviceAddress.peer(1)
  private let link: UInt16 = 0x40
  private let timeout = EventBacklog.Limits.acknowledgementTimeout

  /// Clients that share a link with a peer and get its indications.
  private func shared(by clients: [ClientID]) -> SlowClient {
    var slow = SlowClient()
    for client in clients where client != .one {
      slow.rig.handle(.clientOpened(client, acknowledgesEvents: true))
    }
    slow.connect(peer, handle: link)
    for client in clients {
      slow.rig.request(.connect(peer, ConnectOptions()), from: client)
      slow.subscribe(peer, handle: link, from: client)
    }
    for client in clients { slow.handleAll(client: client) }
    return slow
  }

  /// As above, for tests of minutes: the host's own reading of the database is over.
  private func settled(by clients: [ClientID]) -> SlowClient {
    var slow = shared(by: clients)
    slow.rig.pass(.seconds(2))
    for _ in 0..<8 { slow.answer(link) }
    for client in clients { slow.handleAll(client: client) }
    return slow
  }

  /// A client whose characteristic can be read, with a peer that is connected; and the request.
  private func served(acknowledgesEvents: Bool = true) throws -> (SlowClient, read: [UInt8]) {
    var slow = SlowClient()
    let client = ClientID.two
    slow.rig.handle(.clientOpened(client, acknowledgesEvents: acknowledgesEvents))
    let token = slow.rig.token()
    let service = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A37, properties: [.read], permissions: [.readable])
      ])
    slow.rig.request(.addService(service, token), from: client)
    let reply = try #require(try slow.rig.results(of: token, client: client).first?.get())
    guard case .published(let published) = reply else {
      throw HostError.invalidArgument("The service was refused.")
    }
    slow.rig.connect(peer, handle: link, role: .peripheral)
    slow.handleAll()
    slow.handleAll(client: client)
    return (slow, [0x0A, UInt8(published.characteristics[0].valueHandle), 0])
  }

  /// Gets the latest requests and errors through to the peer.
  private func errorCount(_ slow: inout SlowClient) -> Int {
    let count = slow.rig.data.count {
      Array($0.bytes.dropFirst(8)).starts(with: [ATTOpcode.errorResponse.rawValue, 0x0A])
    }
    slow.rig.data = []
    slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    return count
  }

  private func requestCount(_ slow: SlowClient) -> Int {
    slow.rig.log(of: .two).count { $0 == "serverRequest" }
  }

  /// How many requests the client was notified of as expired.
  private func expiredCount(_ slow: SlowClient) -> Int {
    slow.rig.events.reduce(0) { sum, entry in
      guard case .requestsExpired(peer, _, let count) = entry.event else { return sum }
      return sum + count
    }
  }

  @Test("an indication that a frozen client does not handle is confirmed after five seconds")
  func frozen() {
    var slow = shared(by: [.one, .two])
    slow.receive([0x1D, 0x20, 0, 7], on: link)
    slow.handleAll()
    slow.rig.pass(.milliseconds(4_999))
    #expect(slow.confirmationCount == 0)
    #expect(slow.rig.machine.snapshot.lateClients == [])
    slow.rig.pass(.milliseconds(1))
    #expect(slow.confirmationCount == 1)
    #expect(slow.rig.machine.snapshot.lateClients == [ClientID.two.rawValue])
    #expect(slow.rig.controller.last(Disconnect.self) == nil)
  }

  @Test("later indications don't wait for a late client, which gets them when it is back")
  func later() {
    var slow = shared(by: [.one, .two])
    slow.receive([0x1D, 0x20, 0, 7], on: link)
    slow.handleAll()
    slow.rig.pass(timeout)
    for number in 1...100 {
      slow.receive([0x1D, 0x20, 0, 8], on: link)
      #expect(slow.confirmationCount == 1, "the other client is in time, and is waited for")
      slow.rig.data = []
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
      slow.handleAll()
      #expect(slow.confirmationCount == 1, "\(number)")
    }
    #expect(slow.valueCount(peer, client: .two) == 101)
    slow.handleAll(client: .two)
    #expect(slow.rig.machine.snapshot.lateClients == [])
    slow.rig.data = []
    slow.receive([0x1D, 0x20, 0, 9], on: link)
    slow.handleAll()
    #expect(slow.confirmationCount == 0, "a client that is back is waited for again")
    slow.handleAll(client: .two)
    slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    #expect(slow.confirmationCount == 1)
  }

  @Test("a client is reported as late each time that it misses the time, and no more often")
  func reported() {
    var slow = shared(by: [.one, .two])
    for number in 1...3 {
      slow.receive([0x1D, 0x20, 0, 7], on: link)
      slow.handleAll()
      slow.rig.pass(timeout + timeout)
      #expect(slow.rig.lateClients == [ClientID](repeating: .two, count: number))
      slow.handleAll(client: .two)
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    }
  }

  @Test("several frozen clients hold a confirmation up no longer than one")
  func several() {
    var slow = shared(by: [.one, .two, .three])
    slow.receive([0x1D, 0x20, 0, 7], on: link)
    slow.rig.pass(timeout)
    #expect(slow.confirmationCount == 1)
    #expect(slow.rig.machine.backlog.lateClients == [.one, .two, .three])
  }

  @Test("a frozen client keeps a bounded number of indications, and learns of the rest")
  func many() {
    var slow = shared(by: [.one, .two])
    for _ in 0..<10_000 {
      slow.receive([0x1D, 0x20, 0, 7], on: link)
      slow.handleAll()
      if slow.rig.machine.backlog.lateClients.isEmpty { slow.rig.pass(timeout) }
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    }
    #expect(slow.confirmationCount == 10_000)
    #expect(slow.valueCount(peer) == 10_000)
    let kept = slow.valueCount(peer, client: .two)
    #expect(kept <= EventBacklog.Limits.unhandledMax)
    #expect(slow.rig.controller.last(Disconnect.self) == nil)
    slow.handleAll(client: .two)
    guard case .valuesDropped(peer, SlowClient.value, let count)? = slow.rig.events.last?.event
    else {
      Issue.record("the client was not notified: \(slow.rig.log(of: .two).suffix(3))")
      return
    }
    #expect(kept + count == 10_000)
  }

  @Test("a client that handles its events just in time is not late")
  func inTime() {
    var slow = settled(by: [.one, .two])
    for number in 1...4 {
      slow.receive([0x1D, 0x20, 0, 7], on: link)
      slow.handleAll()
      slow.rig.pass(.milliseconds(4_999))
      slow.handleAll(client: .two)
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
      #expect(slow.confirmationCount == number)
      slow.rig.pass(.seconds(60))
    }
    slow.rig.pass(timeout)
    #expect(slow.rig.machine.backlog.lateClients == [])
  }

  /// Sends an indication, lets the clients handle it after these times, and returns how long its confirmation took.
  private func confirm(
    _ slow: inout SlowClient, after delays: [(ClientID, TimeSpan)]
  ) -> TimeSpan {
    let earlier = slow.confirmationCount
    slow.receive([0x1D, 0x20, 0, 7], on: link)
    var (passed, confirmed) = (TimeSpan.zero, TimeSpan?.none)
    for (client, delay) in delays {
      while passed < delay {
        slow.rig.pass(.milliseconds(10))
        passed = passed + .milliseconds(10)
        if confirmed == nil, slow.confirmationCount > earlier { confirmed = passed }
      }
      slow.handleAll(client: client)
      if confirmed == nil, slow.confirmationCount > earlier { confirmed = passed }
    }
    slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    return confirmed ?? .seconds(3_600)
  }

  @Test("a client that needs four seconds for each indication holds others up for five in all")
  func slowClient() {
    var slow = settled(by: [.one, .two])
    var held = TimeSpan.zero
    for _ in 0..<3 {
      held = held + confirm(&slow, after: [(.one, .zero), (.two, .seconds(4))])
    }
    #expect(held >= .milliseconds(4_900))
    #expect(held <= .milliseconds(5_700), "with what was restored meanwhile")
    #expect(slow.rig.machine.backlog.lateClients == [.two])
    // It is not awaited any more, and gets everything.
    for number in 0..<100 {
      slow.receive([0x1D, 0x20, 0, 8], on: link)
      slow.handleAll()
      #expect(slow.confirmationCount == 4 + number)
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    }
    #expect(slow.valueCount(peer, client: .two) == 103)
    // After a minute of patience it is.
    slow.rig.pass(.seconds(60))
    slow.handleAll(client: .two)
    #expect(slow.rig.machine.backlog.lateClients == [])
    #expect(confirm(&slow, after: [(.one, .zero), (.two, .seconds(1))]) == .seconds(1))
  }

  @Test("a slow client gets as many indications as its bound holds, and learns of the rest")
  func slowClientMisses() {
    var slow = shared(by: [.one, .two])
    for _ in 0..<2 { _ = confirm(&slow, after: [(.one, .zero), (.two, .seconds(4))]) }
    #expect(slow.rig.machine.backlog.lateClients == [.two])
    for _ in 0..<3_000 {
      slow.receive([0x1D, 0x20, 0, 7], on: link)
      slow.handleAll()
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: link, count: 1)]))
    }
    #expect(slow.valueCount(peer) == 3_002)
    let kept = slow.valueCount(peer, client: .two)
    slow.handleAll(client: .two)
    let dropped = slow.rig.events.reduce(0) { sum, entry in
      guard entry.client == .two,
        case .valuesDropped(peer, SlowClient.value, let count) = entry.event
      else { return sum }
      return sum + count
    }
    #expect(dropped > 0)
    #expect(kept + dropped == 3_002)
  }

  @Test("a client that is a little slower than another is waited for, for minutes")
  func similarClients() {
    var slow = settled(by: [.one, .two])
    for _ in 0..<1_000 {
      // What was sent for earlier indications is not searched again.
      slow.rig.data = []
      let time = confirm(&slow, after: [(.one, .milliseconds(200)), (.two, .milliseconds(240))])
      #expect(time == .milliseconds(240))
    }
    #expect(slow.rig.machine.backlog.lateClients == [])
  }

  @Test("a client that is alone with its peer slows it down for as long as it needs")
  func slowAlone() {
    var slow = settled(by: [.one])
    for _ in 0..<20 {
      #expect(confirm(&slow, after: [(.one, .seconds(4))]) == .seconds(4))
    }
    #expect(slow.rig.machine.backlog.lateClients == [])
  }

  @Test("a late client that is closed leaves nothing behind")
  func closed() {
    var slow = shared(by: [.one, .two])
    slow.receive([0x1D, 0x20, 0, 7], on: link)
    slow.handleAll()
    slow.rig.handle(.clientClosed(.two))
    #expect(slow.confirmationCount == 1)
    slow.rig.pass(timeout)
    #expect(slow.rig.machine.backlog.lateClients == [])
  }

  @Test("a request that a client handles but does not answer ends with an error and an event")
  func unanswered() throws {
    var (slow, read) = try served()
    slow.receive(read, on: link)
    slow.handleAll(client: .two)
    slow.rig.pass(.milliseconds(19_999))
    #expect(errorCount(&slow) == 0)
    slow.rig.pass(.milliseconds(1))
    #expect(errorCount(&slow) == 1)
    slow.handleAll(client: .two)
    #expect(expiredCount(slow) == 1)
    slow.rig.pass(timeout)
    #expect(slow.rig.machine.backlog.lateClients == [])
    slow.receive(read, on: link)
    #expect(requestCount(slow) == 2)
    #expect(slow.rig.machine.snapshot.counters.expiredRequests == 1)
  }

  @Test("requests to a late client are answered with an error at once, and counted for it")
  func lateServer() throws {
    var (slow, read) = try served()
    slow.receive(read, on: link)
    slow.rig.pass(.seconds(20))
    #expect(errorCount(&slow) == 1)
    slow.rig.pass(timeout)
    #expect(slow.rig.machine.backlog.lateClients == [.two])
    for _ in 0..<10_000 {
      slow.receive(read, on: link)
      #expect(errorCount(&slow) == 1)
    }
    #expect(requestCount(slow) == 1)
    slow.handleAll(client: .two)
    #expect(expiredCount(slow) == 10_001)
    slow.receive(read, on: link)
    #expect(requestCount(slow) == 2)
    #expect(slow.rig.controller.last(Disconnect.self) == nil)
  }

  @Test("a client that acknowledges nothing learns of an expired request at once")
  func plainServer() throws {
    var (slow, read) = try served(acknowledgesEvents: false)
    slow.receive(read, on: link)
    slow.rig.pass(.seconds(20))
    #expect(errorCount(&slow) == 1)
    #expect(expiredCount(slow) == 1)
    slow.rig.pass(timeout)
    #expect(slow.rig.machine.backlog.lateClients == [])
  }
}
