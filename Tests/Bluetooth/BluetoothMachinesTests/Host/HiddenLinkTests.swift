import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Links that peers open while a client has too many unhandled events.
@Suite("Links that are hidden from a client")
struct HiddenLinkTests {
  private let peer = DeviceAddress.peer(1)
  private let other = DeviceAddress.peer(2)
  private let first: UInt16 = 0x40
  private let second: UInt16 = 0x41

  /// Peers come and go until links are hidden from the client.
  private func fill(_ slow: inout SlowClient) {
    for _ in 0..<EventBacklog.Limits.clientMax {
      slow.rig.connect(peer, handle: first, role: .peripheral)
      slow.rig.event(DisconnectionComplete(handle: first, reason: .remoteUserTerminatedConnection))
    }
  }

  private func pairingRequest(_ io: SMPIOCapability) -> [UInt8] {
    SMPPDU.pairingRequest(
      SMPPairingFeatures(
        ioCapability: io, authenticationRequirements: [.bonding, .mitmProtection],
        maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: [])
    ).bytes
  }

  /// Publishes a value; returns its handle.
  private func publish(
    _ slow: inout SlowClient, _ properties: CharacteristicProperties,
    _ permissions: AttributePermissions = [], from client: ClientID = .one
  ) throws -> UInt8 {
    let token = slow.rig.token()
    let service = ServiceDefinition(
      uuid: 0x180D,
      characteristics: [
        CharacteristicDefinition(uuid: 0x2A37, properties: properties, permissions: permissions)
      ])
    slow.rig.request(.addService(service, token), from: client)
    let result = slow.rig.results(of: token, client: client).first
    guard case .published(let published)? = try result?.get() else {
      throw HostError.invalidArgument("The service was refused.")
    }
    return UInt8(published.characteristics[0].valueHandle)
  }

  /// The peer writes a configuration, and gets the response.
  private func configure(_ handle: UInt8, _ isOn: Bool, _ slow: inout SlowClient) {
    slow.receive([0x12, handle, 0, isOn ? 1 : 0, 0], on: first)
    slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: first, count: 1)]))
  }

  /// Whether the last event is the loss of the link to the peer, because of too many events.
  private func hasLostLink(_ slow: SlowClient) -> Bool {
    if case (.one, .linkClosed(peer, .limitReached))? = slow.rig.events.last { true } else { false }
  }

  @Test("a client with too many events of a link loses it, and others that the link serves keep it")
  func sharedLink() throws {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    let own = try publish(&slow, [.notify]) + 1
    let others = try publish(&slow, [.notify], from: .two) + 1
    slow.rig.connect(peer, handle: first, role: .peripheral)
    var requestCount = 0
    while !hasLostLink(slow), requestCount < 20_000 {
      requestCount += 1
      configure(own, requestCount % 2 == 1, &slow)
    }
    #expect(abs(requestCount - EventBacklog.Limits.excessiveCount) < 10)
    let count = slow.rig.log().count
    for isOn in [false, true] { configure(own, isOn, &slow) }
    configure(others, true, &slow)
    #expect(slow.rig.log(of: .two).last == "subscribed")
    #expect(slow.rig.controller.last(Disconnect.self) == nil)
    #expect(slow.rig.machine.links.count == 1)
    // The link is hidden until the client has caught up.
    slow.rig.handle(.eventsHandled(.one, count: 1_000))
    #expect(slow.rig.log().count == count)
    slow.handleAll()
    #expect(slow.rig.log().dropFirst(count) == ["linkOpened", "subscribed"])
    #expect(!slow.rig.log(of: .two).contains("linkClosed"))
  }

  @Test("a client with too many events of a connection loses it, and another one keeps it")
  func sharedConnection() throws {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two, acknowledgesEvents: true))
    slow.connect(peer, handle: first)
    slow.rig.request(.connect(peer, ConnectOptions()), from: .two)
    slow.subscribe(peer, handle: first, from: .two)
    var readCount = 0
    while !hasLostLink(slow), readCount < 20_000 {
      readCount += 1
      slow.rig.request(.gatt(peer, .read(SlowClient.value), slow.rig.token()))
      slow.rig.event(NumberOfCompletedPackets([CompletedPackets(handle: first, count: 1)]))
      slow.receive([0x0B, 7], on: first)
    }
    #expect(abs(readCount - EventBacklog.Limits.excessiveCount) < 20)
    #expect(slow.rig.log().suffix(2) == ["lost", "linkClosed"])
    #expect(slow.rig.controller.last(Disconnect.self) == nil)
    slow.notify(1, on: first)
    #expect(slow.valueCount(peer, client: .two) == 1)
    slow.handleAll()
    #expect(slow.rig.log().last == "linkOpened")
    slow.rig.request(.connect(peer, ConnectOptions()))
    #expect(slow.rig.log().last == "connected")
    #expect(!slow.rig.log(of: .two).contains("linkClosed"))
  }

  @Test("peers that come and go while a client handles nothing are hidden from it, not from others")
  func comingAndGoing() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two))
    let most = EventBacklog.Limits.clientMax
    let otherCount = slow.rig.log(of: .two).count
    fill(&slow)
    #expect((most..<(most + 10)).contains(slow.rig.log().count))
    #expect(slow.rig.log(of: .two).count == otherCount + 2 * most)
    slow.rig.connect(other, handle: second, role: .peripheral)
    #expect(slow.rig.log().count < most + 10)
    #expect(slow.rig.log(of: .two).last == "linkOpened")
    slow.handleAll()
    guard case (.one, .linkOpened(let link))? = slow.rig.events.last else {
      Issue.record("the client did not hear of the link: \(slow.rig.log().suffix(3))")
      return
    }
    #expect(link.peer == other)
    slow.rig.event(DisconnectionComplete(handle: second, reason: .remoteUserTerminatedConnection))
    #expect(slow.rig.log().last == "linkClosed")
  }

  @Test("a client hears of subscriptions over a link that was hidden from it, once it has room")
  func hiddenSubscription() throws {
    var slow = SlowClient()
    let configuration = try publish(&slow, [.notify]) + 1
    fill(&slow)
    let count = slow.rig.log().count
    slow.rig.connect(other, handle: second, role: .peripheral)
    slow.receive([0x12, configuration, 0, 1, 0], on: second)
    #expect(slow.rig.log().count == count)
    slow.handleAll()
    #expect(slow.rig.log().suffix(2) == ["linkOpened", "subscribed"])
    slow.receive([0x12, configuration, 0, 0, 0], on: second)
    #expect(slow.rig.log().last == "unsubscribed")
  }

  @Test(
    "a pairing over a link that is hidden from the agent fails at once, and the agent hears nothing of it",
    arguments: [true, false])
  func hiddenQuestion(_ isFirstPacket: Bool) {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two))
    slow.rig.request(.setPairingAgent(.displayOnly))
    fill(&slow)
    let counts = [ClientID.one, .two].map { slow.rig.log(of: $0).count }
    slow.rig.connect(other, handle: second, role: .peripheral, isHeard: !isFirstPacket)
    slow.receive(pairingRequest(.keyboardOnly), on: second, channel: 6)
    #expect(slow.rig.log().count == counts[0])
    #expect(slow.rig.log(of: .two).dropFirst(counts[1]) == ["linkOpened", "pairingEnded"])
    #expect(slow.sentSecurityPDUs.last == SMPPDU.pairingFailed(.unspecifiedReason).bytes)
    // Once it has caught up, it is asked.
    slow.handleAll()
    #expect(slow.rig.log().last == "linkOpened")
    slow.rig.pass(.seconds(80))
    slow.receive(pairingRequest(.keyboardOnly), on: second, channel: 6)
    #expect(slow.rig.log().last == "pairingPrompt")
  }

  @Test("a client does not hear that a bond is not kept over a link that is hidden from it")
  func hiddenBond() {
    var slow = SlowClient()
    slow.rig.handle(.clientOpened(.two))
    let bond = Bond(
      identity: other, centralKey: nil, peripheralKey: LongTermKey(SMPValue(number: 1)),
      isAuthenticated: false, isSecureConnections: false)
    slow.rig.handle(.bondsChanged([bond]))
    fill(&slow)
    let count = slow.rig.log().count
    slow.rig.connect(other, handle: second, role: .peripheral)
    slow.receive(pairingRequest(.noInputNoOutput), on: second, channel: 6)
    #expect(slow.rig.log(of: .two).suffix(2) == ["bondNotKept", "pairingEnded"])
    slow.rig.event(DisconnectionComplete(handle: second, reason: .remoteUserTerminatedConnection))
    #expect(slow.rig.log(of: .two).last == "linkClosed")
    #expect(slow.rig.log().count == count)
  }

  @Test("a client hears of lost writes over a hidden link after it has heard of the link")
  func hiddenWrites() throws {
    var slow = SlowClient()
    let value = try publish(&slow, [.writeWithoutResponse], [.writeable])
    fill(&slow)
    slow.rig.connect(other, handle: second, role: .peripheral)
    let count = slow.rig.log().count
    for number in UInt8(0)..<3 { slow.receive([0x52, value, 0, number], on: second) }
    // Not yet: the link stays hidden until half of the events are handled.
    slow.rig.handle(.eventsHandled(.one, count: 1))
    #expect(slow.rig.log().count == count)
    slow.handleAll()
    #expect(slow.rig.log().dropFirst(count) == ["linkOpened", "writesDropped"])
  }

  @Test("a client does not hear of lost writes over a hidden link that has ended")
  func endedLink() throws {
    var slow = SlowClient()
    let value = try publish(&slow, [.writeWithoutResponse], [.writeable])
    fill(&slow)
    slow.rig.connect(other, handle: second, role: .peripheral)
    let count = slow.rig.log().count
    slow.receive([0x52, value, 0, 1], on: second)
    slow.rig.event(DisconnectionComplete(handle: second, reason: .remoteUserTerminatedConnection))
    slow.handleAll()
    #expect(slow.rig.log().dropFirst(count) == [])
    // Nor over the next link, which it knows.
    slow.rig.connect(other, handle: second, role: .peripheral)
    slow.handleAll()
    #expect(slow.rig.log().dropFirst(count) == ["linkOpened"])
  }
}
