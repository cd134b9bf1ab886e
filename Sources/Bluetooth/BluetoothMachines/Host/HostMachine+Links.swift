import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// Links from their first event to their last.

extension HostMachine {
  // MARK: Opening

  mutating func connectionCompleted(
    _ report: LinkReport, now: Instant, into actions: inout [Action]
  ) {
    needsCommands = true
    if report.identity != nil, resolvingList.addressResolved() { resolvingProved() }
    let identity = report.identity ?? (resolvingList.hides(report.peer) ? report.peer : nil)
    let resolved = identity.flatMap { security.bonds.knownAddress(ofResolved: $0) }
    // A client may wait for a private address that it knew before the peer was bonded.
    let known = resolved ?? security.bonds.knownAddress(of: report.peer)
    let peer = connector.peer(at: report.peer, known: known) ?? known
    if report.role == .central || report.status != .success {
      take(connector.connectionCompleted(report.status, peer: peer, now: now), into: &actions)
    }
    guard report.status == .success else { return }
    links.orphans.remove(report.handle)
    // The controller did not report the end of the one that had this handle.
    if heldLinks.remove(report.handle) != nil { session.linkClosed(report.handle) }
    if report.role == .peripheral { advertiser.advertisingEnded(set: nil) }
    if let old = links.index(handle: report.handle) {
      // The controller did not report the end of this one.
      closeLink(old, .disconnected(.unspecifiedError), now: now, into: &actions)
    }
    if let old = links.index(peer: peer) {
      if mustHold(because: old) {
        return hold(report, of: peer, because: old, now: now, into: &actions)
      }
      replaceLink(old, now: now, into: &actions)
    }
    admitLink(report, to: peer, now: now, into: &actions)
  }

  /// Ends a link whose peer lost it and came back before our supervision timeout noticed.
  mutating func replaceLink(_ old: Int, now: Instant, into actions: inout [Action]) {
    let handle = links.handles[old]
    let peer = links.peers[old]
    send(Disconnect(handle: handle).packet, now: now, into: &actions)
    closeLink(
      old, .disconnected(.connectionTimeout), isKnownToController: true, now: now, into: &actions)
    addOrphan(handle, now: now)
    connector.remove(peer)
  }

  /// Opens a link, if there is room.
  mutating func admitLink(
    _ report: LinkReport, to peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard !links.isFull else {
      refuse(report.handle, now: now, into: &actions)
      let error = HostError.connectionFailed(.connectionLimitExceeded)
      return connectingFailed(peer, error, into: &actions)
    }
    openLink(report, to: peer, now: now, into: &actions)
  }

  private mutating func openLink(
    _ report: LinkReport, to peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    var info = LinkInfo(peer: peer, role: report.role)
    info.setTiming(report.timing)
    let link = Link(
      handle: report.handle, info: info,
      addresses: LinkAddresses(local: report.local ?? addressOnAir, peer: report.peer),
      mtuMax: configuration.mtuMax, now: now)
    due(link.nextWake)
    let index = links.append(link)
    scheduler.open(handle: report.handle)
    backlog.linkOpened(report.handle)
    server.linkOpened(peer)
    server.setEncryption(
      nil, peer, hasKey: security.usableBond(of: peer)?.peripheralKey != nil)
    if report.role == .central { setUpCentralLink(index, now: now, into: &actions) }
  }

  private mutating func setUpCentralLink(
    _ index: Int, now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    guard let options = linkRequests.firstPending(links.peers[index]) else {
      // Every client gave up while it was being made.
      return disconnectLink(index, because: nil, now: now, into: &actions)
    }
    links.entries[index].prefersCoded = options.usesCodedPHY
    // Nothing is asked of a bonded peer before it has proved that it is the one; first of all, because
    // the link layer runs one procedure after the other.
    encryptWithBond(index, now: now, into: &actions)
    guard let index = links.index(handle: handle) else { return }
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
    if !options.parameters.intervalUnits.contains(links.entries[index].info.intervalUnits) {
      updateTiming(of: index, options.parameters, now: now, into: &actions)
    }
    guard let index = links.index(handle: handle) else { return }
    startLinkSetup(index, now: now, into: &actions)
  }

  /// The peer was heard: the link exists, and clients may know.
  mutating func confirm(_ index: Int, into actions: inout [Action]) {
    guard !links.entries[index].isConfirmed, links.entries[index].confirm() else { return }
    let peer = links.peers[index]
    connector.remove(peer)
    announceLink(links.entries[index].info, into: &actions)
    for client in linkRequests.linkOpened(peer) {
      backlog.linkUsed(links.handles[index], by: client)
      notify(client, .connected(peer), into: &actions)
    }
  }

  // MARK: Changes

  /// The peer's link layer features are known: twice the speed where both ends can that, or the range, if
  /// that is wanted.
  mutating func remoteFeaturesRead(
    _ event: LEReadRemoteFeaturesComplete, now: Instant, into actions: inout [Action]
  ) {
    guard let index = links.index(handle: event.handle) else { return }
    if event.status != .connectionFailedToBeEstablished { confirm(index, into: &actions) }
    guard event.status == .success, links.entries[index].info.role == .central,
      !links.entries[index].isClosing
    else { return }
    let wanted: PHYSet
    if links.entries[index].prefersCoded {
      guard event.features.contains(.leCoded), abilities.canUseCoded else { return }
      wanted = .leCoded
    } else {
      guard event.features.contains(.le2M), abilities.canUse2M else { return }
      wanted = .le2M
    }
    let preference = PHYPreference(transmit: wanted, receive: wanted)
    send(
      LESetPHY(handle: links.handles[index], preference: preference).packet, for: .optional,
      now: now, into: &actions)
  }

  /// The link layers have agreed on something, or, with an error, not: the peer was heard.
  mutating func linkChanged(
    _ handle: UInt16, _ status: HCIStatus, into actions: inout [Action],
    _ change: (inout LinkInfo) -> Void
  ) {
    guard let index = links.index(handle: handle) else { return }
    confirm(index, into: &actions)
    guard status == .success else { return }
    let old = links.entries[index].info
    change(&links.entries[index].info)
    if links.entries[index].info != old { announceUpdate(index, into: &actions) }
  }

  func announceUpdate(_ index: Int, into actions: inout [Action]) {
    if links.entries[index].isAnnounced {
      notifyAll(.linkUpdated(links.entries[index].info), into: &actions)
    }
  }

  mutating func timingChanged(
    _ event: LEConnectionUpdateComplete, into actions: inout [Action]
  ) {
    guard let index = links.index(handle: event.handle) else { return }
    confirm(index, into: &actions)
    guard event.status == .success else {
      return parametersUpdated(event.handle, .controller(event.status), into: &actions)
    }
    links.entries[index].info.setTiming(event.timing)
    announceUpdate(index, into: &actions)
    parametersUpdated(event.handle, nil, into: &actions)
  }

  /// A change of connection parameters has ended, with an error or without.
  mutating func parametersUpdated(
    _ handle: UInt16, _ error: HostError?, into actions: inout [Action]
  ) {
    guard let index = links.index(handle: handle),
      let request = links.entries[index].parameterUpdate.end()
    else { return }
    complete(request, error.map { .failure($0) } ?? .success(.done), into: &actions)
  }

  /// Accepts the parameters that a peer requests by the link layer's procedure, if they are valid.
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

  // MARK: Closing

  /// Ends a link on this host's initiative: after an error, or when no client uses it any more.
  mutating func disconnectLink(
    _ index: Int, because error: HostError?, now: Instant, into actions: inout [Action]
  ) {
    let isBusy = scheduler.isBusy(handle: links.handles[index])
    let disconnects = links.entries[index].close(because: error, isBusy: isBusy, now: now)
    due(links.entries[index].nextWake)
    if disconnects { sendDisconnect(links.handles[index], now: now, into: &actions) }
  }

  /// The controller got rid of packets of a link, or a pairing ended: ends the link if that was all it
  /// waited for.
  mutating func disconnectIfFlushed(
    _ index: Int, now: Instant, into actions: inout [Action]
  ) {
    let handle = links.handles[index]
    guard case .flushing = links.entries[index].stage, !scheduler.isBusy(handle: handle),
      !links.entries[index].security.awaitsKeys
    else { return }
    links.entries[index].disconnectSent(now: now)
    due(links.entries[index].nextWake)
    sendDisconnect(handle, now: now, into: &actions)
  }

  private mutating func sendDisconnect(
    _ handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    send(
      Disconnect(handle: handle).packet, for: .disconnecting(handle), now: now, into: &actions)
  }

  mutating func disconnectAnswered(
    _ status: HCIStatus, handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    guard status != .success else { return }
    let isDenied = status == .unknownConnection
    if isDenied, links.orphans.denied(handle), links.index(handle: handle) == nil {
      // There is no such link, so the controller holds no buffers for it.
      scheduler.close(handle: handle)
    }
    guard let index = links.index(handle: handle), links.entries[index].isClosing else { return }
    // The controller has no such link, or won't end it, which comes to the same for clients.
    closeLink(
      index, links.entries[index].localCloseError, isKnownToController: !isDenied, now: now,
      into: &actions)
    addOrphan(handle, now: now)
  }

  /// The controller keeps a link that this host has given up.
  mutating func addOrphan(
    _ handle: UInt16, denialsLeft: Int = OrphanedLinks.Limits.denialsMax, now: Instant
  ) {
    links.orphans.add(handle, denialsLeft: denialsLeft, now: now)
    due(links.orphans.nextWake)
  }

  mutating func wakeOrphans(now: Instant, into actions: inout [Action]) {
    for handle in links.orphans.wake(now: now) where session.waitingCount == 0 {
      // One at a time: a controller that doesn't answer must not fill the queue of commands.
      sendDisconnect(handle, now: now, into: &actions)
    }
  }

  mutating func disconnected(
    _ event: DisconnectionComplete, now: Instant, into actions: inout [Action]
  ) {
    guard event.status == .success else { return }
    let handle = event.handle & 0x0FFF
    links.orphans.remove(handle)
    if heldLinks.remove(handle) != nil { return session.linkClosed(handle) }
    guard let index = links.index(handle: handle) else {
      routing.strayPackets += 1
      backlog.strayClosed(handle)
      // Or one that was closed before its controller had let go of it.
      scheduler.close(handle: handle)
      return
    }
    let wasNeverThere =
      event.reason == .connectionFailedToBeEstablished
      || (event.reason == .connectionTimeout && !links.entries[index].isConfirmed)
    // A peer that ends the link itself has been there.
    if !wasNeverThere, !links.entries[index].isClosing { confirm(index, into: &actions) }
    let error = links.entries[index].closeReason ?? .disconnected(event.reason)
    closeLink(index, error, now: now, into: &actions)
  }

  /// Removes a link: completes its pending operations with an error, then notifies the clients that
  /// requested it, then all clients.
  ///
  /// The end of a link that was never announced is silent: clients that asked for it go on waiting.
  /// As long as a link is known to the controller, what it holds of the controller's buffers stays
  /// in use.
  mutating func closeLink(
    _ index: Int, _ error: HostError, isKnownToController: Bool = false, now: Instant,
    into actions: inout [Action]
  ) {
    var link = links.remove(at: index)
    session.linkClosed(link.handle)
    backlog.linkClosed(link.handle)
    confirmations.remove(link.handle)
    if isKnownToController {
      scheduler.abandon(handle: link.handle)
    } else {
      scheduler.close(handle: link.handle)
    }
    routing.closedLinks.add(link)
    endGATT(of: &link, error, into: &actions)
    endChannels(of: &link, error, into: &actions)
    endSecurity(of: &link, now: now, into: &actions)
    closeServerLink(link.peer, now: now, into: &actions)
    if let request = link.parameterUpdate.end() {
      complete(request, .failure(error), into: &actions)
    }
    endLinkRequests(of: link, error, now: now, into: &actions)
    announceEnd(of: link, error, into: &actions)
    needsCommands = true
  }

  // MARK: Time

  mutating func wakeLinks(now: Instant, into actions: inout [Action]) {
    for handle in links.handles {
      guard let index = links.index(handle: handle) else { continue }
      switch links.entries[index].expiredStage(now: now) {
      case nil: break
      case .confirm: confirm(index, into: &actions)
      case .disconnect:
        links.entries[index].disconnectSent(now: now)
        sendDisconnect(handle, now: now, into: &actions)
      case .giveUp:
        closeLink(
          index, links.entries[index].localCloseError, isKnownToController: true, now: now,
          into: &actions)
        addOrphan(handle, now: now)
        continue
      }
      if links.entries[index].parameterUpdate.isOverdue(now: now) {
        parametersUpdated(handle, .controller(.linkResponseTimeout), into: &actions)
      }
      withL2CAP(index, now: now, into: &actions) { l2cap, outputs in
        l2cap.wake(now: now, into: &outputs)
      }
      guard let index = links.index(handle: handle) else { continue }
      wakeBearers(index, now: now, into: &actions)
      guard let index = links.index(handle: handle) else { continue }
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.wake(now: now, into: &outputs)
      }
      guard let index = links.index(handle: handle),
        let due = links.entries[index].security.nextWake, due <= now
      else { continue }
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.wake(now: now, host: &host, into: &outputs)
      }
    }
  }
}

extension LinkInfo {
  mutating func setTiming(_ timing: ConnectionTiming) {
    intervalUnits = timing.intervalUnits1250us
    latency = timing.latency
    timeoutUnits = timing.timeoutUnits10ms
    // It ends with the timing that it was agreed on for (Core 5.4, Vol 6, Part B, §5.1.1).
    subrateFactor = 1
    continuationNumber = 0
  }

  mutating func setDataLength(_ length: LEMaximumDataLength) {
    sentPacketByteCountMax = Int(length.txOctets)
    receivedPacketByteCountMax = Int(length.rxOctets)
  }

  mutating func setSubrate(_ subrate: Subrate) {
    subrateFactor = subrate.factor
    continuationNumber = subrate.continuationNumber
    latency = subrate.latency
    timeoutUnits = subrate.timeoutUnits10ms
  }
}
