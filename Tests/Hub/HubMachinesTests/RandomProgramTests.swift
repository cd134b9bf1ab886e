import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire
import Testing

@testable import HubMachines

/// Programs that do anything, in any order, with low limits. The invariants hold after each event, which
/// `TestHub` checks.
@Suite("Random programs")
struct RandomProgramTests {
  private static var limits: HubLimits {
    var limits = HubLimits()
    limits.connectionCountPerUserMax = 8
    limits.connectionCountPerProcessMax = 4
    limits.sessionCountMax = 3
    limits.sessionCountPerUserMax = 10
    limits.waitingByteCountMax = 20_000
    limits.waitingByteCountPerUserMax = 40_000
    limits.waitingByteCountHigh = 2_000
    limits.waitingByteCountLow = 500
    limits.incompleteByteCountPerUserMax = 3_000
    limits.requestCountMax = 20
    limits.requestCountPerUserMax = 30
    limits.requestByteCountPerUserMax = 600
    limits.linkCountMax = 4
    limits.serviceCountMax = 3
    limits.listenerCountMax = 2
    limits.commandCountMax = 3
    limits.attributePool = 8
    limits.linkPool = 10
    limits.listenerPool = 6
    limits.commandPool = 8
    limits.keptTimeMax = .seconds(8)
    limits.keptSessionCountPerUserMax = 2
    limits.keptEventCountMax = 6
    limits.keptEventByteCountMax = 1_500
    limits.keptReportCountMax = 2
    limits.ownCompletionCountMax = 10
    limits.ownCompletionCountPerUserMax = 25
    return limits
  }

  @Test(
    "no sequence of connections, bytes, requests and events breaks an invariant", arguments: 1...40)
  func anything(seed: UInt64) throws {
    var hub = TestHub(Self.limits)
    var random = SeededGenerator(seed: seed)
    var ids: [HubConnectionID] = []
    for _ in 0..<400 {
      let id = ids.randomElement(using: &random)
      let session = HubSessionID(rawValue: UInt64.random(in: 0...3, using: &random))
      switch (Int.random(in: 0..<19, using: &random), id) {
      case (0, _), (_, nil):
        let users: [UInt32] = [TestHub.user, TestHub.user, 0, 7]
        let user = users.randomElement(using: &random) ?? 0
        ids.append(hub.connect(user: user, process: Int32.random(in: 1...4, using: &random)))
      case (1, let id?):
        let app = ["a", "b", ""].randomElement(using: &random) ?? ""
        let opening = Self.opening(session, &random)
        try hub.send(
          .greeting(HubGreeting(app: app, abilities: .identity, openings: [opening])), from: id)
      case (2, let id?):
        try hub.send(.openSession(Self.opening(session, &random)), from: id)
      case (3, let id?): try hub.send(.closeSession(session), from: id)
      case (4, let id?): hub.handle(.disconnected(id))
      case (5, let id?):
        let count = Int.random(in: 1...600, using: &random)
        hub.handle(
          .received(id, (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
      case (6, let id?):
        try hub.send(
          .eventsHandled(session, count: Int.random(in: 0...50, using: &random)), from: id)
      case (7, let id?): hub.stuck.insert(id)
      case (8, let id?): hub.take(id)
      case (9, _):
        hub.now = hub.now + Self.pause(&random)
        hub.handle(.wake)
      case (13, let id?): try hub.send(.status(1), from: id)
      case (14, _): hub.handle(.statusRead(StatusTests.host))
      case (10..<13, let id?):
        try hub.send(.request(session, .known(Self.request(&random))), from: id)
      case (18, let id?):
        try hub.send(.forget(1, Self.filter(&random)), from: id)
      case (_, let id?):
        let events = (0..<Int.random(in: 1...20, using: &random)).map { _ in Self.event(&random) }
        hub.handle(.delivered(HubSessionKey(id, session), events))
      }
    }
    hub.handle(.ending)
    #expect(hub.machine.counts.connectionCount == 0 && hub.machine.counts.waitingByteCount == 0)
    #expect(hub.machine.holders.isEmpty && hub.machine.keptSessions.isEmpty)
    #expect(hub.machine.movedSessions.isEmpty && hub.machine.users.isEmpty)
    Self.expectPairedSessions(hub.actions)
  }

  /// Expects that each session that was opened was closed, once, and used only in between.
  private static func expectPairedSessions(_ actions: [HubMachine.Action]) {
    var open: Set<HubSessionKey> = []
    for action in actions {
      switch action {
      case .openSession(let key, _): #expect(open.insert(key).inserted)
      case .closeSession(let key): #expect(open.remove(key) != nil)
      case .send(let key, _), .acknowledge(let key, _): #expect(open.contains(key))
      default: break
      }
    }
    #expect(open.isEmpty)
  }

  /// Some seconds, and rarely a day: the machine was suspended.
  private static func pause(_ random: inout SeededGenerator) -> TimeSpan {
    guard Int.random(in: 0..<10, using: &random) > 0 else { return .seconds(86_400) }
    return .milliseconds(Int64.random(in: 0...6_000, using: &random))
  }

  private static func filter(_ random: inout SeededGenerator) -> KeptSessionFilter {
    KeptSessionFilter(app: ["a", "b", nil].randomElement(using: &random) ?? nil)
  }

  private static func opening(
    _ id: HubSessionID, _ random: inout SeededGenerator
  ) -> SessionOpening {
    SessionOpening(
      id: id, acknowledgesEvents: Bool.random(using: &random),
      manager: ["", "location", "central:lock"].randomElement(using: &random) ?? "",
      keptFor: .seconds(Int64.random(in: 0...10, using: &random)),
      beginsAnew: Int.random(in: 0..<6, using: &random) == 0)
  }

  private static func token(_ random: inout SeededGenerator) -> RequestToken {
    RequestToken(rawValue: UInt64.random(in: 0...5, using: &random))
  }

  private static func peer(_ random: inout SeededGenerator) -> DeviceAddress {
    DeviceAddress(bits: UInt64.random(in: 1...6, using: &random), kind: .public)
  }

  private static func request(_ random: inout SeededGenerator) -> HostRequest {
    let service = ServiceDefinition(uuid: BluetoothUUID(0x180F as UInt16), characteristics: [])
    let handle = UInt16.random(in: 1...5, using: &random)
    let target = SubscriptionTarget(valueHandle: handle, endHandle: handle, usesIndications: false)
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return .connect(peer(&random), ConnectOptions())
    case 1: return .disconnect(peer(&random))
    case 2: return .addService(service, token(&random))
    case 3: return .removeService(handle)
    case 4: return .publishChannel(psm: nil, requiresEncryption: false, token(&random))
    case 5: return .unpublishChannel(psm: handle)
    case 6: return .gatt(peer(&random), .read(handle), token(&random))
    case 7: return .readRSSI(peer(&random), token(&random))
    case 8: return .startScan(ScanOptions())
    case 9: return .subscribe(peer(&random), target, token(&random))
    case 10: return .startAdvertising(AdvertisingOptions(), token(&random))
    default: return .barrier(token(&random))
    }
  }

  private static func event(_ random: inout SeededGenerator) -> HostEvent {
    let handle = UInt16.random(in: 1...5, using: &random)
    let published = PublishedService(range: HandleRange(handle, handle + 1), characteristics: [])
    switch Int.random(in: 0..<12, using: &random) {
    case 8: return .linkOpened(LinkInfo(peer: peer(&random), role: .central))
    case 9: return .pairingPrompt(peer(&random), .consent, PairingPromptID(rawValue: 1))
    case 10:
      return .discovered(
        AdvertisingReport(
          address: peer(&random), isConnectable: true, isScannable: true, isLegacy: true, rssi: 0,
          data: [], heardAt: .zero))
    case 11:
      return .serverRequest(
        ServerRequest(
          id: ServerRequestID(rawValue: UInt64(handle)), peer: peer(&random),
          kind: .read(handle: handle, offset: 0), needsResponse: Bool.random(using: &random)))
    case 0: return .completed(token(&random), .success(.done))
    case 1: return .completed(token(&random), .success(.published(published)))
    case 2: return .completed(token(&random), .success(.psm(handle)))
    case 3: return .completed(token(&random), .failure(.notConnected))
    case 4: return .connectionFailed(peer(&random), .cancelled)
    case 5: return .disconnected(peer(&random), nil, reconnecting: Bool.random(using: &random))
    case 6: return .channelReceived(ChannelID(rawValue: 1), [1, 2, 3])
    default:
      let count = Int.random(in: 0...500, using: &random)
      return .valueUpdated(
        peer(&random), handle: handle, ArraySlice([UInt8](repeating: 1, count: count)))
    }
  }
}
