import BluetoothMachines
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation

/// A world with hosts whose clients make valid and invalid requests, with devices, and with
/// everything going wrong for a while. All of it follows from the seed.
final class FaultRun {
  let world: World
  var random: SeededGenerator
  private(set) var hosts: [RunHost] = []
  private(set) var devices: [SimulatedDevice] = []
  private(set) var violations: [String] = []
  /// How long the trouble lasts.
  static let trouble = TimeSpan.seconds(15)
  /// How long a host may take to be itself again: a controller that was away is tried again after
  /// half a minute at most, and an answer that never comes is awaited as long.
  static let recovery = TimeSpan.seconds(75)
  private static let serviceUUIDs: [BluetoothUUID] = [0xFE10, 0xFE20, 0xFE30]
  private let troubleEnd: Instant
  /// Whether clients pair, which every second run does: by chance of its own, so that the other half of the
  /// runs is what it always was.
  private let pairs: Bool
  private var pairingRandom: SeededGenerator

  init(seed: UInt64, keepsTranscript: Bool = false) {
    random = SeededGenerator(seed: seed)
    pairs = seed % 2 == 1
    pairingRandom = SeededGenerator(seed: ~seed)
    var radio = random.unit() < 0.3 ? RadioModel.ideal : RadioModel()
    if random.unit() < 0.3 { radio.packetLoss = 0.2 }
    world = World(seed: seed, radio: radio)
    troubleEnd = world.now + Self.trouble
    for index in 0..<pick(1...3) {
      let host = RunHost(index, in: world, at: somewhere(), isBasic: random.unit() < 0.3)
      if keepsTranscript { host.transcript = Transcript() }
      host.answer = { [weak self] request in self?.answer(request) }
      hosts.append(host)
      for _ in 0..<pick(1...3) { _ = host.addClient() }
    }
    for index in 0..<pick(1...2) {
      let complain: (String) -> Void = { [weak self] in self?.violations.append($0) }
      devices.append(Probe.add(index, to: world, at: somewhere(), complain: complain))
    }
    if random.unit() < 0.5 { devices.append(world.addThermostat(at: somewhere())) }
  }

  var transcripts: [Transcript?] { hosts.map(\.transcript) }
  /// How many requests were done, to see that runs are no idle talk.
  var successCount: Int { hosts.flatMap(\.ledgers).reduce(0) { $0 + $1.successCount } }

  /// Runs it all; what it returns is wrong.
  func perform() -> [String] {
    for host in hosts {
      actLater(host)
      if pairs { pairLater(host) }
    }
    faultLater()
    world.run(for: Self.trouble)
    liftFaults()
    world.run(for: .seconds(2))
    for host in hosts { giveUp(host) }
    settle()
    for host in hosts { giveUp(host) }
    // Longer than a controller stays unnoticed that was reset without a word or goes on refusing, and than
    // the pause after which its host restarts it.
    world.run(for: .seconds(20))
    settle()
    for host in hosts { violations += host.checkQuiet() }
    for host in hosts { checkNotWedged(host) }
    let mistaken = hosts.filter(\.wasResetSilently).map { "from \(RunHost.address($0.index)) were" }
    return violations.filter { text in !mistaken.contains { text.contains($0) } }
  }

  /// Lets time pass until all hosts are quiet, which most are after a few seconds.
  private func settle() {
    let end = world.now + Self.recovery
    repeat { world.run(for: .seconds(1)) } while world.now < end && !hosts.allSatisfy(\.isQuiet)
  }

  // MARK: Chance

  func pick<Value: FixedWidthInteger>(_ range: ClosedRange<Value>) -> Value {
    Value.random(in: range, using: &random)
  }

  func pick<Value>(_ values: [Value]) -> Value? { values.randomElement(using: &random) }

  private func somewhere() -> Position { Position(x: random.unit() * 8, y: random.unit() * 8) }

  // MARK: Clients at work

  private func actLater(_ host: RunHost) {
    let at = world.now + .milliseconds(pick(1...120))
    guard at < troubleEnd else { return }
    world.schedule(at: at) { [weak self, weak host] in
      guard let self, let host else { return }
      self.act(host)
      self.actLater(host)
    }
  }

  private func pairLater(_ host: RunHost) {
    let at = world.now + .milliseconds(Int64.random(in: 50...2_000, using: &pairingRandom))
    guard at < troubleEnd else { return }
    world.schedule(at: at) { [weak self, weak host] in
      guard let self, let host else { return }
      self.pair(host)
      self.pairLater(host)
    }
  }

  /// A client pairs with a peer of its own, and now and then reads much at once.
  private func pair(_ host: RunHost) {
    let connected = host.ledgers.flatMap { ledger in
      ledger.linkRequests.filter { $0.value == .connected }.keys.map { (ledger, $0) }
    }.sorted { ($0.0.id.rawValue, $0.1.bits) < ($1.0.id.rawValue, $1.1.bits) }
    guard let (ledger, peer) = connected.randomElement(using: &pairingRandom) else { return }
    let handles = (ledger.characteristics[peer] ?? []).map(\.valueHandle)
    guard !handles.isEmpty, pairingRandom.unit() < 0.7 else {
      return host.send(.pair(peer, host.makeToken()), from: ledger.id)
    }
    for _ in 0..<Int.random(in: 2...12, using: &pairingRandom) {
      guard let handle = handles.randomElement(using: &pairingRandom) else { return }
      host.send(.gatt(peer, .read(handle), host.makeToken()), from: ledger.id)
    }
  }

  private func act(_ host: RunHost) {
    if random.unit() < 0.01 {
      if host.ledgers.count > 1, let client = pick(host.ledgers.map(\.id)) {
        return host.removeClient(client)
      }
      if host.ledgers.count < 4 { _ = host.addClient() }
      return
    }
    guard let ledger = pick(host.ledgers) else { return }
    let peer = pick(Array(0..<6)).map { choice -> DeviceAddress in
      switch choice {
      case 0...2: Probe.address(choice % 2)
      case 3: RunHost.address(pick(0...2))
      case 4: devices.last?.controller.address ?? Probe.address(0)
      default: DeviceAddress(bits: pick(1...3), kind: .random)
      }
    }
    guard let peer else { return }
    let connected = ledger.linkRequests.filter { $0.value == .connected }.keys.min {
      $0.bits < $1.bits
    }
    let request = makeRequest(host, ledger, random.unit() < 0.85 ? connected ?? peer : peer)
    host.send(request, from: ledger.id)
  }

  private func makeRequest(
    _ host: RunHost, _ ledger: ClientLedger, _ peer: DeviceAddress
  ) -> HostRequest {
    let isConnected = ledger.linkRequests[peer] == .connected
    switch pick(0...99) {
    case 0...7: return .startScan(scanOptions())
    case 8...12: return .stopScan
    case 13...15: return .startAdvertising(advertisingOptions(), host.makeToken())
    case 16: return .stopAdvertising
    case 17...30 where !isConnected, 17...18: return .connect(peer, connectOptions())
    case 31...33: return .disconnect(peer)
    case 34...35: return .readRSSI(peer, host.makeToken())
    case 36...37: return .updateParameters(peer, parameters(), host.makeToken())
    case 38...43: return serverRequest(host, ledger)
    case 44...60: return channelRequest(host, ledger, peer)
    case 61...68: return subscription(host, ledger, peer)
    default: return .gatt(peer, operation(ledger, peer), host.makeToken())
    }
  }

  private func scanOptions() -> ScanOptions {
    var options = ScanOptions()
    options.allowsDuplicates = random.unit() < 0.3
    options.isActive = random.unit() < 0.7
    options.usesExtendedScanning = random.unit() < 0.5
    if random.unit() < 0.3 { options.services = [Probe.service, 0xFE10] }
    return options
  }

  private func advertisingOptions() -> AdvertisingOptions {
    var options = AdvertisingOptions()
    options.data = Array(repeating: 0, count: pick([0, 3, 31, 32, 200]) ?? 0)
    options.isConnectable = random.unit() < 0.9
    options.usesExtendedAdvertising = random.unit() < 0.2
    return options
  }

  private func connectOptions() -> ConnectOptions {
    var options = ConnectOptions()
    options.reconnectsAutomatically = random.unit() < 0.3
    if random.unit() < 0.2 { options.startDelay = .milliseconds(pick(1...500)) }
    if random.unit() < 0.05 { options.parameters.latency = 5000 }
    return options
  }

  private func parameters() -> ConnectionParameters {
    let interval: UInt16 = pick([6, 24, 80, 0]) ?? 24
    return ConnectionParameters(
      intervalUnits: interval...interval, latency: pick([0, 0, 4, 9999]) ?? 0, timeoutUnits: 300)
  }

  private func subscription(
    _ host: RunHost, _ ledger: ClientLedger, _ peer: DeviceAddress
  ) -> HostRequest {
    let known = pick((ledger.characteristics[peer] ?? []).filter { $0.uuid == Probe.counter })
    let handle = known?.valueHandle ?? pick(1...40)
    let target = SubscriptionTarget(
      valueHandle: handle, configurationHandle: handle + 1, usesIndications: random.unit() < 0.3)
    let token = host.makeToken()
    return random.unit() < 0.6 ? .subscribe(peer, target, token) : .unsubscribe(peer, target, token)
  }

  private func operation(_ ledger: ClientLedger, _ peer: DeviceAddress) -> GATTOperation {
    let services = ledger.services[peer] ?? []
    let characteristics = ledger.characteristics[peer] ?? []
    guard !services.isEmpty, random.unit() < 0.9 else { return .discoverServices(nil) }
    let range = pick(services)?.range ?? .all
    guard !characteristics.isEmpty, random.unit() < 0.8 else {
      return .discoverCharacteristics(in: random.unit() < 0.5 ? .all : range, nil)
    }
    let handle = pick(characteristics)?.valueHandle ?? 3
    let register = characteristics.first { $0.uuid == Probe.register }?.valueHandle ?? 0xFFF0
    switch pick(0...19) {
    case 0: return .discoverServices(nil)
    case 1: return .discoverIncludedServices(in: range)
    case 2: return .discoverDescriptors(in: HandleRange(handle, pick([handle, 0xFFFF]) ?? 0))
    case 3: return .readByUUID(pick([0x2A00, Probe.register, 0x1234]) ?? 1, in: .all)
    case 4: return .readMultiple([handle, 3, 5])
    case 5: return .read(pick(0...60))
    case 6...9: return .write(register, Pattern.written(pick([0, 3, 20, 21, 200, 512]) ?? 1))
    case 10...12: return .writeWithoutResponse(register, Pattern.written(pick(0...30)))
    case 13:
      return .reliableWrite([AttributeValue(handle: register, value: Pattern.written(pick(1...90)))]
      )
    default: return .read(handle)
    }
  }

  private func serverRequest(_ host: RunHost, _ ledger: ClientLedger) -> HostRequest {
    let service = pick(ledger.published)
    let handle = service?.characteristics.first?.valueHandle ?? 9
    switch pick(0...9) {
    case 0...3 where ledger.published.count < 20:
      let definition = ServiceDefinition(
        uuid: pick(Self.serviceUUIDs) ?? 1,
        characteristics: [
          CharacteristicDefinition(
            uuid: 0xFE40, properties: [.read, .write, .notify, .indicate],
            permissions: [.readable, .writeable])
        ])
      return .addService(definition, host.makeToken())
    case 4: return .removeService(service?.range.start ?? 77)
    case 5 where random.unit() < 0.3: return .removeAllServices
    default:
      let value = Pattern.written(pick(0...40))
      return .updateValue(handle: handle, value, peers: nil, host.makeToken())
    }
  }

  private func channelRequest(
    _ host: RunHost, _ ledger: ClientLedger, _ peer: DeviceAddress
  ) -> HostRequest {
    let sorted = ledger.channels.sorted { $0.key.rawValue < $1.key.rawValue }
    guard let (id, channel) = pick(sorted), random.unit() < 0.9 else {
      switch pick(0...9) {
      case 0...1:
        return .publishChannel(psm: Probe.psm, requiresEncryption: false, host.makeToken())
      case 2: return .unpublishChannel(psm: Probe.psm)
      case 3: return .openChannel(peer, psm: 0x99, host.makeToken())
      default: return .openChannel(peer, psm: Probe.psm, host.makeToken())
      }
    }
    if random.unit() < 0.05 { return .closeChannel(id) }
    guard !channel.isSending else {
      return .consumedFromChannel(ChannelID(rawValue: 0), byteCount: 1)
    }
    let bytes = Pattern.stream(from: channel.sentCount, count: pick(1...1500))
    return .sendOnChannel(id, bytes, host.makeToken())
  }

  private func answer(_ request: ServerRequest) -> Result<[UInt8], ATTErrorCode>? {
    switch pick(0...19) {
    case 0: return nil
    case 1: return .failure(.outOfRange)
    default: break
    }
    guard case .read(_, let offset) = request.kind else { return .success([]) }
    let value = Pattern.written(200)
    return offset <= value.count ? .success(Array(value[offset...])) : .failure(.invalidOffset)
  }

  /// Every client takes back all it asked for.
  private func giveUp(_ host: RunHost) {
    for ledger in host.ledgers {
      host.send(.stopScan, from: ledger.id)
      host.send(.stopAdvertising, from: ledger.id)
      for peer in ledger.linkRequests.keys.sorted(by: { $0.bits < $1.bits }) {
        host.send(.disconnect(peer), from: ledger.id)
      }
    }
  }

  // MARK: The wedged adapter

  /// A new client must be able to scan, connect, discover and read as if nothing had been.
  private func checkNotWedged(_ host: RunHost) {
    let client = host.addClient()
    defer { host.removeClient(client) }
    let peer = Probe.address(0)
    host.send(.startScan(ScanOptions()), from: client)
    host.send(.connect(peer, ConnectOptions()), from: client)
    let isUp = wait { host.ledger(client)?.linkRequests[peer] == .connected }
    guard isUp else { return violations.append("host \(host.index) is wedged: no connection") }
    host.send(.stopScan, from: client)
    host.send(.gatt(peer, .discoverCharacteristics(in: .all, nil), host.makeToken()), from: client)
    _ = wait { host.ledger(client)?.outstanding.isEmpty ?? true }
    let long = host.ledger(client)?.characteristics[peer]?.first { $0.uuid == 0xFF80 }
    guard let long else {
      return violations.append("host \(host.index) is wedged: nothing discovered")
    }
    let before = host.ledger(client)?.successCount ?? 0
    host.send(.gatt(peer, .read(long.valueHandle), host.makeToken()), from: client)
    _ = wait { host.ledger(client)?.outstanding.isEmpty ?? true }
    if host.ledger(client)?.successCount == before {
      violations.append("host \(host.index) is wedged: no value")
    }
    violations += host.ledger(client)?.violations ?? []
    host.send(.disconnect(peer), from: client)
    if !wait({ host.ledger(client)?.links.isEmpty ?? true }) {
      violations.append("host \(host.index) is wedged: no end")
    }
  }

  private func wait(_ condition: () -> Bool) -> Bool {
    world.run(atMost: .seconds(40), until: condition)
  }
}

// Everything that can go wrong.
extension FaultRun {
  private var controllers: [SimulatedController] {
    hosts.map(\.controller) + devices.map(\.controller)
  }

  private func faultLater() {
    let at = world.now + .milliseconds(pick(50...2_500))
    guard at < troubleEnd else { return }
    world.schedule(at: at) { [weak self] in
      guard let self else { return }
      if self.random.unit() < 0.2 { self.disturbAir() } else { self.breakSomething() }
      self.faultLater()
    }
  }

  private func disturbAir() {
    switch pick(0...3) {
    case 0: world.radio.dropProbability = random.unit() * 0.9
    case 1: world.radio.advertisementLoss = random.unit()
    case 2:
      var jamming = Jamming()
      jamming.channels = pick([0...39, 0...36, 37...39, 37...37, 0...10]) ?? 0...39
      jamming.end = world.now + .milliseconds(pick(100...4_000))
      world.radio.jamming = [jamming]
    default:
      world.radio.dropProbability = 0
      world.radio.jamming = []
    }
  }

  private func breakSomething() {
    guard let controller = pick(controllers) else { return }
    let host = hosts.first { $0.controller === controller }
    host?.noticesPowerLoss = random.unit() < 0.5
    switch pick(0...11) {
    case 0: controller.faults.deafUntil = world.now + .milliseconds(pick(100...5_000))
    case 1: controller.faults.isSilent = true
    case 2: controller.faults.commandDelay = .milliseconds(pick(1...3_000))
    case 3: controller.faults.commandStatus = pick(Self.statuses)
    case 4: controller.faults.garbageProbability = random.unit()
    case 5: controller.faults.missingRSSIProbability = random.unit()
    case 6: controller.faults.withholdsCompletedPackets = true
    case 7: controller.position = Position(x: 5_000)
    case 8: controller.powerOff()
    case 9:
      host?.noticesPowerLoss = false
      controller.crash(restartingAfter: .milliseconds(pick(1...3_000)))
    case 10: host?.inject(garbage())
    default: break
    }
    mendLater(controller)
  }

  private static var statuses: [HCIStatus] {
    [
      .unknownCommand, .commandDisallowed, .memoryCapacityExceeded, .unspecifiedError,
      .connectionAlreadyExists, .unknownConnection, .hardwareFailure,
    ]
  }

  /// Packets that no host may believe: unknown, cut, or about links that cannot be.
  private func garbage() -> HCIPacket {
    switch pick(0...3) {
    case 0: HCIPacket(kind: .event, bytes: [pick(0x60...0xFE), 2, 1, 2])
    case 1: HCIPacket(kind: .event, bytes: [0x3E, 40, pick(1...40), 0])
    case 2: HCIPacket(kind: .acl, bytes: [0xF0, 0x2E, 2, 0, 1, 2])
    default: HCIPacket(kind: .event, bytes: [0x13, 5, 1, 0xF0, 0x0E, 0xFF, 0xFF])
    }
  }

  private func mendLater(_ controller: SimulatedController) {
    let home = Position(x: random.unit() * 8, y: random.unit() * 8)
    world.schedule(at: world.now + .milliseconds(pick(50...5_000))) { [weak controller] in
      guard let controller else { return }
      controller.faults = ControllerFaults()
      controller.position = home
      if !controller.isPoweredOn { controller.powerOn() }
    }
  }

  private func liftFaults() {
    world.radio = random.unit() < 0.5 ? RadioModel() : .ideal
    for controller in controllers {
      controller.faults = ControllerFaults()
      controller.position = somewhere()
      if !controller.isPoweredOn { controller.powerOn() }
    }
  }
}
