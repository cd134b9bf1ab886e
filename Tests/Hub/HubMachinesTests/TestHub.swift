import BluetoothInterface
import Essentials
import HubWire
import Testing

@testable import HubMachines

/// A machine with the programs that a test plays: their bytes, and what the hub does.
struct TestHub {
  static let user: UInt32 = 1_000

  var machine: HubMachine
  var now = Instant.zero
  /// Everything that was done, without bytes.
  private(set) var actions: [HubMachine.Action] = []
  /// What each program can read.
  private var readers: [HubConnectionID: HubFrameReader] = [:]
  /// Programs that don't take their bytes.
  var stuck: Set<HubConnectionID> = []
  private var untaken: [HubConnectionID: Int] = [:]
  private var lastNumber: UInt64 = 0

  init(
    _ limits: HubLimits = HubLimits(), rules: HubRules = HubRules(), hasVirtualTime: Bool = false
  ) {
    machine = HubMachine(
      HubMachine.Configuration(
        userID: Self.user, isSimulated: true, hasVirtualTime: hasVirtualTime, limits: limits,
        rules: rules))
  }

  /// Handles an event, and does what a host does then.
  mutating func handle(_ event: HubMachine.Event) {
    var due: [HubMachine.Action] = []
    machine.handle(event, now: now, into: &due)
    machine.handle(.turnEnded, now: now, into: &due)
    while !due.isEmpty {
      let action = due.removeFirst()
      actions.append(action)
      guard case .write(let id, let bytes) = action else { continue }
      readers[id, default: HubFrameReader()].append(bytes)
      if stuck.contains(id) { untaken[id, default: 0] += bytes.count }
      machine.handle(.written(id, waitingByteCount: untaken[id] ?? 0), now: now, into: &due)
    }
    #expect(machine.violations().isEmpty)
  }

  /// A program takes everything that was written for it.
  mutating func take(_ id: HubConnectionID) {
    stuck.remove(id)
    untaken[id] = nil
    handle(.written(id, waitingByteCount: 0))
  }

  /// The actions since this was last called.
  mutating func takeActions() -> [HubMachine.Action] {
    defer { actions = [] }
    return actions
  }

  /// A program connects.
  mutating func connect(user: UInt32 = TestHub.user, process: Int32 = 1) -> HubConnectionID {
    connect(HubPeer(userID: user, processID: process))
  }

  mutating func connect(_ peer: HubPeer) -> HubConnectionID {
    lastNumber += 1
    let id = HubConnectionID(rawValue: lastNumber)
    handle(.connected(id, peer))
    return id
  }

  /// A program connects, greets, and opens sessions with these numbers.
  mutating func serve(
    _ app: String = "app", sessions: [UInt64] = [1], acknowledges: Bool = true,
    user: UInt32 = TestHub.user, process: Int32 = 1, abilities: HubAbilities = .bluetooth
  ) throws -> HubConnectionID {
    let id = connect(user: user, process: process)
    let openings = sessions.map {
      SessionOpening(id: HubSessionID(rawValue: $0), acknowledgesEvents: acknowledges)
    }
    try send(.greeting(HubGreeting(app: app, abilities: abilities, openings: openings)), from: id)
    guard case .welcome = try messages(for: id).first else {
      Issue.record("the program is not welcome")
      return id
    }
    _ = takeActions()
    return id
  }

  mutating func send(_ message: AppMessage, from id: HubConnectionID) throws {
    var writer = HubFrameWriter()
    try writer.append(message)
    handle(.received(id, writer.takeBytes()))
  }

  mutating func send(_ request: HostRequest, from id: HubConnectionID) throws {
    try send(.request(HubSessionID(rawValue: 1), .known(request)), from: id)
  }

  /// The messages that a program can read, and has not read.
  mutating func messages(for id: HubConnectionID) throws -> [HubMessage] {
    var found: [HubMessage] = []
    while let message = try readers[id]?.next(HubMessage.self) { found.append(message) }
    return found
  }

  /// The events of these messages.
  mutating func events(for id: HubConnectionID) throws -> [HostEvent] {
    try messages(for: id).flatMap { message -> [HostEvent] in
      if case .events(_, let events) = message { events.events } else { [] }
    }
  }

  /// The reason why a program was refused; nil if it was not.
  mutating func refusal(of id: HubConnectionID) throws -> HubRefusal.Reason? {
    guard case .refusal(let refusal) = try messages(for: id).last else { return nil }
    return refusal.reason
  }
}

extension [HubMachine.Action] {
  /// The sessions with the host that are opened.
  var openedSessions: [HubSessionKey] {
    compactMap { if case .openSession(let key, _) = $0 { key } else { nil } }
  }
}

extension HubSessionKey {
  init(_ connection: HubConnectionID) { self.init(connection, HubSessionID(rawValue: 1)) }
}
