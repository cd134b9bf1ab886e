import BluetoothInterface
import BluetoothWire
import Essentials
import L2CAPMachines

// Packets from the controller, carried to the machines that they concern, and data on its way out.

extension HostMachine {
  mutating func receive(_ packet: HCIPacket, now: Instant, into actions: inout [Action]) {
    switch packet.kind {
    case .acl: receiveData(packet.bytes, now: now, into: &actions)
    case .event: receiveEvent(packet.bytes, now: now, into: &actions)
    case .command, .synchronous, .isochronous: routing.malformedPackets += 1
    }
  }

  private mutating func receiveData(
    _ bytes: ArraySlice<UInt8>, now: Instant, into actions: inout [Action]
  ) {
    // As with events: what comes before the start belongs to an earlier session.
    guard session.isReady else {
      routing.strayPackets += 1
      return
    }
    guard let (header, payload) = try? ACLHeader.decode(from: bytes) else {
      routing.malformedPackets += 1
      return
    }
    guard let index = links.index(handle: header.handle) else {
      let packet = HCIPacket(kind: .acl, bytes: bytes)
      if keepForHeldLink(packet, handle: header.handle, now: now, into: &actions) { return }
      routing.strayPackets += 1
      backlog.receivedStray(header.handle)
      // Unless its Connection Complete is on the way, the controller has a link that this host
      // doesn't know.
      addOrphan(header.handle, denialsLeft: 1, now: now)
      return
    }
    backlog.received(links.handles[index])
    currentPacketHandle = links.handles[index]
    confirm(index, into: &actions)
    // It was given up before the peer was heard: no client ever learns of it, nor of what comes over it.
    guard links.entries[index].isAnnounced else {
      routing.strayPackets += 1
      return
    }
    withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
      l2cap.receive(payload, continuing: !header.boundary.isFirst, now: now, into: &outputs)
    }
  }

  private mutating func receiveEvent(
    _ bytes: ArraySlice<UInt8>, now: Instant, into actions: inout [Action]
  ) {
    guard let event = try? HCIEvent(decoding: bytes) else {
      routing.malformedPackets += 1
      return
    }
    switch event {
    case .commandComplete(let event):
      withSession(now: now, into: &actions) { machine, outputs in
        machine.session.receive(event, now: now, into: &outputs)
      }
    case .commandStatus(let event):
      withSession(now: now, into: &actions) { machine, outputs in
        machine.session.receive(event, now: now, into: &outputs)
      }
    case .hardwareError(let event):
      if session.isListening { hardwareFailed(event.hardwareCode, now: now, into: &actions) }
    default:
      guard session.isReady else { return }
      if bytes.first == HCIEventCode.leMeta { watch.confirmHealthy(now: now) }
      if !heldLinks.isEmpty, keepForHeldLink(event, bytes, now: now, into: &actions) { return }
      receive(event, now: now, into: &actions)
    }
  }

  private mutating func receive(
    _ event: HCIEvent, now: Instant, into actions: inout [Action]
  ) {
    switch event {
    case .numberOfCompletedPackets(let event): packetsCompleted(event, now: now, into: &actions)
    case .leAdvertisingReport(let reports): heard(reports, now: now, into: &actions)
    case .leExtendedAdvertisingReport(let reports): heard(reports, now: now, into: &actions)
    case .leConnectionComplete(let event):
      connectionCompleted(LinkReport(event), now: now, into: &actions)
    case .leEnhancedConnectionComplete(let event):
      connectionCompleted(LinkReport(event), now: now, into: &actions)
    case .disconnectionComplete(let event): disconnected(event, now: now, into: &actions)
    case .leAdvertisingSetTerminated(let event):
      advertiser.advertisingEnded(set: Int(event.set))
      needsCommands = true
    case .dataBufferOverflow(let event) where event.linkType == DataBufferOverflow.acl:
      // It counts its buffers otherwise than this host, and threw away data that peers now lack;
      // unless it holds none of this host's.
      guard scheduler.hasPacketsInController else { return }
      let error = HostError.transport("The controller lost data for lack of buffers.")
      controllerFailed(error, now: now, into: &actions)
    default: receiveLinkEvent(event, now: now, into: &actions)
    }
  }

  private mutating func receiveLinkEvent(
    _ event: HCIEvent, now: Instant, into actions: inout [Action]
  ) {
    switch event {
    case .leConnectionUpdateComplete(let event): timingChanged(event, into: &actions)
    case .leReadRemoteFeaturesComplete(let event):
      remoteFeaturesRead(event, now: now, into: &actions)
    case .leDataLengthChange(let event):
      linkChanged(event.handle, .success, into: &actions) { $0.setDataLength(event.length) }
    case .lePHYUpdateComplete(let event):
      linkChanged(event.handle, event.status, into: &actions) {
        $0.transmitPHY = event.transmit
        $0.receivePHY = event.receive
      }
    case .leSubrateChange(let event):
      linkChanged(event.handle, event.status, into: &actions) { $0.setSubrate(event.subrate) }
    case .encryptionChange(let event):
      encryptionChanged(
        event.handle, event.status, isOn: event.encryption != .off, now: now, into: &actions)
    case .encryptionKeyRefreshComplete(let event):
      encryptionChanged(event.handle, event.status, isOn: true, now: now, into: &actions)
    case .leLongTermKeyRequest(let event):
      longTermKeyRequested(event, now: now, into: &actions)
    case .leRemoteConnectionParameterRequest(let event):
      answer(event, now: now, into: &actions)
    default: break
    }
  }

  // MARK: Advertisers

  private mutating func heard(
    _ reports: LEAdvertisingReports, now: Instant, into actions: inout [Action]
  ) {
    for report in reports {
      let kind = report.kind
      let heard = Scanner.Report(
        address: knownAddress(
          of: report.advertiser,
          isConnectable: kind == .connectable || kind == .directed, now: now),
        isConnectable: kind == .connectable || kind == .directed,
        isScannable: kind == .connectable || kind == .scannable,
        isScanResponse: kind == .scanResponse, isLegacy: true, rssi: report.rssi ?? 127,
        data: report.data)
      scanner.heard(heard, now: now, into: &actions)
    }
  }

  private mutating func heard(
    _ reports: LEExtendedAdvertisingReports, now: Instant, into actions: inout [Action]
  ) {
    for report in reports {
      // An anonymous advertiser can't be distinguished from others.
      guard let advertiser = report.advertiser else { continue }
      let heard = Scanner.Report(
        address: knownAddress(
          of: advertiser,
          isConnectable: report.type.contains(.connectable)
            && !report.type.contains(.scanResponse), now: now),
        set: report.setID,
        isConnectable: report.type.contains(.connectable),
        isScannable: report.type.contains(.scannable),
        isScanResponse: report.type.contains(.scanResponse),
        isLegacy: report.type.contains(.legacy), continues: report.type.contains(.moreToCome),
        rssi: report.rssi ?? 127, txPower: report.txPowerDBm ?? 127, data: report.data)
      scanner.heard(heard, now: now, into: &actions)
    }
  }

  // MARK: Data on its way out

  private mutating func packetsCompleted(
    _ event: NumberOfCompletedPackets, now: Instant, into actions: inout [Action]
  ) {
    for entry in event {
      let handle = entry.handle & 0x0FFF
      scheduler.completed(handle: handle, count: Int(entry.count))
      // The peer's controller acknowledged them.
      if entry.count > 0, let index = links.index(handle: handle) {
        confirm(index, into: &actions)
        disconnectIfFlushed(index, now: now, into: &actions)
      }
      keysAcknowledged(handle, now: now, into: &actions)
    }
  }

  /// Sends what the controller has room for. Frames that went out may bring new ones.
  mutating func drain(now: Instant, into actions: inout [Action]) {
    var produced: [ACLScheduler.Output] = []
    swap(&produced, &outputs.scheduler)
    while true {
      scheduler.drain(into: &produced)
      if produced.isEmpty { break }
      produced.takeEach { (output: consuming ACLScheduler.Output) in
        switch consume output {
        case .send(let packet): actions.append(.send(packet))
        case .handedOver(let handle, let tag):
          if let index = links.index(handle: handle) {
            handedOver(tag, link: index, now: now, into: &actions)
          }
        case .overflowed(let handle):
          if let index = links.index(handle: handle) {
            let error = HostError.limitReached("data waiting for a peer that doesn't take it")
            disconnectLink(index, because: error, now: now, into: &actions)
          }
        }
      }
    }
    swap(&produced, &outputs.scheduler)
  }
}

/// What both forms of LE Connection Complete report.
struct LinkReport: Sendable {
  var status: HCIStatus
  var handle: UInt16
  var role: LinkInfo.Role
  /// The address of the peer on the air; of one that the controller resolved and didn't report, its
  /// identity.
  var peer: DeviceAddress
  /// The identity that the controller resolved the peer's address to; nil: none.
  var identity: DeviceAddress?
  /// The address of this host on the air, where the controller made it.
  var local: DeviceAddress?
  var timing: ConnectionTiming

  init(_ event: LEConnectionComplete) {
    status = event.status
    handle = event.handle & 0x0FFF
    role = event.role == .central ? .central : .peripheral
    peer = event.peer.address
    timing = event.timing
  }

  init(_ event: LEEnhancedConnectionComplete) {
    status = event.status
    handle = event.handle & 0x0FFF
    role = event.role == .central ? .central : .peripheral
    peer = event.peerPrivateAddress ?? event.peer.address
    identity = event.peer.isIdentity ? event.peer.address : nil
    local = event.localPrivateAddress
    timing = event.timing
  }
}
