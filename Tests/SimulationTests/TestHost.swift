import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation

/// A host in the simulated world that a test drives: it sends requests, runs the world until the
/// answer comes, and keeps every event.
final class TestHost {
  let world: World
  let controller: SimulatedController
  private(set) var events: [HostEvent] = []
  private var machine: HostMachine
  private var queue: [Work] = []
  private var isPumping = false
  private var scheduledWake: Instant?
  private var tokenCount: UInt64 = 0
  private static let client = ClientID(rawValue: 1)

  private enum Work {
    case input(HostMachine.Input)
    case wake
  }

  /// The bonds that its driver was to keep.
  private(set) var bonds: [Bond] = []
  /// Why others were not to be kept.
  private(set) var unkeptBonds: [BondRejection] = []
  /// Whose bonds made room for others.
  private(set) var evictedPeers: [DeviceAddress] = []
  private(set) var identities: [HostIdentity] = []
  /// The bonds that the host updated.
  private(set) var updated: [Bond] = []
  /// Updates of bonds that were not stored before.
  private(set) var updatesWithoutBond = 0
  /// How often it was to keep what peers configured.
  private(set) var configurationCount = 0

  init(
    named name: String = "Test", in world: World, at position: Position = .origin,
    configuration: HostConfiguration = HostConfiguration(), bonds: [Bond] = [],
    identities: [HostIdentity] = [],
    address: DeviceAddress = DeviceAddress(bits: 0x00A0_5000_0001, kind: .public),
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) {
    self.world = world
    controller = world.makeController(
      name: name, address: address, at: position, capabilities: capabilities)
    var configuration = configuration
    configuration.hasKeyAgreement = world.keyAgreement != nil
    machine = HostMachine(
      configuration: configuration,
      // Two hosts with the same secrets would take each other's for their own, reflected.
      random: SeededGenerator(seed: name.utf8.reduce(world.seed) { $0 &* 31 &+ UInt64($1) }))
    take(.input(.bondsLoaded(bonds, identities)))
    controller.onPacket = { [weak self] packet in self?.take(.input(.packet(packet))) }
    take(.input(.transportOpened))
    take(.input(.clientOpened(Self.client)))
  }

  func send(_ request: HostRequest) { take(.input(.request(Self.client, request))) }

  /// Sends what needs a token, and runs the world until it is completed.
  func complete(
    within limit: TimeSpan = .seconds(60), _ make: (RequestToken) -> HostRequest
  ) throws -> HostReply {
    tokenCount += 1
    let token = RequestToken(rawValue: tokenCount)
    send(make(token))
    return try wait(for: "completion", within: limit) { event in
      if case .completed(token, let result) = event { return result }
      return nil
    }.get()
  }

  /// Runs the world until an event is there that `match` takes; also those before now.
  func wait<Value>(
    for what: String, within limit: TimeSpan = .seconds(60), _ match: (HostEvent) -> Value?
  ) throws -> Value {
    var seen = 0
    var found: Value?
    _ = world.run(atMost: limit) {
      while found == nil, seen < events.count {
        found = match(events[seen])
        seen += 1
      }
      return found != nil
    }
    guard let found else { throw NeverHappened(what: what, seed: world.seed) }
    return found
  }

  struct NeverHappened: Error {
    let what: String
    let seed: UInt64
  }

  func forgetEvents() { events = [] }

  var snapshot: HostSnapshot { machine.snapshot }

  private func take(_ work: Work) {
    queue.append(work)
    guard !isPumping else { return }
    isPumping = true
    var index = 0
    while index < queue.count {
      var actions: [HostMachine.Action] = []
      switch queue[index] {
      case .input(let input): machine.handle(input, now: world.now, into: &actions)
      case .wake: machine.wake(now: world.now, into: &actions)
      }
      index += 1
      for action in actions {
        switch action {
        case .send(let packet): controller.receive(packet)
        case .deliver(_, let event): events.append(event)
        case .reopenTransport: take(.input(.transportOpened))
        case .computeKey(let request):
          guard let agreement = world.keyAgreement else { break }
          let result = agreement.perform(request.operation)
          take(.input(.keyComputed(id: request.id, result)))
        case .storeBond(let bond, let identity):
          bonds.append(bond)
          if let identity, !identities.contains(identity) { identities.append(identity) }
        case .bondNotKept(_, let reason): unkeptBonds.append(reason)
        case .bondEvicted(let peer): evictedPeers.append(peer)
        case .clientLate: break
        case .removeBond(let bond): bonds.removeAll { $0.identity == bond.identity }
        case .updateBonds(let changed):
          configurationCount += 1
          updated += changed
          for bond in changed {
            guard let index = bonds.lastIndex(where: { $0.identity == bond.identity }) else {
              updatesWithoutBond += 1
              continue
            }
            bonds[index].isEvictable = bond.isEvictable
            bonds[index].clientConfiguration = bond.clientConfiguration
          }
        case .pauseReceiving, .resumeReceiving: break
        }
      }
    }
    queue = []
    isPumping = false
    scheduleWake()
  }

  private func scheduleWake() {
    guard let wake = machine.nextWake else { return }
    if let scheduledWake, scheduledWake <= wake { return }
    scheduledWake = wake
    world.schedule(at: max(wake, world.now)) { [weak self] in
      guard let self, self.scheduledWake == wake else { return }
      self.scheduledWake = nil
      self.take(.wake)
    }
  }
}

// What most tests do first.
extension TestHost {
  /// Scans until a device with this name is reported.
  func find(_ name: String) throws -> DeviceAddress {
    guard world.run(atMost: .seconds(60), until: { snapshot.controller.state == .poweredOn })
    else { throw NeverHappened(what: "power", seed: world.seed) }
    send(.startScan(ScanOptions()))
    defer { send(.stopScan) }
    return try wait(for: name) { event in
      guard case .discovered(let report) = event else { return nil }
      let fields = AdvertisingFields(report.data, scanResponse: report.scanResponse)
      return fields.localName == name ? report.address : nil
    }
  }

  func connect(to name: String) throws -> DeviceAddress {
    let peer = try find(name)
    send(.connect(peer, ConnectOptions()))
    try wait(for: "connection") { event -> Void? in
      if case .connected(peer) = event { return () }
      return nil
    }
    return peer
  }

  /// All characteristics of the peer by UUID.
  func characteristics(
    of peer: DeviceAddress
  ) throws -> [BluetoothUUID: RemoteCharacteristic] {
    var found: [BluetoothUUID: RemoteCharacteristic] = [:]
    guard
      case .services(let services) = try complete({ .gatt(peer, .discoverServices(nil), $0) })
    else { return [:] }
    for service in services {
      let reply = try complete { .gatt(peer, .discoverCharacteristics(in: service.range, nil), $0) }
      if case .characteristics(let characteristics) = reply {
        for characteristic in characteristics { found[characteristic.uuid] = characteristic }
      }
    }
    return found
  }

  func read(_ characteristic: RemoteCharacteristic, of peer: DeviceAddress) throws -> [UInt8] {
    let reply = try complete { .gatt(peer, .read(characteristic.valueHandle), $0) }
    guard case .value(let value) = reply else { throw HostError.invalidResponse }
    return value
  }

  func subscribe(_ characteristic: RemoteCharacteristic, of peer: DeviceAddress) throws {
    let range = HandleRange(characteristic.valueHandle + 1, characteristic.endHandle)
    guard
      case .descriptors(let descriptors) = try complete({
        .gatt(peer, .discoverDescriptors(in: range), $0)
      }), let configuration = descriptors.first(where: { $0.uuid == 0x2902 })
    else { throw HostError.invalidResponse }
    let target = SubscriptionTarget(
      valueHandle: characteristic.valueHandle, configurationHandle: configuration.handle,
      usesIndications: !characteristic.properties.contains(.notify))
    _ = try complete { .subscribe(peer, target, $0) }
  }
}
