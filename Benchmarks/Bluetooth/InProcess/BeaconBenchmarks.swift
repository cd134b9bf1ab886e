import BeaconMachines
import BenchmarkSupport
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials

/// What takes the reports of one host: a region monitor with all its regions and a ranging machine.
private final class BeaconClient {
  private var reader = BeaconReader()
  private var monitor = RegionMonitor()
  private var ranging = RangingMachine()
  private var regionActions: [RegionMonitor.Action] = []
  private var rangingActions: [RangingMachine.Action] = []
  private(set) var now = Instant.zero
  private(set) var reportCount = 0
  private(set) var rangedMax = 0
  var sightingCount: Int { reader.counters.iBeacons }
  var untrackedCount: Int { ranging.counters.untracked }

  init(uuid: BluetoothUUID) throws {
    for number in 0..<20 {
      try monitor.start(
        BeaconRegion(
          identifier: "\(number)", constraint: .init(uuid: uuid, major: UInt16(number))),
        now: now)
    }
    try ranging.start(.init(uuid: uuid), now: now)
    monitor.handle(.scanning(true), now: now, into: &regionActions)
    ranging.handle(.scanning(true), now: now, into: &rangingActions)
  }

  func take(_ report: AdvertisingReport) {
    guard
      let sighting = reader.sighting(in: report.data, from: report.address, rssi: report.rssi)
    else { return }
    monitor.handle(.sighted(sighting), now: now, into: &regionActions)
    ranging.handle(.sighted(sighting), now: now, into: &rangingActions)
    regionActions.removeAll(keepingCapacity: true)
  }

  func advance(by span: TimeSpan) {
    now = now + span
    if let wake = monitor.nextWake, wake <= now { monitor.wake(now: now, into: &regionActions) }
    if let wake = ranging.nextWake, wake <= now { ranging.wake(now: now, into: &rangingActions) }
    for case .ranged(_, let beacons) in rangingActions {
      reportCount += 1
      rangedMax = max(rangedMax, beacons.count)
    }
    regionActions.removeAll(keepingCapacity: true)
    rangingActions.removeAll(keepingCapacity: true)
  }
}

/// Advertising reports of beacons from the H4 decoder through the host machine, with one scan for two
/// clients, of which one gets changes only, to the machines for regions and ranging.
func runBeaconBenchmarks(seconds: Double, into table: inout Table) throws {
  table.heading(
    "5,000 beacons, 100,000 reports a second: from HCI packets to regions and ranging",
    "".padded(46) + "per CPU second".leftPadded(14) + "ns each".leftPadded(10)
      + "allocs".leftPadded(10))
  let uuid = BluetoothUUID(high: 0xE2C5_6DB5_DFFB_48D2, low: 0xB060_D0F5_A710_96E0)
  let beacons = 5_000
  let chunks = beaconChunks(uuid: uuid, count: beacons, perChunk: 50)
  var everything = ScanOptions()
  everything.allowsDuplicates = true
  var receiver = Receiver(clients: 1, asking: .startScan(everything))
  receiver.addClient(asking: .startScan(ScanOptions()))
  let client = try BeaconClient(uuid: uuid)
  receiver.onReport = { id, report in if id == ClientID(rawValue: 1) { client.take(report) } }
  // All are heard twenty times a second.
  let round: () -> Int = {
    for chunk in chunks { receiver.receive(chunk) }
    client.advance(by: .milliseconds(50))
    return beacons
  }
  let before = Memory.heapBytes
  for _ in 0..<40 { _ = round() }
  let bytes = Double(Memory.heapBytes - before) / Double(beacons)
  let cost = measure(cpuSeconds: seconds, batch: round)
  let grown = Memory.heapBytes - before - Int(bytes * Double(beacons))
  precondition(client.sightingCount >= cost.operations, "reports got lost")
  precondition(client.rangedMax == beacons && client.untrackedCount == 0, "beacons got lost")
  precondition(client.reportCount > 0 && grown < 1 << 20, "memory grows by \(grown) bytes")
  table.add("beacon reports", cost)
  table.add("beacon, bytes in host and machines", bytes, "bytes")
}

/// iBeacons' advertising reports in events of one report each, in chunks of `perChunk` events.
private func beaconChunks(uuid: BluetoothUUID, count: Int, perChunk: Int) -> [[UInt8]] {
  var chunks: [[UInt8]] = []
  for number in 0..<count {
    if number % perChunk == 0 { chunks.append([]) }
    let beacon = IBeacon(
      uuid: uuid, major: UInt16(number / 100), minor: UInt16(number % 100), powerAtOneMetre: -59)
    let packet = LEAdvertisingReports([
      LEAdvertisingReport(
        kind: .nonConnectable,
        advertiser: PeerAddress(
          DeviceAddress(bits: 0xC0BE_0000_0000 + UInt64(number), kind: .random)),
        data: beacon.advertisingData[...], rssi: Int8(-50 - number % 40))
    ]).packet
    chunks[chunks.count - 1].append(packet.kind.rawValue)
    chunks[chunks.count - 1].append(contentsOf: packet.bytes)
  }
  return chunks
}
