import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import L2CAPMachines

@Suite("A host makes links")
struct ConnectingTests {
  let peer = DeviceAddress.peer(1)

  @Test(
    "a host announces a link when the peer was heard, first to all clients, then to the requester")
  func usual() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    rig.request(.connect(peer, ConnectOptions()))
    #expect(rig.controller.last(LECreateConnection.self)?.peer.address == peer)
    rig.connect(peer, isHeard: false)
    #expect(rig.log() == [])
    rig.event(LEReadRemoteFeaturesComplete(handle: 0x40, features: []))
    #expect(rig.log() == ["linkOpened", "connected"])
    #expect(rig.log(of: .two) == ["poweredOn", "linkOpened"])
    #expect(rig.controller.opcodes.contains(.leSetDataLength))
    // A client that comes later knows the link when it learns that the radio is on.
    rig.handle(.clientOpened(.three))
    #expect(rig.log(of: .three) == ["linkOpened", "poweredOn"])
  }

  @Test("a host takes a link for established after six intervals without an answer")
  func silentPeer() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer, isHeard: false)
    rig.pass(.milliseconds(170))
    #expect(rig.log() == [])
    rig.pass(.milliseconds(100))
    #expect(rig.log() == ["linkOpened", "connected"])
  }

  @Test("a host drops data of a link that was given up before the peer was heard")
  func dataOfUnknownLink() {
    var rig = HostRig.started()
    let service = ServiceDefinition(
      uuid: 0xFE10,
      characteristics: [
        CharacteristicDefinition(uuid: 0xFE11, properties: [.read], permissions: [.readable])
      ])
    rig.request(.addService(service, rig.token()))
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer, isHeard: false)
    rig.request(.disconnect(peer))
    let heard = rig.log()
    // Read Request of everything that there may be.
    for attribute in UInt8(1)...30 {
      let packet: [UInt8] = [0x40, 0x20, 7, 0, 3, 0, 4, 0, 0x0A, attribute, 0]
      rig.handle(.packet(HCIPacket(kind: .acl, bytes: packet)))
    }
    #expect(rig.log() == heard)
  }

  @Test("a host retries a link that failed to be established without an event")
  func failedToBeEstablished() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    for round in 1...5 {
      rig.connect(peer, isHeard: false)
      rig.event(
        DisconnectionComplete(handle: 0x40, reason: .connectionFailedToBeEstablished))
      rig.pass(.seconds(1))
      let count = rig.controller.opcodes.filter { $0 == .leCreateConnection }.count
      #expect(count == round + 1)
    }
    // Controllers that report it in place of the connection.
    rig.event(
      LEConnectionComplete(
        status: .connectionFailedToBeEstablished, handle: 0, role: .central,
        peer: PeerAddress(peer), timing: .usual))
    rig.pass(.seconds(1))
    #expect(rig.log() == [])
    rig.connect(peer)
    #expect(rig.log() == ["linkOpened", "connected"])
  }

  @Test("a connection request never times out, and is repeated after a reset of the controller")
  func pendingSurvivesReset() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.pass(.seconds(100_000))
    #expect(rig.log() == [])
    rig.controller.received = []
    rig.event(HardwareError(hardwareCode: 1))
    #expect(rig.controller.opcodes.contains(.leCreateConnection))
    rig.handle(.transportClosed(.transport("The plug was pulled.")))
    rig.handle(.transportOpened)
    rig.connect(peer)
    #expect(
      rig.log() == [
        "poweredOff", "poweredOn", "poweredOff", "poweredOn", "linkOpened", "connected",
      ])
  }

  @Test("a host disconnects a link when its last client releases it")
  func sharedLink() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    rig.request(.connect(peer, ConnectOptions()), from: .one)
    rig.connect(peer)
    rig.request(.connect(peer, ConnectOptions()), from: .two)
    #expect(rig.log(of: .two) == ["poweredOn", "linkOpened", "linkUpdated", "connected"])
    rig.request(.disconnect(peer), from: .one)
    #expect(rig.log().last == "disconnected")
    #expect(!rig.controller.opcodes.contains(.disconnect))
    rig.handle(.clientClosed(.two))
    // The peer is still owed the MTU exchange; it never comes to acknowledge it.
    #expect(!rig.controller.opcodes.contains(.disconnect))
    rig.pass(.seconds(1))
    #expect(rig.controller.last(Disconnect.self)?.handle == 0x40)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .localHostTerminatedConnection))
    #expect(rig.log() == ["linkOpened", "connected", "disconnected", "linkClosed"])
  }

  @Test("a host reports the disconnection to the client that requested it once the link is down")
  func disconnecting() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    rig.request(.disconnect(peer))
    #expect(rig.log() == ["linkOpened", "connected"])
    // Wanted again before that: made again after it.
    rig.request(.connect(peer, ConnectOptions()))
    rig.controller.received = []
    rig.event(DisconnectionComplete(handle: 0x40, reason: .localHostTerminatedConnection))
    #expect(rig.log() == ["linkOpened", "connected", "disconnected", "linkClosed"])
    rig.pass(.seconds(1))
    #expect(rig.controller.opcodes == [.leCreateConnection])
    rig.connect(peer, handle: 0x41)
    #expect(rig.log().suffix(2) == ["linkOpened", "connected"])
  }

  @Test("a host reports a lost link with the reason, and reconnects it if requested")
  func loss() {
    var rig = HostRig.started()
    rig.handle(.clientOpened(.two))
    var options = ConnectOptions()
    rig.request(.connect(peer, options), from: .one)
    options.reconnectsAutomatically = true
    rig.request(.connect(peer, options), from: .two)
    rig.connect(peer)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionTimeout))
    #expect(rig.log() == ["linkOpened", "connected", "lost", "linkClosed"])
    #expect(rig.log(of: .two).suffix(2) == ["lost, reconnecting", "linkClosed"])
    rig.pass(.seconds(1))
    rig.connect(peer)
    #expect(rig.log().last == "linkOpened")
    #expect(rig.log(of: .two).last == "connected")
  }

  @Test("a host cancels a connection attempt that no client wants any more")
  func cancelling() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.request(.disconnect(peer))
    #expect(rig.log() == ["disconnected"])
    #expect(rig.controller.opcodes.last == .leCreateConnectionCancel)
    // The race: it was connected already.
    rig.connect(peer, isHeard: false)
    #expect(rig.controller.opcodes.last == .disconnect)
    rig.event(DisconnectionComplete(handle: 0x40, reason: .localHostTerminatedConnection))
    #expect(rig.log() == ["disconnected"])
    // And now another.
    rig.request(.connect(.peer(2), ConnectOptions()))
    #expect(rig.controller.opcodes.last == .leCreateConnection)
  }

  @Test("a host cancels the connection even if the peer seemed to be connecting itself")
  func givenUpWhileThePeerConnects() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer, role: .peripheral, isHeard: false)
    rig.request(.disconnect(peer))
    rig.event(DisconnectionComplete(handle: 0x40, reason: .connectionFailedToBeEstablished))
    #expect(rig.machine.connector.pendingCount == 0)
    #expect(rig.controller.opcodes.last == .leCreateConnectionCancel)
  }

  @Test("a host goes on after a cancel that the controller refused or forgot")
  func cancelRefused() {
    for fault in [ScriptedController.Fault.status(.memoryCapacityExceeded), nil] {
      var rig = HostRig.started()
      rig.controller.faults[.leCreateConnectionCancel] = fault
      rig.request(.connect(peer, ConnectOptions()))
      rig.request(.disconnect(peer))
      rig.controller.received = []
      rig.request(.connect(.peer(2), ConnectOptions()))
      rig.pass(.seconds(3))
      #expect(rig.controller.last(LECreateConnection.self)?.peer.address == .peer(2))
    }
  }

  @Test("a host recovers from a connection attempt of the controller that it has forgotten")
  func strayAttempt() {
    var rig = HostRig.started()
    rig.controller.faults[.leCreateConnection] = .status(.commandDisallowed)
    rig.request(.connect(peer, ConnectOptions()))
    rig.pass(.seconds(1))
    #expect(rig.controller.opcodes.contains(.leCreateConnectionCancel))
    rig.controller.faults = [:]
    rig.controller.received = []
    rig.pass(.seconds(5))
    #expect(rig.controller.opcodes.contains(.leCreateConnection))
    rig.connect(peer)
    #expect(rig.log() == ["linkOpened", "connected"])
  }

  @Test("a host connects several requested peers by the filter accept list, whichever comes first")
  func acceptList() {
    var rig = HostRig.started()
    for number in 1...5 { rig.request(.connect(.peer(UInt64(number)), ConnectOptions())) }
    endAttempt(&rig)
    #expect(rig.controller.last(LECreateConnection.self)?.filterPolicy == .filterAcceptList)
    let listed = rig.controller.opcodes.filter { $0 == .leAddDeviceToFilterAcceptList }.count
    #expect(listed == 5)
    rig.connect(.peer(4))
    #expect(rig.log() == ["linkOpened", "connected"])
    endAttempt(&rig)
    #expect(rig.controller.last(LECreateConnection.self)?.filterPolicy == .filterAcceptList)
    for (handle, number) in [(0x41, 1), (0x42, 2), (0x43, 3), (0x44, 5)] as [(UInt16, UInt64)] {
      rig.connect(.peer(number), handle: handle)
      endAttempt(&rig)
    }
    #expect(rig.log().filter { $0 == "connected" }.count == 5)
  }

  @Test("a host connects each of a hundred requested peers, though the list takes eight")
  func manyPeers() {
    var rig = HostRig.started()
    for number in 1...100 { rig.request(.connect(.peer(UInt64(number)), ConnectOptions())) }
    var tried: Set<DeviceAddress> = []
    for _ in 0..<200 {
      endAttempt(&rig)
      rig.pass(.milliseconds(500))
      for command in rig.controller.received
      where command.opcode == .leAddDeviceToFilterAcceptList {
        if let peer = try? command.decode(as: LEAddDeviceToFilterAcceptList.self).address {
          tried.insert(peer)
        }
      }
    }
    #expect(tried.count == 100)
  }

  /// Answers a cancel as a controller does.
  private func endAttempt(_ rig: inout HostRig) {
    guard rig.controller.opcodes.last == .leCreateConnectionCancel else { return }
    rig.event(
      LEConnectionComplete(
        status: .unknownConnection, handle: 0, role: .central,
        peer: PeerAddress(DeviceAddress(bits: 0, kind: .public)), timing: .usual))
  }

  @Test("a connection fails when the controller has no room for more")
  func limit() {
    var rig = HostRig.started()
    rig.controller.faults[.leCreateConnection] = .status(.connectionLimitExceeded)
    rig.request(.connect(peer, ConnectOptions()))
    #expect(rig.log() == ["connectionFailed"])
  }

  @Test("a host connects while it scans and advertises, which goes on when a central comes")
  func peripheral() {
    for controller in [ScriptedController(), .extended] {
      var rig = HostRig.started(controller)
      let token = rig.token()
      rig.request(.startScan(ScanOptions()))
      rig.request(.startAdvertising(AdvertisingOptions(), token))
      rig.request(.connect(peer, ConnectOptions()))
      #expect(rig.results(of: token) == [.success(.done)])
      rig.controller.received = []
      rig.connect(.peer(9), handle: 0x50, role: .peripheral, isHeard: false)
      if rig.machine.abilities.usesExtendedCommands {
        rig.event(LEAdvertisingSetTerminated(set: 0, handle: 0x50))
        #expect(rig.controller.opcodes == [.leSetExtendedAdvertisingEnable])
      } else {
        #expect(rig.controller.opcodes == [.leSetAdvertisingEnable])
      }
      rig.pass(.seconds(1))
      #expect(rig.log() == ["completed", "linkOpened"])
      rig.connect(peer)
      #expect(rig.log() == ["completed", "linkOpened", "linkOpened", "connected"])
    }
  }

  @Test("a host reports its links as lost before it reports that the radio is off")
  func powerOff() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    let token = rig.token()
    rig.request(.gatt(peer, .read(3), token))
    rig.handle(.transportClosed(.transport("The plug was pulled.")))
    #expect(
      rig.log() == ["linkOpened", "connected", "failed", "lost", "linkClosed", "poweredOff"])
    #expect(rig.results(of: token).count == 1)
    let late = rig.token()
    rig.request(.gatt(peer, .read(3), late))
    #expect(rig.results(of: late) == [.failure(.radioNotReady)])
  }

  @Test("a host answers peers' requests for keys and for other timing")
  func requestsOfPeers() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    rig.event(LELongTermKeyRequest(handle: 0x40, random: 0, diversifier: 0))
    #expect(rig.controller.opcodes.last == .leLongTermKeyRequestNegativeReply)
    rig.event(
      LERemoteConnectionParameterRequest(
        handle: 0x40, intervalMinUnits1250us: 12, intervalMaxUnits1250us: 24, latency: 0,
        timeoutUnits10ms: 100))
    #expect(rig.controller.opcodes.last == .leRemoteConnectionParameterRequestReply)
    rig.event(
      LERemoteConnectionParameterRequest(
        handle: 0x40, intervalMinUnits1250us: 24, intervalMaxUnits1250us: 12, latency: 0,
        timeoutUnits10ms: 100))
    #expect(rig.controller.opcodes.last == .leRemoteConnectionParameterRequestNegativeReply)
  }

  @Test(
    "a peer is refused pairing by a host that never pairs, with the reason",
    arguments: [
      // Pairing Request, with a key size that there isn't, cut; Security Request.
      ([1, 3, 0, 1, 16, 7, 7], 0x05), ([1, 3, 0, 1, 17, 7, 7], 0x0A), ([1, 3, 0], 0x0A),
      ([11, 1], 0x05),
      // Unknown; of a pairing that never began; cut; empty.
      ([0x0F], nil), ([3] + Array(repeating: 1, count: 16), nil), ([3, 1], nil), ([], nil),
    ] as [([UInt8], UInt8?)])
  func pairing(pdu: [UInt8], reason: UInt8?) {
    var rig = HostRig.started()
    rig.machine.security.policy = .never
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    rig.data = []
    let frame = OutgoingFrame(channel: 6, payload: pdu)
    rig.handle(
      .packet(ACLHeader.packet(handle: 0x40, boundary: .firstFlushable, payload: frame.bytes)))
    let answers: [[UInt8]] = reason.map { [[2, 0, 6, 0, 5, $0]] } ?? []
    #expect(rig.data.map { Array($0.bytes.dropFirst(4)) } == answers)
  }

  @Test("a host reads the signal strength of a link and changes its timing")
  func strengthAndTiming() {
    var rig = HostRig.started()
    rig.request(.connect(peer, ConnectOptions()))
    rig.connect(peer)
    let rssi = rig.token()
    rig.request(.readRSSI(peer, rssi))
    #expect(rig.results(of: rssi) == [.success(.rssi(-50))])
    let timing = rig.token()
    rig.request(.updateParameters(peer, .default, timing))
    #expect(rig.results(of: timing).isEmpty)
    rig.event(LEConnectionUpdateComplete(handle: 0x40, timing: .usual))
    #expect(rig.results(of: timing) == [.success(.done)])
    rig.controller.faults[.leConnectionUpdate] = .status(.commandDisallowed)
    let refused = rig.token()
    rig.request(.updateParameters(peer, .default, refused))
    #expect(rig.results(of: refused) == [.failure(.controller(.commandDisallowed))])
  }
}
