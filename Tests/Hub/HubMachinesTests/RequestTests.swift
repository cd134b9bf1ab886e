import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

@Suite("Requests and events of programs")
struct RequestTests {
  private static let token = RequestToken(rawValue: 7)
  private static let peer = DeviceAddress(bits: 0xC0FF_EE00_0001, kind: .public)

  private func sent(_ hub: inout TestHub) -> [HostRequest] {
    hub.takeActions().compactMap { if case .send(_, let request) = $0 { request } else { nil } }
  }

  private func acknowledged(_ hub: inout TestHub) -> Int {
    hub.takeActions().reduce(0) {
      if case .acknowledge(_, let count) = $1 { $0 + count } else { $0 }
    }
  }

  @Test("requests reach the host in order, and events the program")
  func passing() throws {
    var hub = TestHub()
    let id = try hub.serve()
    let requests: [HostRequest] = [.startScan(ScanOptions()), .stopScan, .barrier(Self.token)]
    for request in requests { try hub.send(request, from: id) }
    #expect(sent(&hub) == requests)
    let events: [HostEvent] = [
      .stateChanged(.poweredOn), .completed(Self.token, .success(.done)),
    ]
    hub.handle(.delivered(HubSessionKey(id), events))
    #expect(try hub.events(for: id) == events)
  }

  @Test(
    "a request of a later version is completed as unsupported, and not acknowledged to the host")
  func unknown() throws {
    var hub = TestHub()
    let id = try hub.serve()
    // A request of session 1 with number 0xFE, token 7 and two bytes of fields.
    hub.handle(.received(id, [6, 0, 0, 0, 0x91, 1, 0xFE, 7, 0xAA, 0xBB]))
    guard
      case .completed(Self.token, .failure(.unsupported(let text))) = try hub.events(for: id).first
    else {
      Issue.record("not completed")
      return
    }
    #expect(text.contains("254"))
    hub.handle(
      .delivered(HubSessionKey(id), [.stateChanged(.poweredOn), .stateChanged(.poweredOff)]))
    _ = hub.takeActions()
    try hub.send(.eventsHandled(HubSessionID(rawValue: 1), count: 2), from: id)
    #expect(acknowledged(&hub) == 1)
    try hub.send(.eventsHandled(HubSessionID(rawValue: 1), count: 100), from: id)
    #expect(acknowledged(&hub) == 1)
  }

  @Test("bytes of channels are no events to acknowledge")
  func channels() throws {
    var hub = TestHub()
    let id = try hub.serve()
    let channel = ChannelID(rawValue: 1)
    hub.handle(
      .delivered(
        HubSessionKey(id), [.channelReceived(channel, [1, 2]), .stateChanged(.poweredOn)]))
    _ = hub.takeActions()
    try hub.send(.eventsHandled(HubSessionID(rawValue: 1), count: 2), from: id)
    #expect(acknowledged(&hub) == 1)
  }

  @Test("events of a session that acknowledges none are handled when the system has taken them")
  func unacknowledging() throws {
    var hub = TestHub()
    let id = try hub.serve(acknowledges: false)
    hub.stuck = [id]
    hub.handle(.delivered(HubSessionKey(id), [.stateChanged(.poweredOn)]))
    #expect(acknowledged(&hub) == 0)
    hub.take(id)
    #expect(acknowledged(&hub) == 1)
  }

  @Test("a reply that is longer than a message becomes an error")
  func longReply() throws {
    var hub = TestHub()
    let id = try hub.serve()
    let value = AttributeValue(handle: 1, value: [UInt8](repeating: 1, count: 60_000))
    let reply = HostReply.values(Array(repeating: value, count: 40))
    let before = HostEvent.stateChanged(.poweredOn)
    let after = HostEvent.stateChanged(.poweredOff)
    hub.handle(
      .delivered(HubSessionKey(id), [before, .completed(Self.token, .success(reply)), after]))
    let events = try hub.events(for: id)
    #expect(events.count == 3)
    #expect(events.first == before && events.last == after)
    guard case .completed(Self.token, .failure(.limitReached)) = events[1] else {
      Issue.record("\(events[1])")
      return
    }
  }

  @Test("requests for a session that is closed are ignored")
  func closedSession() throws {
    var hub = TestHub()
    let id = try hub.serve()
    try hub.send(.closeSession(HubSessionID(rawValue: 1)), from: id)
    #expect(hub.takeActions().contains(.closeSession(HubSessionKey(id))))
    try hub.send(.barrier(Self.token), from: id)
    #expect(sent(&hub) == [])
    #expect(try hub.refusal(of: id) == nil)
  }

  @Test("requests beyond the limit are completed with an error, until earlier ones are completed")
  func requestLimit() throws {
    var limits = HubLimits()
    limits.requestCountMax = 2
    var hub = TestHub(limits)
    let id = try hub.serve()
    for _ in 0..<3 { try hub.send(.barrier(Self.token), from: id) }
    #expect(sent(&hub).count == 2)
    guard case .completed(Self.token, .failure(.limitReached)) = try hub.events(for: id).first
    else {
      Issue.record("not refused")
      return
    }
    hub.handle(.delivered(HubSessionKey(id), [.completed(Self.token, .success(.done))]))
    try hub.send(.barrier(Self.token), from: id)
    #expect(sent(&hub).count == 1)
    #expect(hub.machine.counts.limitedRequestCount == 1)
  }

  @Test(
    "requests of a user's programs are bounded together, by number and by size, and not those of others",
    arguments: [(count: 3, byteCount: 1_000), (count: 1_000, byteCount: 400)])
  func userRequestLimit(count: Int, byteCount: Int) throws {
    var limits = HubLimits()
    limits.requestCountPerUserMax = count
    limits.requestByteCountPerUserMax = byteCount
    var hub = TestHub(limits)
    let ids = try (1...4).map { try hub.serve("app \($0)", process: $0) }
    let root = try hub.serve("root", user: 0, process: 9)
    // A message of 114 bytes.
    let write = GATTOperation.write(3, [UInt8](repeating: 1, count: 95))
    for id in ids + [root] { try hub.send(.gatt(Self.peer, write, Self.token), from: id) }
    #expect(sent(&hub).count == 4)
    guard
      case .completed(Self.token, .failure(.limitReached)) = try hub.events(for: ids[3]).first
    else {
      Issue.record("not refused")
      return
    }
    // An end of a program and a completion make room for one each.
    hub.handle(.disconnected(ids[0]))
    hub.handle(.delivered(HubSessionKey(ids[1]), [.completed(Self.token, .success(.done))]))
    for _ in 0..<3 { try hub.send(.gatt(Self.peer, write, Self.token), from: ids[3]) }
    #expect(sent(&hub).count == 2)
  }

  /// Requests with a list of this number of elements.
  private static func lists(_ count: Int) -> [HostRequest] {
    let uuids = Array(repeating: BluetoothUUID(0x180F as UInt16), count: count)
    let value = AttributeValue(handle: 3, value: [1])
    let operations: [GATTOperation] = [
      .discoverServices(uuids), .discoverCharacteristics(in: HandleRange(1, 9), uuids),
      .readMultiple(Array(repeating: 3, count: count)),
      .reliableWrite(Array(repeating: value, count: count)),
    ]
    return operations.map { .gatt(peer, $0, token) }
  }

  @Test("a request with a list that is longer than any program needs fails, and the host gets none")
  func longLists() throws {
    var hub = TestHub()
    let id = try hub.serve()
    func update(_ count: Int) -> HostRequest {
      let peers = Array(repeating: Self.peer, count: count)
      return .updateValue(handle: 3, [1], peers: peers, Self.token)
    }
    let longest = Self.lists(256) + [update(0xF00)]
    for request in longest { try hub.send(request, from: id) }
    #expect(sent(&hub) == longest)
    for request in Self.lists(257) + [update(0xF01)] { try hub.send(request, from: id) }
    #expect(sent(&hub) == [])
    let events = try hub.events(for: id)
    #expect(events.count == 5)
    for event in events {
      guard case .completed(Self.token, .failure(.limitReached)) = event else {
        Issue.record("\(event)")
        continue
      }
    }
  }

  @Test("a scan for more services than any program needs ends the connection")
  func longScan() throws {
    var hub = TestHub()
    let id = try hub.serve()
    var options = ScanOptions()
    options.services = Array(repeating: BluetoothUUID(0x180F as UInt16), count: 200)
    options.solicitedServices = Array(repeating: BluetoothUUID(0x180F as UInt16), count: 56)
    try hub.send(.startScan(options), from: id)
    #expect(sent(&hub) == [.startScan(options)])
    options.services.append(BluetoothUUID(0x180D as UInt16))
    try hub.send(.startScan(options), from: id)
    #expect(try hub.refusal(of: id) == .limitReached)
  }

  @Test("links beyond the limit fail, until the program lets go of others")
  func linkLimit() throws {
    var limits = HubLimits()
    limits.linkCountMax = 1
    var hub = TestHub(limits)
    let id = try hub.serve()
    let other = DeviceAddress(bits: 2, kind: .public)
    try hub.send(.connect(Self.peer, ConnectOptions()), from: id)
    try hub.send(.connect(Self.peer, ConnectOptions()), from: id)
    try hub.send(.connect(other, ConnectOptions()), from: id)
    #expect(sent(&hub).count == 2)
    guard case .connectionFailed(other, .limitReached) = try hub.events(for: id).first else {
      Issue.record("not refused")
      return
    }
    try hub.send(.disconnect(Self.peer), from: id)
    try hub.send(.connect(other, ConnectOptions()), from: id)
    #expect(sent(&hub).count == 2)
  }

  @Test("services beyond the limit are refused, until others are removed")
  func serviceLimit() throws {
    var limits = HubLimits()
    limits.serviceCountMax = 1
    var hub = TestHub(limits)
    let id = try hub.serve()
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
    try hub.send(.addService(service, Self.token), from: id)
    let published = PublishedService(range: HandleRange(20, 22), characteristics: [])
    hub.handle(
      .delivered(HubSessionKey(id), [.completed(Self.token, .success(.published(published)))]))
    try hub.send(.addService(service, Self.token), from: id)
    #expect(sent(&hub).count == 1)
    try hub.send(.removeService(20), from: id)
    try hub.send(.addService(service, Self.token), from: id)
    #expect(sent(&hub).count == 2)
  }

  @Test("a service that is removed before the program hears of it does not count any more")
  func earlyRemoval() throws {
    var limits = HubLimits()
    limits.serviceCountMax = 2
    var hub = TestHub(limits)
    let id = try hub.serve()
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
    func published(_ token: RequestToken, _ start: UInt16) -> HubMachine.Event {
      let service = PublishedService(range: HandleRange(start, start + 2), characteristics: [])
      return .delivered(HubSessionKey(id), [.completed(token, .success(.published(service)))])
    }
    let other = RequestToken(rawValue: 8)
    for round in 0..<10 as Range<UInt16> {
      try hub.send(.addService(service, Self.token), from: id)
      try hub.send(.removeAllServices, from: id)
      try hub.send(.addService(service, other), from: id)
      #expect(sent(&hub).count == 3)
      hub.handle(published(Self.token, 20 * round + 20))
      // Only the first one was removed.
      hub.handle(published(other, 20 * round + 30))
      try hub.send(.addService(service, Self.token), from: id)
      try hub.send(.addService(service, Self.token), from: id)
      #expect(sent(&hub).count == 1)
      hub.handle(.delivered(HubSessionKey(id), [.completed(Self.token, .failure(.cancelled))]))
      try hub.send(.removeAllServices, from: id)
      _ = sent(&hub)
    }
  }

  @Test("a PSM that is given up before the program hears of it does not count any more")
  func earlyUnpublishing() throws {
    var limits = HubLimits()
    limits.listenerCountMax = 2
    var hub = TestHub(limits)
    let id = try hub.serve()
    func publish(_ psm: UInt16) throws {
      try hub.send(.publishChannel(psm: psm, requiresEncryption: false, Self.token), from: id)
    }
    func completed(_ psm: UInt16) {
      hub.handle(.delivered(HubSessionKey(id), [.completed(Self.token, .success(.psm(psm)))]))
    }
    for _ in 0..<10 {
      try publish(0x81)
      try hub.send(.unpublishChannel(psm: 0x81), from: id)
      // Has no effect on the request after it.
      try hub.send(.unpublishChannel(psm: 0x82), from: id)
      try publish(0x82)
      #expect(sent(&hub).count == 4)
      completed(0x81)
      completed(0x82)
      try publish(0x81)
      try publish(0x83)
      #expect(sent(&hub).count == 1)
      completed(0x81)
      for psm in 0x81...0x82 as ClosedRange<UInt16> {
        try hub.send(.unpublishChannel(psm: psm), from: id)
      }
      _ = sent(&hub)
    }
  }
}
