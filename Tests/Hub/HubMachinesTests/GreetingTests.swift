import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Greetings of programs")
struct GreetingTests {
  private var hub = TestHub()

  @Test("a program is welcome, and its sessions are opened")
  mutating func welcome() throws {
    let id = hub.connect()
    let openings = [1, 2].map {
      SessionOpening(id: HubSessionID(rawValue: $0), acknowledgesEvents: true)
    }
    try hub.send(
      .greeting(HubGreeting(app: "guide", abilities: .bluetooth, openings: openings)), from: id)
    #expect(
      try hub.messages(for: id) == [
        .welcome(
          HubWelcome(
            version: 1, abilities: [.bluetooth, .status, .identity, .forgetting], isSimulated: true)
        )
      ])
    let opened = hub.takeActions().openedSessions
    #expect(opened == openings.map { HubSessionKey(id, $0.id) })
    #expect(hub.machine.nextWake == nil)
  }

  @Test("a program without a greeting loses its connection after five seconds")
  mutating func silence() throws {
    let id = hub.connect()
    #expect(hub.machine.nextWake == .zero + .seconds(5))
    hub.now = .zero + .seconds(4)
    hub.handle(.wake)
    #expect(try hub.refusal(of: id) == nil)
    hub.now = .zero + .seconds(5)
    hub.handle(.wake)
    #expect(try hub.refusal(of: id) == .invalidMessage)
    #expect(hub.machine.counts.connectionCount == 0)
  }

  @Test("a program that sends a byte of its greeting each second has five seconds, too")
  mutating func slowness() throws {
    let id = hub.connect()
    var writer = HubFrameWriter()
    try writer.append(AppMessage.greeting(HubGreeting(app: "guide", abilities: [])))
    for byte in writer.takeBytes().prefix(5) {
      #expect(try hub.refusal(of: id) == nil)
      hub.handle(.received(id, [byte]))
      hub.now = hub.now + .seconds(1)
      hub.handle(.wake)
    }
    #expect(try hub.refusal(of: id) == .invalidMessage)
    #expect(hub.machine.counts.connectionCount == 0 && hub.machine.nextWake == nil)
  }

  @Test("ten thousand connections that greet and end at once leave nothing but their number")
  mutating func manyAtOnce() throws {
    let silent = hub.connect(process: 1)
    for number in 0..<10_000 as Range<Int32> {
      let id = hub.connect(process: number)
      try hub.send(.greeting(HubGreeting(app: "guide", abilities: [])), from: id)
      hub.handle(.disconnected(id))
    }
    #expect(hub.machine.counts.connectionCount == 1 && hub.machine.greetings.storedCount < 100)
    // The one without a greeting ends at its time.
    hub.now = hub.now + .seconds(5)
    hub.handle(.wake)
    #expect(try hub.refusal(of: silent) == .invalidMessage)
    #expect(hub.machine.users.isEmpty && hub.machine.processes.isEmpty)
    #expect(hub.machine.openings.waiting.isEmpty && hub.machine.greetings.storedCount < 100)
  }

  @Test("a program that speaks only a later version is refused")
  mutating func versions() throws {
    let id = hub.connect()
    var greeting = HubGreeting(app: "guide", abilities: [])
    greeting.versions = 2...9
    try hub.send(.greeting(greeting), from: id)
    #expect(try hub.refusal(of: id) == .otherVersion)
  }

  @Test("a program that also speaks later versions gets the hub's")
  mutating func laterVersions() throws {
    let id = hub.connect()
    var greeting = HubGreeting(app: "guide", abilities: [])
    greeting.versions = 1...9
    try hub.send(.greeting(greeting), from: id)
    guard case .welcome(let welcome) = try hub.messages(for: id).first else {
      Issue.record("not welcome")
      return
    }
    #expect(welcome.version == 1)
  }

  @Test(
    "programs of the hub's user and of root are served, others are refused",
    arguments: [
      (TestHub.user, true), (0, true), (TestHub.user + 1, false), (65_534, false),
    ])
  mutating func users(user: UInt32, isServed: Bool) throws {
    let id = hub.connect(user: user)
    #expect(try hub.refusal(of: id) == (isServed ? nil : .denied))
    #expect(hub.actions.contains(.close(id)) == !isServed)
  }

  @Test("programs of different users may have the same name, since the user is a part of it")
  mutating func names() throws {
    _ = try hub.serve("guide")
    let other = hub.connect(user: 0)
    try hub.send(.greeting(HubGreeting(app: "guide", abilities: [])), from: other)
    #expect(try hub.refusal(of: other) == nil)
    // Another process of the same user may have it, too.
    _ = try hub.serve("guide", process: 2)
    #expect(hub.machine.counts.connectionCount == 3)
  }

  @Test("an app without a name is refused")
  mutating func nameless() throws {
    let id = hub.connect()
    try hub.send(.greeting(HubGreeting(app: "", abilities: [])), from: id)
    #expect(try hub.refusal(of: id) == .invalidMessage)
  }

  @Test("the first message must be a greeting, and only the first may be one")
  mutating func order() throws {
    let early = hub.connect()
    try hub.send(.ping(1), from: early)
    #expect(try hub.refusal(of: early) == .invalidMessage)
    let second = try hub.serve()
    try hub.send(.greeting(HubGreeting(app: "app", abilities: [])), from: second)
    #expect(try hub.refusal(of: second) == .invalidMessage)
  }

  @Test("a ping gets its number back")
  mutating func ping() throws {
    let id = try hub.serve()
    try hub.send(.ping(77), from: id)
    #expect(try hub.messages(for: id) == [.pong(77)])
  }

  @Test("a hub that ends tells its programs, closes their sessions, and admits no others")
  mutating func ending() throws {
    let id = try hub.serve(sessions: [1, 2])
    hub.handle(.ending)
    #expect(try hub.refusal(of: id) == .ending)
    let closed = hub.takeActions().filter { if case .closeSession = $0 { true } else { false } }
    #expect(closed.count == 2)
    let late = hub.connect()
    #expect(try hub.refusal(of: late) == .ending)
  }
}
