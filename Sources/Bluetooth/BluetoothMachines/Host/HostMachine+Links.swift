import BluetoothWire
import Essentials

// Links from their first packet to their last.

extension HostMachine {
  /// Where in `links` the link of a handle stands.
  func linkIndex(handle: UInt16) -> Int? { linkHandles.firstIndex(of: handle & 0x0FFF) }

  /// Where in `links` the link to a peer stands.
  func linkIndex(peer: DeviceAddress) -> Int? { linkPeers.firstIndex(of: peer) }

  // MARK: Opening

  mutating func connectionCompleted(
    _ report: LinkReport, now: Instant, into actions: inout [Action]
  ) {
    needsCommands = true
    if report.role == .central || report.status != .success {
      take(
        connector.connectionCompleted(report.status, peer: report.peer, now: now), into: &actions)
    }
    guard report.status == .success else { return }
    orphans.removeAll { $0.handle == report.handle }
    if report.role == .peripheral { advertiser.advertisingEnded(set: nil) }
    if let old = linkIndex(handle: report.handle) {
      // The controller forgot to tell that this one ended.
      closeLink(old, .disconnected(.unspecifiedError), now: now, into: &actions)
    }
    if let old = linkIndex(peer: report.peer) {
      // The peer lost the link and came back before our supervision timeout noticed.
      let handle = linkHandles[old]
      send(Disconnect(handle: handle).packet, now: now, into: &actions)
      addOrphan(handle, now: now)
      closeLink(
        old, .disconnected(.connectionTimeout), isKnownToController: true, now: now,
        into: &actions)
      connector.remove(report.peer)
    }
    guard links.count < Limits.linksMax else {
      send(Disconnect(handle: report.handle).packet, now: now, into: &actions)
      addOrphan(report.handle, now: now)
      let error = HostError.connectionFailed(.connectionLimitExceeded)
      return connectingFailed(report.peer, error, into: &actions)
    }
    openLink(report, now: now, into: &actions)
  }

  private mutating func openLink(
    _ report: LinkReport, now: Instant, into actions: inout [Action]
  ) {
    var info = LinkInfo(peer: report.peer, role: report.role)
    info.intervalUnits = report.timing.intervalUnits1250us
    info.latency = report.timing.latency
    info.timeoutUnits = report.timing.timeoutUnits10ms
    // Six intervals, one more for the packet that was under way, and what the controller takes.
    let confirmation = now + info.interval * 7 + .milliseconds(30)
    links.append(
      Link(
        handle: report.handle, info: info, stage: .unconfirmed(until: confirmation),
        l2cap: L2CAPLink(role: report.role, attributeMTU: configuration.mtuMax),
        gatt: GATTClient(mtuMax: configuration.mtuMax)))
    linkHandles.append(report.handle)
    linkPeers.append(report.peer)
    due(confirmation)
    scheduler.open(handle: report.handle)
    server.linkOpened(report.peer)
    if report.role == .central { setUpCentralLink(links.count - 1, now: now, into: &actions) }
  }

  private mutating func setUpCentralLink(
    _ index: Int, now: Instant, into actions: inout [Action]
  ) {
    let handle = linkHandles[index]
    let peer = linkPeers[index]
    guard let hold = holds.first(where: { $0.peer == peer && $0.state == .pending }) else {
      // Everybody gave up while it was being made.
      return disconnectLink(index, because: nil, now: now, into: &actions)
    }
    // An answer also proves that the peer is there.
    send(
      LEReadRemoteFeatures(handle: handle).packet, for: .optional, now: now, into: &actions)
    if abilities.canLengthenPackets {
      let length = LESetDataLength(
        handle: handle, txOctets: UInt16(clamping: abilities.linkDataByteCountMax),
        txTimeMicroseconds: UInt16(clamping: abilities.linkDataTimeMaxMicroseconds))
      send(length.packet, for: .optional, now: now, into: &actions)
    }
    // An attempt for several peers at once has the timing that the first of them was to have.
    let wanted = hold.options.parameters
    if !wanted.intervalUnits.contains(links[index].info.intervalUnits) {
      updateTiming(of: index, wanted, now: now, into: &actions)
    }
    guard let index = linkIndex(handle: handle) else { return }
    introduce(index, now: now, into: &actions)
  }

  /// The peer was heard: the link exists, and clients may know.
  mutating func confirm(_ index: Int, into actions: inout [Action]) {
    guard case .unconfirmed = links[index].stage else { return }
    links[index].stage = .open
    links[index].isAnnounced = true
    let peer = linkPeers[index]
    connector.remove(peer)
    tellAll(.linkOpened(links[index].info), into: &actions)
    for hold in holds.indices where holds[hold].peer == peer && holds[hold].state == .pending {
      holds[hold].state = .connected
      tell(holds[hold].client, .connected(peer), into: &actions)
    }
  }

  // MARK: Changes

  /// The peer told what its link layer can: twice the speed where both can that.
  mutating func remoteFeaturesRead(
    _ event: LEReadRemoteFeaturesComplete, now: Instant, into actions: inout [Action]
  ) {
    guard let index = linkIndex(handle: event.handle) else { return }
    if event.status != .connectionFailedToBeEstablished { confirm(index, into: &actions) }
    guard event.status == .success, event.features.contains(.le2M), abilities.canUse2M,
      links[index].info.role == .central, !links[index].isClosing
    else { return }
    let preference = PHYPreference(transmit: .le2M, receive: .le2M)
    send(
      LESetPHY(handle: links[index].handle, preference: preference).packet, for: .optional,
      now: now, into: &actions)
  }

  mutating func announceUpdate(_ index: Int, into actions: inout [Action]) {
    if links[index].isAnnounced { tellAll(.linkUpdated(links[index].info), into: &actions) }
  }

  mutating func timingChanged(
    _ event: LEConnectionUpdateComplete, into actions: inout [Action]
  ) {
    guard let index = linkIndex(handle: event.handle) else { return }
    confirm(index, into: &actions)
    guard event.status == .success else {
      return parametersUpdated(event.handle, .controller(event.status), into: &actions)
    }
    links[index].info.intervalUnits = event.timing.intervalUnits1250us
    links[index].info.latency = event.timing.latency
    links[index].info.timeoutUnits = event.timing.timeoutUnits10ms
    announceUpdate(index, into: &actions)
    parametersUpdated(event.handle, nil, into: &actions)
  }

  /// Tells those who asked for other connection parameters what came of it.
  mutating func parametersUpdated(
    _ handle: UInt16, _ error: HostError?, into actions: inout [Action]
  ) {
    guard let index = linkIndex(handle: handle) else { return }
    links[index].timingDue = nil
    let waiters = links[index].parameterWaiters
    links[index].parameterWaiters = []
    for waiter in waiters {
      complete(waiter, error.map { .failure($0) } ?? .success(.done), into: &actions)
    }
  }

  /// A peripheral that uses the link layer's procedure gets what it asks for, if it makes sense.
  mutating func answer(
    _ event: LERemoteConnectionParameterRequest, now: Instant, into actions: inout [Action]
  ) {
    let isOrdered = event.intervalMinUnits1250us <= event.intervalMaxUnits1250us
    let wanted = ConnectionParameters(
      intervalUnits: isOrdered
        ? event.intervalMinUnits1250us...event.intervalMaxUnits1250us : 0...0,
      latency: event.latency, timeoutUnits: event.timeoutUnits10ms)
    let packet =
      wanted.isValid
      ? LERemoteConnectionParameterRequestReply(
        handle: event.handle, timing: ConnectionTimingRequest(wanted)
      ).packet
      : LERemoteConnectionParameterRequestNegativeReply(
        handle: event.handle, reason: .unacceptableConnectionParameters
      ).packet
    send(packet, now: now, into: &actions)
  }

  mutating func encryptionChanged(_ event: EncryptionChange, into actions: inout [Action]) {
    guard let index = linkIndex(handle: event.handle), event.status == .success else { return }
    confirm(index, into: &actions)
    links[index].info.isEncrypted = event.encryption != .off
    server.setEncrypted(links[index].info.isEncrypted, linkPeers[index])
    announceUpdate(index, into: &actions)
  }

  // MARK: Closing

  /// Ends a link from this side: because of an error, or because nobody holds it any more.
  mutating func disconnectLink(
    _ index: Int, because error: HostError?, now: Instant, into actions: inout [Action]
  ) {
    guard !links[index].isClosing else { return }
    links[index].closeReason = error
    if error == nil, links[index].stage == .open, scheduler.isBusy(handle: linkHandles[index]) {
      let patience = now + Limits.emptyingPatience
      links[index].stage = .emptying(until: patience)
      due(patience)
    } else {
      sendDisconnect(index, now: now, into: &actions)
    }
  }

  /// The controller got rid of packets of a link: ends the link if that was all it waited for.
  mutating func endIfEmptied(_ index: Int, now: Instant, into actions: inout [Action]) {
    guard case .emptying = links[index].stage, !scheduler.isBusy(handle: linkHandles[index]) else {
      return
    }
    sendDisconnect(index, now: now, into: &actions)
  }

  private mutating func sendDisconnect(
    _ index: Int, now: Instant, into actions: inout [Action]
  ) {
    let patience = now + links[index].info.supervisionTimeout + Limits.closePatience
    links[index].stage = .closing(until: patience)
    due(patience)
    let handle = linkHandles[index]
    send(
      Disconnect(handle: handle).packet, for: .disconnecting(handle), now: now, into: &actions)
  }

  mutating func disconnectAnswered(
    _ status: HCIStatus, handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    guard status != .success else { return }
    let isDenied = status == .unknownConnection
    if isDenied { denied(handle) }
    guard let index = linkIndex(handle: handle), links[index].isClosing else { return }
    // The controller has no such link, or won't end it, which comes to the same for clients.
    let error = links[index].closeReason ?? .disconnected(.localHostTerminatedConnection)
    closeLink(index, error, isKnownToController: !isDenied, now: now, into: &actions)
    addOrphan(handle, now: now)
  }

  /// The controller says that there is no such link, for which it then holds no buffers.
  private mutating func denied(_ handle: UInt16) {
    guard let orphan = orphans.firstIndex(where: { $0.handle == handle }) else { return }
    orphans[orphan].denialsLeft -= 1
    guard orphans[orphan].denialsLeft <= 0 else { return }
    orphans.remove(at: orphan)
    if linkIndex(handle: handle) == nil { scheduler.close(handle: handle) }
  }

  /// The controller keeps a link that is closed for clients. It must end before the peer can be
  /// reached again, so the controller is told until it obeys.
  mutating func addOrphan(
    _ handle: UInt16, denialsLeft: Int = Limits.denialsMax, now: Instant
  ) {
    guard orphans.count < Limits.linksMax, !orphans.contains(where: { $0.handle == handle })
    else { return }
    orphans.append(
      Orphan(
        handle: handle, retryAt: now + Limits.orphanPatience, denialsLeft: denialsLeft))
    due(now + Limits.orphanPatience)
  }

  mutating func wakeOrphans(now: Instant, into actions: inout [Action]) {
    for index in orphans.indices where orphans[index].retryAt <= now {
      orphans[index].retryAt = now + Limits.orphanPatience
      let handle = orphans[index].handle
      // One at a time: a controller that doesn't answer must not fill the line of commands.
      guard session.waitingCount == 0 else { continue }
      send(
        Disconnect(handle: handle).packet, for: .disconnecting(handle), now: now, into: &actions)
    }
  }

  mutating func disconnected(
    _ event: DisconnectionComplete, now: Instant, into actions: inout [Action]
  ) {
    guard event.status == .success else { return }
    let handle = event.handle & 0x0FFF
    orphans.removeAll { $0.handle == handle }
    guard let index = linkIndex(handle: handle) else {
      counters.strayPackets += 1
      // Or one that was closed before its controller had let go of it.
      scheduler.close(handle: handle)
      return
    }
    let wasNeverThere =
      event.reason == .connectionFailedToBeEstablished
      || (event.reason == .connectionTimeout && !links[index].isConfirmed)
    // A peer that ends the link itself has been there.
    if !wasNeverThere, !links[index].isClosing { confirm(index, into: &actions) }
    let error = links[index].closeReason ?? .disconnected(event.reason)
    closeLink(index, error, now: now, into: &actions)
  }

  /// Forgets a link: fails what hung on it, then tells those who held it, then everybody.
  ///
  /// The end of a link that was never announced is silent: those who wanted it go on waiting. As
  /// long as a link is known to the controller, what it holds of the controller's buffers stays in
  /// use.
  mutating func closeLink(
    _ index: Int, _ error: HostError, isKnownToController: Bool = false, now: Instant,
    into actions: inout [Action]
  ) {
    var link = links.remove(at: index)
    linkHandles.remove(at: index)
    linkPeers.remove(at: index)
    if isKnownToController {
      scheduler.abandon(handle: link.handle)
    } else {
      scheduler.close(handle: link.handle)
    }
    failOperations(of: &link, error, into: &actions)
    closeChannels(of: &link, error, into: &actions)
    closeServerLink(link.peer, now: now, into: &actions)
    for waiter in link.parameterWaiters { complete(waiter, .failure(error), into: &actions) }
    releaseHolds(of: link, error, now: now, into: &actions)
    if link.isAnnounced { tellAll(.linkClosed(link.peer, error), into: &actions) }
    needsCommands = true
  }

  mutating func wakeLinks(now: Instant, into actions: inout [Action]) {
    for handle in linkHandles {
      guard let index = linkIndex(handle: handle) else { continue }
      switch links[index].stage {
      case .unconfirmed(let until) where until <= now: confirm(index, into: &actions)
      case .closing(let until) where until <= now:
        let error = links[index].closeReason ?? .disconnected(.localHostTerminatedConnection)
        closeLink(index, error, isKnownToController: true, now: now, into: &actions)
        addOrphan(handle, now: now)
        continue
      case .emptying(let until) where until <= now:
        sendDisconnect(index, now: now, into: &actions)
      case .unconfirmed, .emptying, .closing, .open: break
      }
      if let due = links[index].timingDue, due <= now {
        parametersUpdated(handle, .controller(.linkResponseTimeout), into: &actions)
      }
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.wake(now: now, into: &outputs)
      }
      guard let index = linkIndex(handle: handle) else { continue }
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.wake(now: now, into: &outputs)
      }
    }
  }
}

extension ConnectionParameters {
  /// Whether a link can have them (Core 5.4, Vol 4, Part E, §7.8.12): every field in its range, and
  /// a timeout longer than two intervals of the silence that the latency allows.
  var isValid: Bool {
    intervalUnits.lowerBound >= 6 && intervalUnits.upperBound <= 3200 && latency <= 499
      && (10...3200).contains(timeoutUnits)
      && Int(timeoutUnits) * 4 > (1 + Int(latency)) * Int(intervalUnits.upperBound)
  }
}
