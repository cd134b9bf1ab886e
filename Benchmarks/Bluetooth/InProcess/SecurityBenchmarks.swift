import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import SecureConnections
import SimulatedRadio
import Simulation
import Synchronization

/// Pairing, encryption, and bonded peers with private addresses.
func runSecurityBenchmarks(seconds: Double, isSmoke: Bool, into table: inout Table) async throws {
  SecureConnections.install()
  SimulatedRadio.install()
  table.heading(
    "Security: pairing, encrypted links, 1,000 bonded peers with private addresses",
    "".padded(46) + "".leftPadded(14))
  try measurePairing(into: &table)
  try await measurePairingInRealTime(isSmoke: isSmoke, into: &table)
  try measureThroughput(isSmoke: isSmoke, into: &table)
  measureResolving(seconds: seconds, into: &table)
}

// MARK: Pairing

private struct Stuck: Error, CustomStringConvertible {
  var description: String
}

/// A client that remembers what it heard.
private final class Ear: Sendable {
  private struct State {
    var address: DeviceAddress?
    var isConnected = false
    var isPaired = false
    var channel: ChannelID?
    var completed = 0
    var prompt: PairingPromptID?
  }

  private let state = Mutex(State())

  func hear(_ event: HostEvent) {
    state.withLock { state in
      switch event {
      case .discovered(let report) where report.isConnectable: state.address = report.address
      case .connected: state.isConnected = true
      case .disconnected: state.isConnected = false
      case .pairingEnded(_, nil): state.isPaired = true
      case .pairingPrompt(_, _, let id): state.prompt = id
      case .completed(_, .success(.channel(let channel))): state.channel = channel.id
      case .completed(_, .success): state.completed += 1
      default: break
      }
    }
  }

  var address: DeviceAddress? { state.withLock(\.address) }
  var isConnected: Bool { state.withLock(\.isConnected) }
  var isPaired: Bool { state.withLock(\.isPaired) }
  var channel: ChannelID? { state.withLock(\.channel) }
  var completed: Int { state.withLock(\.completed) }
  var prompt: PairingPromptID? { state.withLock(\.prompt) }
}

/// A device, and a host with a link to it, in virtual time.
private struct VirtualPair {
  let radio: VirtualRadio
  let host: BluetoothHost
  let client: HostClient
  let ear = Ear()
  let peer: DeviceAddress
  let shown = Shown()

  init(_ io: SMPIOCapability, model: RadioModel = RadioModel()) throws {
    radio = VirtualRadio(seed: 1, model: model)
    let shown = shown
    radio.withWorld { world in
      _ = world.addDevice(named: "Lock", at: Position(x: 2)) { lock in
        lock.ioCapability = io
        lock.addService(0x1815).addCharacteristic(0x2A99, [.read], value: [1])
        lock.addChannel(psm: 0x81) { _ in [] }
        lock.onPairingPrompt = { _, prompt, _ in
          if case .displayPasskey(let number) = prompt { shown.value = number }
        }
      }
    }
    host = radio.makeHost(name: "Bench")
    let ear = ear
    client = host.makeClient { ear.hear($0) }
    if io != .noInputNoOutput { client.send(.setPairingAgent(.keyboardOnly)) }
    client.send(.startScan(ScanOptions()))
    guard radio.advance(within: .seconds(10), until: { ear.address != nil }), let peer = ear.address
    else { throw Stuck(description: "no device was found") }
    self.peer = peer
    client.send(.stopScan)
    client.send(.connect(peer, ConnectOptions()))
    guard radio.advance(within: .seconds(10), until: { ear.isConnected }) else {
      throw Stuck(description: "no link was made")
    }
    radio.advance(by: .seconds(2))
  }

  func pair() throws {
    client.send(.pair(peer, RequestToken(rawValue: 1)))
    let isPaired = radio.advance(within: .seconds(30)) {
      if let prompt = ear.prompt, let number = shown.value {
        shown.value = nil
        client.send(.answerPairing(prompt, .passkey(number)))
      }
      return ear.isPaired
    }
    guard isPaired else { throw Stuck(description: "the pairing did not end") }
  }
}

/// The passkey that the device shows.
private final class Shown: Sendable {
  private let mutex = Mutex<UInt32?>(nil)
  var value: UInt32? {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}

/// From the request to the last key, on realistic air with a connection interval of 30 ms.
private func measurePairing(into table: inout Table) throws {
  for (name, io) in [
    ("LE Secure Connections, Just Works", SMPIOCapability.noInputNoOutput),
    ("LE Secure Connections, passkey", .displayOnly),
  ] {
    let pair = try VirtualPair(io)
    let start = pair.radio.now
    let cpu = Clock.cpuSeconds()
    try pair.pair()
    let span = pair.radio.now - start
    table.add("\(name): virtual", span.seconds * 1_000, "ms")
    table.add("\(name): processor", (Clock.cpuSeconds() - cpu) * 1_000, "ms")
  }
}

/// The same in real time, with a device of the simulated flat.
private func measurePairingInRealTime(isSmoke: Bool, into table: inout Table) async throws {
  var milliseconds: [Double] = []
  for _ in 0..<(isSmoke ? 1 : 5) {
    let host = try BluetoothHost(radio: .simulated(.init()))
    let ear = Ear()
    let client = host.makeClient { event in
      if case .discovered(let report) = event,
        AdvertisingFields(report.data, scanResponse: report.scanResponse).localName != "Thermostat"
      {
        return
      }
      ear.hear(event)
    }
    client.send(.startScan(ScanOptions()))
    try await wait("the thermostat") { ear.address != nil }
    guard let peer = ear.address else { return }
    client.send(.stopScan)
    client.send(.connect(peer, ConnectOptions()))
    try await wait("a link") { ear.isConnected }
    try await Task.sleep(for: .seconds(1))
    let start = Clock.wallSeconds()
    client.send(.pair(peer, RequestToken(rawValue: 1)))
    try await wait("the pairing") { ear.isPaired }
    milliseconds.append((Clock.wallSeconds() - start) * 1_000)
    client.close()
    await host.close()
  }
  let median = milliseconds.sorted()[milliseconds.count / 2]
  table.add("LE Secure Connections, Just Works: real time", median, "ms, median")
}

private func wait(_ what: String, _ condition: () -> Bool) async throws {
  for _ in 0..<30_000 {
    if condition() { return }
    try await Task.sleep(for: .milliseconds(1))
  }
  throw Stuck(description: "\(what) did not come")
}

// MARK: Throughput

/// Bytes through an L2CAP channel in virtual time, plain and encrypted, on realistic air without losses.
private func measureThroughput(isSmoke: Bool, into table: inout Table) throws {
  var model = RadioModel()
  model.packetLoss = 0
  var rates: [Double] = []
  var costs: [Double] = []
  let count = isSmoke ? 10 : 60
  for isEncrypted in [false, true] {
    let pair = try VirtualPair(.noInputNoOutput, model: model)
    if isEncrypted { try pair.pair() }
    let ear = pair.ear
    pair.client.send(.openChannel(pair.peer, psm: 0x81, RequestToken(rawValue: 2)))
    guard pair.radio.advance(within: .seconds(10), until: { ear.channel != nil }),
      let channel = ear.channel
    else { throw Stuck(description: "no channel was opened") }
    let start = pair.radio.now
    let cpu = Clock.cpuSeconds()
    let before = ear.completed
    for number in 0..<count {
      pair.client.send(
        .sendOnChannel(channel, Agreed.channelChunk, RequestToken(rawValue: 100 + UInt64(number))))
      let isSent = pair.radio.advance(within: .seconds(60)) {
        ear.completed >= before + number - 3
      }
      guard isSent else { throw Stuck(description: "the channel came to a standstill") }
    }
    guard pair.radio.advance(within: .seconds(60), until: { ear.completed >= before + count })
    else { throw Stuck(description: "the channel came to a standstill") }
    let bytes = Double(count * Agreed.channelChunk.count)
    rates.append(bytes / (pair.radio.now - start).seconds)
    costs.append((Clock.cpuSeconds() - cpu) / bytes * 1e9)
  }
  table.add("plain channel, bytes in a virtual second", rates[0], "bytes/s")
  table.add("encrypted channel, bytes in a virtual second", rates[1], "bytes/s")
  table.add("encrypted to plain throughput", rates[1] / rates[0] * 100, "%")
  table.add("plain, processor time of a byte, both ends", costs[0], "ns")
  table.add("encrypted, processor time of a byte, both ends", costs[1], "ns")
}

// MARK: Private addresses

/// The cost of a report for a host with 1,000 bonded peers, beyond the cost for one without.
private func measureResolving(seconds: Double, into table: inout Table) {
  let count = 1_000
  var options = ScanOptions()
  options.allowsDuplicates = true
  let keys = (0..<count).map { AES128(key: UInt128($0) << 64 | 0xABCD_EF01) }
  let bonds = (0..<count).map { number in
    let identity = DeviceAddress(bits: 0xC0BE_0000_0000 + UInt64(number), kind: .random)
    return Bond(
      identity: identity, centralKey: nil, peripheralKey: nil,
      identityResolvingKey: SMPValue(number: UInt128(number) << 64 | 0xABCD_EF01),
      isAuthenticated: true, isSecureConnections: true)
  }
  let known = keys.enumerated().map {
    DeviceAddress.resolvable(identityResolvingKey: $1, random: UInt64($0))
  }
  let chunks = reports(known)
  var plain = Receiver(clients: 1, asking: .startScan(options))
  let without = measure(cpuSeconds: seconds) {
    for chunk in chunks { plain.receive(chunk) }
    return count
  }
  var bonded = Receiver(clients: 1, asking: .startScan(options), bonds: bonds)
  let with = measure(cpuSeconds: seconds) {
    for chunk in chunks { bonded.receive(chunk) }
    return count
  }
  table.add("report of one of 1,000 bonded peers", with.nanosecondsEach, "ns")
  table.add("report without bonds", without.nanosecondsEach, "ns")
  table.add(
    "resolving it, amortised", (with.nanosecondsEach - without.nanosecondsEach) / 1_000, "µs")
  // Addresses resolvable with no peer's key, each used once: every key is tried.
  let stranger = AES128(key: 0x5555_AAAA)
  var number: UInt64 = 0
  let cold = measure(cpuSeconds: seconds) {
    let addresses = (0..<100).map { _ in
      number += 1
      return DeviceAddress.resolvable(identityResolvingKey: stranger, random: number)
    }
    for chunk in reports(addresses) { bonded.receive(chunk) }
    return addresses.count
  }
  table.add("a private address that was never heard", cold.nanosecondsEach / 1_000, "µs")
}

private func reports(_ addresses: [DeviceAddress]) -> [[UInt8]] {
  addresses.map { address in
    let packet = LEAdvertisingReports([
      LEAdvertisingReport(
        kind: .nonConnectable, advertiser: PeerAddress(address), data: [2, 1, 6], rssi: -60)
    ]).packet
    return [packet.kind.rawValue] + packet.bytes
  }
}
