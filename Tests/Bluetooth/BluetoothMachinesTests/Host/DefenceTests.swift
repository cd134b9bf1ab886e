import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import GATTMachines
@testable import L2CAPMachines
@testable import PairingMachines

@Suite("A host defends itself")
struct DefenceTests {
  private let peer = DeviceAddress.peer(1)

  private func connected(_ controller: ScriptedController = ScriptedController()) -> HostRig {
    var rig = HostRig.started(controller)
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    return rig
  }

  // MARK: Controllers

  @Test(
    "a bonded peer's key is not sent to the next link with its handle when the controller is slow",
    arguments: [false, true])
  func keyOfAnEndedLink(_ hasEnded: Bool) {
    var controller = ScriptedController()
    controller.features.insert(.encryption)
    var rig = HostRig(controller)
    let bonded = DeviceAddress.peer(2)
    let bond = Bond(
      identity: bonded, centralKey: LongTermKey(SMPValue(number: 5)), peripheralKey: nil,
      isAuthenticated: false, isSecureConnections: true)
    rig.handle(.bondsLoaded([bond], []))
    rig.handle(.transportOpened)
    rig.handle(.clientOpened(.one))
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    rig.request(.connect(bonded, ConnectOptions()))
    rig.controller.faults[.readRSSI] = .silence
    rig.request(.readRSSI(peer, rig.token()))
    rig.controller.received = []
    rig.connect(bonded, handle: 0x41)
    #expect(rig.controller.received.isEmpty)
    if hasEnded {
      rig.event(DisconnectionComplete(handle: 0x41, reason: .remoteUserTerminatedConnection))
      rig.connect(.peer(3), handle: 0x41, role: .peripheral)
    }
    rig.event(CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)))
    #expect(rig.controller.opcodes.contains(.leEnableEncryption) != hasEnded)
  }

  @Test("bonds that are loaded late belong to an identity: the controller is started again with it")
  func lateBonds() throws {
    var controller = ScriptedController()
    controller.address = DeviceAddress(bits: 0, kind: .public)
    let identity = HostIdentity(
      address: DeviceAddress(bits: 0xC011_2233_4455, kind: .random),
      resolvingKey: SMPValue(number: 7))
    var bond = Bond(
      identity: peer, centralKey: LongTermKey(SMPValue(number: 5)), peripheralKey: nil,
      isAuthenticated: false, isSecureConnections: true)
    bond.localIdentity = identity.address
    var rig = HostRig(controller)
    rig.handle(.bondsUnavailable)
    rig.handle(.transportOpened)
    rig.handle(.clientOpened(.one))
    let before = try #require(rig.machine.security.identity)
    #expect(rig.machine.security.policy == .never && before != identity)
    rig.handle(.bondsLoaded([bond], [identity]))
    #expect(rig.machine.state == .poweredOff)
    rig.handle(.transportOpened)
    #expect(rig.machine.state == .poweredOn && rig.machine.security.identity == identity)
    #expect(rig.machine.security.policy == rig.machine.configuration.pairingPolicy)
    #expect(rig.machine.snapshot.bondCount == 1)
  }

  @Test("a controller that fails soon after each start is started less and less often")
  func failingAfterStart() {
    var rig = HostRig()
    rig.controller.faults[.leSetScanEnable] = .death
    rig.handle(.clientOpened(.one))
    rig.request(.startScan(ScanOptions()))
    rig.handle(.transportOpened)
    for _ in 0..<60 {
      let count = rig.reopenings.count
      rig.pass(.seconds(1))
      if rig.reopenings.count > count { rig.handle(.transportOpened) }
    }
    // 4 s each until the failure shows, and pauses of 0, 2, 4, 5, 5 … s between.
    #expect((5...10).contains(rig.reopenings.count), "\(rig.reopenings.count)")
    // After a time in good health it is the first failure again: no pause.
    rig.controller.faults = [:]
    rig.handle(.transportOpened)
    rig.pass(.seconds(31))
    rig.events = []
    rig.event(HardwareError(hardwareCode: 1))
    #expect(rig.states() == [.poweredOff, .poweredOn])
    rig.event(HardwareError(hardwareCode: 1))
    #expect(rig.states() == [.poweredOff, .poweredOn, .poweredOff])
  }

  @Test("a controller that was reset without an event is started again")
  func silentReset() {
    var rig = HostRig.started(.extended)
    rig.pass(.seconds(60))
    #expect(rig.reopenings.isEmpty)
    rig.controller.suggestedDataLength = ScriptedController.defaultDataLength
    rig.pass(.seconds(11))
    #expect(
      rig.reopenings == [
        .transport(
          "The controller has lost its settings: it was reset, or lost power for a moment.")
      ])
    #expect(rig.states() == [.poweredOff])
  }

  @Test("a controller that stopped answering while the host was idle is started again")
  func silentDeath() {
    var rig = HostRig.started()
    rig.controller.faults[.leReadFilterAcceptListSize] = .death
    rig.pass(.seconds(15))
    #expect(rig.reopenings.count == 1)
  }

  @Test("a controller that dies while it scans is noticed within the time that clients expect")
  func deathInScan() {
    for silence in [TimeSpan.zero, .seconds(1), .seconds(9)] {
      var rig = HostRig.started()
      rig.request(.startScan(ScanOptions()))
      rig.pass(silence)
      rig.controller.faults[.leReadFilterAcceptListSize] = .death
      rig.pass(ScanOptions.radioFailureTimeMax)
      #expect(rig.reopenings.count == 1, "\(silence)")
      #expect(rig.states().last == .poweredOff, "\(silence)")
    }
  }

  @Test("a controller that doesn't report the end of a connection attempt is started again")
  func lostEnd() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.controller.faults[.leCreateConnectionCancel] = .status(.commandDisallowed)
    rig.request(.disconnect(peer))
    rig.pass(.seconds(1))
    #expect(rig.reopenings.isEmpty)
    rig.pass(.seconds(2))
    #expect(
      rig.reopenings == [
        .transport("The controller did not report the result of a connection attempt.")
      ])
  }

  @Test("a controller whose report of a link crosses the cancellation is not started again")
  func crossingEnd() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.controller.faults[.leCreateConnectionCancel] = .status(.commandDisallowed)
    rig.request(.disconnect(peer))
    rig.connect(peer)
    rig.pass(.seconds(4))
    #expect(rig.reopenings.isEmpty)
    #expect(rig.controller.opcodes.contains(.disconnect))
  }

  @Test("a controller that loses data for want of buffers is started again")
  func overflow() {
    var rig = connected()
    // This host has no synchronous or isochronous data.
    for linkType in [0, 2, 0xFF] as [UInt8] { rig.event(DataBufferOverflow(linkType: linkType)) }
    #expect(rig.reopenings.isEmpty)
    rig.event(DataBufferOverflow(linkType: 1))
    #expect(rig.reopenings == [.transport("The controller lost data for lack of buffers.")])
    #expect(rig.log().contains("linkClosed"))
  }

  @Test("a host doesn't probe a controller that sends events")
  func noNeedToAsk() {
    var rig = HostRig.started(.extended)
    for _ in 0..<20 {
      rig.pass(.seconds(9))
      rig.event(LEScanTimeout())
    }
    #expect(rig.controller.opcodes.isEmpty)
  }

  @Test("a scan starts although requests of clients fill the queue of commands")
  func fullLine() {
    var rig = connected()
    rig.controller.faults[.readRSSI] = .silence
    for _ in 0..<1_100 { rig.request(.readRSSI(peer, rig.token())) }
    let refusals = rig.log().filter { $0 == "failed" }.count
    #expect(refusals == 1_100 - 1 - ControllerSession.Limits.waitingMax)
    rig.request(.startScan(ScanOptions()))
    rig.controller.faults = [:]
    rig.event(
      CommandComplete(ReadRSSI.self, returning: .init(handle: 0x40, rssi: -50)))
    #expect(rig.controller.last(LESetScanEnable.self)?.isEnabled == true)
    #expect(rig.log().filter { $0 == "completed" }.count == 1_100 - refusals)
  }

  @Test("a host isn't woken needlessly while a command is under way")
  func noSpinning() {
    var rig = HostRig.started()
    rig.controller.faults[.leCreateConnection] = .silence
    for number in 1...20 { rig.request(.connect(.peer(UInt64(number)), ConnectOptions())) }
    for client in 1...3 {
      rig.handle(.clientOpened(ClientID(rawValue: UInt32(client))))
      rig.request(
        .startAdvertising(AdvertisingOptions(), rig.token()),
        from: ClientID(rawValue: UInt32(client)))
    }
    var wakes = 0
    let end = rig.now + .milliseconds(1_999)
    while let wake = rig.machine.nextWake, wake <= end, wakes < 1_000 {
      rig.pass(wake - rig.now)
      wakes += 1
    }
    #expect(wakes < 20)
  }

  @Test("a change of timing that never ends fails after 40 s, and the next may begin")
  func endlessTimingChange() {
    var rig = connected()
    // Its attributes answer (the MTU, no name), only its link layer doesn't.
    for answer: [UInt8] in [[0x03, 23, 0], [0x01, 0x08, 1, 0, 0x0A]] {
      let frame = OutgoingFrame(channel: L2CAPChannelIdentifier.attribute, payload: answer)
      rig.handle(
        .packet(ACLHeader.packet(handle: 0x40, boundary: .firstFlushable, payload: frame.bytes)))
      // The name is read when the link is idle.
      rig.pass(.seconds(1))
    }
    let first = rig.token()
    rig.request(.updateParameters(peer, .default, first))
    let second = rig.token()
    rig.request(.updateParameters(peer, .default, second))
    #expect(
      rig.results(of: second)
        == [.failure(.limitReached("changes of connection parameters at a time"))])
    rig.pass(.seconds(39))
    #expect(rig.results(of: first).isEmpty)
    rig.pass(.seconds(2))
    #expect(rig.results(of: first) == [.failure(.controller(.linkResponseTimeout))])
    let third = rig.token()
    rig.request(.updateParameters(peer, .default, third))
    rig.event(LEConnectionUpdateComplete(handle: 0x40, timing: .usual))
    #expect(rig.results(of: third) == [.success(.done)])
  }

  @Test("a link with impossible timing is treated like one with the longest intervals")
  func impossibleTiming() {
    let timing = ConnectionTiming(
      intervalUnits1250us: 0xFFFF, latency: 0xFFFF, timeoutUnits10ms: 0xFFFF)
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.event(
      LEConnectionComplete(handle: 0x40, role: .central, peer: PeerAddress(peer), timing: timing))
    // Seven intervals of 4 s without a word from the peer.
    rig.pass(.seconds(29))
    #expect(rig.log().contains("connected"))
    // Disconnect is answered and never done.
    rig.request(.disconnect(peer))
    rig.pass(.seconds(37))
    #expect(rig.log().last == "linkClosed")
  }

  @Test("a host switches to LE 2M if both ends support it, and only then")
  func twiceTheSpeed() {
    var controller = ScriptedController.extended
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
      controller.features = ours ? [.extendedAdvertising, .le2M] : [.extendedAdvertising]
      var rig = HostRig.started(controller)
      rig.request(.connect(peer, ConnectOptions()))
      rig.connect(peer, isHeard: false)
      rig.event(LEReadRemoteFeaturesComplete(handle: 0x40, features: theirs ? [.le2M] : []))
      #expect(rig.controller.opcodes.contains(.leSetPHY) == (ours && theirs))
    }
  }

  // MARK: Clients

  @Test("requests that make no sense are each answered once, and don't trap")
  func nonsense() {
    var rig = connected()
    let long = [UInt8](repeating: 1, count: 100_000)
    let backwards = HandleRange(9, 3)
    let operations: [GATTOperation] = [
      .read(0), .read(0xFFFF), .readMultiple([]), .readMultiple(Array(repeating: 0, count: 5_000)),
      .readByUUID(0x2800, in: backwards), .discoverServices([]),
      .discoverServices(Array(repeating: 0x180D, count: 1_000)),
      .discoverIncludedServices(in: backwards), .discoverDescriptors(in: HandleRange(0, 0)),
      .discoverCharacteristics(in: HandleRange(0xFFFF, 0xFFFF), []), .write(0, long),
      .writeWithoutResponse(0, long), .reliableWrite([]),
      .reliableWrite([AttributeValue(handle: 0, value: long)]),
      .reliableWrite(Array(repeating: AttributeValue(handle: 0, value: []), count: 1_000)),
    ]
    var tokens: [RequestToken] = []
    func ask(_ request: (RequestToken) -> HostRequest) {
      let token = rig.token()
      tokens.append(token)
      rig.request(request(token))
    }
    for operation in operations { ask { .gatt(peer, operation, $0) } }
    for psm: UInt16 in [0, 0x100, 0xFFFF] {
      ask { .openChannel(peer, psm: psm, $0) }
      ask { .publishChannel(psm: psm, requiresEncryption: true, $0) }
    }
    let target = SubscriptionTarget(
      valueHandle: 0, configurationHandle: 0, usesIndications: true)
    ask { .unsubscribe(peer, target, $0) }
    ask { .subscribe(peer, target, $0) }
    for handle: UInt16 in [0, 3, 0xFFFF] {
      ask { .updateValue(handle: handle, long, peers: [peer, peer], $0) }
    }
    ask { .sendOnChannel(ChannelID(rawValue: 0), long, $0) }
    let stuck = ConnectionParameters(intervalUnits: 0...0xFFFF, latency: 0xFFFF, timeoutUnits: 0)
    ask { .updateParameters(peer, stuck, $0) }
    var advertising = AdvertisingOptions()
    advertising.interval = TimeSpan(nanoseconds: .min)
    ask { .startAdvertising(advertising, $0) }
    advertising.data = long
    ask { .startAdvertising(advertising, $0) }
    rig.request(.removeService(0))
    rig.request(.respond(ServerRequestID(rawValue: 9), .success(long)))
    rig.request(.consumedFromChannel(ChannelID(rawValue: 0), byteCount: .min))
    rig.request(.closeChannel(ChannelID(rawValue: 0)))
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    for token in tokens { #expect(rig.results(of: token).count == 1, "\(token)") }
  }

  @Test("a client's endless writes are refused beyond a bound, and the link lives on")
  func commandFlood() {
    var rig = connected()
    let tokens = (0..<5_000).map { _ in rig.token() }
    for token in tokens {
      rig.request(
        .gatt(peer, .writeWithoutResponse(1, [UInt8](repeating: 1, count: 20)), token))
    }
    let early = results(rig)
    let refused = tokens.filter { early[$0] == [.failure(.limitReached("waiting writes"))] }
    #expect(refused.count > 4_000)
    #expect(!rig.controller.opcodes.contains(.disconnect))
    for _ in 0..<5_000 {
      rig.event(NumberOfCompletedPackets([CompletedPackets(handle: 0x40, count: 1)]))
    }
    let late = results(rig)
    let done = tokens.filter { late[$0] == [.success(.done)] }
    #expect(done.count + refused.count == 5_000)
  }

  /// What became of all requests of the first client, in one pass over the events.
  private func results(_ rig: HostRig) -> [RequestToken: [Result<HostReply, HostError>]] {
    rig.events.reduce(into: [:]) { all, entry in
      if entry.client == .one, case .completed(let token, let result) = entry.event {
        all[token, default: []].append(result)
      }
    }
  }

  @Test("a client's endless subscriptions to a silent peer are each answered, and few wait")
  func subscriptionFlood() {
    var rig = connected()
    let target = SubscriptionTarget(
      valueHandle: 3, configurationHandle: 4, usesIndications: false)
    let tokens = (0..<1_000).map { _ in rig.token() }
    for (index, token) in tokens.enumerated() {
      rig.request(
        index.isMultiple(of: 2)
          ? .subscribe(peer, target, token) : .unsubscribe(peer, target, token))
    }
    let refused = tokens.filter {
      rig.results(of: $0) == [.failure(.limitReached("waiting subscriptions"))]
    }
    #expect(refused.count == 1_000 - SubscriptionTable.Limits.requestsMax)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    for token in tokens { #expect(rig.results(of: token).count == 1) }
  }

  @Test("a link beyond the host's limit is disconnected, and the request for it fails")
  func tooManyLinks() {
    var rig = HostRig.started()
    for number in 1...LinkTable.Limits.linksMax {
      rig.connect(.peer(UInt64(number) + 10), handle: UInt16(number), role: .peripheral)
    }
    rig.request(.connect(peer, ConnectOptions()))
    rig.events = []
    rig.connect(peer, handle: 0x400)
    #expect(rig.log() == ["connectionFailed"])
    #expect(rig.controller.last(Disconnect.self)?.handle == 0x400)
  }

  @Test("a channel that opens after its client has left is closed")
  func leavingWhileOpening() throws {
    var rig = connected()
    rig.handle(.clientOpened(.two))
    rig.request(.connect(peer, ConnectOptions()), from: .two)
    rig.request(.openChannel(peer, psm: 0x80, rig.token()), from: .two)
    rig.handle(.clientClosed(.two))
    rig.data = []
    rig.event(NumberOfCompletedPackets([CompletedPackets(handle: 0x40, count: 8)]))
    let answer = L2CAPSignalPDU(
      identifier: 1,
      signal: .creditBasedConnectionResponse(
        L2CAPCreditBasedConnectionResponse(
          destination: 0x50, mtu: 100, mps: 100, initialCredits: 9, result: .success)))
    let frame = OutgoingFrame(channel: L2CAPChannelIdentifier.signalling, payload: answer.bytes)
    rig.handle(
      .packet(ACLHeader.packet(handle: 0x40, boundary: .firstFlushable, payload: frame.bytes)))
    let last = try #require(rig.data.last)
    let signal = try L2CAPSignalPDU(decoding: last.bytes.dropFirst(8)).signal
    #expect(signal == .disconnectionRequest(destination: 0x50, source: 0x40))
  }

  @Test(
    "a link that the controller doesn't end keeps its share of buffers in use",
    arguments: [true, false])
  func refusedDisconnect(_ isAnswered: Bool) {
    var rig = connected()
    if isAnswered { rig.controller.faults[.disconnect] = .status(.commandDisallowed) }
    for _ in 0..<20 {
      rig.request(.gatt(peer, .writeWithoutResponse(3, [1]), rig.token()))
    }
    #expect(rig.data.count == Int(rig.controller.bufferCount) - 1)
    rig.request(.disconnect(peer))
    rig.pass(.seconds(60))
    #expect(rig.log().suffix(2) == ["disconnected", "linkClosed"])
    rig.data = []
    rig.connect(.peer(2), handle: 0x41, role: .peripheral, isHeard: false)
    let request = [0x03, 0x00, 0x04, 0x00, 0x02, 0x17, 0x00] as [UInt8]  // Exchange MTU Request
    for _ in 0..<2 {
      rig.handle(
        .packet(ACLHeader.packet(handle: 0x41, boundary: .firstFlushable, payload: request)))
    }
    // The only link had left one buffer.
    #expect(rig.data.count == 1)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(rig.data.count == 2)
  }
}
