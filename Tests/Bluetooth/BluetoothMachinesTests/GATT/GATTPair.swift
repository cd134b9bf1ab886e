import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

/// A GATT client and a GATT server wired back to back, in virtual time, without a radio between.
struct GATTPair {
  static let owner = ClientID(rawValue: 7)
  static let peer = DeviceAddress(bits: 0xC0_0000_0000_01, kind: .random)

  var client: GATTClient
  var server: GATTServer
  var now = Instant.zero
  /// Changes what the server sends on its way to the client; nil drops it.
  var tamper: (([UInt8]) -> [UInt8]?)?
  /// Values that the server's owner keeps, by handle.
  var values: [UInt16: [UInt8]] = [:]
  /// Requests that the server's owner got.
  var requests: [ServerRequest] = []
  /// What the server's owner answers instead of doing.
  var refusal: ATTErrorCode?
  var results: [OperationID: Result<HostReply, HostError>] = [:]
  var received: [(handle: UInt16, value: [UInt8], isIndication: Bool)] = []
  var changedRanges: [HandleRange] = []
  var subscribed: [UInt16] = []
  var unsubscribed: [UInt16] = []
  var updates: [RequestToken: Result<HostReply, HostError>] = [:]
  var bearerError: HostError?
  /// PDUs in both directions.
  var pduCount = 0
  private var lastID: UInt64 = 0
  /// Whether the server's owner keeps requests for `answerHeld`.
  var holdsRequests = false
  var held: [ServerRequest] = []
  /// What the client wants of bearers.
  var bearersWantedCount = 0
  var closedBearers: [ATTBearer] = []
  /// How many PDUs went over which bearer.
  var pduCounts: [ATTBearer: Int] = [:]
  /// The operations in the order of their ends.
  var ended: [OperationID] = []
  private var toServer: [(ATTBearer, [UInt8])] = []
  private var toClient: [(ATTBearer, [UInt8])] = []

  init(name: String = "Test", mtuMax: Int = 517, serverMTUMax: Int = 517) {
    client = GATTClient(mtuMax: mtuMax)
    server = GATTServer(name: name, appearance: 0x0341, mtuMax: serverMTUMax)
    server.linkOpened(Self.peer)
  }

  mutating func publish(_ definition: ServiceDefinition) throws -> PublishedService {
    var outputs: [GATTServer.Output] = []
    let result = server.addService(definition, owner: Self.owner, now: now, into: &outputs)
    take(outputs)
    pump()
    return try result.get()
  }

  mutating func withServer(_ body: (inout GATTServer, inout [GATTServer.Output]) -> Void) {
    var outputs: [GATTServer.Output] = []
    body(&server, &outputs)
    take(outputs)
    pump()
  }

  mutating func withClient(_ body: (inout GATTClient, inout [GATTClient.Output]) -> Void) {
    var outputs: [GATTClient.Output] = []
    body(&client, &outputs)
    take(outputs)
    pump()
  }

  mutating func exchangeMTU() {
    let now = now
    withClient { $0.exchangeMTU(now: now, into: &$1) }
  }

  @discardableResult
  mutating func start(_ operation: GATTOperation) -> OperationID {
    lastID += 1
    let id = OperationID(rawValue: lastID)
    let now = now
    withClient { $0.start(operation, id: id, now: now, into: &$1) }
    return id
  }

  /// Runs an operation, with time passing until it ends.
  mutating func run(_ operation: GATTOperation) throws -> HostReply {
    let id = start(operation)
    while results[id] == nil, advance() {}
    return try #require(results[id]).get()
  }

  /// Lets time pass to the next thing due; false if nothing is.
  mutating func advance() -> Bool {
    guard let next = [client.nextWake, server.nextWake].compactMap(\.self).min() else {
      return false
    }
    now = max(now, next)
    let now = now
    withClient { $0.wake(now: now, into: &$1) }
    withServer { $0.wake(now: now, into: &$1) }
    return true
  }

  /// Delivers until nothing is under way.
  mutating func pump() {
    while !toServer.isEmpty || !toClient.isEmpty {
      if !toServer.isEmpty {
        var outputs: [GATTServer.Output] = []
        let (bearer, pdu) = toServer.removeFirst()
        server.receive(pdu[...], from: Self.peer, over: bearer, now: now, into: &outputs)
        take(outputs)
      }
      if !toClient.isEmpty {
        var outputs: [GATTClient.Output] = []
        let (bearer, pdu) = toClient.removeFirst()
        receiveAtClient(pdu, over: bearer, into: &outputs)
        take(outputs)
      }
    }
  }

  private mutating func receiveAtClient(
    _ pdu: [UInt8], over bearer: ATTBearer, into outputs: inout [GATTClient.Output]
  ) {
    // As slices come from a packet: not from index 0.
    let packet = [0, 0, 0, 0] + pdu
    client.receive(packet[4...], over: bearer, now: now, into: &outputs)
  }

  /// Opens an enhanced bearer at both ends.
  mutating func openBearer(_ number: UInt16, mtu: Int = 100) {
    let bearer = ATTBearer(rawValue: number)
    let now = now
    server.bearerOpened(bearer, mtu: mtu, Self.peer)
    withClient { $0.bearerOpened(bearer, mtu: mtu, now: now, into: &$1) }
  }

  /// Ends a bearer at both ends, and drops the PDUs under way on it.
  mutating func closeBearer(_ number: UInt16) {
    let bearer = ATTBearer(rawValue: number)
    let now = now
    toServer.removeAll { $0.0 == bearer }
    toClient.removeAll { $0.0 == bearer }
    server.bearerClosed(bearer, Self.peer)
    withClient { $0.bearerClosed(bearer, now: now, into: &$1) }
  }

  /// The owner answers a request that it kept.
  mutating func answerHeld(_ index: Int) {
    answer(held.remove(at: index))
    pump()
  }

  private mutating func take(_ outputs: [GATTClient.Output]) {
    for output in outputs {
      switch output {
      case .link(.send(let pdu, let tag, let bearer)):
        pduCount += 1
        pduCounts[bearer, default: 0] += 1
        toServer.append((bearer, pdu))
        if let tag {
          var more: [GATTClient.Output] = []
          client.sent(tag, into: &more)
          take(more)
        }
      case .completed(let id, let result):
        #expect(results[id] == nil, "an operation ended twice")
        results[id] = result
        ended.append(id)
      case .valueReceived(let handle, let value, let bearer):
        received.append((handle, Array(value), bearer != nil))
        guard let bearer else { continue }
        pduCount += 1
        toServer.append((bearer, [ATTOpcode.handleValueConfirmation.rawValue]))
      case .link(.mtuChanged(let mtu)): server.setMTU(mtu, Self.peer)
      case .link(.servicesChanged(let range)): changedRanges.append(range)
      case .link(.securityRequired):
        // No test of this pair encrypts.
        var more: [GATTClient.Output] = []
        client.secured(false, now: now, into: &more)
        take(more)
      case .link(.securityInsufficient): break
      case .link(.bearerFailed(let error)): bearerError = error
      case .link(.bearersWanted): bearersWantedCount += 1
      case .link(.closeBearer(let bearer)):
        closedBearers.append(bearer)
        server.bearerClosed(bearer, Self.peer)
      }
    }
  }

  private mutating func take(_ outputs: [GATTServer.Output]) {
    for output in outputs {
      switch output {
      case .send(_, let pdu, let tag, let bearer):
        pduCount += 1
        if let pdu = tamper.map({ $0(pdu) }) ?? pdu { toClient.append((bearer, pdu)) }
        if let tag {
          var more: [GATTServer.Output] = []
          server.sent(tag, to: Self.peer, into: &more)
          take(more)
        }
      case .request(_, let request):
        if holdsRequests { held.append(request) } else { answer(request) }
      case .subscribed(_, _, let handle): subscribed.append(handle)
      case .unsubscribed(_, _, let handle): unsubscribed.append(handle)
      case .updateCompleted(_, let token, let result): updates[token] = result
      case .mtuChanged(_, let mtu): client.mtu = mtu
      case .clientChanged, .requestExpired, .protectionNeeded: break
      case .bearerFailed(_, let error): bearerError = error
      }
    }
  }

  private mutating func answer(_ request: ServerRequest) {
    requests.append(request)
    var result: Result<[UInt8], ATTErrorCode>
    switch request.kind {
    case .read(let handle, let offset):
      let value = values[handle] ?? []
      result = offset > value.count ? .failure(.invalidOffset) : .success(Array(value[offset...]))
    case .write(let writes):
      result = .success([])
      if refusal == nil {
        for write in writes {
          var value = Array((values[write.handle] ?? []).prefix(write.offset))
          value += write.value
          values[write.handle] = value
        }
      }
    }
    if let refusal { result = .failure(refusal) }
    var outputs: [GATTServer.Output] = []
    server.respond(request.id, result, from: Self.owner, now: now, into: &outputs)
    take(outputs)
  }
}

extension ServiceDefinition {
  static let long128 = BluetoothUUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E)

  /// A service with something of everything.
  static let everything = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A37, properties: [.notify, .indicate], permissions: [],
        descriptors: [DescriptorDefinition(uuid: 0x2901, value: Array("Rate".utf8))]),
      CharacteristicDefinition(
        uuid: 0x2A38, properties: .read, permissions: .readable, value: [2]),
      CharacteristicDefinition(
        uuid: long128, properties: [.read, .write, .writeWithoutResponse, .extendedProperties],
        permissions: [.readable, .writeable]),
      CharacteristicDefinition(
        uuid: 0x2A39, properties: [.read, .write],
        permissions: [.readEncryptionRequired, .writeEncryptionRequired]),
    ])
}
