import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@testable import Simulation

@Suite("Pairing in the simulated world")
struct PairingOnAirTests {
  private static let protected: BluetoothUUID = 0x2A99
  private static let name = "Safe"

  private func world(
    _ seed: UInt64, ioCapability: SMPIOCapability = .noInputNoOutput,
    onPrompt: ((SimulatedDevice, DeviceAddress, PairingPrompt) -> Void)? = nil
  ) -> (World, SimulatedDevice) {
    let world = World(seed: seed)
    let device = world.addDevice(named: Self.name, at: Position(x: 2)) { safe in
      safe.ioCapability = ioCapability
      let service = safe.addService(0x1815)
      service.addCharacteristic(
        Self.protected, [.read, .write, .notify], value: [1, 2, 3], requiresEncryption: true)
      service.addCharacteristic(0x2A56, [.read], value: [9])
      safe.onPairingPrompt = { [unowned safe] central, prompt, _ in
        onPrompt?(safe, central, prompt)
      }
    }
    return (world, device)
  }

  private func reconnect(_ host: TestHost, _ peer: DeviceAddress) throws {
    host.send(.connect(peer, ConnectOptions()))
    _ = try host.wait(for: "the link") { event -> Bool? in
      if case .connected(peer) = event { return true }
      return nil
    }
  }

  private func prompt(
    _ host: TestHost, _ peer: DeviceAddress
  ) throws -> (PairingPrompt, PairingPromptID) {
    try host.wait(for: "a prompt") { event -> (PairingPrompt, PairingPromptID)? in
      if case .pairingPrompt(peer, let prompt, let id) = event { return (prompt, id) }
      return nil
    }
  }

  private func pairingEnds(_ host: TestHost) -> [SecurityFailure?] {
    host.events.compactMap { event -> SecurityFailure?? in
      if case .pairingEnded(_, let failure) = event { return .some(failure) }
      return nil
    }
  }

  private func encryption(_ host: TestHost) -> EncryptionInfo? {
    var last: EncryptionInfo?
    for case .linkUpdated(let info) in host.events { last = info.encryption }
    return last
  }

  @Test(
    "access to protected values pairs once, and keeps the order of requests"
  )
  func protectedValue() throws {
    let (world, _) = world(1)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let table = try host.characteristics(of: peer)
    let value = try #require(table[Self.protected])
    let open = try #require(table[0x2A56])
    let tokens = (1...3).map { RequestToken(rawValue: 900 + $0) }
    host.send(.gatt(peer, .read(value.valueHandle), tokens[0]))
    host.send(.gatt(peer, .read(open.valueHandle), tokens[1]))
    host.send(.gatt(peer, .write(value.valueHandle, [7]), tokens[2]))
    try host.subscribe(value, of: peer)
    let completed = host.events.compactMap { event -> RequestToken? in
      guard case .completed(let token, .success) = event, tokens.contains(token) else { return nil }
      return token
    }
    #expect(completed == tokens)
    #expect(pairingEnds(host) == [nil])
    #expect(encryption(host)?.isAuthenticated == false)
    #expect(try host.read(value, of: peer) == [7])
  }

  @Test("a value that needs a passkey is refused with that reason where nobody can be asked")
  func nobodyToAsk() throws {
    let world = World(seed: 21)
    let device = world.addDevice(named: Self.name, at: Position(x: 2)) { safe in
      _ = safe.addService(0x1815).addCharacteristic(
        Self.protected, [.read], value: [1], requiresAuthentication: true)
    }
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    #expect(throws: HostError.self) { try host.read(value, of: peer) }
    world.run(for: .seconds(1))
    // The pairing that was possible succeeded, and is reported before the one that was not.
    #expect(pairingEnds(host) == [nil, .pairingFailed(.authenticationRequirements)])
    #expect(throws: HostError.self) { try host.read(value, of: peer) }
    #expect(pairingEnds(host).count == 2)
    _ = device
  }

  @Test("a pairing with a key that both sides have is authenticated, without a prompt")
  func outOfBand() throws {
    let (world, safe) = world(12)
    let host = TestHost(in: world)
    let peer = safe.controller.address
    let data = OutOfBandData.legacy(temporaryKey: SMPValue(number: 0xABCD_EF01_2345))
    #expect(try host.complete { .setOutOfBandData(peer, data, $0) } == .done)
    safe.request(.setOutOfBandData(host.controller.address, data, safe.makeToken()))
    #expect(try host.connect(to: Self.name) == peer)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    #expect(try host.read(value, of: peer) == [1, 2, 3])
    // Keys are distributed after the value was read.
    world.run(for: .seconds(1))
    #expect(encryption(host)?.isAuthenticated == true && host.bonds.count == 1)
  }

  @Test("the next link of a bonded peer is encrypted before anything is asked")
  func bonded() throws {
    let (world, _) = world(2)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    _ = try host.read(value, of: peer)
    world.run(for: .seconds(1))
    #expect(host.bonds.count == 1)
    host.send(.disconnect(peer))
    world.run(for: .seconds(2))
    host.forgetEvents()
    try reconnect(host, peer)
    #expect(try host.read(value, of: peer) == [1, 2, 3])
    #expect(pairingEnds(host).isEmpty && encryption(host) != nil)
  }

  /// Bytes that occur only in data that goes over the air in clear.
  private static let mark: [UInt8] = [0xDE, 0xAD, 0xBE, 0xEF, 0xDE, 0xAD]

  @Test(
    "only encrypted data goes over a bonded peer's link, whatever is requested at once",
    arguments: [true, false])
  func eavesdropping(_ peerHasKey: Bool) throws {
    let (world, device) = world(9)
    device.addChannel(psm: 0x91) { _ in [] }
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    _ = try host.read(value, of: peer)
    world.run(for: .seconds(1))
    if !peerHasKey { device.request(.removeBond(host.controller.address, device.makeToken())) }
    host.send(.disconnect(peer))
    world.run(for: .seconds(2))
    host.forgetEvents()
    var heard: [[UInt8]] = []
    world.onAirPacket = { heard.append($0.bytes) }
    host.send(.connect(peer, ConnectOptions()))
    let mark = Self.mark
    _ = world.run(atMost: .seconds(5)) {
      host.events.contains { if case .connected = $0 { true } else { false } }
    }
    // At once: the link is not encrypted yet.
    let tokens = (1...3).map { RequestToken(rawValue: 980 + $0) }
    host.send(.gatt(peer, .writeWithoutResponse(value.valueHandle, mark), tokens[0]))
    host.send(.gatt(peer, .write(value.valueHandle, mark), tokens[1]))
    host.send(.openChannel(peer, psm: 0x91, tokens[2]))
    world.run(for: .seconds(5))
    let results = host.events.compactMap { event -> Result<HostReply, HostError>? in
      if case .completed(let token, let result) = event, tokens.contains(token) { return result }
      return nil
    }
    #expect(results.count == 3 && heard.count > 5)
    for result in results {
      if peerHasKey {
        #expect(throws: Never.self) { try result.get() }
      } else {
        #expect(result == .failure(.security(.keyMissing)))
      }
    }
    for packet in heard {
      #expect(!packet.indices.contains { packet[$0...].starts(with: mark) })
    }
  }

  @Test("a device that lost its keys ends the link with keyMissing, until the bond is removed")
  func lostKeys() throws {
    let (world, device) = world(3)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    _ = try host.read(value, of: peer)
    // Keys are distributed after the value was read.
    world.run(for: .seconds(1))
    device.request(.removeBond(host.controller.address, device.makeToken()))
    host.send(.disconnect(peer))
    world.run(for: .seconds(2))
    host.forgetEvents()
    host.send(.connect(peer, ConnectOptions()))
    let error = try host.wait(for: "the end of the link") { event -> HostError? in
      if case .disconnected(peer, let error?, _) = event { return error }
      return nil
    }
    #expect(error == .security(.keyMissing))
    #expect(try host.complete { .removeBond(peer, $0) } == .done)
    host.forgetEvents()
    try reconnect(host, peer)
    #expect(try host.read(value, of: peer) == [1, 2, 3])
    world.run(for: .seconds(1))
    #expect(pairingEnds(host) == [nil])
  }

  @Test("a passkey that the device shows authenticates the link")
  func passkey() throws {
    var shown: UInt32?
    let (world, _) = world(4, ioCapability: .displayOnly) { _, _, prompt in
      if case .displayPasskey(let number) = prompt { shown = number }
    }
    let host = TestHost(in: world)
    host.send(.setPairingAgent(.keyboardOnly))
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    let token = RequestToken(rawValue: 950)
    host.send(.gatt(peer, .read(value.valueHandle), token))
    let (prompt, id) = try prompt(host, peer)
    #expect(prompt == .enterPasskey)
    world.run(for: .seconds(5))
    // Not an answer to this one.
    host.send(.answerPairing(PairingPromptID(rawValue: id.rawValue + 1), .reject))
    host.send(.answerPairing(id, .passkey(try #require(shown))))
    let result = try host.wait(for: "the value") { event -> Result<HostReply, HostError>? in
      if case .completed(token, let result) = event { return result }
      return nil
    }
    #expect(try result.get() == .value([1, 2, 3]))
    #expect(encryption(host)?.isAuthenticated == true)
  }

  @Test("a pairing that fails gives the peer's error to waiting requests, and the rest goes on")
  func failure() throws {
    let (world, _) = world(5, ioCapability: .displayOnly)
    let host = TestHost(in: world)
    host.send(.setPairingAgent(.keyboardOnly))
    let peer = try host.connect(to: Self.name)
    let table = try host.characteristics(of: peer)
    let value = try #require(table[Self.protected])
    let token = RequestToken(rawValue: 960)
    host.send(.gatt(peer, .read(value.valueHandle), token))
    let (_, id) = try prompt(host, peer)
    host.send(.answerPairing(id, .reject))
    let result = try host.wait(for: "the error") { event -> Result<HostReply, HostError>? in
      if case .completed(token, let result) = event { return result }
      return nil
    }
    #expect(result == .failure(.att(.insufficientAuthentication, handle: value.valueHandle)))
    #expect(pairingEnds(host) == [.pairingFailed(.passkeyEntryFailed)])
    #expect(try host.read(try #require(table[0x2A56]), of: peer) == [9])
  }

  @Test("a link that ends in the middle of a pairing ends the pairing, at both sides")
  func linkLost() throws {
    let (world, device) = world(6, ioCapability: .displayOnly)
    let host = TestHost(in: world)
    host.send(.setPairingAgent(.keyboardOnly))
    let peer = try host.connect(to: Self.name)
    let value = try #require(try host.characteristics(of: peer)[Self.protected])
    host.send(.gatt(peer, .read(value.valueHandle), RequestToken(rawValue: 970)))
    _ = try host.wait(for: "a prompt") { event -> Bool? in
      if case .pairingPrompt = event { return true }
      return nil
    }
    device.controller.powerOff()
    _ = try host.wait(for: "the end") { event -> Bool? in
      if case .linkClosed = event { return true }
      return nil
    }
    #expect(pairingEnds(host) == [.disconnected])
  }

  /// The central sends the last key, and can't know of its arrival before it is acknowledged.
  @Test(
    "a link that is lost at any instant of a pairing leaves the central no bond that its peer lacks",
    arguments: [0.0, 0.5])
  func lostAtAnyInstant(_ packetLoss: Double) throws {
    var bondCount = 0
    for step in Int64(0)..<60 {
      let (world, device) = world(100 + UInt64(step))
      var configuration = HostConfiguration()
      configuration.usesPrivateAddress = true
      let host = TestHost(in: world, configuration: configuration)
      let peer = try host.connect(to: Self.name)
      world.radio.packetLoss = packetLoss
      host.send(.pair(peer, RequestToken(rawValue: 980)))
      world.run(for: .milliseconds(packetLoss > 0 ? 60 : 15) * step)
      device.controller.faults.deafUntil = world.now + .seconds(3)
      world.run(for: .seconds(4))
      world.radio.packetLoss = 0
      host.send(.disconnect(peer))
      world.run(for: .seconds(2))
      guard !host.bonds.isEmpty else { continue }
      bondCount += 1
      host.forgetEvents()
      try reconnect(host, peer)
      world.run(for: .seconds(1))
      #expect(encryption(host) != nil, "\(step)")
    }
    #expect((1..<60).contains(bondCount), "all pairings ended in time, or none did")
  }

  @Test("a channel that needs encryption pairs, and is opened then")
  func channel() throws {
    let (world, device) = world(8)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    device.request(.publishChannel(psm: 0x90, requiresEncryption: true, device.makeToken()))
    world.run(for: .seconds(1))
    guard case .channel(let info) = try host.complete({ .openChannel(peer, psm: 0x90, $0) }) else {
      Issue.record("no channel")
      return
    }
    world.run(for: .seconds(1))
    #expect(info.psm == 0x90 && pairingEnds(host) == [nil])
    var configuration = HostConfiguration()
    configuration.pairingPolicy = .never
    let other = TestHost(
      named: "Other", in: world, configuration: configuration,
      address: DeviceAddress(bits: 2, kind: .public))
    let same = try other.connect(to: Self.name)
    #expect(throws: HostError.channelRefused(5)) {
      try other.complete { .openChannel(same, psm: 0x90, $0) }
    }
  }

  @Test("a client that is asked by name encrypts a link without a protected value")
  func pairRequest() throws {
    let (world, _) = world(7)
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    #expect(try host.complete { .pair(peer, $0) } == .done)
    #expect(encryption(host) != nil && host.bonds.count == 1)
    #expect(try host.complete { .pair(peer, $0) } == .done)
    #expect(pairingEnds(host) == [nil])
    #expect(throws: HostError.notConnected) {
      try host.complete { .pair(.init(bits: 5, kind: .public), $0) }
    }
  }

  @Test(
    "two hosts whose clients request protection at the same time pair once, in either order",
    arguments: 0..<12)
  func bothAtOnce(_ step: Int) throws {
    let (world, device) = world(200 + UInt64(step))
    let host = TestHost(in: world)
    let peer = try host.connect(to: Self.name)
    let ask: [() -> Void] = [
      { host.send(.pair(peer, RequestToken(rawValue: 990))) },
      { device.request(.pair(host.controller.address, device.makeToken())) },
    ]
    ask[step % 2]()
    // Up to two connection intervals apart: before, while and after the other's PDU is under way.
    world.run(for: .milliseconds(Int64(step / 2) * 12))
    ask[1 - step % 2]()
    world.run(for: .seconds(5))
    #expect(pairingEnds(host) == [nil] && host.bonds.count == 1)
    #expect(encryption(host) != nil)
    let results = host.events.compactMap { event -> Result<HostReply, HostError>? in
      if case .completed(RequestToken(rawValue: 990), let result) = event { result } else { nil }
    }
    #expect(results == [.success(.done)])
    // The device has the same bond.
    host.send(.disconnect(peer))
    world.run(for: .seconds(2))
    host.forgetEvents()
    try reconnect(host, peer)
    world.run(for: .seconds(1))
    #expect(pairingEnds(host).isEmpty && encryption(host) != nil)
  }
}
