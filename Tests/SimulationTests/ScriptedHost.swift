import BluetoothWire
import Essentials
import Simulation

/// A host that does what a test tells it, and remembers what it heard.
final class ScriptedHost {
  let world: World
  let controller: SimulatedController
  /// Everything received and not yet taken, in order.
  var events: [HCIEvent] = []
  /// The ACL packets received.
  var data: [(header: ACLHeader, payload: ArraySlice<UInt8>)] = []
  var completedCount = 0
  /// Every packet with the time it came, for comparing runs.
  var transcript: [UInt8] = []
  var undecodableCount = 0

  convenience init(
    _ world: World, _ name: String, address: UInt64, at position: Position = .origin,
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) {
    self.init(
      world, name, address: address, at: HostPlace(name: name, motion: .still(position)),
      capabilities: capabilities)
  }

  init(
    _ world: World, _ name: String, address: UInt64, at place: HostPlace,
    capabilities: ControllerCapabilities = ControllerCapabilities()
  ) {
    self.world = world
    controller = world.makeController(
      name: name, address: DeviceAddress(bits: address, kind: .public), at: place,
      capabilities: capabilities)
    controller.onPacket = { [weak self] in self?.take($0) }
  }

  var address: DeviceAddress { controller.address }

  private func take(_ packet: HCIPacket) {
    var writer = ByteWriter(capacity: 16)
    writer.uint64(UInt64(bitPattern: world.now.nanoseconds))
    writer.uint8(packet.kind.rawValue)
    transcript += writer.bytes
    transcript += packet.bytes
    switch packet.kind {
    case .event:
      guard let event = try? HCIEvent(decoding: packet.bytes) else {
        undecodableCount += 1
        return
      }
      if case .numberOfCompletedPackets(let list) = event {
        for entry in list { completedCount += Int(entry.count) }
      } else {
        events.append(event)
      }
    case .acl:
      if let (header, payload) = try? ACLHeader.decode(from: packet.bytes) {
        data.append((header, payload))
      } else {
        undecodableCount += 1
      }
    case .command, .synchronous, .isochronous:
      undecodableCount += 1
    }
  }

  func send(_ command: some HCICommand) { controller.receive(command.packet) }

  /// Sends a command and runs the world until it is answered.
  @discardableResult
  func perform<Command: HCICommand>(_ command: Command) -> HCIStatus? {
    send(command)
    return status(of: Command.opcode)
  }

  func status(of opcode: HCIOpcode) -> HCIStatus? {
    wait(atMost: .seconds(1)) { event -> HCIStatus?? in
      switch event {
      case .commandComplete(let complete) where complete.opcode == opcode: complete.status
      case .commandStatus(let status) where status.opcode == opcode: status.status
      default: nil
      }
    } ?? nil
  }

  /// Sends a command and returns what it returned.
  func value<Command: HCICommand>(_ command: Command) -> Command.Return? {
    send(command)
    let complete = wait(atMost: .seconds(1)) { event -> CommandComplete? in
      if case .commandComplete(let complete) = event, complete.opcode == Command.opcode {
        return complete
      }
      return nil
    }
    return try? complete?.returned(by: Command.self)
  }

  /// Takes the first event that `pick` picks out, running the world until there is one.
  func wait<Value>(
    atMost span: TimeSpan = .seconds(10), for pick: (HCIEvent) -> Value?
  ) -> Value? {
    var found: Value?
    world.run(atMost: span) {
      for (index, event) in events.enumerated() {
        guard let value = pick(event) else { continue }
        found = value
        events.remove(at: index)
        return true
      }
      return false
    }
    return found
  }

  /// Resets and unmasks every event.
  func start() {
    perform(Reset())
    perform(SetEventMask(mask: EventMask(rawValue: .max)))
    perform(LESetEventMask(mask: LEEventMask(rawValue: .max)))
  }

  func advertise(
    interval: UInt16 = 0xA0, type: AdvertisingType = .connectable, data: [UInt8] = [2, 1, 6],
    scanResponse: [UInt8] = []
  ) {
    perform(
      LESetAdvertisingParameters(
        intervalMinUnits625us: interval, intervalMaxUnits625us: interval, type: type))
    perform(LESetAdvertisingData(data: data))
    perform(LESetScanResponseData(data: scanResponse))
    perform(LESetAdvertisingEnable(isEnabled: true))
  }

  func scan(
    type: ScanType = .passive, interval: UInt16 = 16, window: UInt16 = 16,
    filtersDuplicates: Bool = false, filterPolicy: ScanFilterPolicy = .basicUnfiltered
  ) {
    perform(
      LESetScanParameters(
        type: type,
        timing: ScanTiming(intervalUnits625us: interval, windowUnits625us: window),
        filterPolicy: filterPolicy))
    perform(LESetScanEnable(isEnabled: true, filtersDuplicates: filtersDuplicates))
  }

  /// The reports received so far.
  var reports: [LEAdvertisingReport] {
    events.flatMap { event -> [LEAdvertisingReport] in
      if case .leAdvertisingReport(let reports) = event { Array(reports) } else { [] }
    }
  }

  var extendedReports: [LEExtendedAdvertisingReport] {
    events.flatMap { event -> [LEExtendedAdvertisingReport] in
      if case .leExtendedAdvertisingReport(let reports) = event { Array(reports) } else { [] }
    }
  }

  func connect(
    to peer: DeviceAddress, interval: UInt16 = 24, latency: UInt16 = 0, timeout: UInt16 = 100
  ) {
    perform(
      LECreateConnection(
        peer: PeerAddress(peer),
        timing: .init(
          intervalMinUnits1250us: interval, intervalMaxUnits1250us: interval, latency: latency,
          timeoutUnits10ms: timeout)))
  }

  func waitForConnection(atMost span: TimeSpan = .seconds(10)) -> LEEnhancedConnectionComplete? {
    wait(atMost: span) {
      if case .leEnhancedConnectionComplete(let complete) = $0 { complete } else { nil }
    }
  }

  func waitForDisconnection(atMost span: TimeSpan = .seconds(60)) -> HCIStatus? {
    wait(atMost: span) {
      if case .disconnectionComplete(let complete) = $0 { complete.reason } else { nil }
    }
  }

  func sendData(_ payload: [UInt8], on handle: UInt16) {
    controller.receive(
      ACLHeader.packet(handle: handle, boundary: .firstNonFlushable, payload: payload))
  }
}

/// Two hosts whose controllers are connected.
struct ConnectedPair {
  let world: World
  let central: ScriptedHost
  let peripheral: ScriptedHost
  let centralHandle: UInt16
  let peripheralHandle: UInt16

  /// Nil if they don't come together.
  init?(
    seed: UInt64, radio: RadioModel = RadioModel(), distance: Double = 2, interval: UInt16 = 24,
    latency: UInt16 = 0, timeout: UInt16 = 100,
    capabilities: ControllerCapabilities = ControllerCapabilities(),
    prepare: (ScriptedHost, ScriptedHost) -> Void = { _, _ in }
  ) {
    world = World(seed: seed, radio: radio)
    central = ScriptedHost(
      world, "central", address: 0xC0_0000_0001, capabilities: capabilities)
    peripheral = ScriptedHost(
      world, "peripheral", address: 0xC0_0000_0002, at: Position(x: distance),
      capabilities: capabilities)
    central.start()
    peripheral.start()
    prepare(central, peripheral)
    peripheral.advertise(interval: 0x20)
    central.connect(
      to: peripheral.address, interval: interval, latency: latency, timeout: timeout)
    guard let a = central.waitForConnection(), let b = peripheral.waitForConnection(),
      a.status == .success, b.status == .success
    else { return nil }
    // The link is established by the first packets.
    world.run(for: .microseconds(Int64(interval) * 1_250 * 4))
    centralHandle = a.handle
    peripheralHandle = b.handle
  }
}
