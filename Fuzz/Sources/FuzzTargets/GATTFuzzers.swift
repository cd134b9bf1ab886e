import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

extension FuzzTarget {
  /// A client whose peer sends arbitrary responses while operations run. A packet's first byte
  /// decides whether it is a PDU, or which operation begins, or that time passes.
  static let gattClient = FuzzTarget(name: "GATTClient") { bytes in
    var victim = GATTClientVictim()
    for packet in packets(bytes) {
      guard let choice = packet.first else { continue }
      victim.act(choice, packet.dropFirst())
    }
    victim.finish()
  }

  /// A server with two peers that send arbitrary requests, and an owner whose answers, updates and
  /// changes of services are controlled by the input.
  static let gattServer = FuzzTarget(name: "GATTServer") { bytes in
    var victim = GATTServerVictim()
    for packet in packets(bytes) {
      guard let choice = packet.first else { continue }
      victim.act(choice, packet.dropFirst())
    }
    victim.finish()
  }
}

private struct GATTClientVictim {
  private static let bearers = [ATTBearer.fixed] + (0x40...0x42).map { ATTBearer(rawValue: $0) }

  var client = GATTClient(mtuMax: 185)
  var now = Instant.zero
  var startedCount: UInt64 = 0
  var completed: Set<UInt64> = []
  var tags: [SendTag] = []
  var requestsUnderWay = 0
  var hasFailed = false

  mutating func act(_ choice: UInt8, _ packet: ArraySlice<UInt8>) {
    let now = now
    switch choice & 0x0F {
    case 0...6:
      let bearer = Self.bearers[Int(choice >> 6)]
      perform { $0.receive(packet, over: bearer, now: now, into: &$1) }
    case 7:
      // The fixed one neither opens nor closes.
      let bearer = Self.bearers[1 + Int(choice >> 6) % 3]
      if choice & 0x10 == 0 {
        perform { $0.bearerOpened(bearer, mtu: 64 + Int(choice), now: now, into: &$1) }
      } else {
        perform { $0.bearerClosed(bearer, now: now, into: &$1) }
      }
    case 8...11: start(choice >> 4, Array(packet))
    case 12: perform { $0.exchangeMTU(now: now, into: &$1) }
    case 13:
      self.now = now + .seconds(Int64(choice >> 4))
      let later = self.now
      perform { $0.wake(now: later, into: &$1) }
    case 14:
      guard let tag = tags.first else { return }
      tags.removeFirst()
      perform { $0.sent(tag, into: &$1) }
    default: client.mtu = 23 + Int(choice)
    }
  }

  mutating func finish() {
    perform { $0.close(.notConnected, into: &$1) }
    precondition(
      completed.count == Int(startedCount),
      "\(startedCount) operations, but \(completed.count) ended")
    precondition(client.nextWake == nil, "something is awaited on a closed link")
  }

  private mutating func start(_ kind: UInt8, _ bytes: [UInt8]) {
    startedCount += 1
    let id = OperationID(rawValue: startedCount)
    let now = now
    let operation = Self.operation(kind, bytes)
    perform { $0.start(operation, id: id, now: now, into: &$1) }
  }

  private static func operation(_ kind: UInt8, _ bytes: [UInt8]) -> GATTOperation {
    let handle = UInt16(bytes.first ?? 1)
    let range = HandleRange(handle, handle &+ 20)
    switch kind {
    case 0: return .discoverServices(nil)
    case 1: return .discoverServices([0x180D, BluetoothUUID(high: 1, low: 2)])
    case 2: return .discoverIncludedServices(in: range)
    case 3: return .discoverCharacteristics(in: .all, nil)
    case 4: return .discoverCharacteristics(in: range, [0x2A37])
    case 5: return .discoverDescriptors(in: range)
    case 6: return .read(handle)
    case 7: return .readByUUID(0x2A00, in: .all)
    case 8: return .readMultiple(bytes.map { UInt16($0) })
    case 9: return .write(handle, bytes)
    case 10: return .write(handle, [UInt8](repeating: 7, count: bytes.count * 9))
    case 11:
      return .reliableWrite(
        bytes.prefix(5).map { AttributeValue(handle: UInt16($0), value: bytes) })
    case 12: return .writeWithoutResponse(handle, bytes)
    case 13: return .discoverServices([])
    case 14: return .discoverDescriptors(in: HandleRange(handle, 0))
    default: return .readMultiple([])
    }
  }

  private mutating func perform(_ body: (inout GATTClient, inout [GATTClient.Output]) -> Void) {
    var outputs: [GATTClient.Output] = []
    body(&client, &outputs)
    precondition(outputs.count < 1000, "one input led to \(outputs.count) outputs")
    var isRefused = false
    for output in outputs {
      switch output {
      case .link(.send(let pdu, let tag, let bearer)):
        precondition(!hasFailed, "something was sent on a dead bearer")
        precondition(
          bearer != .fixed || pdu.count <= max(client.mtu, 23), "a PDU longer than the MTU")
        if let tag { tags.append(tag) }
      case .completed(let id, _):
        precondition(completed.insert(id.rawValue).inserted, "an operation ended twice")
      case .link(.securityRequired): isRefused = true
      case .link(.bearerFailed): hasFailed = true
      case .valueReceived: break
      case .link(.mtuChanged), .link(.servicesChanged), .link(.bearersWanted), .link(.closeBearer),
        .link(.securityInsufficient):
        break
      }
    }
    guard isRefused else { return }
    let now = now
    let isSecured = startedCount.isMultiple(of: 2)
    perform { $0.secured(isSecured, now: now, into: &$1) }
  }
}

private struct GATTServerVictim {
  private static let owner = ClientID(rawValue: 1)
  private static let enhanced = ATTBearer(rawValue: 0x40)
  private static let peers = [1, 2].map { DeviceAddress(bits: $0, kind: .public) }
  private static let template: (server: GATTServer, service: PublishedService?) = {
    var server = GATTServer(name: "Fuzz", appearance: 0, mtuMax: 100)
    var outputs: [GATTServer.Output] = []
    let service = server.addService(definition, owner: owner, now: .zero, into: &outputs)
    return (server, try? service.get())
  }()
  private static let definition = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A37, properties: [.read, .write, .writeWithoutResponse, .notify, .indicate],
        permissions: [.readable, .writeable]),
      CharacteristicDefinition(
        uuid: BluetoothUUID(high: 3, low: 4), properties: [.read, .notify, .extendedProperties],
        permissions: [.readable], value: [UInt8](repeating: 9, count: 130),
        descriptors: [DescriptorDefinition(uuid: 0x2901, value: [0x41])]),
      CharacteristicDefinition(
        uuid: 0x2A39, properties: [.read, .write, .indicate],
        permissions: [.readEncryptionRequired, .writeEncryptionRequired],
        subscribingRequiresEncryption: true),
    ])

  var server = template.server
  var services: [PublishedService] = template.service.map { [$0] } ?? []
  var now = Instant.zero
  var requests: [ServerRequestID] = []
  var mtus: [DeviceAddress: Int] = [:]
  var tags: [(SendTag, DeviceAddress)] = []
  var updateCount: UInt64 = 0
  var completed: Set<UInt64> = []
  var subscriptions: [DeviceAddress: Set<UInt16>] = [:]

  init() {
    for peer in Self.peers { open(peer) }
  }

  mutating func act(_ choice: UInt8, _ packet: ArraySlice<UInt8>) {
    let now = now
    let peer = Self.peers[Int(choice >> 7)]
    let amount = Int(choice >> 4 & 7)
    switch choice & 0x0F {
    case 0...5:
      let bearer = amount & 3 == 3 ? Self.enhanced : .fixed
      perform { $0.receive(packet, from: peer, over: bearer, now: now, into: &$1) }
    case 6:
      if amount & 1 == 0 {
        server.bearerOpened(Self.enhanced, mtu: 64 + amount * 9, peer)
      } else {
        server.bearerClosed(Self.enhanced, peer)
      }
    case 7, 8: respond(amount, packet)
    case 9: update(amount, packet, peer)
    case 10:
      guard let (tag, peer) = tags.first else { return }
      tags.removeFirst()
      perform { $0.sent(tag, to: peer, into: &$1) }
    case 11:
      self.now = now + .seconds(Int64(amount) * 6)
      let later = self.now
      perform { $0.wake(now: later, into: &$1) }
    case 12:
      let encryption = EncryptionInfo(
        keyByteCount: 16, isAuthenticated: amount & 4 == 0, isSecureConnections: true)
      server.setEncryption(amount & 1 == 0 ? encryption : nil, peer, hasKey: amount & 2 == 0)
    case 13: reconnect(peer, amount, packet)
    case 14: addService()
    default:
      guard amount < services.count else { return }
      let handle = services.remove(at: amount).range.start
      perform { $0.removeService(handle, owner: Self.owner, now: now, into: &$1) }
    }
  }

  /// The peer reconnects, with its previous configuration, or with the one in the packet.
  private mutating func reconnect(
    _ peer: DeviceAddress, _ amount: Int, _ packet: ArraySlice<UInt8>
  ) {
    var configuration = server.clientConfiguration(of: peer)
    close(peer)
    open(peer)
    guard amount & 1 == 0 else { return }
    if amount & 2 == 0 {
      let hash = amount & 4 == 0 ? server.databaseHash() : Array(packet.prefix(16))
      var other = ClientConfiguration(
        databaseHash: hash, isAware: packet.count & 1 == 0, features: packet.first ?? 0,
        descriptors: [:])
      for byte in packet { other.descriptors[UInt16(byte & 63)] = UInt16(byte >> 6) }
      configuration = other
    }
    guard let configuration else { return }
    let now = now
    perform { $0.restore(configuration, of: peer, now: now, into: &$1) }
  }

  mutating func finish() {
    for peer in Self.peers { close(peer) }
    precondition(
      completed.count == Int(updateCount), "\(updateCount) updates, \(completed.count) ended")
    precondition(server.nextWake == nil, "something is awaited without a link")
  }

  private mutating func open(_ peer: DeviceAddress) {
    server.linkOpened(peer)
    mtus[peer] = 23
    subscriptions[peer] = []
  }

  private mutating func close(_ peer: DeviceAddress) {
    let now = now
    tags.removeAll { $0.1 == peer }
    perform { $0.linkClosed(peer, now: now, into: &$1) }
  }

  private mutating func respond(_ amount: Int, _ packet: ArraySlice<UInt8>) {
    guard let id = requests.popLast() else { return }
    let now = now
    let result: Result<[UInt8], ATTErrorCode> =
      amount == 7 ? .failure(.outOfRange) : .success([UInt8](repeating: 5, count: amount * 80))
    perform { $0.respond(id, result, from: Self.owner, now: now, into: &$1) }
  }

  private mutating func update(_ amount: Int, _ packet: ArraySlice<UInt8>, _ peer: DeviceAddress) {
    updateCount += 1
    let token = RequestToken(rawValue: updateCount)
    let now = now
    let handles = services.flatMap(\.characteristics).map(\.valueHandle)
    let handle = amount < handles.count ? handles[amount] : 3
    perform {
      $0.updateValue(
        handle: handle, value: Array(packet), peers: amount & 1 == 0 ? nil : [peer], token: token,
        owner: Self.owner, now: now, into: &$1)
    }
  }

  private mutating func addService() {
    guard services.count < 6 else { return }
    let now = now
    var result: Result<PublishedService, HostError> = .failure(.cancelled)
    perform {
      result = $0.addService(Self.definition, owner: Self.owner, now: now, into: &$1)
    }
    if let service = try? result.get() { services.append(service) }
  }

  private mutating func perform(_ body: (inout GATTServer, inout [GATTServer.Output]) -> Void) {
    var outputs: [GATTServer.Output] = []
    body(&server, &outputs)
    for case .mtuChanged(let peer, let mtu) in outputs { mtus[peer] = mtu }
    for output in outputs {
      switch output {
      case .send(let peer, let pdu, let tag, let bearer):
        let mtu = bearer == .fixed ? max(mtus[peer] ?? 23, 23) : 64 + 7 * 9
        precondition(pdu.count <= mtu, "a PDU longer than the MTU")
        if let tag { tags.append((tag, peer)) }
      case .request(let owner, let request):
        precondition(owner == Self.owner, "a request to nobody")
        requests.append(request.id)
      case .updateCompleted(_, let token, _):
        precondition(completed.insert(token.rawValue).inserted, "an update ended twice")
      case .subscribed(_, let peer, let handle):
        precondition(
          subscriptions[peer, default: []].insert(handle).inserted, "subscribed twice")
      case .unsubscribed(_, let peer, let handle):
        precondition(subscriptions[peer]?.remove(handle) != nil, "unsubscribed, but never before")
      case .clientChanged, .mtuChanged, .bearerFailed, .requestExpired, .protectionNeeded: break
      }
    }
  }
}
