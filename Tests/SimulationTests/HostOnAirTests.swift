import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation
import Testing

/// A host machine at a simulated controller, driven by the world's clock.
private final class HostOnAir {
  let world: World
  let controller: SimulatedController
  private(set) var machine: HostMachine
  private(set) var events: [HostEvent] = []
  private var wakeAt = Instant.distantFuture
  private var lastToken: UInt64 = 0
  static let client = ClientID(rawValue: 1)

  init(
    _ world: World, _ number: UInt64, at position: Position = .origin,
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) {
    self.world = world
    controller = world.makeController(
      name: "host \(number)", address: DeviceAddress(bits: number, kind: .public), at: position,
      capabilities: capabilities)
    machine = HostMachine(random: SeededGenerator(seed: number))
    controller.onPacket = { [weak self] in self?.handle(.packet($0)) }
    handle(.clientOpened(Self.client))
    handle(.transportOpened)
  }

  var address: DeviceAddress { controller.address }

  func handle(_ input: HostMachine.Input) {
    var actions: [HostMachine.Action] = []
    machine.handle(input, now: world.now, into: &actions)
    perform(actions)
  }

  func request(_ request: HostRequest) { handle(.request(Self.client, request)) }

  func token() -> RequestToken {
    lastToken += 1
    return RequestToken(rawValue: lastToken)
  }

  private func perform(_ actions: [HostMachine.Action]) {
    for action in actions {
      switch action {
      case .send(let packet): controller.receive(packet)
      case .deliver(_, let event): take(event)
      case .pauseReceiving, .resumeReceiving, .computeKey, .storeBond, .bondNotKept, .bondEvicted,
        .updateBonds, .removeBond, .clientLate:
        break
      case .reopenTransport:
        world.schedule(at: world.now + .milliseconds(1)) { [weak self] in
          self?.handle(.transportOpened)
        }
      }
    }
    scheduleWake()
  }

  private func scheduleWake() {
    guard let wake = machine.nextWake, wake < wakeAt else { return }
    let time = max(wake, world.now + .microseconds(1))
    wakeAt = time
    world.schedule(at: time) { [weak self] in
      guard let self, self.wakeAt == time else { return }
      self.wakeAt = .distantFuture
      var actions: [HostMachine.Action] = []
      if let due = self.machine.nextWake, due <= time {
        self.machine.wake(now: time, into: &actions)
      }
      self.perform(actions)
    }
  }

  /// Notes an event, and answers reads with two bytes.
  private func take(_ event: HostEvent) {
    events.append(event)
    guard case .serverRequest(let request) = event, request.needsResponse else { return }
    world.schedule(at: world.now) { [weak self] in
      self?.request(.respond(request.id, .success([1, 2])))
    }
  }

  func count(_ isWanted: (HostEvent) -> Bool) -> Int { events.count(where: isWanted) }

  func result(_ token: RequestToken) -> Result<HostReply, HostError>? {
    for case .completed(token, let result) in events { return result }
    return nil
  }

  /// Runs the world until a request has ended.
  func await(_ make: (RequestToken) -> HostRequest) -> Result<HostReply, HostError>? {
    let token = token()
    request(make(token))
    _ = world.run(atMost: .seconds(40)) { result(token) != nil }
    return result(token)
  }

  var connectedCount: Int { count { if case .connected = $0 { true } else { false } } }
  var lostCount: Int { count { if case .disconnected = $0 { true } else { false } } }
}

@Suite("Hosts on the simulated air")
struct HostOnAirTests {
  private let heartRate = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A37, properties: [.read, .notify], permissions: [.readable])
    ])

  private func advertise(_ host: HostOnAir) {
    var options = AdvertisingOptions()
    options.data = [2, 1, 6, 3, 3, 0x0D, 0x18]
    host.request(.startAdvertising(options, host.token()))
  }

  private func start(_ world: World, _ hosts: HostOnAir...) {
    world.run(for: .milliseconds(200))
    for host in hosts {
      guard case .stateChanged(.poweredOn)? = host.events.last else {
        Issue.record("not powered on: \(host.events)")
        continue
      }
    }
  }

  @Test("two hosts find each other, connect, read and are notified")
  func heartRateStrap() throws {
    for seed in 0..<5 as Range<UInt64> {
      let world = World(seed: seed)
      let strap = HostOnAir(world, 0xA)
      let phone = HostOnAir(world, 0xB, at: Position(x: 2))
      start(world, strap, phone)
      guard case .success(.published(let place))? = strap.await({ .addService(heartRate, $0) })
      else {
        Issue.record("not published, seed \(seed)")
        return
      }
      advertise(strap)
      var scan = ScanOptions()
      scan.services = [0x180D]
      phone.request(.startScan(scan))
      world.run(for: .seconds(2))
      #expect(phone.count { if case .discovered = $0 { true } else { false } } > 0, "seed \(seed)")
      phone.request(.connect(strap.address, ConnectOptions()))
      #expect(world.run(atMost: .seconds(5)) { phone.connectedCount == 1 }, "seed \(seed)")

      let found = phone.await { .gatt(strap.address, .discoverServices([0x180D]), $0) }
      guard case .success(.services(let services))? = found else {
        Issue.record("\(String(describing: found)), seed \(seed)")
        return
      }
      #expect(services.map(\.range) == [place.range], "seed \(seed)")
      let value = place.characteristics[0].valueHandle
      #expect(phone.await { .gatt(strap.address, .read(value), $0) } == .success(.value([1, 2])))
      let target = SubscriptionTarget(
        valueHandle: value,
        configurationHandle: try #require(place.characteristics[0].configurationHandle),
        usesIndications: false)
      let subscribed = phone.await { .subscribe(strap.address, target, $0) }
      #expect(subscribed == .success(.done), "seed \(seed)")
      for beat in 0..<100 as Range<UInt8> {
        let sent = strap.await { .updateValue(handle: value, [0, beat], peers: nil, $0) }
        #expect(sent == .success(.done), "seed \(seed)")
      }
      world.run(for: .seconds(1))
      #expect(
        phone.count { if case .valueUpdated = $0 { true } else { false } } == 100, "seed \(seed)")
      guard case .success(.rssi(let rssi))? = phone.await({ .readRSSI(strap.address, $0) })
      else {
        Issue.record("no strength, seed \(seed)")
        return
      }
      #expect(rssi < 0, "seed \(seed)")
      phone.request(.disconnect(strap.address))
      #expect(world.run(atMost: .seconds(2)) { phone.lostCount == 1 }, "seed \(seed)")
      // It advertises again without being asked.
      world.run(for: .seconds(1))
      phone.request(.connect(strap.address, ConnectOptions()))
      #expect(world.run(atMost: .seconds(5)) { phone.connectedCount == 2 }, "seed \(seed)")
    }
  }

  @Test("a host connects to every one of many requested peers when it appears, in any order")
  func manyPeers() {
    let world = World(seed: 3)
    let hub = HostOnAir(world, 0xFF)
    start(world, hub)
    let peers = (1...12 as ClosedRange<UInt64>).map { number in
      HostOnAir(world, number, at: Position(x: Double(number) / 4))
    }
    for peer in peers { hub.request(.connect(peer.address, ConnectOptions())) }
    hub.request(.startScan(ScanOptions()))
    world.run(for: .seconds(5))
    #expect(hub.connectedCount == 0)
    for (count, peer) in peers.reversed().enumerated() {
      advertise(peer)
      #expect(
        world.run(atMost: .seconds(30)) { hub.connectedCount == count + 1 }, "peer \(count)")
    }
  }

  @Test("a host reconnects a link after either end's firmware crashed, or one was out of reach")
  func crashes() {
    let world = World(seed: 9)
    let strap = HostOnAir(world, 0xA)
    let phone = HostOnAir(world, 0xB, at: Position(x: 2))
    start(world, strap, phone)
    advertise(strap)
    var options = ConnectOptions()
    options.reconnectsAutomatically = true
    phone.request(.connect(strap.address, options))
    var links = 1
    #expect(world.run(atMost: .seconds(5)) { phone.connectedCount == links })
    let mishaps: [() -> Void] = [
      { phone.controller.crash() },
      { strap.controller.crash() },
      { phone.controller.crash(restartingAfter: .seconds(5)) },
    ]
    for (number, mishap) in mishaps.enumerated() {
      mishap()
      links += 1
      #expect(world.run(atMost: .seconds(40)) { phone.connectedCount == links }, "\(number)")
      #expect(phone.lostCount == links - 1, "\(number)")
      world.run(for: .seconds(1))
    }
    strap.controller.position = Position(x: 100_000)
    #expect(world.run(atMost: .seconds(5)) { phone.lostCount == links })
    world.run(for: .seconds(60))
    strap.controller.position = .origin
    #expect(world.run(atMost: .seconds(40)) { phone.connectedCount == links + 1 })
  }

  @Test("a host connects through bad air, and reports no link that never was")
  func badAir() {
    for seed in 0..<30 as Range<UInt64> {
      var radio = RadioModel()
      radio.packetLoss = 0.55
      radio.advertisementLoss = 0.5
      let world = World(seed: seed, radio: radio)
      let strap = HostOnAir(world, 0xA)
      let phone = HostOnAir(world, 0xB, at: Position(x: 2))
      start(world, strap, phone)
      advertise(strap)
      phone.request(.connect(strap.address, ConnectOptions()))
      #expect(world.run(atMost: .seconds(60)) { phone.connectedCount == 1 }, "seed \(seed)")
      #expect(phone.lostCount == 0, "seed \(seed)")
      let names = phone.events.prefix { if case .connected = $0 { false } else { true } }
      let openings = names.count { if case .linkOpened = $0 { true } else { false } }
      #expect(openings == 1, "seed \(seed)")
    }
  }
}
