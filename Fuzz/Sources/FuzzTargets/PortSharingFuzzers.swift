import DNSWire
import DiscoveryMachines
import Essentials
import PortSharing

extension FuzzTarget {
  /// What arrives over the socket between a hub, the owner of port 5353, and its clients.
  static let sharing: [FuzzTarget] = [
    FuzzTarget(name: "ClientMessage") { check($0, ClientMessage.self) },
    FuzzTarget(name: "OwnerMessage") { check($0, OwnerMessage.self) },
    FuzzTarget(name: "SharedOwner") { bytes in
      var victim = OwnerVictim()
      var reader = ByteReader(bytes)
      while let choice = try? reader.uint8() { victim.act(choice, &reader) }
    },
    FuzzTarget(name: "PortSharingClient") { bytes in
      var victim = ClientVictim()
      var reader = ByteReader(bytes)
      while let choice = try? reader.uint8() { victim.act(choice, &reader) }
    },
  ]

  /// A decoded message can be encoded and decoded again as the same, in one piece and byte by byte.
  private static func check<Message: PortSharingMessage>(_ bytes: [UInt8], _ type: Message.Type) {
    guard let message = try? Message(decoding: bytes[...]), let frame = message.frame else {
      return
    }
    var whole = FrameReader()
    whole.append(frame)
    guard let again = try? whole.next(Message.self), let second = again.frame else {
      preconditionFailure("\(message) cannot be read again")
    }
    precondition(whole.byteCount == 0)
    var dripped = FrameReader()
    var read: [Message] = []
    for byte in second {
      dripped.append([byte])
      while let message = try? dripped.next(Message.self) { read.append(message) }
    }
    precondition(read == [again], "\(again) came back as \(read)")
  }
}

/// An owner with clients of several users that send arbitrary messages.
private struct OwnerVictim {
  private var owner: OwnerMachine
  private var machine: DiscoveryMachine
  private var now = Instant.zero
  private var clients: Set<OwnerMachine.ConnectionID> = []
  private var published: Set<RegistrationID> = []
  private static let configuration = SharedConfiguration(hostName: "h")

  init() {
    var limits = OwnerMachine.Limits()
    (limits.clientsMax, limits.clientsPerUserMax) = (3, 2)
    limits.perClient = OwnerMachine.Load(requestCount: 20, byteCount: 400)
    limits.perUser = OwnerMachine.Load(requestCount: 30, byteCount: 600)
    limits.inAll = OwnerMachine.Load(requestCount: 40, byteCount: 800)
    (limits.incompleteByteCountPerUserMax, limits.incompleteByteCountMax) = (300, 500)
    owner = OwnerMachine(configuration: Self.configuration, limits: limits)
    guard let machine = try? DiscoveryMachine(hostLabel: [104], rng: .init(seed: 1)) else {
      preconditionFailure("a label of one letter is none")
    }
    self.machine = machine
    let link = NetworkInterface(
      InterfaceIndex(rawValue: 1), versions: [.v4],
      addresses: [.init(.v4(Inet4Address(10, 0, 0, 1)), prefixBitCount: 24)])
    tell(.interfaceChanged(link))
    handle(.report(.interfaces([link.index: "eth0"])))
  }

  mutating func act(_ choice: UInt8, _ reader: inout ByteReader) {
    let client = OwnerMachine.ConnectionID(rawValue: UInt64(choice >> 3 & 3))
    switch choice & 7 {
    case 0:
      guard clients.insert(client).inserted else { return }
      handle(.connected(client, userID: UInt32(choice >> 5)))
    case 1:
      handle(.received(.hello(versions: 1...3, Self.configuration), from: client))
    case 2: pass(.milliseconds(Int64(choice) * 50))
    case 3:
      if clients.remove(client) != nil { handle(.disconnected(client)) }
    default:
      guard let byteCount = try? reader.uint8(), let body = try? reader.slice(Int(byteCount))
      else { return }
      handle(.incomplete(client, byteCount: body.count))
      if let message = try? ClientMessage(decoding: body) {
        handle(.received(message, from: client))
      } else if choice & 7 == 7 {
        handle(.invalidMessage(client))
      }
    }
    precondition(owner.clientCount <= 3 && owner.clientRegistrations.count <= 40)
    precondition(Set(owner.clientRegistrations) == published, "somebody's service is forgotten")
  }

  private mutating func handle(_ event: OwnerMachine.Event) {
    var actions: [OwnerMachine.Action] = []
    owner.handle(event, now: now, into: &actions)
    owner.wake(now: now, into: &actions)
    for action in actions {
      switch action {
      case .forward(let request): perform(request)
      case .handOver(let id):
        published.remove(id)
        tell(.handOver([id]))
      case .close(let client): clients.remove(client)
      case .send(let message, _): precondition(message.frame != nil, "an answer is too long")
      }
    }
  }

  private mutating func perform(_ request: DiscoveryRequest) {
    switch request {
    case .startQuery(let id, let what, let index, let options):
      tell(.startQuery(id, what, on: index, options: options))
    case .stopQuery(let id): tell(.stopQuery(id))
    case .reconfirm(let record, let index): tell(.reconfirm(record, on: index))
    case .registerService(let id, let service):
      published.insert(id)
      tell(.registerService(id, service))
    case .registerRecord(let id, let record):
      published.insert(id)
      tell(.registerRecord(id, record))
    case .updateText(let id, let text): tell(.updateText(id, text))
    case .updateRecord(let id, let data, let ttlSeconds):
      tell(.updateRecord(id, data, ttlSeconds: ttlSeconds))
    case .setRecord(let id, let number, let data, let ttlSeconds):
      tell(.setRecord(id, number, data, ttlSeconds: ttlSeconds))
    case .unregister(let id):
      published.remove(id)
      tell(.unregister(id))
    }
  }

  private mutating func tell(_ event: DiscoveryMachine.Event) {
    var actions: [DiscoveryMachine.Action] = []
    machine.handle(event, now: now, into: &actions)
    report(actions)
  }

  private mutating func pass(_ span: TimeSpan) {
    let end = now + span
    var turns = 0
    while let next = machine.nextWake, next <= end {
      now = max(now, next)
      var actions: [DiscoveryMachine.Action] = []
      machine.wake(now: now, into: &actions)
      report(actions)
      turns += 1
      precondition(turns < 10_000, "the machine never rests")
    }
    now = end
  }

  private mutating func report(_ actions: [DiscoveryMachine.Action]) {
    for action in actions {
      switch action {
      case .send: break
      case .registered(let id, let name): handle(.report(.registered(id, name)))
      case .refused(let id, let name):
        published.remove(id)
        handle(.report(.refused(id, name)))
      case .deliver(let id, let event, let index, let moreComing):
        handle(.report(.found(id, event, on: index, moreComing: moreComing)))
      }
    }
  }
}

/// A client with a series of owners that send arbitrary messages.
private struct ClientVictim {
  private var client = PortSharingClient(resultsMax: 100)
  private var now = Instant.zero
  private var owner: PortSharingClient.Owner?
  private var asked: Set<QueryID> = []
  /// The services reported to the host.
  private var services: [QueryID: Set<Service>] = [:]

  private struct Service: Hashable {
    var name: ServiceName
    var interface: InterfaceIndex?
  }

  mutating func act(_ choice: UInt8, _ reader: inout ByteReader) {
    switch choice & 7 {
    case 0:
      guard owner != .thisProcess else { return }
      if owner != nil { end() }
      let owner = choice & 0xF8 == 0xF8 ? PortSharingClient.Owner.thisProcess : .another
      self.owner = owner
      handle(.began(owner))
    case 1: if owner == .another { end() }
    case 2:
      now = now + .seconds(Int64(choice >> 3))
      guard let due = client.nextWake, due <= now else { return }
      var actions: [PortSharingClient.Action] = []
      client.wake(now: now, into: &actions)
      take(actions)
    default:
      guard let byteCount = try? reader.uint8(), let body = try? reader.slice(Int(byteCount))
      else { return }
      if owner != nil, case .report(let report)? = try? OwnerMessage(decoding: body) {
        handle(.report(report))
      } else if case .request(let request)? = try? ClientMessage(decoding: body) {
        want(request)
      }
    }
  }

  /// A host uses each number once.
  private mutating func want(_ request: DiscoveryRequest) {
    switch request {
    case .startQuery(let id, _, _, _): guard asked.insert(id).inserted else { return }
    case .stopQuery(let id): services[id] = nil
    default: break
    }
    handle(.request(request))
  }

  private mutating func end() {
    owner = nil
    handle(.ended)
    precondition(client.nextWake == nil, "without an owner nothing settles")
  }

  private mutating func handle(_ event: PortSharingClient.Event) {
    var actions: [PortSharingClient.Action] = []
    client.handle(event, now: now, into: &actions)
    take(actions)
  }

  private mutating func take(_ actions: [PortSharingClient.Action]) {
    for action in actions {
      switch action {
      case .notify(.found(let id, .serviceAdded(let name), let index, _)):
        services[id, default: []].insert(Service(name: name, interface: index))
      case .notify(.found(let id, .serviceRemoved(let name), let index, _)):
        let wasTold = services[id]?.remove(Service(name: name, interface: index)) != nil
        precondition(wasTold || owner == .thisProcess, "\(name) was never told")
      case .notify, .forward, .fail: break
      case .disconnect: if owner == .another { end() }
      }
    }
  }
}
