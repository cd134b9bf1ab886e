import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import Testing

@testable import BluetoothMachines
@testable import L2CAPMachines

@Suite("The snapshot of a host")
struct SnapshotTests {
  private let peer = DeviceAddress.peer(1)

  private func connected(clients: [ClientID] = [.one]) -> HostRig {
    var rig = HostRig.started()
    for client in clients {
      rig.handle(.clientOpened(client))
      rig.request(.connect(peer, ConnectOptions()), from: client)
    }
    rig.connect(peer)
    return rig
  }

  private func acl(_ handle: UInt16, _ channel: UInt16, _ payload: [UInt8]) -> HostMachine.Input {
    let frame = OutgoingFrame(channel: channel, payload: payload)
    return .packet(
      ACLHeader.packet(handle: handle, boundary: .firstFlushable, payload: frame.bytes))
  }

  @Test("a snapshot shows the controller and the features that it reported")
  func controller() {
    let before = HostMachine(random: SeededGenerator(seed: 1)).snapshot
    #expect(before.controller.state == .unknown)
    #expect(before.controller.address == nil)
    let rig = HostRig.started(.extended)
    let controller = rig.machine.snapshot.controller
    #expect(controller.state == .poweredOn)
    #expect(controller.address == "00:11:22:33:44:55")
    #expect(controller.company == 0xFFFF)
    #expect(controller.usesExtendedCommands)
    #expect(controller.advertisingSetCount == 4)
    #expect(controller.acceptListCapacity == 8)
    #expect(controller.aclPacketLength == 251)
    #expect(controller.aclBufferCount == 8)
    #expect(controller.aclBuffersInUse == 0)
    #expect(controller.failureCount == 0)
  }

  @Test("a snapshot counts failures of the controller until it works again")
  func failures() {
    var rig = HostRig.started()
    rig.handle(.transportClosed(.transport("Unplugged.")))
    #expect(rig.machine.snapshot.controller.failureCount == 1)
    #expect(rig.machine.snapshot.controller.state == .poweredOff)
  }

  @Test("a snapshot shows a link with its clients, timing, subscriptions and queues")
  func link() throws {
    var rig = connected(clients: [.one, .two])
    let target = SubscriptionTarget(
      valueHandle: 3, configurationHandle: 4, usesIndications: true)
    rig.request(.subscribe(peer, target, rig.token()), from: .two)
    for _ in 0..<20 {
      rig.request(.gatt(peer, .writeWithoutResponse(5, [1]), rig.token()))
    }
    let snapshot = rig.machine.snapshot
    let link = try #require(snapshot.links.first)
    #expect(link.handle == 0x40)
    #expect(link.peer == "C0:00:00:00:00:01")
    #expect(link.role == .central)
    #expect(link.stage == .open)
    #expect(link.mtu == 23)
    #expect(link.intervalMicroseconds == 30_000)
    #expect(link.timeoutMilliseconds == 720)
    #expect(link.clients == [1, 2])
    // One of the controller's eight is left for the next link.
    #expect(link.aclBuffersInUse == 7)
    #expect(link.queuedByteCount > 0)
    // The reading of the name, the write of the configuration, and the commands not handed over.
    #expect(link.pendingOperationCount > 2)
    #expect(
      link.subscriptions == [
        .init(valueHandle: 3, usesIndications: true, isOn: false, clients: [2])
      ])
    #expect(snapshot.clients == [1, 2])
    #expect(snapshot.controller.aclBuffersInUse == 7)
    #expect(snapshot.linkRequests.isEmpty)
  }

  @Test("a snapshot shows scans, advertisements, published channels and requests for links")
  func requests() {
    var rig = HostRig.started()
    rig.request(.startScan(ScanOptions()))
    rig.request(.startAdvertising(AdvertisingOptions(), rig.token()))
    rig.request(.publishChannel(psm: 0x81, requiresEncryption: false, rig.token()))
    rig.request(.connect(peer, ConnectOptions()))
    let snapshot = rig.machine.snapshot
    #expect(snapshot.scans == [1])
    #expect(snapshot.advertisements == [1])
    #expect(snapshot.publishedPSMs == [0x81])
    #expect(snapshot.linkRequests.map(\.state) == [.pending])
    #expect(snapshot.linkRequests.map(\.peer) == ["C0:00:00:00:00:01"])
  }

  @Test("a snapshot shows a request that waits for the end of its link")
  func cancelling() {
    var rig = connected()
    rig.request(.disconnect(peer))
    let snapshot = rig.machine.snapshot
    #expect(snapshot.linkRequests.map(\.state) == [.cancelling])
    #expect(snapshot.links.map(\.clients) == [[]])
  }

  @Test("a snapshot counts events and data about links that don't exist")
  func strayPackets() {
    var rig = HostRig()
    rig.handle(.clientOpened(.one))
    rig.handle(acl(0x40, L2CAPChannelIdentifier.attribute, [0x1B, 3, 0, 1]))
    #expect(rig.machine.snapshot.counters.strayPackets == 1, "data before the controller is up")
    rig.handle(.transportOpened)
    rig.handle(acl(0x77, L2CAPChannelIdentifier.attribute, [0x1B, 3, 0, 1]))
    #expect(rig.machine.snapshot.counters.strayPackets == 2, "data of no link")
    rig.event(DisconnectionComplete(handle: 0x78, reason: .connectionTimeout))
    #expect(rig.machine.snapshot.counters.strayPackets == 3, "the end of no link")
    rig.event(LELongTermKeyRequest(handle: 0x79, random: 1, diversifier: 2))
    #expect(rig.machine.snapshot.counters.strayPackets == 4, "a key for no link")
    #expect(rig.machine.snapshot.counters.malformedPackets == 0)
  }

  @Test("a snapshot counts what a link dropped also when the link is gone")
  func linkCounters() {
    var rig = connected()
    // A value without subscription, a response without request, a frame of no channel, a signal of
    // no meaning.
    rig.handle(acl(0x40, L2CAPChannelIdentifier.attribute, [0x1B, 3, 0, 1]))
    rig.handle(acl(0x40, L2CAPChannelIdentifier.attribute, [0x13]))
    rig.handle(acl(0x40, 0x3F, [1, 2, 3]))
    rig.handle(acl(0x40, L2CAPChannelIdentifier.signalling, [0x07, 9, 0, 0]))
    var expected = HostSnapshot.Counters()
    expected.unsolicitedValues = 1
    expected.ignoredPDUs = 1
    expected.droppedFrames = 1
    expected.pointlessSignals = 1
    #expect(rig.machine.snapshot.counters == expected)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(rig.machine.snapshot.links.isEmpty)
    #expect(rig.machine.snapshot.counters == expected)
  }

  @Test("a snapshot counts invalid packets and unexpected answers, also after a restart")
  func controllerCounters() {
    var rig = HostRig.started()
    rig.handle(.packet(HCIPacket(kind: .event, bytes: [0x0E, 0x20, 0x01])))
    rig.event(CommandComplete(opcode: .leSetScanEnable, status: .success))
    rig.connect(peer, role: .peripheral)
    rig.event(NumberOfCompletedPackets([CompletedPackets(handle: 0x40, count: 3)]))
    rig.handle(.transportClosed(.transport("Unplugged.")))
    rig.handle(.transportOpened)
    let counters = rig.machine.snapshot.counters
    #expect(counters.malformedPackets == 1)
    #expect(counters.strayAnswers == 1)
    #expect(counters.bogusCompletions == 3)
  }

  @Test("a snapshot can be encoded and decoded")
  func coding() throws {
    let snapshot = connected().machine.snapshot
    let data = try JSONEncoder().encode(snapshot)
    #expect(try JSONDecoder().decode(HostSnapshot.self, from: data) == snapshot)
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.contains(#""state":"poweredOn""#))
    #expect(text.contains(#""peer":"C0:00:00:00:00:01""#))
  }
}
