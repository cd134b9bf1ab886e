import BenchmarkSupport
import BluetoothInterface
import BluetoothWire
import Essentials
import Simulation

/// A client that connects to every device in its reports.
struct CollectingRole: HostRole {
  private(set) var connected = 0
  private var known: Set<DeviceAddress> = []

  mutating func handle(_ event: HostEvent, ask: (HostRequest) -> Void) {
    switch event {
    case .stateChanged(.poweredOn): ask(.startScan(ScanOptions()))
    case .discovered(let report):
      guard report.isConnectable, known.insert(report.address).inserted else { return }
      ask(.connect(report.address, ConnectOptions()))
    case .connected: connected += 1
    default: break
    }
  }
}

private func everyReport() -> CountingRole {
  var options = ScanOptions()
  options.allowsDuplicates = true
  return CountingRole(.startScan(options))
}

extension World {
  /// Devices that advertise ten times a second, without a controller, spread over a floor.
  fileprivate func addAdvertisers(_ count: Int) {
    for number in 0..<count {
      let address = DeviceAddress(bits: 0xC0AD_0000_0000 + UInt64(number), kind: .random)
      var data = AdvertisingDataBuilder()
      data.append(
        manufacturer: 0x004C, [0x02, 0x15] + [UInt8](repeating: UInt8(number & 0xFF), count: 21))
      let position = Position(x: Double(number % 70), y: Double(number / 70 % 70))
      _ = advertise(Advertisement(address: address, data: data.bytes), at: .still(position))
    }
  }
}

/// A central with links to peripherals around it.
private struct Star {
  let central: SimulatedHost<CollectingRole>
  private(set) var peripherals: [SimulatedHost<ServingRole>] = []

  init(_ count: Int, in world: World) {
    for number in 0..<count {
      peripherals.append(
        SimulatedHost(
          ServingRole(quota: 0, interval: .milliseconds(100)), named: "p\(number)",
          number: 1_000 + UInt64(number), in: world,
          at: Position(x: Double(number % 10), y: Double(number / 10)), mtuMax: 517))
    }
    // Everybody is up before anybody connects.
    world.run(for: .seconds(1))
    central = SimulatedHost(
      CollectingRole(), named: "hub", number: 999, in: world, at: Position(x: 5, y: 5),
      mtuMax: 517)
  }

  func connect(_ world: World) {
    let (central, count) = (central, peripherals.count)
    let isDone = world.run(atMost: .seconds(120)) { central.role.connected == count }
    precondition(isDone, "only \(central.role.connected) of \(count) links came up")
    world.run(for: .seconds(2))
  }
}

/// Bytes of the heap for a link and for an advertiser.
func runMemoryBenchmarks(into table: inout Table) {
  table.heading("Memory: bytes of the heap, each", "")
  do {
    let world = World(seed: 1)
    let listener = SimulatedHost(everyReport(), named: "listener", number: 1, in: world)
    world.run(for: .seconds(1))
    let before = Memory.heapBytes
    world.addAdvertisers(5_000)
    world.run(for: .milliseconds(500))
    let bytes = Double(Memory.heapBytes - before) / 5_000
    table.add("simulated advertiser, of 5,000", bytes, "bytes")
    precondition(listener.role.count > 5_000, "nobody was heard")
  }
  do {
    let world = World(seed: 1)
    let before = Memory.heapBytes
    let star = Star(100, in: world)
    world.run(for: .milliseconds(10))
    let idle = Memory.heapBytes
    star.connect(world)
    let links = Double(Memory.heapBytes - idle) / 100
    table.add("link with both its ends, of 100", links, "bytes")
    table.add("host with controller and one service", Double(idle - before) / 101, "bytes")
  }
}

/// How much world one core carries.
func runWorldBenchmarks(isSmoke: Bool, into table: inout Table) {
  table.heading("The simulated world, indoor air, everything on one core", "")
  do {
    let world = World(seed: 1)
    let star = Star(100, in: world)
    star.connect(world)
    world.addAdvertisers(5_000)
    let listener = SimulatedHost(
      everyReport(), named: "listener", number: 1, in: world, at: Position(x: 35, y: 35))
    world.run(for: .seconds(1))
    let heard = listener.role.count
    let cost = measure(cpuSeconds: isSmoke ? 0.5 : 5) {
      world.run(for: .milliseconds(500))
      return 1
    }
    table.add(
      "5,000 advertisers, 100 links: CPU of a second",
      cost.cpuSeconds / Double(cost.operations) * 2,
      "s")
    let each = Double(listener.role.count - heard) / Double(cost.operations + 1) * 2
    table.add("  reports that its scanner told in a second", each, "reports")
  }
  do {
    let world = World(seed: 1)
    let listener = SimulatedHost(
      everyReport(), named: "listener", number: 1, in: world, at: Position(x: 35, y: 7))
    world.addAdvertisers(1_000)
    let cost = measure(cpuSeconds: isSmoke ? 0.5 : 5) {
      world.run(for: .seconds(1))
      return 1
    }
    let hours = Double(cost.operations) * 1_000 / 3_600
    table.add(
      "device-hours, advertising every 100 ms", hours / cost.cpuSeconds * 60,
      "a CPU minute")
    precondition(listener.role.count > 1_000, "nobody was heard")
  }
}
