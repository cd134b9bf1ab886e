import BenchmarkSupport
import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation

/// Two hosts on ideal air in virtual time, both on one core.
struct Pair {
  let world = World(seed: 1, radio: .ideal)
  let peripheral: SimulatedHost<ServingRole>
  let central: SimulatedHost<MeasuringRole>
  /// Other centrals with links to the peripheral, idle.
  private var others: [SimulatedHost<MeasuringRole>] = []

  init(_ job: Job, mtuMax: Int = 23, otherCentrals: Int = 0) {
    peripheral = SimulatedHost(
      ServingRole(quota: 0), named: Agreed.name, number: 1, in: world, mtuMax: mtuMax)
    for number in 0..<otherCentrals {
      let other = SimulatedHost(
        MeasuringRole(.reads, quota: 0), named: "other", number: 100 + UInt64(number), in: world)
      let isReady = world.run(atMost: .seconds(10)) { other.role.isReady }
      precondition(isReady, "central \(number) did not get ready: \(other.role)")
      others.append(other)
    }
    central = SimulatedHost(
      MeasuringRole(job, quota: 0), named: "central", number: 2, in: world, mtuMax: mtuMax)
    let central = central
    let isReady = world.run(atMost: .seconds(10)) { central.role.isReady }
    precondition(isReady, "the hosts did not get ready for \(job): \(central.role)")
  }

  /// Runs `count` operations; returns their number.
  func run(_ job: Job, _ count: Int) -> Int {
    let (central, peripheral) = (central, peripheral)
    switch job {
    case .notifications:
      let target = central.role.count + count
      peripheral.withRole { role, ask in
        role.quota = count
        role.pump(ask)
      }
      finish(job) { central.role.count >= target }
    case .writes, .channel:
      let bytes = job == .channel ? Agreed.channelChunk.count : 1
      let target = peripheral.role.received + count * bytes
      begin(count)
      finish(job) { peripheral.role.received >= target }
    case .reads, .connections:
      let target = central.role.count + count
      begin(count)
      finish(job) { central.role.count >= target }
    }
    return count
  }

  private func begin(_ count: Int) {
    central.withRole { role, ask in
      role.quota = count
      role.pump(ask)
    }
  }

  private func finish(_ job: Job, _ isDone: () -> Bool) {
    let isDone = world.run(atMost: .seconds(3_600), until: isDone)
    precondition(isDone, "\(job) came to a standstill: \(central.role), \(peripheral.role)")
  }
}

/// Rates of two hosts in this process.
func runPairBenchmarks(seconds: Double, into table: inout Table) {
  table.heading(
    "Two hosts in one process, virtual time, ideal air, 20-byte values, ATT MTU 23",
    "".padded(46) + "per CPU second".leftPadded(14) + "ns each".leftPadded(10)
      + "allocs".leftPadded(10))
  let notifications = Pair(.notifications)
  table.add(
    "notifications",
    measure(cpuSeconds: seconds) { notifications.run(.notifications, 10_000) })
  let reads = Pair(.reads)
  table.add("ATT reads", measure(cpuSeconds: seconds) { reads.run(.reads, 5_000) })
  let crowded = Pair(.notifications, otherCentrals: 99)
  table.add(
    "notifications to one of 100 centrals",
    measure(cpuSeconds: seconds) { crowded.run(.notifications, 10_000) })
  let crowdedReads = Pair(.reads, otherCentrals: 99)
  table.add(
    "ATT reads by one of 100 centrals",
    measure(cpuSeconds: seconds) { crowdedReads.run(.reads, 5_000) })
  let writes = Pair(.writes)
  table.add(
    "writes without response", measure(cpuSeconds: seconds) { writes.run(.writes, 10_000) })
  let channel = Pair(.channel, mtuMax: 517)
  let chunk = Agreed.channelChunk.count
  table.add(
    "L2CAP channel bytes (an operation: 16 kB)",
    measure(cpuSeconds: seconds) { channel.run(.channel, 100) }, unit: Double(chunk))
  let connections = Pair(.connections, mtuMax: 517)
  table.add(
    "connect and disconnect",
    measure(cpuSeconds: seconds) { connections.run(.connections, 200) })
}
