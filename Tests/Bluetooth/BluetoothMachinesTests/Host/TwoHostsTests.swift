import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

/// Two hosts with a link between them: what one sends, the other gets.
private struct TwoHosts {
  var central: HostRig
  var peripheral: HostRig

  static let centralAddress = DeviceAddress.peer(0xC)
  static let peripheralAddress = DeviceAddress.peer(0xF)

  /// A link between two hosts that are up, each with client one.
  init() {
    central = .started()
    peripheral = .started()
  }

  mutating func connect() {
    central.request(.connect(Self.peripheralAddress, ConnectOptions()))
    peripheral.connect(Self.centralAddress, role: .peripheral, isHeard: false)
    central.connect(Self.peripheralAddress)
    shuttle()
  }

  mutating func centralAsks(_ request: HostRequest, from client: ClientID = .one) {
    central.request(request, from: client)
    shuttle()
  }

  mutating func peripheralAsks(_ request: HostRequest, from client: ClientID = .one) {
    peripheral.request(request, from: client)
    shuttle()
  }

  /// Runs an operation of the central; its result.
  mutating func run(
    _ operation: GATTOperation, from client: ClientID = .one
  ) -> Result<HostReply, HostError>? {
    let token = central.token()
    centralAsks(.gatt(Self.peripheralAddress, operation, token), from: client)
    return central.results(of: token, client: client).first
  }

  /// Carries packets until there are none.
  mutating func shuttle() {
    while !central.data.isEmpty || !peripheral.data.isEmpty {
      Self.carry(from: &central, to: &peripheral)
      Self.carry(from: &peripheral, to: &central)
    }
  }

  private static func carry(from sender: inout HostRig, to receiver: inout HostRig) {
    let packets = sender.data
    sender.data = []
    for packet in packets {
      sender.event(NumberOfCompletedPackets([CompletedPackets(handle: 0x40, count: 1)]))
      guard let (header, payload) = try? ACLHeader.decode(from: packet.bytes) else { continue }
      let boundary: ACLBoundary = header.boundary.isFirst ? .firstFlushable : .continuing
      receiver.handle(
        .packet(ACLHeader.packet(handle: 0x40, boundary: boundary, payload: payload)))
    }
  }
}

@Suite("Two hosts with a link")
struct TwoHostsTests {
  private let service = ServiceDefinition(
    uuid: 0x180D,
    characteristics: [
      CharacteristicDefinition(
        uuid: 0x2A37, properties: [.notify], permissions: [.readable]),
      CharacteristicDefinition(
        uuid: 0x2A39, properties: [.read, .write, .writeWithoutResponse],
        permissions: [.readable, .writeable]),
    ])

  private func published(_ hosts: inout TwoHosts) throws -> PublishedService {
    let token = hosts.peripheral.token()
    hosts.peripheralAsks(.addService(service, token))
    let result = try #require(hosts.peripheral.results(of: token).first)
    guard case .published(let published) = try result.get() else {
      throw HostError.invalidResponse
    }
    return published
  }

  @Test("two hosts agree on an MTU, and the central learns the peripheral's name")
  func introduction() throws {
    var hosts = TwoHosts()
    hosts.connect()
    // The name is read when the link is idle.
    hosts.central.pass(.seconds(1))
    hosts.shuttle()
    let info = try #require(hosts.central.machine.links.first?.info)
    #expect(info.mtu == 517)
    #expect(info.name == "Ambit")
    #expect(hosts.peripheral.machine.links.first?.info.mtu == 517)
    #expect(hosts.central.log().prefix(2) == ["linkOpened", "connected"])
    #expect(hosts.central.log().contains("linkUpdated"))
    #expect(hosts.peripheral.log().first == "linkOpened")
  }

  @Test("two hosts discover, read and write, and the owner of the service answers")
  func operations() throws {
    var hosts = TwoHosts()
    let place = try published(&hosts)
    hosts.connect()
    guard case .success(.services(let services)) = hosts.run(.discoverServices(nil)) else {
      Issue.record("no services")
      return
    }
    #expect(services.map(\.uuid).contains(0x180D))
    #expect(hosts.central.machine.links.first?.info.services.contains(0x180D) == true)
    guard
      case .success(.characteristics(let found)) = hosts.run(
        .discoverCharacteristics(in: place.range, nil))
    else {
      Issue.record("no characteristics")
      return
    }
    #expect(found.map(\.uuid) == [0x2A37, 0x2A39])
    let handle = place.characteristics[1].valueHandle
    let token = hosts.central.token()
    hosts.centralAsks(.gatt(TwoHosts.peripheralAddress, .read(handle), token))
    #expect(hosts.central.results(of: token).isEmpty)
    guard case .serverRequest(let request) = hosts.peripheral.events.last?.event else {
      Issue.record("nobody was asked")
      return
    }
    hosts.peripheralAsks(.respond(request.id, .success([1, 2, 3])))
    #expect(hosts.central.results(of: token) == [.success(.value([1, 2, 3]))])
    #expect(hosts.run(.writeWithoutResponse(handle, [7])) == .success(.done))
    guard case .serverRequest(let write) = hosts.peripheral.events.last?.event else {
      Issue.record("nobody was told")
      return
    }
    #expect(write.kind == .write([.init(handle: handle, offset: 0, value: [7])]))
    let tooLong = [UInt8](repeating: 0, count: 515)
    guard case .failure(.invalidArgument) = hosts.run(.writeWithoutResponse(handle, tooLong))
    else {
      Issue.record("515 bytes were taken")
      return
    }
  }

  @Test("a host shares one subscription among its clients")
  func subscriptions() throws {
    var hosts = TwoHosts()
    let place = try published(&hosts)
    hosts.central.handle(.clientOpened(.two))
    hosts.connect()
    hosts.centralAsks(.connect(TwoHosts.peripheralAddress, ConnectOptions()), from: .two)
    let target = SubscriptionTarget(
      valueHandle: place.characteristics[0].valueHandle,
      configurationHandle: try #require(place.characteristics[0].configurationHandle),
      usesIndications: false)
    for client in [ClientID.one, .two] {
      let token = hosts.central.token()
      hosts.centralAsks(
        .subscribe(TwoHosts.peripheralAddress, target, token), from: client)
      #expect(hosts.central.results(of: token, client: client) == [.success(.done)])
    }
    #expect(hosts.peripheral.log().filter { $0 == "subscribed" }.count == 1)

    let token = hosts.peripheral.token()
    hosts.peripheralAsks(.updateValue(handle: target.valueHandle, [42], peers: nil, token))
    #expect(hosts.peripheral.results(of: token) == [.success(.done)])
    #expect(hosts.central.log().last == "valueUpdated")
    #expect(hosts.central.log(of: .two).last == "valueUpdated")

    let off = hosts.central.token()
    hosts.centralAsks(.unsubscribe(TwoHosts.peripheralAddress, target, off))
    #expect(hosts.central.results(of: off) == [.success(.done)])
    #expect(!hosts.peripheral.log().contains("unsubscribed"))
    // The client that goes takes its interest with it.
    hosts.central.handle(.clientClosed(.two))
    hosts.shuttle()
    #expect(hosts.peripheral.log().contains("unsubscribed"))
    #expect(hosts.central.machine.links.first?.isClosing == false)
  }

  @Test("a host forgets a subscription with its service, and subscribes to the next service anew")
  func subscriptionToRemovedService() throws {
    var hosts = TwoHosts()
    let place = try published(&hosts)
    hosts.connect()
    _ = hosts.run(.discoverServices(nil))
    let target = SubscriptionTarget(
      valueHandle: place.characteristics[0].valueHandle,
      configurationHandle: try #require(place.characteristics[0].configurationHandle),
      usesIndications: false)
    hosts.centralAsks(.subscribe(TwoHosts.peripheralAddress, target, hosts.central.token()))
    #expect(hosts.peripheral.log().last == "subscribed")
    // Once discovering is over, the peer is asked to tell of changes.
    for _ in 0..<2 {
      hosts.central.pass(.seconds(1))
      hosts.shuttle()
    }
    hosts.peripheralAsks(.removeService(place.range.start))
    #expect(hosts.central.log().contains("servicesChanged"))
    let again = hosts.central.token()
    hosts.centralAsks(.subscribe(TwoHosts.peripheralAddress, target, again))
    // It is asked for again, and there is nothing any more.
    let handle = try #require(target.configurationHandle)
    #expect(hosts.central.results(of: again) == [.failure(.att(.invalidHandle, handle: handle))])
  }

  @Test("a host reports the error of a subscription that the peer refuses, and tries again")
  func refusedSubscription() throws {
    var hosts = TwoHosts()
    let place = try published(&hosts)
    hosts.connect()
    var target = SubscriptionTarget(
      valueHandle: place.characteristics[0].valueHandle, configurationHandle: 0xFFFE,
      usesIndications: false)
    let token = hosts.central.token()
    hosts.centralAsks(.subscribe(TwoHosts.peripheralAddress, target, token))
    #expect(
      hosts.central.results(of: token) == [.failure(.att(.invalidHandle, handle: 0xFFFE))])
    #expect(hosts.central.machine.links.first?.gatt.subscriptions.isEmpty == true)
    target.configurationHandle = place.characteristics[0].configurationHandle
    let again = hosts.central.token()
    hosts.centralAsks(.subscribe(TwoHosts.peripheralAddress, target, again))
    #expect(hosts.central.results(of: again) == [.success(.done)])
  }

  @Test("two hosts open channels to each other and send on them")
  func channels() throws {
    var hosts = TwoHosts()
    let listening = hosts.peripheral.token()
    hosts.peripheralAsks(.publishChannel(psm: nil, requiresEncryption: false, listening))
    #expect(hosts.peripheral.results(of: listening) == [.success(.psm(0x80))])
    hosts.connect()
    let nobody = hosts.central.token()
    hosts.centralAsks(.openChannel(TwoHosts.peripheralAddress, psm: 0x81, nobody))
    #expect(hosts.central.results(of: nobody) == [.failure(.channelRefused(2))])
    let opening = hosts.central.token()
    hosts.centralAsks(.openChannel(TwoHosts.peripheralAddress, psm: 0x80, opening))
    guard case .success(.channel(let mine)) = hosts.central.results(of: opening).first,
      case .channelOpened(let theirs) = hosts.peripheral.events.last?.event
    else {
      Issue.record("no channel")
      return
    }
    let sending = hosts.central.token()
    let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
    hosts.centralAsks(.sendOnChannel(mine.id, bytes, sending))
    #expect(hosts.central.results(of: sending) == [.success(.done)])
    var received: [UInt8] = []
    for case (_, .channelReceived(theirs.id, let part)) in hosts.peripheral.events {
      received += part
    }
    #expect(received == bytes)
    hosts.peripheralAsks(.consumedFromChannel(theirs.id, byteCount: received.count))
    hosts.peripheralAsks(.closeChannel(theirs.id))
    #expect(hosts.central.log().last == "channelClosed")
    #expect(hosts.peripheral.log().last == "channelClosed")
    let late = hosts.central.token()
    hosts.centralAsks(.sendOnChannel(mine.id, [1], late))
    #expect(hosts.central.results(of: late) == [.failure(.notConnected)])
  }

  @Test("a host closes the channels of a client that releases a link which others keep")
  func sharedLinkChannels() {
    var hosts = TwoHosts()
    let listening = hosts.peripheral.token()
    hosts.peripheralAsks(.publishChannel(psm: nil, requiresEncryption: false, listening))
    hosts.connect()
    hosts.central.handle(.clientOpened(.two))
    hosts.centralAsks(.connect(TwoHosts.peripheralAddress, ConnectOptions()), from: .two)
    for client in [ClientID.one, .two] {
      let token = hosts.central.token()
      hosts.centralAsks(
        .openChannel(TwoHosts.peripheralAddress, psm: 0x80, token), from: client)
    }
    #expect(hosts.central.machine.channels.channels.map(\.client) == [.one, .two])
    hosts.centralAsks(.disconnect(TwoHosts.peripheralAddress), from: .one)
    #expect(hosts.central.machine.channels.channels.map(\.client) == [.two])
    #expect(hosts.peripheral.machine.channels.channels.count == 1)
    #expect(hosts.peripheral.log().last == "channelClosed")
    #expect(hosts.central.machine.links.count == 1)
  }

  @Test("a host changes the timing of a link when the peripheral requests it")
  func timing() throws {
    var hosts = TwoHosts()
    _ = try published(&hosts)
    hosts.connect()
    let token = hosts.peripheral.token()
    let wanted = ConnectionParameters(intervalUnits: 12...12, latency: 4, timeoutUnits: 200)
    hosts.peripheralAsks(.updateParameters(TwoHosts.centralAddress, wanted, token))
    #expect(hosts.peripheral.results(of: token) == [.success(.done)])
    let command = hosts.central.controller.last(LEConnectionUpdate.self)
    #expect(command?.timing.intervalMinUnits1250us == 12)
  }

  @Test("a host fails pending requests once each when the link breaks, before it reports the end")
  func linkLoss() throws {
    var hosts = TwoHosts()
    let place = try published(&hosts)
    hosts.connect()
    let tokens = (0..<5).map { _ in hosts.central.token() }
    let handle = place.characteristics[1].valueHandle
    for token in tokens {
      hosts.centralAsks(.gatt(TwoHosts.peripheralAddress, .read(handle), token))
    }
    hosts.central.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    for token in tokens {
      #expect(
        hosts.central.results(of: token) == [.failure(.disconnected(.connectionTimeout))])
    }
    #expect(
      hosts.central.log().suffix(7)
        == ["failed", "failed", "failed", "failed", "failed", "lost", "linkClosed"])
  }

  @Test("a host gives up a peer that never answers, after 30 s, with that reason")
  func silence() throws {
    var hosts = TwoHosts()
    hosts.connect()
    let token = hosts.central.token()
    hosts.central.request(.gatt(TwoHosts.peripheralAddress, .read(1), token))
    hosts.central.data = []
    hosts.central.pass(.seconds(31))
    #expect(hosts.central.results(of: token) == [.failure(.attTimeout)])
    #expect(hosts.central.controller.opcodes.contains(.disconnect))
    hosts.central.event(
      DisconnectionComplete(handle: 0x40, reason: .localHostTerminatedConnection))
    guard
      case .disconnected(_, .attTimeout?, false) = hosts.central.events.dropLast().last?.event
    else {
      Issue.record("\(hosts.central.events.suffix(2))")
      return
    }
  }

  @Test("a host remembers the discovered database for the next link")
  func remembering() throws {
    var hosts = TwoHosts()
    _ = try published(&hosts)
    hosts.connect()
    _ = hosts.run(.discoverServices(nil))
    hosts.shuttle()
    hosts.central.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    hosts.peripheral.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(hosts.central.machine.peerCache.count == 1)
    hosts.connect()
    let token = hosts.central.token()
    hosts.central.data = []
    hosts.central.request(.gatt(TwoHosts.peripheralAddress, .discoverServices(nil), token))
    #expect(hosts.central.data.isEmpty)
    #expect(hosts.central.results(of: token).count == 1)
  }

  @Test("a peer that comes back before its old link has timed out waits for the buffers of that")
  func comingBack() {
    var rig = HostRig.started()
    let peer = TwoHosts.centralAddress
    let request = [0x03, 0x00, 0x04, 0x00, 0x02, 0x17, 0x00] as [UInt8]  // Exchange MTU Request
    func ask(_ handle: UInt16) {
      rig.handle(
        .packet(
          ACLHeader.packet(handle: handle, boundary: .firstFlushable, payload: request)))
    }
    rig.connect(peer, handle: 0x40, role: .peripheral, isHeard: false)
    let bufferCount = Int(rig.controller.bufferCount)
    for _ in 0..<(bufferCount + 2) { ask(0x40) }
    #expect(rig.data.count == bufferCount - 1)
    rig.data = []
    rig.connect(peer, handle: 0x41, role: .peripheral, isHeard: false)
    #expect(rig.controller.opcodes.contains(.disconnect))
    for _ in 0..<2 { ask(0x41) }
    // The controller keeps what the old link sent until it reports the end of that; one buffer was left.
    #expect(rig.data.count == 1)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(rig.data.count == 2)
    #expect(rig.machine.links.map(\.handle) == [0x41])
  }
}
