import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Identities of sessions")
struct IdentityTests {
  private static let abilities: HubAbilities = [.bluetooth, .identity]
  private static let lock = "central:lock"

  private var hub = TestHub()

  private static func opening(_ id: UInt64, _ name: String) -> SessionOpening {
    SessionOpening(id: HubSessionID(rawValue: id), acknowledgesEvents: true, manager: name)
  }

  /// A program that opens sessions with these names, numbered from 1.
  private mutating func program(
    _ app: String, _ names: [String], user: UInt32 = TestHub.user
  ) throws -> HubConnectionID {
    let id = hub.connect(user: user)
    let openings = names.enumerated().map { Self.opening(UInt64($0.offset) + 1, $0.element) }
    try hub.send(
      .greeting(HubGreeting(app: app, abilities: Self.abilities, openings: openings)), from: id)
    return id
  }

  /// Whether the sessions of a program hold their names, as the hub's unread answers have it.
  private mutating func holds(_ id: HubConnectionID) throws -> [UInt64: Bool] {
    var holds: [UInt64: Bool] = [:]
    for case .attached(let session, let attachment) in try hub.messages(for: id) {
      #expect(holds.updateValue(attachment.holdsName, forKey: session.rawValue) == nil)
      #expect(attachment.keptFor == .zero)
    }
    return holds
  }

  @Test("the first open session of a user, an app and a name holds the name, and no second one")
  mutating func identities() throws {
    let first = try program("guide", [Self.lock, "peripheral:lock", Self.lock])
    #expect(try holds(first) == [1: true, 2: true, 3: false])
    let second = try program("guide", [Self.lock, "location"])
    #expect(try holds(second) == [1: false, 2: true])
    #expect(try holds(try program("other", [Self.lock])) == [1: true])
    #expect(try holds(try program("guide", [Self.lock], user: 0)) == [1: true])
    #expect(hub.machine.holders.count == 5)
    // A second session is served as the first one is.
    let identity = SessionIdentity(userID: TestHub.user, app: "guide", manager: Self.lock)
    #expect(hub.takeActions().contains(.openSession(HubSessionKey(second), identity)))
  }

  @Test("a name is free when the session that holds it is closed, or its program is gone")
  mutating func release() throws {
    let first = try program("guide", [Self.lock, "location"])
    let second = try program("guide", [Self.lock, "location"])
    #expect(try holds(second) == [1: false, 2: false])
    try hub.send(.closeSession(HubSessionID(rawValue: 1)), from: first)
    let third = try program("guide", [Self.lock, "location"])
    #expect(try holds(third) == [1: true, 2: false])
    hub.handle(.disconnected(first))
    try hub.send(.openSession(Self.opening(3, "location")), from: third)
    #expect(try holds(third) == [3: true])
    // The end of a session that doesn't hold the name frees nothing.
    hub.handle(.disconnected(second))
    let last = try program("guide", [Self.lock, "location"])
    #expect(try holds(last) == [1: false, 2: false])
    for id in [third, last] { hub.handle(.disconnected(id)) }
    #expect(hub.machine.holders.isEmpty)
  }

  @Test("a program that loses its connection for a reason of the hub holds no name any more")
  mutating func refusal() throws {
    let hostile = try program("guide", [Self.lock])
    hub.handle(.received(hostile, [0, 0, 0, 0]))
    #expect(try hub.refusal(of: hostile) == .invalidMessage)
    #expect(try holds(try program("guide", [Self.lock])) == [1: true])
  }

  @Test("a session without a name, and a program of an earlier library, get no answer")
  mutating func unanswered() throws {
    let nameless = try program("guide", [""])
    let earlier = hub.connect()
    try hub.send(
      .greeting(
        HubGreeting(
          app: "guide", abilities: .bluetooth, openings: [Self.opening(1, Self.lock)])),
      from: earlier)
    let welcome = HubWelcome(
      version: 1, abilities: [.bluetooth, .status, .identity, .forgetting], isSimulated: true)
    for id in [nameless, earlier] { #expect(try hub.messages(for: id) == [.welcome(welcome)]) }
    // It holds the name all the same.
    #expect(try holds(try program("guide", [Self.lock])) == [1: false])
  }
}
