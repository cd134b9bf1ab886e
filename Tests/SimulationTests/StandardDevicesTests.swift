import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Simulation
import Testing

@Suite("Ready-made devices")
struct StandardDevicesTests {
  private func home(seed: UInt64) -> (World, TestHost) {
    let world = World(seed: seed)
    world.populate(with: .home)
    return (world, TestHost(in: world))
  }

  @Test("everyone in the flat is heard within ten seconds", arguments: [1, 2, 3] as [UInt64])
  func everyone(_ seed: UInt64) throws {
    let (world, host) = home(seed: seed)
    for name in ["Pulse strap", "Thermostat", "Door sensor", "UART echo", "Front door"] {
      _ = try host.find(name)
    }
    #expect(world.now < .zero + .seconds(10), "seed \(seed)")
  }

  @Test("the strap notifies a plausible pulse once a second")
  func pulse() throws {
    let (world, host) = home(seed: 4)
    let peer = try host.connect(to: "Pulse strap")
    let measurement = try #require(try host.characteristics(of: peer)[0x2A37])
    try host.subscribe(measurement, of: peer)
    host.forgetEvents()
    world.run(for: .seconds(20))
    let pulses = host.events.compactMap { event -> UInt8? in
      guard case .valueUpdated(peer, measurement.valueHandle, let value) = event else { return nil }
      return value.count == 6 ? value[value.startIndex + 1] : nil
    }
    #expect((18...21).contains(pulses.count))
    #expect(pulses.allSatisfy { (48...178).contains($0) })
  }

  @Test("the strap's control point takes a reset and refuses everything else")
  func controlPoint() throws {
    let (_, host) = home(seed: 5)
    let peer = try host.connect(to: "Pulse strap")
    let point = try #require(try host.characteristics(of: peer)[0x2A39])
    #expect(
      try host.complete { .gatt(peer, .write(point.valueHandle, [0x01]), $0) } == .done)
    #expect(throws: HostError.att(ATTErrorCode(rawValue: 0x80), handle: point.valueHandle)) {
      try host.complete { .gatt(peer, .write(point.valueHandle, [0x02]), $0) }
    }
  }

  @Test("the room follows the thermostat's set-point; values out of range are refused")
  func thermostat() throws {
    let (world, host) = home(seed: 6)
    let peer = try host.connect(to: "Thermostat")
    let table = try host.characteristics(of: peer)
    let setPoint = try #require(table[StandardDeviceUUIDs.setPoint])
    let temperature = try #require(table[0x2A6E])
    let handle = setPoint.valueHandle
    #expect(try host.complete { .gatt(peer, .write(handle, [0xC4, 0x09]), $0) } == .done)
    #expect(throws: HostError.att(.outOfRange, handle: handle)) {
      try host.complete { .gatt(peer, .write(handle, [0xFF, 0x7F]), $0) }
    }
    #expect(throws: HostError.att(.invalidAttributeValueLength, handle: handle)) {
      try host.complete { .gatt(peer, .write(handle, [1]), $0) }
    }
    #expect(try host.read(setPoint, of: peer) == [0xC4, 0x09])
    world.run(for: .seconds(600))
    let value = try host.read(temperature, of: peer)
    let hundredths = Int(value[0]) | Int(value[1]) << 8
    #expect((2450...2550).contains(hundredths))
  }

  @Test("the maintenance value is refused to a link that is not encrypted, and pairing opens it")
  func maintenance() throws {
    let world = World(seed: 7)
    world.populate(with: .home)
    var configuration = HostConfiguration()
    configuration.pairingPolicy = .never
    let host = TestHost(in: world, configuration: configuration)
    let peer = try host.connect(to: "Thermostat")
    let value = try #require(
      try host.characteristics(of: peer)[StandardDeviceUUIDs.maintenance])
    do {
      _ = try host.read(value, of: peer)
      Issue.record("it was read")
    } catch HostError.att(let code, _) {
      #expect([.insufficientEncryption, .insufficientAuthentication].contains(code))
    }
    let (others, pairing) = home(seed: 7)
    let same = try pairing.connect(to: "Thermostat")
    #expect(try pairing.read(value, of: same) == [0x39, 0x05, 0, 0])
    others.run(for: .seconds(1))
    #expect(pairing.bonds.map(\.identity) == [same])
  }

  @Test("the lock reports and obeys only to a central that enters the displayed passkey")
  func lock() throws {
    let (world, host) = home(seed: 9)
    var shown: [String] = []
    world.onDisplay = { if $0 == "Front door" { shown.append($1) } }
    let peer = try host.connect(to: "Front door")
    let state = try #require(try host.characteristics(of: peer)[StandardDeviceUUIDs.lockState])
    // No client could enter a passkey.
    #expect(throws: HostError.att(.insufficientAuthentication, handle: state.valueHandle)) {
      try host.read(state, of: peer)
    }
    #expect(shown.isEmpty)
    host.send(.setPairingAgent(.keyboardOnly))
    host.send(.gatt(peer, .read(state.valueHandle), RequestToken(rawValue: 77)))
    let prompt = try host.wait(for: "a prompt") { event -> PairingPromptID? in
      if case .pairingPrompt(_, .enterPasskey, let id) = event { id } else { nil }
    }
    let passkey = try #require(shown.first.flatMap { UInt32($0) })
    host.send(.answerPairing(prompt, .passkey(passkey)))
    let value = try host.wait(for: "the value") { event -> Result<HostReply, HostError>? in
      if case .completed(RequestToken(rawValue: 77), let result) = event { result } else { nil }
    }
    #expect(try value.get() == .value([1]))
    _ = try host.complete { .gatt(peer, .write(state.valueHandle, [0]), $0) }
    #expect(try host.read(state, of: peer) == [0])
    #expect(throws: HostError.att(.outOfRange, handle: state.valueHandle)) {
      try host.complete { .gatt(peer, .write(state.valueHandle, [2]), $0) }
    }
  }

  @Test("the echo sends back written values, and data on its channel")
  func echo() throws {
    let (_, host) = home(seed: 8)
    let peer = try host.connect(to: "UART echo")
    let table = try host.characteristics(of: peer)
    let receive = try #require(table[StandardDeviceUUIDs.uartReceive])
    let transmit = try #require(table[StandardDeviceUUIDs.uartTransmit])
    try host.subscribe(transmit, of: peer)
    _ = try host.complete { .gatt(peer, .writeWithoutResponse(receive.valueHandle, [1, 2]), $0) }
    let echoed = try host.wait(for: "echo") { event -> [UInt8]? in
      guard case .valueUpdated(peer, transmit.valueHandle, let value) = event else { return nil }
      return Array(value)
    }
    #expect(echoed == [1, 2])

    let psmValue = try host.read(try #require(table[StandardDeviceUUIDs.channelPSM]), of: peer)
    let psm = UInt16(psmValue[0]) | UInt16(psmValue[1]) << 8
    guard case .channel(let channel) = try host.complete({ .openChannel(peer, psm: psm, $0) })
    else {
      Issue.record("no channel")
      return
    }
    let sent = (0..<5_000).map { UInt8(truncatingIfNeeded: $0) }
    _ = try host.complete { .sendOnChannel(channel.id, sent, $0) }
    var received: [UInt8] = []
    var seen = 0
    try host.wait(for: "all of it") { event -> Void? in
      seen += 1
      if case .channelReceived(channel.id, let bytes) = event {
        received += bytes
        host.send(.consumedFromChannel(channel.id, byteCount: bytes.count))
      }
      return received.count >= sent.count ? () : nil
    }
    #expect(received == sent)
  }

  @Test("a device of one's own takes twenty lines")
  func ownDevice() throws {
    let world = World(seed: 9)
    var level: UInt8 = 100
    world.addDevice(named: "Lamp", at: Position(x: 2, y: 1)) { lamp in
      let brightness = lamp.addService(0x1815).addCharacteristic(0x2A56, [.read, .write, .notify])
      brightness.onRead { _ in .success([level]) }
      brightness.onWrite { [unowned brightness] _, value in
        guard value.count == 1, value[0] <= 100 else { return .failure(.valueNotAllowed) }
        level = value[0]
        brightness.notify([level])
        return .success(())
      }
    }
    let host = TestHost(in: world)
    let peer = try host.connect(to: "Lamp")
    let brightness = try #require(try host.characteristics(of: peer)[0x2A56])
    _ = try host.complete { .gatt(peer, .write(brightness.valueHandle, [40]), $0) }
    #expect(level == 40)
    #expect(try host.read(brightness, of: peer) == [40])
    #expect(throws: HostError.att(.valueNotAllowed, handle: brightness.valueHandle)) {
      try host.complete { .gatt(peer, .write(brightness.valueHandle, [101]), $0) }
    }
  }

  @Test("a write without response arrives, though the central leaves at once")
  func writesBeforeLeaving() throws {
    let world = World(seed: 11)
    var written: [UInt8] = []
    world.addDevice(named: "Sink", at: Position(x: 2, y: 1)) { sink in
      sink.addService(0x1815).addCharacteristic(0x2A56, [.writeWithoutResponse])
        .onWrite { _, value in
          written += value
          return .success(())
        }
    }
    let host = TestHost(in: world)
    let peer = try host.connect(to: "Sink")
    let sink = try #require(try host.characteristics(of: peer)[0x2A56])
    for number in 0..<40 as Range<UInt8> {
      let token = RequestToken(rawValue: 1_000 + UInt64(number))
      host.send(.gatt(peer, .writeWithoutResponse(sink.valueHandle, [number]), token))
    }
    host.send(.disconnect(peer))
    try host.wait(for: "the end of the link") { event -> Void? in
      if case .disconnected(peer, nil, _) = event { return () }
      return nil
    }
    #expect(written == Array(0..<40))
  }

  @Test("a world is let go with all its devices")
  func deallocation() throws {
    weak var forgotten: World?
    weak var device: SimulatedDevice?
    do {
      let (world, host) = home(seed: 10)
      forgotten = world
      device = world.devices.first
      _ = try host.find("Pulse strap")
    }
    #expect(forgotten == nil)
    #expect(device == nil)
  }
}
