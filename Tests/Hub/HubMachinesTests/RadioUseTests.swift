import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Why and when programs last made the radio work")
struct RadioUseTests {
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)

  private var hub = TestHub()

  private mutating func use(of program: HubConnectionID) throws -> RadioUse? {
    let asker = try hub.serve("status", sessions: [], process: 9)
    try hub.send(.status(1), from: asker)
    hub.handle(.statusRead(StatusTests.host))
    defer { hub.handle(.disconnected(asker)) }
    guard case .status(_, let status)? = try hub.messages(for: asker).last else { return nil }
    return status.programs.first { $0.connection == program.rawValue }?.lastUse
  }

  @Test("the state has the latest work of the radio that a program caused, and for how long ago")
  mutating func latest() throws {
    let guide = try hub.serve("guide")
    #expect(try use(of: guide) == nil)
    try hub.send(.startScan(ScanOptions()), from: guide)
    hub.now = hub.now + .seconds(30)
    #expect(try use(of: guide) == RadioUse(.scan, age: .seconds(30)))
    try hub.send(.connect(Self.peer, ConnectOptions()), from: guide)
    #expect(try use(of: guide) == RadioUse(.connection, age: .zero))
    // The end of such work is none.
    hub.now = hub.now + .seconds(5)
    try hub.send(.stopScan, from: guide)
    try hub.send(.disconnect(Self.peer), from: guide)
    #expect(try use(of: guide) == RadioUse(.connection, age: .seconds(5)))
  }

  @Test("a request that the hub refuses makes no radio work")
  mutating func refused() throws {
    var limits = HubLimits()
    limits.scanCountMax = 0
    hub = TestHub(limits)
    let guide = try hub.serve("guide")
    try hub.send(.startScan(ScanOptions()), from: guide)
    #expect(try use(of: guide) == nil)
  }

  @Test("a question beyond the limit of a user is refused, and those of other users are answered")
  mutating func crowd() throws {
    var limits = HubLimits()
    limits.statusQuestionCountPerUserMax = 3
    hub = TestHub(limits)
    let crowd = try (1...4 as ClosedRange<Int32>).map {
      try hub.serve("app", sessions: [], process: $0)
    }
    for id in crowd { try hub.send(.status(1), from: id) }
    #expect(try hub.refusal(of: crowd[3]) == .limitReached)
    // A program may repeat its own question.
    try hub.send(.status(2), from: crowd[0])
    let root = try hub.serve("status", sessions: [], user: 0, process: 21)
    try hub.send(.status(1), from: root)
    for _ in 0..<4 { hub.handle(.statusRead(StatusTests.host)) }
    for id in crowd.dropLast() + [root] { #expect(try !hub.messages(for: id).isEmpty) }
    // There is room again.
    try hub.send(.status(3), from: crowd[0])
    hub.handle(.statusRead(StatusTests.host))
    #expect(try !hub.messages(for: crowd[0]).isEmpty)
  }
}
