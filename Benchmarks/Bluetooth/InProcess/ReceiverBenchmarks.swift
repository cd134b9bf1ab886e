import BenchmarkSupport
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation

/// A client that counts its events.
struct CountingRole: HostRole {
  var request: HostRequest
  private(set) var count = 0

  init(_ request: HostRequest) { self.request = request }

  mutating func handle(_ event: HostEvent, ask: (HostRequest) -> Void) {
    switch event {
    case .stateChanged(.poweredOn): ask(request)
    case .discovered: count += 1
    default: break
    }
  }
}

/// What the receiving half alone does with packets that are there already, one host machine with
/// the H4 decoder in front of it, as `BluetoothHost` has them.
struct Receiver {
  private var machine = HostMachine(random: SeededGenerator(seed: 1))
  private var controller: SimulatedController
  private let world = World(seed: 1, radio: .ideal)
  private var actions: [HostMachine.Action] = []
  private var decoder = H4Decoder()
  private(set) var delivered = 0
  /// Called with each advertising report and its client.
  var onReport: ((ClientID, AdvertisingReport) -> Void)?
  private var clientCount: UInt32

  /// A machine whose controller is up, with `clients` clients that each send this request.
  init(clients: Int, asking request: HostRequest, bonds: [Bond] = []) {
    clientCount = UInt32(clients)
    controller = world.makeController(
      name: "receiver", address: DeviceAddress(bits: 0xA0BE_0000_0001, kind: .public))
    var answers: [HCIPacket] = []
    let box = PacketBox()
    controller.onPacket = { box.packets.append($0) }
    if !bonds.isEmpty { handle(.bondsLoaded(bonds)) }
    handle(.transportOpened)
    for number in 1...UInt32(clients) {
      handle(.clientOpened(ClientID(rawValue: number)))
      handle(.request(ClientID(rawValue: number), request))
    }
    repeat {
      world.run(for: .milliseconds(1))
      swap(&answers, &box.packets)
      for packet in answers { handle(.packet(packet)) }
      answers = []
    } while !box.packets.isEmpty || world.nextEventTime != nil
    controller.onPacket = nil
    delivered = 0
  }

  /// Adds a client whose request the controller performs already.
  mutating func addClient(asking request: HostRequest) {
    clientCount += 1
    let client = ClientID(rawValue: clientCount)
    handle(.clientOpened(client))
    handle(.request(client, request))
  }

  private final class PacketBox {
    var packets: [HCIPacket] = []
  }

  private mutating func handle(_ input: HostMachine.Input) {
    machine.handle(input, now: world.now, into: &actions)
    for action in actions {
      switch action {
      case .send(let packet): controller.receive(packet)
      case .deliver(let client, let event):
        delivered += 1
        if let onReport, case .discovered(let report) = event { onReport(client, report) }
      case .reopenTransport: break
      case .pauseReceiving, .resumeReceiving, .computeKey, .storeBond, .bondNotKept, .bondEvicted,
        .updateBonds, .removeBond, .clientLate:
        break
      }
    }
    actions.removeAll(keepingCapacity: true)
  }

  /// Takes a chunk as it comes from a socket.
  mutating func receive(_ chunk: [UInt8]) {
    decoder.append(chunk)
    while let packet = try? decoder.next() { handle(.packet(packet)) }
  }
}

/// Advertising reports in events of one report each, as controllers send them, from a number of
/// advertisers; in chunks of `perChunk` events.
func reportChunks(advertisers: Int, perChunk: Int, isExtended: Bool) -> [[UInt8]] {
  var builder = AdvertisingDataBuilder()
  builder.append([.generalDiscoverable, .classicNotSupported] as AdvertisingFlags)
  _ = builder.append(services: [0x180D, 0x180F])
  builder.append(localName: "heart rate strap")
  var chunks: [[UInt8]] = []
  for number in 0..<advertisers {
    if number % perChunk == 0 { chunks.append([]) }
    let address = PeerAddress(
      DeviceAddress(bits: 0xC0BE_0000_0000 + UInt64(number), kind: .random))
    let packet: HCIPacket
    if isExtended {
      packet =
        LEExtendedAdvertisingReports([
          LEExtendedAdvertisingReport(
            type: [.legacy, .connectable, .scannable], advertiser: address, primaryPHY: .le1M,
            secondaryPHY: nil, setID: nil, txPowerDBm: nil, rssi: -60,
            target: PeerAddress(DeviceAddress(bits: 0, kind: .public)), data: builder.bytes[...])
        ]).packet
    } else {
      packet =
        LEAdvertisingReports([
          LEAdvertisingReport(
            kind: .connectable, advertiser: address, data: builder.bytes[...], rssi: -60)
        ]).packet
    }
    chunks[chunks.count - 1].append(packet.kind.rawValue)
    chunks[chunks.count - 1].append(contentsOf: packet.bytes)
  }
  return chunks
}

/// The cost of a notification for a subscribed central: the packets are ready, and no other device
/// takes part.
private func measureReceivedNotifications(seconds: Double) -> Cost {
  let pair = Pair(.notifications)
  var packets: [HCIPacket] = []
  pair.central.onPacket = { if $0.kind == .acl { packets.append($0) } }
  _ = pair.run(.notifications, 50)
  var decoder = H4Decoder()
  let chunk = packets.flatMap { [$0.kind.rawValue] + $0.bytes }
  let before = pair.central.role.count
  let cost = measure(cpuSeconds: seconds) {
    for _ in 0..<100 {
      decoder.append(chunk)
      while let packet = try? decoder.next() { pair.central.take(.packet(packet)) }
    }
    return 100 * packets.count
  }
  precondition(pair.central.role.count >= before + cost.operations, "notifications got lost")
  return cost
}

/// Rates of one host that listens.
func runReceiverBenchmarks(seconds: Double, into table: inout Table) {
  table.heading(
    "One host machine behind the H4 decoder: packets in, events out",
    "".padded(46) + "per CPU second".leftPadded(14) + "ns each".leftPadded(10)
      + "allocs".leftPadded(10))
  table.add("received notifications", measureReceivedNotifications(seconds: seconds))
  var everything = ScanOptions()
  everything.allowsDuplicates = true
  var changes = ScanOptions()
  changes.services = [0x180D]
  for (name, clients, options, isExtended) in [
    ("extended reports into 1 client", 1, everything, true),
    ("legacy reports into 1 client", 1, everything, false),
    ("extended reports into 50 clients", 50, everything, true),
    ("extended reports, coalesced, into 50 clients", 50, changes, true),
  ] {
    let advertisers = 1_000
    let chunks = reportChunks(advertisers: advertisers, perChunk: 50, isExtended: isExtended)
    var receiver = Receiver(clients: clients, asking: .startScan(options))
    let cost = measure(cpuSeconds: seconds) {
      for chunk in chunks { receiver.receive(chunk) }
      return advertisers
    }
    precondition(receiver.delivered >= advertisers * clients, "reports got lost")
    table.add(name, cost)
  }
}
