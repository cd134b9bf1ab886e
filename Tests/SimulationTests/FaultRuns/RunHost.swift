import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation

@testable import BluetoothMachines

/// A host in a run with faults: several clients, each with its ledger, and a way to the controller
/// that breaks when the power goes.
final class RunHost {
  let world: World
  let index: Int
  let controller: SimulatedController
  private(set) var machine: HostMachine
  private(set) var ledgers: [ClientLedger] = []
  /// The violations found for clients that are gone.
  private(set) var violations: [String] = []
  /// All events, if a test needs them.
  var transcript: Transcript?
  /// Whether the loss of power breaks the way to the controller; else nothing is heard any more.
  var noticesPowerLoss = true
  /// Called for all events of all clients.
  var onEvent: ((ClientID, HostEvent) -> Void)?
  /// Whether its controller ever lost its settings without a word. Until the host notices, it may
  /// take a new link for the one that had its handle before, and send data meant for another.
  private(set) var wasResetSilently = false
  /// Answers peers' requests; nil sends no answer.
  var answer: ((ServerRequest) -> Result<[UInt8], ATTErrorCode>?)?

  private var queue: [Work] = []
  private var isPumping = false
  private var scheduledWake: Instant?
  private var tokenCount: UInt64 = 0
  private var clientCount: UInt32 = 0
  private static let noPower = HostError.transport("No power.")

  private enum Work {
    case input(HostMachine.Input)
    case wake
  }

  init(_ index: Int, in world: World, at position: Position, isBasic: Bool) {
    self.world = world
    self.index = index
    controller = world.makeController(
      name: "host \(index)", address: Self.address(index), at: position,
      capabilities: isBasic ? .basic : ControllerCapabilities())
    machine = HostMachine(random: SeededGenerator(seed: world.seed &+ UInt64(index)))
    controller.onPacket = { [weak self] packet in self?.take(.input(.packet(packet))) }
    controller.onPowerChange = { [weak self] isOn in
      guard let self else { return }
      if !isOn, self.noticesPowerLoss { self.take(.input(.transportClosed(Self.noPower))) }
      if isOn, !self.noticesPowerLoss, !isBasic { self.wasResetSilently = true }
      // A basic one keeps nothing by which its host could tell that it was without power.
      if isOn, isBasic { self.inject(HardwareError(hardwareCode: 0).packet) }
    }
    take(.input(.transportOpened))
  }

  static func address(_ index: Int) -> DeviceAddress {
    DeviceAddress(bits: 0x00A0_5000_0000 | UInt64(index), kind: .public)
  }

  // MARK: Clients

  func addClient() -> ClientID {
    clientCount += 1
    let client = ClientID(rawValue: clientCount)
    ledgers.append(ClientLedger(id: client))
    take(.input(.clientOpened(client)))
    return client
  }

  func removeClient(_ client: ClientID) { take(.input(.clientClosed(client))) }

  func ledger(_ client: ClientID) -> ClientLedger? { ledgers.first { $0.id == client } }

  func makeToken() -> RequestToken {
    tokenCount += 1
    return RequestToken(rawValue: tokenCount)
  }

  func send(_ request: HostRequest, from client: ClientID) {
    take(.input(.request(client, request)))
  }

  /// Hands the machine a packet that its controller never sent.
  /// From now on it refuses to pair.
  func losesBonds() { take(.input(.bondsUnavailable)) }

  func inject(_ packet: HCIPacket) { take(.input(.packet(packet))) }

  // MARK: Driving the machine

  private func take(_ work: Work) {
    queue.append(work)
    guard !isPumping else { return }
    isPumping = true
    var position = 0
    while position < queue.count {
      let work = queue[position]
      position += 1
      note(work)
      var actions: [HostMachine.Action] = []
      switch work {
      case .input(let input): machine.handle(input, now: world.now, into: &actions)
      case .wake: machine.wake(now: world.now, into: &actions)
      }
      for action in actions { perform(action) }
    }
    queue = []
    isPumping = false
    checkLinkRequests()
    scheduleWake()
  }

  /// Enters requests in the ledger when the machine gets them, not while it still tells of before.
  private func note(_ work: Work) {
    switch work {
    case .input(.request(let client, let request)):
      guard let position = ledgers.firstIndex(where: { $0.id == client }) else { return }
      ledgers[position].asks(request)
    case .input(.clientClosed(let client)):
      guard let position = ledgers.firstIndex(where: { $0.id == client }) else { return }
      violations += ledgers.remove(at: position).violations
    case .input, .wake: break
    }
  }

  private func perform(_ action: HostMachine.Action) {
    switch action {
    case .send(let packet): controller.receive(packet)
    case .deliver(let client, let event): deliver(event, to: client)
    case .pauseReceiving, .resumeReceiving, .computeKey, .storeBond, .bondNotKept, .bondEvicted,
      .updateBonds, .removeBond, .clientLate:
      break
    case .reopenTransport:
      take(
        .input(controller.isPoweredOn ? .transportOpened : .transportClosed(Self.noPower)))
    }
  }

  private func deliver(_ event: HostEvent, to client: ClientID) {
    transcript?.add(world.now, index, client, event)
    guard let position = ledgers.firstIndex(where: { $0.id == client }) else {
      return violations.append("an event for client \(client.rawValue), who is gone: \(event)")
    }
    ledgers[position].hears(event)
    onEvent?(client, event)
    switch event {
    case .serverRequest(let request):
      guard let result = answer?(request) else { return }
      send(.respond(request.id, result), from: client)
    case .channelReceived(let id, let bytes):
      // Most consume at once; some are slow.
      let count = bytes.count
      guard count % 5 == 0 else {
        return send(.consumedFromChannel(id, byteCount: count), from: client)
      }
      world.schedule(at: world.now + .milliseconds(Int64(count % 400))) { [weak self] in
        self?.send(.consumedFromChannel(id, byteCount: count), from: client)
      }
    default: break
    }
  }

  private func scheduleWake() {
    guard let wake = machine.nextWake else { return }
    if let scheduledWake, scheduledWake <= wake { return }
    scheduledWake = wake
    world.schedule(at: max(wake, world.now)) { [weak self] in
      guard let self, self.scheduledWake == wake else { return }
      self.scheduledWake = nil
      self.take(.wake)
    }
  }

  // MARK: Checks

  /// A client must know the state of each of its requests for links from its events alone.
  private func checkLinkRequests() {
    for ledger in ledgers {
      for (peer, known) in ledger.linkRequests
      where machine.linkRequests.state(ledger.id, peer).map(ClientLedger.LinkRequest.init) != known
      {
        let state = machine.linkRequests.state(ledger.id, peer)
        violations.append("client \(ledger.id.rawValue) takes \(state as Any) for \(known)")
      }
      if machine.linkRequests.peers(of: ledger.id).count != ledger.linkRequests.count {
        violations.append("client \(ledger.id.rawValue) knows of fewer requests than the host")
      }
    }
  }

  /// The violations of a host whose clients gave up everything and whose world is quiet.
  func checkQuiet() -> [String] {
    var found = violations
    for position in ledgers.indices {
      ledgers[position].checkQuiet()
      found += ledgers[position].violations
    }
    for (name, count) in leftovers where count > 0 { found.append("\(count) \(name) are left") }
    if machine.state != .poweredOn { found.append("the radio is \(machine.state)") }
    return found.map { "host \(index): \($0)" }
  }

  /// Whether nothing is left that a checked host may not have.
  var isQuiet: Bool {
    machine.state == .poweredOn && leftovers.allSatisfy { $0.count == 0 }
      && ledgers.allSatisfy(\.isQuiet)
  }

  /// Entries of the machine's tables.
  private var leftovers: [(name: String, count: Int)] {
    [
      ("links", machine.links.count), ("link handles", machine.links.handles.count),
      ("link requests", machine.linkRequests.count),
      ("channels", machine.channels.channels.count),
      ("wanted links", machine.connector.pendingCount),
      ("server sessions", machine.server.sessions.count),
      ("server updates", machine.server.updates.count),
      ("waiting commands", machine.session.waitingCount),
    ]
  }
}

extension ClientLedger.LinkRequest {
  init(_ state: LinkRequests.State) {
    switch state {
    case .pending: self = .pending
    case .connected: self = .connected
    case .cancelling(let options): self = .cancelling(again: options != nil)
    }
  }
}

/// A fingerprint of all that hosts told their clients, in order.
struct Transcript: Equatable {
  private(set) var fingerprint: UInt64 = 0xCBF2_9CE4_8422_2325
  private(set) var eventCount = 0

  mutating func add(_ now: Instant, _ host: Int, _ client: ClientID, _ event: HostEvent) {
    eventCount += 1
    for byte in "\(now.nanoseconds) \(host) \(client.rawValue) \(event)".utf8 {
      fingerprint = (fingerprint ^ UInt64(byte)) &* 0x0100_0000_01B3
    }
  }
}
