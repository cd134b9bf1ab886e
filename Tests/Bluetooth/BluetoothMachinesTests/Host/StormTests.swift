import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import L2CAPMachines

@Suite("A host in a storm of events")
private struct StormTests {
  @Test("a host never traps, answers every request once and reports only valid events")
  func storm() {
    for seed in 0..<300 as Range<UInt64> {
      var storm = Storm(seed: seed)
      for _ in 0..<150 { storm.step() }
      storm.end()
      let nonsense = storm.nonsense()
      #expect(nonsense.isEmpty, "seed \(seed): \(nonsense)")
      if !nonsense.isEmpty { return }
    }
  }

  @Test("a storm of events is the same every time")
  func determinism() {
    for seed in 0..<20 as Range<UInt64> {
      var runs: [[String]] = []
      for _ in 0..<2 {
        var storm = Storm(seed: seed)
        for _ in 0..<150 { storm.step() }
        storm.end()
        runs.append(storm.rig.events.map { "\($0.client.rawValue) \($0.event)" })
      }
      #expect(runs[0] == runs[1], "seed \(seed)")
    }
  }

  @Test("A seed gives one storm in all processes, whose hashes differ")
  func oneRun() async throws {
    var outputs: Set<[UInt8]> = []
    for _ in 0..<3 {
      let end = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        for seed: UInt64 in 0..<20 {
          var storm = Storm(seed: seed)
          for _ in 0..<150 { storm.step() }
          storm.end()
          // A set is written in any order.
          for event in storm.rig.events { print(String("\(event)".sorted())) }
        }
      }
      outputs.insert(try #require(end).standardOutputContent)
    }
    #expect(outputs.count == 1)
    #expect(outputs.allSatisfy { $0.count > 10_000 })
  }
}

/// Random clients, a random controller and random peers.
private struct Storm {
  var rig: HostRig
  private var random: SeededGenerator
  private var open: [ClientID] = []
  private var asked: [(client: ClientID, token: RequestToken)] = []
  /// The number of events sent when each client closed.
  private var closedAt: [ClientID: Int] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var controller = seed % 2 == 0 ? ScriptedController() : .extended
    controller.acceptListSize = UInt8(seed % 4)
    controller.bufferCount = UInt8(1 + seed % 3)
    rig = HostRig(controller, seed: seed)
    rig.handle(.transportOpened)
  }

  private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func peer() -> DeviceAddress { .peer(UInt64(number(0..<4))) }

  private mutating func handle() -> UInt16 { UInt16(0x40 + number(0..<4)) }

  mutating func step() {
    switch number(0..<40) {
    case 0: changeTransport()
    case 1: changeClients()
    case 2: changeFaults()
    case 3: rig.pass(.milliseconds(Int64(number(0..<3000))))
    case 4: rig.handle(.packet(garbage()))
    case 5..<22: ask()
    default: happen()
    }
  }

  mutating func end() {
    rig.handle(.transportClosed(.transport("The end.")))
    rig.pass(.seconds(100))
  }

  private mutating func changeTransport() {
    if number(0..<2) == 0 { rig.handle(.transportClosed(.transport("Unplugged."))) }
    rig.controller.faults = [:]
    rig.handle(.transportOpened)
  }

  private mutating func changeClients() {
    let client = ClientID(rawValue: UInt32(number(1..<100)))
    if open.count < 4, !open.contains(client), closedAt[client] == nil {
      open.append(client)
      rig.handle(.clientOpened(client))
    } else if let client = open.randomElement(using: &random), number(0..<3) == 0 {
      open.removeAll { $0 == client }
      closedAt[client] = rig.events.count
      rig.handle(.clientClosed(client))
    }
  }

  private mutating func changeFaults() {
    let opcodes = rig.controller.opcodes.suffix(10)
    guard let opcode = opcodes.randomElement(using: &random) else { return }
    let faults: [ScriptedController.Fault?] = [
      nil, .silence, .death, .status(.commandDisallowed), .status(.connectionLimitExceeded),
      .cutShort,
      .garbage,
    ]
    rig.controller.faults[opcode] = faults.randomElement(using: &random) ?? nil
  }

  private mutating func garbage() -> HCIPacket {
    let count = number(0..<40)
    var bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    if number(0..<2) == 0 {
      // An ACL packet of a link that may exist, with a random payload.
      let header = OutgoingFrame(channel: UInt16(number(4..<7)), payload: bytes).bytes
      return ACLHeader.packet(
        handle: handle(), boundary: number(0..<4) == 0 ? .continuing : .firstFlushable,
        payload: header)
    }
    if count > 2, number(0..<2) == 0 {
      bytes[0] = [0x05, 0x0E, 0x0F, 0x13, 0x3E].randomElement(using: &random) ?? 0
      bytes[1] = UInt8(count - 2)
      bytes[2] = UInt8(number(0..<20))
    }
    return HCIPacket(kind: .event, bytes: bytes)
  }

  /// The controller or a peer does something.
  private mutating func happen() {
    let statuses: [HCIStatus] = [
      .success, .success, .success, .unknownConnection, .connectionFailedToBeEstablished,
      .connectionTimeout,
    ]
    let status = statuses.randomElement(using: &random) ?? .success
    let role: LinkRole = number(0..<3) == 0 ? .peripheral : .central
    switch number(0..<9) {
    case 0, 1:
      rig.event(
        LEConnectionComplete(
          status: status, handle: handle(), role: role, peer: PeerAddress(peer()),
          timing: .usual))
    case 2:
      rig.event(LEReadRemoteFeaturesComplete(status: status, handle: handle(), features: []))
    case 3:
      let reasons: [HCIStatus] = [
        .remoteUserTerminatedConnection, .connectionTimeout, .connectionFailedToBeEstablished,
        .localHostTerminatedConnection,
      ]
      let reason = reasons.randomElement(using: &random) ?? .connectionTimeout
      rig.event(DisconnectionComplete(handle: handle(), reason: reason))
    case 4:
      rig.event(LEConnectionUpdateComplete(status: status, handle: handle(), timing: .usual))
    case 5:
      rig.event(
        NumberOfCompletedPackets([
          CompletedPackets(handle: handle(), count: UInt16(number(0..<4)))
        ]))
    case 6:
      let report = LEAdvertisingReport(
        kind: .connectable, advertiser: PeerAddress(peer()), data: [UInt8(number(0..<3))],
        rssi: -50)
      rig.event(LEAdvertisingReports([report]))
    case 7: rig.event(LEAdvertisingSetTerminated(set: UInt8(number(0..<5)), handle: handle()))
    default: if number(0..<10) == 0 { rig.event(HardwareError(hardwareCode: 1)) }
    }
  }

  private mutating func ask() {
    guard let client = open.randomElement(using: &random) else { return }
    let token = rig.token()
    let peer = peer()
    let target = SubscriptionTarget(
      valueHandle: UInt16(number(3..<5)), configurationHandle: 9, usesIndications: false)
    let tokenless: [HostRequest] = [
      .startScan(ScanOptions()), .stopScan, .stopAdvertising,
      .connect(peer, ConnectOptions()), .connect(peer, ConnectOptions()),
      .connect(peer, ConnectOptions()), .disconnect(peer), .removeAllServices,
      .closeChannel(ChannelID(rawValue: UInt64(number(0..<9)))),
    ]
    let tokened: [HostRequest] = [
      .startAdvertising(AdvertisingOptions(), token), .readRSSI(peer, token),
      .updateParameters(peer, .default, token), .gatt(peer, .discoverServices(nil), token),
      .gatt(peer, .read(3), token), .gatt(peer, .writeWithoutResponse(3, [1, 2]), token),
      .subscribe(peer, target, token), .unsubscribe(peer, target, token),
      .addService(ServiceDefinition(uuid: 0x180F), token),
      .updateValue(handle: 3, [1], peers: nil, token),
      .publishChannel(psm: nil, requiresEncryption: false, token),
      .openChannel(peer, psm: 0x80, token),
      .sendOnChannel(ChannelID(rawValue: UInt64(number(0..<9))), [1, 2, 3], token),
      .barrier(token),
    ]
    if number(0..<2) == 0, let request = tokenless.randomElement(using: &random) {
      rig.request(request, from: client)
    } else if let request = tokened.randomElement(using: &random) {
      asked.append((client, token))
      rig.request(request, from: client)
    }
  }

  /// What no client should have seen.
  func nonsense() -> [String] {
    var found: [String] = []
    for (client, token) in asked {
      let count = rig.results(of: token, client: client).count
      let isGone = closedAt[client] != nil
      if count > 1 || (count == 0 && !isGone) {
        found.append("token \(token.rawValue) of \(client.rawValue): \(count) results")
      }
    }
    for (client, index) in closedAt
    where rig.events[index...].contains(where: { $0.client == client }) {
      found.append("client \(client.rawValue) was told something after it went")
    }
    for client in Set(rig.events.map(\.client)) { found += nonsense(for: client) }
    return found
  }

  /// Links open and close in turns, and no client is connected to a link that isn't open.
  private func nonsense(for client: ClientID) -> [String] {
    var found: [String] = []
    var links: Set<DeviceAddress> = []
    var connected: Set<DeviceAddress> = []
    for (index, entry) in rig.events.enumerated() where entry.client == client {
      switch entry.event {
      case .linkOpened(let info):
        if !links.insert(info.peer).inserted { found.append("\(index): link opened twice") }
      case .linkClosed(let peer, _):
        if links.remove(peer) == nil { found.append("\(index): closed link that was not open") }
        if connected.contains(peer) { found.append("\(index): link closed while connected") }
      case .linkUpdated(let info):
        if !links.contains(info.peer) { found.append("\(index): link updated, not open") }
      case .connected(let peer):
        connected.insert(peer)
        if !links.contains(peer) { found.append("\(index): connected without a link") }
      case .disconnected(let peer, _, _):
        connected.remove(peer)
      case .stateChanged(let state):
        if state != .poweredOn, !links.isEmpty { found.append("\(index): links while \(state)") }
      default: break
      }
    }
    return found
  }
}
