import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

/// A central whose client reports when it has handled its events, with peers that notify.
struct SlowClient {
  static let value: UInt16 = 0x20
  static let target = SubscriptionTarget(
    valueHandle: value, configurationHandle: 0x21, usesIndications: false)

  var rig: HostRig

  init(hasFlowControl: Bool = true) {
    var controller = ScriptedController()
    if hasFlowControl { controller.commands = .allKnown }
    rig = .started(controller, acknowledgesEvents: true)
  }

  mutating func connect(_ peer: DeviceAddress, handle: UInt16, from client: ClientID = .one) {
    rig.request(.connect(peer, ConnectOptions()), from: client)
    rig.connect(peer, handle: handle)
  }

  mutating func subscribe(_ peer: DeviceAddress, handle: UInt16, from client: ClientID = .one) {
    rig.request(.subscribe(peer, Self.target, rig.token()), from: client)
    // The exchange of the MTU and the reading of the name come first.
    for _ in 0..<8 { answer(handle) }
  }

  /// Answers the latest request of the host on a link.
  mutating func answer(_ handle: UInt16) {
    guard let packet = rig.data.popLast() else { return }
    rig.event(NumberOfCompletedPackets([CompletedPackets(handle: handle, count: 1)]))
    let pdu = Array(packet.bytes.dropFirst(8))
    switch pdu.first {
    case ATTOpcode.exchangeMTURequest.rawValue: receive([0x03, 23, 0], on: handle)
    case ATTOpcode.writeRequest.rawValue: receive([0x13], on: handle)
    case let opcode?: receive([0x01, opcode, 0, 0, 0x0A], on: handle)
    case nil: break
    }
  }

  mutating func receive(_ pdu: [UInt8], on handle: UInt16, channel: UInt8 = 4) {
    let frame = [UInt8(pdu.count), 0, channel, 0] + pdu
    rig.handle(
      .packet(ACLHeader.packet(handle: handle, boundary: .firstFlushable, payload: frame[...])))
  }

  mutating func notify(_ count: Int, on handle: UInt16) {
    for number in 0..<count {
      receive([0x1B, 0x20, 0, UInt8(truncatingIfNeeded: number)], on: handle)
    }
  }

  /// How many values a client got of a peer.
  func valueCount(_ peer: DeviceAddress, client: ClientID = .one) -> Int {
    rig.events.count {
      if $0.client == client, case .valueUpdated(peer, _, _) = $0.event { true } else { false }
    }
  }

  /// How many packets of a link were reported to the controller as completed.
  func completedCount(_ handle: UInt16) -> Int {
    rig.controller.received.reduce(0) { sum, command in
      guard command.opcode == .hostNumberOfCompletedPackets,
        let list = try? command.decode(as: HostNumberOfCompletedPackets.self)
      else { return sum }
      return sum
        + list.packets.filter { $0.handle == handle }.reduce(0) { $0 + Int($1.count) }
    }
  }

  mutating func handleAll(client: ClientID = .one) {
    rig.handle(.eventsHandled(client, count: rig.events.count))
  }

  /// The PDUs of the Security Manager that were sent to peers.
  var sentSecurityPDUs: [[UInt8]] {
    rig.data.map { Array($0.bytes) }.filter { $0.count > 8 && $0[6] == 6 }
      .map { Array($0.dropFirst(8)) }
  }

  var confirmationCount: Int {
    rig.data.count { Array($0.bytes.dropFirst(8)) == [ATTOpcode.handleValueConfirmation.rawValue] }
  }
}

@Suite("Events that clients have not handled")
struct BacklogTests {
  private let peer = DeviceAddress.peer(1)
  private let other = DeviceAddress.peer(2)
  private let first: UInt16 = 0x40
  private let second: UInt16 = 0x41

  /// What a link may have on its way before it is held back.
  private let most = EventBacklog.Limits.unhandledMax
  private let buffers = EventBacklog.Limits.hostBufferCount

  @Test("a controller with flow control gets the host's buffer sizes at the start")
  func startUp() throws {
    var rig = HostRig(.extended)
    rig.handle(.transportOpened)
    let size = try #require(rig.controller.last(HostBufferSize.self))
    #expect(Int(size.aclCount) == buffers)
    #expect(rig.controller.last(SetControllerToHostFlowControl.self)?.mode == .acl)
    #expect(rig.machine.state == .poweredOn)
  }

  @Test("a controller that refuses to limit what it hands over is used as it is")
  func refusal() {
    for opcode in [HCIOpcode.hostBufferSize, .setControllerToHostFlowControl] {
      var controller = ScriptedController.extended
      controller.faults[opcode] = .status(.unknownCommand)
      var rig = HostRig(controller)
      rig.handle(.transportOpened)
      #expect(rig.machine.state == .poweredOn)
      #expect(!rig.machine.backlog.usesHostFlowControl)
    }
  }

  @Test("the packets of a client that keeps up are completed")
  func keepingUp() {
    var slow = SlowClient()
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    for _ in 0..<50 {
      slow.notify(100, on: first)
      slow.handleAll()
    }
    #expect(slow.valueCount(peer) == 5_000)
    #expect(slow.completedCount(first) > 5_000 - EventBacklog.Limits.completedBatch)
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 0)
  }

  @Test("a client alone with its peer loses nothing: the controller is out of buffers first")
  func alone() {
    var slow = SlowClient()
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.handleAll()
    let before = slow.completedCount(first)
    slow.notify(most + buffers, on: first)
    // The controller has no buffer left, so the peer can't send more.
    #expect(slow.completedCount(first) - before <= most)
    #expect(slow.valueCount(peer) == most + buffers)
    #expect(slow.rig.machine.snapshot.links.first?.isHeldBack == true)
    slow.handleAll()
    slow.notify(1, on: first)
    #expect(
      slow.completedCount(first) - before > most + buffers - EventBacklog.Limits.completedBatch)
    #expect(slow.rig.machine.snapshot.links.first?.isHeldBack == false)
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 0)
  }

  @Test(
    "a slow client keeps its share of buffers beside another link, and learns of dropped values")
  func shared() throws {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    slow.connect(peer, handle: first)
    slow.connect(other, handle: second, from: .two)
    slow.subscribe(peer, handle: first)
    slow.subscribe(other, handle: second, from: .two)
    slow.handleAll()
    slow.handleAll(client: .two)
    slow.notify(10_000, on: first)
    slow.notify(100, on: second)
    let delivered = slow.valueCount(peer)
    #expect(delivered <= most + buffers / 2)
    #expect(slow.valueCount(other, client: .two) == 100)
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 10_000 - delivered)
    // All buffers but the share are free again.
    #expect(slow.completedCount(first) >= 10_000 - buffers / 2)
    slow.handleAll()
    let loss = try #require(slow.rig.events.last { $0.client == .one }?.event)
    guard case .valuesDropped(peer, SlowClient.value, let count) = loss else {
      Issue.record("the client was not notified, but \(loss)")
      return
    }
    #expect(count == 10_000 - delivered)
    slow.notify(1, on: first)
    #expect(slow.valueCount(peer) == delivered + 1)
  }

  @Test("a slow client does not take the values of another that subscribed to the same")
  func sameLink() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two))
    slow.connect(peer, handle: first)
    slow.rig.request(.connect(peer, ConnectOptions()), from: .two)
    slow.subscribe(peer, handle: first)
    slow.subscribe(peer, handle: first, from: .two)
    slow.rig.handle(.clientOpened(.three, acknowledgesEvents: true))
    slow.rig.request(.connect(peer, ConnectOptions()), from: .three)
    slow.subscribe(peer, handle: first, from: .three)
    for _ in 0..<100 {
      slow.notify(100, on: first)
      slow.handleAll(client: .three)
    }
    #expect(slow.valueCount(peer, client: .two) == 10_000)
    #expect(slow.valueCount(peer, client: .three) == 10_000)
    #expect(slow.valueCount(peer) < 10_000)
  }

  @Test("an indication is confirmed when every client has handled it, or is gone")
  func indication() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    slow.connect(peer, handle: first)
    slow.rig.request(.connect(peer, ConnectOptions()), from: .two)
    slow.subscribe(peer, handle: first)
    slow.subscribe(peer, handle: first, from: .two)
    slow.receive([0x1D, 0x20, 0, 7], on: first)
    #expect(slow.valueCount(peer) == 1)
    #expect(slow.confirmationCount == 0)
    slow.handleAll()
    #expect(slow.confirmationCount == 0)
    slow.rig.handle(.clientClosed(.two))
    #expect(slow.confirmationCount == 1)
    // An indication without a subscription is confirmed, too.
    slow.receive([0x1D, 0x30, 0, 7], on: first)
    #expect(slow.confirmationCount == 2)
  }

  @Test("indications of a peer that doesn't wait for the confirmation are dropped and counted")
  func hastyIndications() throws {
    var slow = SlowClient()
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.handleAll()
    for _ in 0..<101 { slow.receive([0x1D, 0x20, 0, 7], on: first) }
    #expect(slow.valueCount(peer) == 1)
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 100)
    #expect(slow.confirmationCount == 0)
    slow.handleAll()
    #expect(slow.confirmationCount == 1)
    guard case .valuesDropped(peer, SlowClient.value, 100)? = slow.rig.events.last?.event else {
      Issue.record("the client was not notified: \(slow.rig.log().suffix(3))")
      return
    }
    slow.receive([0x1D, 0x20, 0, 8], on: first)
    #expect(slow.valueCount(peer) == 2)
  }

  @Test("a link whose events can't be dropped is ended when a client has too many of them")
  func excess() throws {
    var slow = SlowClient()
    let token = slow.rig.token()
    let service = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A37, properties: [.notify], permissions: [])
      ])
    slow.rig.request(.addService(service, token))
    guard case .published(let published)? = try slow.rig.results(of: token).first?.get() else {
      Issue.record("the service was refused")
      return
    }
    let configuration = UInt8(published.characteristics[0].valueHandle + 1)
    slow.rig.connect(peer, handle: first, role: .peripheral)
    slow.rig.connect(other, handle: second, role: .peripheral)
    var requestCount = 0
    while slow.rig.controller.last(Disconnect.self) == nil, requestCount < 20_000 {
      requestCount += 1
      slow.receive([0x12, configuration, 0, UInt8(requestCount % 2), 0], on: first)
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: first, count: 1)]))
    }
    #expect(slow.rig.controller.last(Disconnect.self)?.handle == first)
    #expect(abs(requestCount - EventBacklog.Limits.excessiveCount) < 10)
    slow.rig.event(DisconnectionComplete(handle: first, reason: .localHostTerminatedConnection))
    guard case .linkClosed(peer, .limitReached)? = slow.rig.events.last?.event else {
      Issue.record("the client was not notified: \(slow.rig.log().suffix(3))")
      return
    }
    #expect(slow.rig.machine.links.count == 1)
  }

  @Test("a link that another client uses is not held back for one that handles nothing")
  func usedByAnother() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.rig.request(.connect(peer, ConnectOptions()), from: .two)
    slow.notify(10_000, on: first)
    #expect(slow.completedCount(first) > 10_000 - buffers / 2 - EventBacklog.Limits.completedBatch)
    #expect(slow.rig.machine.snapshot.counters.droppedValues > 0)
  }

  @Test("packets of connections that the host doesn't know are completed, unless those ended")
  func strays() {
    var slow = SlowClient()
    for _ in 0..<40 { slow.receive([0x1B, 0x20, 0, 1], on: 0x77) }
    #expect(slow.completedCount(0x77) == 40)
    slow.connect(peer, handle: first)
    for _ in 0..<3_000 {
      slow.receive([0x1B, 0x20, 0, 1], on: 0x78)
      slow.receive([0x1B, 0x20, 0, 1], on: 0x79)
    }
    #expect(slow.completedCount(0x78) == 3_000)
    #expect(slow.completedCount(0x79) == 3_000)
  }

  @Test("bytes of channels are not acknowledged: their credits bound them")
  func channels() {
    let id = ChannelID(rawValue: 1)
    #expect(!HostEvent.channelReceived(id, [1]).isAcknowledged)
    #expect(!HostEvent.channelClosed(id, nil).isAcknowledged)
    #expect(HostEvent.completed(RequestToken(rawValue: 1), .success(.done)).isAcknowledged)
  }

  @Test("an indication of a client that doesn't report handling is confirmed at once")
  func plainIndication() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two))
    slow.connect(peer, handle: first, from: .two)
    slow.subscribe(peer, handle: first, from: .two)
    slow.receive([0x1D, 0x20, 0, 7], on: first)
    #expect(slow.confirmationCount == 1)
  }

  @Test("a controller without flow control makes the host stop reading, and no time-out counts")
  func pause() {
    var slow = SlowClient(hasFlowControl: false)
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.handleAll()
    slow.rig.controller.faults[.readRSSI] = .silence
    slow.rig.request(.gatt(peer, .read(0x33), slow.rig.token()))
    slow.rig.request(.readRSSI(peer, slow.rig.token()))
    slow.notify(most, on: first)
    #expect(slow.rig.pauses == [true])
    slow.rig.pass(.seconds(60))
    #expect(slow.rig.reopenings.isEmpty)
    #expect(slow.rig.machine.state == .poweredOn)
    slow.handleAll()
    #expect(slow.rig.pauses == [true, false])
    #expect(slow.rig.machine.links.count == 1)
    #expect(slow.valueCount(peer) == most)
  }

  @Test("the transport is read while another client scans: then values are dropped")
  func pauseBesideScan() {
    var slow = SlowClient(hasFlowControl: false)
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.handleAll()
    slow.notify(most, on: first)
    #expect(slow.rig.pauses == [true])
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    #expect(slow.rig.pauses == [true])
    slow.rig.request(.startScan(ScanOptions()), from: .two)
    #expect(slow.rig.pauses == [true, false])
    slow.notify(100, on: first)
    #expect(slow.rig.pauses == [true, false])
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 100)
    slow.rig.request(.stopScan, from: .two)
    #expect(slow.rig.pauses == [true, false, true])
  }

  @Test("a client that is now behind and now not doesn't keep the host from what is due")
  func stopAndGo() {
    var slow = SlowClient(hasFlowControl: false)
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.handleAll()
    var options = ConnectOptions()
    options.startDelay = .seconds(3)
    slow.rig.request(.connect(other, options))
    for _ in 0..<10 {
      slow.notify(most, on: first)
      slow.rig.pass(.milliseconds(900))
      slow.handleAll()
      slow.rig.pass(.milliseconds(50))
    }
    #expect(slow.rig.controller.opcodes.contains(.leCreateConnection))
  }

  @Test("a transport that is opened anew is read")
  func pauseEnds() {
    var slow = SlowClient(hasFlowControl: false)
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.notify(most, on: first)
    slow.rig.handle(.transportClosed(.transport("unplugged")))
    slow.rig.handle(.transportOpened)
    #expect(slow.rig.machine.state == .poweredOn)
    #expect(slow.rig.machine.receiving.isPaused == false)
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.notify(1, on: first)
    #expect(slow.valueCount(peer) == most + 1)
  }

  @Test("a peer whose answers are held back is not given up")
  func postponedTimeout() {
    var slow = SlowClient()
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    let token = slow.rig.token()
    slow.rig.request(.gatt(peer, .read(0x33), token))
    slow.notify(most, on: first)
    slow.rig.pass(.seconds(60))
    #expect(slow.rig.results(of: token).isEmpty)
    #expect(slow.rig.machine.links.count == 1)
    slow.handleAll()
    slow.receive([0x0B, 1, 2], on: first)
    #expect(slow.rig.results(of: token) == [.success(.value([1, 2]))])
  }

  @Test("reports that a client doesn't handle are bounded, dropped and counted")
  func reports() {
    var slow = SlowClient(hasFlowControl: false)
    var options = ScanOptions()
    options.allowsDuplicates = true
    slow.rig.request(.startScan(options))
    let most = EventBacklog.Limits.reportsMax
    for _ in 0..<(most + 100) {
      slow.rig.event(
        LEAdvertisingReports([
          LEAdvertisingReport(
            kind: .connectable, advertiser: PeerAddress(peer), data: [2, 1, 6], rssi: -60)
        ]))
    }
    let count = slow.rig.log().count { $0 == "discovered" }
    #expect(count == most)
    #expect(slow.rig.machine.snapshot.counters.droppedReports == 100)
    slow.handleAll()
    slow.rig.event(
      LEAdvertisingReports([
        LEAdvertisingReport(
          kind: .connectable, advertiser: PeerAddress(peer), data: [2, 1, 6], rssi: -60)
      ]))
    #expect(slow.rig.log().count { $0 == "discovered" } == most + 1)
  }

  @Test("a write without response beyond a slow client's share is dropped, others are answered")
  func writes() throws {
    var slow = SlowClient()
    let token = slow.rig.token()
    let service = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(
          uuid: 0x2A39, properties: [.writeWithoutResponse], permissions: [.writeable])
      ])
    slow.rig.request(.addService(service, token))
    guard case .published(let published)? = try slow.rig.results(of: token).first?.get() else {
      Issue.record("the service was refused")
      return
    }
    let value = published.characteristics[0].valueHandle
    slow.rig.connect(peer, handle: first, role: .peripheral)
    slow.rig.connect(other, handle: second, role: .peripheral)
    for _ in 0..<10_000 { slow.receive([0x52, UInt8(value), 0, 1], on: first) }
    let requests = slow.rig.log().count { $0 == "serverRequest" }
    #expect(requests <= most + buffers / 2)
    #expect(slow.rig.machine.snapshot.counters.droppedValues == 10_000 - requests)
    slow.handleAll()
    #expect(slow.rig.log().last == "writesDropped")
  }

  @Test("a link that ends while it is held back leaves nothing behind for the next with its handle")
  func reusedHandle() {
    var slow = SlowClient()
    slow.connect(peer, handle: first)
    slow.subscribe(peer, handle: first)
    slow.notify(most, on: first)
    slow.rig.event(DisconnectionComplete(handle: first, reason: .connectionTimeout))
    slow.connect(other, handle: first)
    slow.subscribe(other, handle: first)
    #expect(slow.rig.machine.snapshot.links.first?.isHeldBack == false)
    slow.notify(most / 2, on: first)
    slow.handleAll()
    #expect(slow.rig.machine.snapshot.links.first?.isHeldBack == false)
    #expect(slow.valueCount(other) == most / 2)
  }
}
