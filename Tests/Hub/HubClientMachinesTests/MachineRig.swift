public import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

@testable import HubClientMachines

/// A machine in virtual time, with the bytes that it sends read as messages, and the events of its clients.
struct MachineRig {
  var machine = HubClientMachine(app: "test")
  var now = Instant.zero + .seconds(100)
  /// All messages of the connection.
  var sent: [AppMessage] = []
  /// All events, by session.
  var events: [HubSessionID: [HostEvent]] = [:]
  /// The answers to openings that clients got, each with the number of events before it.
  var attachments: [(session: HubSessionID, SessionAttachment, eventCount: Int)] = []
  /// The other actions, without those that repeat what `sent` and `events` have.
  var actions: [HubClientMachine.Action] = []
  private var reader = HubFrameReader()

  static let one = HubSessionID(rawValue: 1)
  static let two = HubSessionID(rawValue: 2)
  static let peer = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)

  /// A rig with a hub that has accepted the greeting, and a session whose radio is on.
  static func connected(acknowledgesEvents: Bool = true) -> MachineRig {
    var rig = MachineRig()
    rig.openSession(one, acknowledgesEvents: acknowledgesEvents)
    rig.connect()
    rig.hub(.events(one, HubEvents([.stateChanged(.poweredOn)])))
    return rig
  }

  // MARK: Inputs

  mutating func handle(_ input: HubClientMachine.Input) {
    var taken: [HubClientMachine.Action] = []
    machine.handle(input, now: now, into: &taken)
    perform(taken)
  }

  mutating func openSession(
    _ id: HubSessionID, name: String = "", acknowledgesEvents: Bool = true,
    keptFor: TimeSpan = .zero
  ) {
    handle(
      .sessionOpened(id, name: name, acknowledgesEvents: acknowledgesEvents, keptFor: keptFor))
  }

  mutating func request(_ request: HostRequest, of id: HubSessionID = one) {
    handle(.request(id, request))
  }

  /// Connects the socket, and has the hub accept the greeting.
  mutating func connect(_ abilities: HubAbilities = .bluetooth) {
    handle(.opened)
    hub(.welcome(HubWelcome(version: 1, abilities: abilities, isSimulated: false)))
  }

  /// The hub sends a message.
  mutating func hub(_ message: HubMessage) {
    var writer = HubFrameWriter()
    do { try writer.append(message) } catch { fatalError("\(message): \(error)") }
    handle(.received(writer.takeBytes()))
  }

  /// The hub sends events of the first session.
  mutating func hub(_ events: HostEvent...) { hub(.events(Self.one, HubEvents(events))) }

  /// The hub is gone, and another one answers after the pause.
  mutating func restartHub() {
    handle(.closed(.ended))
    sleep(.seconds(1))
    connect()
  }

  /// Lets time go by, and wakes the machine when something is due.
  mutating func sleep(_ span: TimeSpan) {
    let end = now + span
    while let due = machine.nextWake, due <= end {
      now = max(now, due)
      wake()
    }
    now = end
  }

  /// As above, with a hub that answers each ping.
  mutating func sleep(_ span: TimeSpan, answeringPings: Bool) {
    let end = now + span
    while let due = machine.nextWake, due <= end {
      now = max(now, due)
      wake()
      if answeringPings { answerPings() }
    }
    now = end
  }

  /// The hub answers the pings that were sent.
  mutating func answerPings() {
    for case .ping(let number) in sent { hub(.pong(number)) }
    sent.removeAll { if case .ping = $0 { true } else { false } }
  }

  mutating func wake() {
    var taken: [HubClientMachine.Action] = []
    machine.wake(now: now, into: &taken)
    perform(taken)
  }

  private mutating func perform(_ taken: [HubClientMachine.Action]) {
    for action in taken {
      switch action {
      case .open:
        sent = []
        reader = HubFrameReader()
        actions.append(action)
      case .send(let bytes):
        reader.append(bytes)
        do {
          while let message: AppMessage = try reader.next() { sent.append(message) }
        } catch {
          fatalError("the machine sent an invalid message: \(error)")
        }
      case .deliver(let id, let batch): events[id, default: []] += batch
      case .attached(let id, let attachment):
        // It precedes the events of its connection.
        attachments.append((id, attachment, eventCount: events[id]?.count ?? 0))
      case .close, .failed, .connected, .lost, .time, .settle: actions.append(action)
      }
    }
  }

  // MARK: Outcomes

  /// Takes the events of a session.
  mutating func takeEvents(of id: HubSessionID = one) -> [HostEvent] {
    events.removeValue(forKey: id) ?? []
  }

  /// Takes the messages that were sent.
  mutating func takeSent() -> [AppMessage] {
    defer { sent = [] }
    return sent
  }

  /// Takes the openings of sessions that were sent, in greetings and behind them.
  mutating func takeOpenings() -> [SessionOpening] {
    takeSent().flatMap { message in
      switch message {
      case .greeting(let greeting): greeting.openings
      case .openSession(let opening): [opening]
      default: [SessionOpening]()
      }
    }
  }

  /// Takes the requests of a session that were sent.
  mutating func takeRequests(of id: HubSessionID = one) -> [HostRequest] {
    takeSent().compactMap {
      if case .request(id, .known(let request)) = $0 { request } else { nil }
    }
  }

  /// The reasons for which there was no connection.
  var failures: [HubFailure] {
    actions.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
  }
}

extension LinkInfo {
  static let sample = LinkInfo(peer: MachineRig.peer, role: .central)
}

extension RequestToken: ExpressibleByIntegerLiteral {
  /// A token of a test.
  public init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}
