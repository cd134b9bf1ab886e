import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

/// A program that is killed at any step, and started again: its next process believes what the host does for it.
@Suite("Programs that are killed and started again")
struct KeptProgramTests {
  private struct Run {
    var hub: TestHub
    var host = KeptHost()
    var random: SeededGenerator
    var id: HubConnectionID?
    /// The host's session.
    var key: HubSessionKey?
    var belief: HeldRadio?
    var lastToken: UInt64 = 0
    /// The requests of the process that are not completed.
    var open: Set<RequestToken> = []
    /// The services that the process knows.
    var services: Set<UInt16> = []

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      var limits = HubLimits()
      // Every other run gives events up.
      if seed.isMultiple(of: 2) { limits.keptEventCountMax = 3 }
      hub = TestHub(limits)
    }

    /// A process of the program starts, and hears what it has.
    mutating func start() throws {
      let id = hub.connect()
      self.id = id
      let opening = SessionOpening(
        id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: "central:lock",
        keptFor: .seconds(60))
      try hub.send(
        .greeting(
          HubGreeting(app: "lock", abilities: [.bluetooth, .identity], openings: [opening])),
        from: id)
      try settle()
      if host.uses[HubSessionKey(id)] != nil { key = HubSessionKey(id) }
    }

    mutating func kill() throws {
      guard let id else { return }
      hub.handle(.disconnected(id))
      self.id = nil
      belief = nil
      open = []
      try settle()
    }

    /// The hub's actions are performed, and the process reads what it can.
    mutating func settle() throws {
      host.perform(hub.takeActions())
      guard let id else { return }
      for message in try hub.messages(for: id) {
        switch message {
        case .attached(_, let attachment):
          belief = attachment.holdings.map(HeldRadio.init) ?? HeldRadio()
          lastToken = attachment.holdings?.lastToken ?? 0
          services = Set(belief?.services.keys.map(\.self) ?? [])
        case .events(let session, let events):
          for event in events.events {
            belief?.hear(event)
            hear(event)
          }
          try hub.send(.eventsHandled(session, count: events.count), from: id)
        default: break
        }
      }
      host.perform(hub.takeActions())
    }

    private mutating func hear(_ event: HostEvent) {
      guard case .completed(let token, let result) = event else { return }
      if open.remove(token) == nil {
        Issue.record("a completion of request \(token.rawValue), which the process never sent")
      }
      if case .success(.published(let service)) = result { services.insert(service.range.start) }
    }

    mutating func deliver(atMost count: Int) throws {
      guard let key else { return }
      let events = host.take(key, atMost: count)
      if !events.isEmpty { hub.handle(.delivered(key, events)) }
      try settle()
    }

    mutating func step() throws {
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1: try request()
      case 2: if let key { host.happen(key, &random) }
      default: try deliver(atMost: Int.random(in: 1...4, using: &random))
      }
    }

    private mutating func request() throws {
      guard let id else { return }
      let request = makeRequest()
      if let token = request.token { open.insert(token) }
      try hub.send(request, from: id)
      try settle()
    }

    private mutating func makeRequest() -> HostRequest {
      lastToken += 1
      let token = RequestToken(rawValue: lastToken)
      let peer = DeviceAddress(bits: UInt64.random(in: 1...3, using: &random), kind: .public)
      let handle = UInt16.random(in: 1...4, using: &random)
      let target = SubscriptionTarget(
        valueHandle: handle, endHandle: handle, usesIndications: false)
      var options = ConnectOptions()
      options.reconnectsAutomatically = Bool.random(using: &random)
      switch Int.random(in: 0..<14, using: &random) {
      case 0: return .startScan(ScanOptions())
      case 1: return .stopScan
      case 2: return .startAdvertising(AdvertisingOptions(), token)
      case 3: return .stopAdvertising
      case 4, 5: return .connect(peer, options)
      case 6: return .disconnect(peer)
      case 7: return .addService(ServiceDefinition(uuid: BluetoothUUID(handle)), token)
      case 8: return .removeService(services.sorted().randomElement(using: &random) ?? 99)
      case 9:
        return Bool.random(using: &random)
          ? .removeAllServices : .publishChannel(psm: handle, requiresEncryption: false, token)
      case 10: return .unpublishChannel(psm: handle)
      case 11, 12: return .subscribe(peer, target, token)
      default: return .unsubscribe(peer, target, token)
      }
    }
  }

  @Test(
    "killed after any step, a program's next process has what the host does for it",
    arguments: 1...40 as ClosedRange<UInt64>)
  func killed(seed: UInt64) throws {
    for killedAfter in 0..<24 {
      var run = Run(seed: seed &* 100 &+ UInt64(killedAfter))
      try run.start()
      for _ in 0..<killedAfter { try run.step() }
      try run.kill()
      #expect(Self.unanswered(run).isEmpty)
      for _ in 0..<12 { try run.step() }
      try run.start()
      // Nothing new happens until everything has arrived.
      try run.deliver(atMost: .max)
      let key = try #require(run.key)
      #expect(run.belief == run.host.uses[key], "killed after \(killedAfter)")
      #expect(run.host.unacknowledged[key] == 0)
      for _ in 0..<8 { try run.step() }
      try run.kill()
      run.hub.now = run.hub.now + .seconds(60)
      run.hub.handle(.wake)
      try run.settle()
      #expect(run.host.uses.isEmpty && run.hub.machine.users.isEmpty)
      #expect(run.hub.machine.nextWake == nil && run.hub.machine.holders.isEmpty)
      #expect(run.host.problems.isEmpty)
    }
  }

  /// The requests of peers that the hub has got: none of them is without an answer when no process is there.
  private static func unanswered(_ run: Run) -> Set<ServerRequestID> {
    let waiting = (run.key.flatMap { run.host.waiting[$0] } ?? []).compactMap { event in
      if case .serverRequest(let request) = event { request.id } else { nil as ServerRequestID? }
    }
    return Set(run.host.unanswered.keys).subtracting(waiting)
  }
}
