import BluetoothInterface
import BluetoothWire
import Essentials

// Links: clients' requests for them, and devices that connect and disconnect.

extension BlueZMachine {
  // MARK: Requests

  mutating func connect(
    _ peer: DeviceAddress, _ options: ConnectOptions, of id: BlueZSessionID, now: Instant,
    into actions: inout [Action]
  ) {
    if links[peer] == nil {
      if let path = paths[peer], let other = linkPeers[path] {
        return deliver(.connectionFailed(peer, Self.inUse(other)), to: id, into: &actions)
      }
      let users = links.values.map { Array($0.users.keys) }
      guard mayHave(id, oneMoreOf: users, countMax: BlueZLimits.linkCountMax) else {
        let error = HostError.limitReached("links")
        return deliver(.connectionFailed(peer, error), to: id, into: &actions)
      }
      let start = now + max(options.startDelay, .zero)
      links[peer] = BlueZLink(peer: peer, phase: .waiting(until: start))
    }
    links[existing: peer].unusedUntil = nil
    switch links[existing: peer].users[id] {
    case .connected: return deliver(.connected(peer), to: id, into: &actions)
    case .leaving: links[existing: peer].users[id] = .leaving(again: options)
    case .pending, nil: links[existing: peer].users[id] = .pending(options)
    }
    switch links[existing: peer].phase {
    case .open: join(peer, into: &actions)
    case .waiting(let time) where time <= now:
      attempt(peer, now: now, into: &actions)
    case .waiting, .unheard, .connecting, .closing: break
    }
  }

  /// Gives the link to the clients that wait for it.
  private mutating func join(_ peer: DeviceAddress, into actions: inout [Action]) {
    for id in links[existing: peer].users.keys.sorted() {
      guard case .pending(let options) = links[existing: peer].users[id] else { continue }
      links[existing: peer].users[id] = .connected(options)
      deliver(.connected(peer), to: id, into: &actions)
    }
  }

  mutating func disconnect(
    _ peer: DeviceAddress, of id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) {
    switch links[peer]?.users[id] {
    case nil: return
    case .leaving:
      links[peer]?.users[id] = .leaving(again: nil)
      return
    case .pending, .connected: break
    }
    dropOperations(of: id, on: peer, now: now, into: &actions)
    dropRSSIRequests(of: id, on: peer, into: &actions)
    closeChannels(of: id, to: peer, into: &actions)
    if release(peer, id, now: now, into: &actions) {
      links[peer]?.users[id] = .leaving(again: nil)
    } else {
      links[peer]?.users[id] = nil
      deliver(.disconnected(peer, nil, reconnecting: false), to: id, into: &actions)
      removeLinkIfUnused(peer)
      unregisterAgentIfUnused(now: now, into: &actions)
    }
  }

  /// Ends a client's use of a link, and the link if this program has made it and no other client wants it. Returns
  /// whether the link is about to end.
  @discardableResult
  mutating func release(
    _ peer: DeviceAddress, _ id: BlueZSessionID, now: Instant, into actions: inout [Action]
  ) -> Bool {
    guard var others = links[peer], others.users.removeValue(forKey: id) != nil else {
      return false
    }
    if case .closing = others.phase { return true }
    guard !others.isWanted, let path = others.path else {
      unsubscribe(id, peer, now: now, into: &actions)
      return false
    }
    switch others.phase {
    case .waiting, .unheard, .closing: return false
    case .connecting:
      // Its reply ends the attempt.
      callDisconnect(path, .release, now: now, into: &actions)
      return false
    case .open:
      unsubscribe(id, peer, now: now, into: &actions)
      guard others.isOurs else { return false }
      links[peer]?.phase = .closing(deadline: now + BlueZLimits.disconnectionMax)
      callDisconnect(path, .disconnect(peer), now: now, into: &actions)
      return true
    }
  }

  private mutating func callDisconnect(
    _ path: String, _ purpose: Purpose, now: Instant, into actions: inout [Action]
  ) {
    send(
      bluez(path, BusName.device, "Disconnect"), purpose, deadline: now + BlueZLimits.answerMax,
      into: &actions)
  }

  mutating func removeLinkIfUnused(_ peer: DeviceAddress) {
    guard let link = links[peer], link.users.isEmpty else { return }
    switch link.phase {
    case .waiting, .unheard: removeLink(peer)
    case .connecting, .open, .closing: break
    }
  }

  private mutating func removeLink(_ peer: DeviceAddress) {
    if let path = links.removeValue(forKey: peer)?.path { linkPeers[path] = nil }
  }

  // MARK: Connecting

  /// Calls `Connect`, unless bluetoothd has no object of the device: then it must be heard first.
  private mutating func attempt(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard state == .poweredOn, let link = links[peer], link.isPending else { return }
    guard let path = paths[peer], devices[path] != nil, ObjectPath.adapter(of: path) == adapter
    else {
      forgetPath(of: peer)
      links[peer]?.phase = .unheard
      links[peer]?.needsDiscovery = true
      return
    }
    // A pairing may have revealed that the device of another link has this address.
    if let other = linkPeers[path], other != peer {
      return connectionFailed(peer, Self.inUse(other), into: &actions)
    }
    setPath(path, of: peer)
    if devices[path]?.isConnected == true {
      return openLink(peer, isOurs: false, into: &actions)
    }
    guard mayConnect(peer) else {
      links[peer]?.phase = .waiting(until: now + BlueZLimits.pause(after: 1))
      return
    }
    links[peer]?.phase = .connecting
    updateValueRule(now: now, into: &actions)
    lastOperation += 1
    links[peer]?.attempt = lastOperation
    send(
      bluez(path, BusName.device, "Connect"), .connect(peer, attempt: lastOperation),
      deadline: now + BlueZLimits.connectionMax, into: &actions)
  }

  mutating func connectWaitingLinks(now: Instant, into actions: inout [Action]) {
    for peer in links.keys.sorted(by: { $0.bits < $1.bits }) {
      switch links[peer]?.phase {
      case .waiting, .unheard: attempt(peer, now: now, into: &actions)
      case .connecting, .open, .closing, nil: break
      }
    }
  }

  mutating func connectReplied(
    _ result: Result<[BusValue], BusError>, _ peer: DeviceAddress, _ attempt: UInt64,
    now: Instant, into actions: inout [Action]
  ) {
    // The device of an earlier attempt may have been removed, or the adapter was off.
    guard let link = links[peer], link.phase == .connecting, link.attempt == attempt,
      let path = link.path
    else { return }
    let isConnected = devices[path]?.isConnected == true
    if !link.isWanted {
      links[peer]?.phase = .waiting(until: now)
      if isConnected { callDisconnect(path, .release, now: now, into: &actions) }
      return removeLinkIfUnused(peer)
    }
    if isConnected { return openLink(peer, isOurs: true, into: &actions) }
    // bluetoothd also answers with success where the adapter was going off.
    if case .failure(let error) = result {
      if let permanent = error.permanentConnectionError {
        return connectionFailed(peer, permanent, into: &actions)
      }
      if error.isAboutUnknownObject { forgetPath(of: peer) }
      if error.name == BlueZErrorName.noReply {
        // If it connects nevertheless, the link is this program's.
        callDisconnect(path, .release, now: now, into: &actions)
        if madeLinks.count < BlueZLimits.linkCountMax { madeLinks.insert(peer) }
      }
    }
    links[peer]?.failureCount += 1
    links[peer]?.needsDiscovery = true
    if case .failure(let error) = result, !error.isOfAbsentDevice,
      (link.failureCount + 1) % BlueZLimits.loggedFailureCount == 2 * BlueZLimits.pauses.count
    {
      actions.append(
        .warning(
          "bluetoothd does not connect to \(peer), which is tried again: \(error.loggedText)."))
    }
    let pause = BlueZLimits.pause(after: link.failureCount + 1)
    let isKnown = links[peer]?.path != nil
    links[peer]?.phase = isKnown ? .waiting(until: now + pause) : .unheard
  }

  private mutating func connectionFailed(
    _ peer: DeviceAddress, _ error: HostError, into actions: inout [Action]
  ) {
    for id in links[peer]?.users.keys.sorted() ?? [] {
      deliver(.connectionFailed(peer, error), to: id, into: &actions)
    }
    removeLink(peer)
  }

  private static func inUse(_ address: DeviceAddress) -> HostError {
    .invalidArgument("This device is in use with its address \(address).")
  }

  private mutating func setPath(_ path: String, of peer: DeviceAddress) {
    forgetPath(of: peer)
    links[peer]?.path = path
    linkPeers[path] = peer
  }

  private mutating func forgetPath(of peer: DeviceAddress) {
    if let path = links[peer]?.path { linkPeers[path] = nil }
    links[peer]?.path = nil
  }

  mutating func wakeLink(_ peer: DeviceAddress, now: Instant, into actions: inout [Action]) {
    switch links[peer]?.phase {
    case .waiting(let time) where time <= now: attempt(peer, now: now, into: &actions)
    case .closing(let deadline) where deadline <= now:
      actions.append(.warning("bluetoothd did not end the link to \(peer) in time."))
      linkEnded(peer, now: now, into: &actions)
    case .open: endUnusedLink(peer, now: now, into: &actions)
    case .waiting, .unheard, .connecting, .closing, nil: break
    }
    wakeRSSI(peer, now: now, into: &actions)
    wakeOperation(peer, now: now, into: &actions)
  }

  private mutating func endUnusedLink(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let link = links[peer], let time = link.unusedUntil, time <= now, let path = link.path
    else { return }
    links[peer]?.unusedUntil = nil
    links[peer]?.phase = .closing(deadline: now + BlueZLimits.disconnectionMax)
    callDisconnect(path, .disconnect(peer), now: now, into: &actions)
  }

  // MARK: Devices

  mutating func deviceChanged(
    _ path: String, _ changed: Set<String>, now: Instant, into actions: inout [Action]
  ) {
    report(path, changed, now: now, into: &actions)
    guard state == .poweredOn, let device = devices[path],
      ObjectPath.adapter(of: path) == adapter
    else { return }
    if changed.contains("Paired"), device.isPaired {
      endImplicitPairing(path, nil, now: now, into: &actions)
    }
    if changed.contains("Connected") { connectionChanged(path, now: now, into: &actions) }
    if changed.contains("ServicesResolved") || changed.contains("Name") {
      updateLink(path, into: &actions)
    }
    if changed.contains("ServicesResolved"), let peer = linkPeers[path] {
      servicesMayBeThere(peer, now: now, into: &actions)
    }
    guard !changed.isDisjoint(with: ["RSSI", "Address"]), device.rssi != nil else { return }
    for peer in [device.address, device.identity].compactMap(\.self) {
      heard(peer, now: now, into: &actions)
    }
  }

  /// A device was heard for which a link may wait.
  private mutating func heard(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let link = links[peer] else { return }
    switch link.phase {
    case .unheard: attempt(peer, now: now, into: &actions)
    case .waiting where link.failureCount > 2: attempt(peer, now: now, into: &actions)
    case .waiting, .connecting, .open, .closing: break
    }
  }

  private mutating func connectionChanged(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    guard let device = devices[path] else { return }
    guard device.isConnected else {
      if let peer = linkPeers[path], links[peer]?.isUp == true {
        linkEnded(peer, now: now, into: &actions)
      }
      return
    }
    guard let peer = linkPeers[path] ?? wantedPeer(of: device) else {
      return adoptLink(path, now: now, into: &actions)
    }
    setPath(path, of: peer)
    switch links[peer]?.phase {
    case .connecting:
      // A client that has given up has called Disconnect, whose reply is yet to come.
      if links[peer]?.isWanted == true { openLink(peer, isOurs: true, into: &actions) }
    case .waiting, .unheard:
      if links[peer]?.isWanted == true { openLink(peer, isOurs: false, into: &actions) }
    case .open, .closing, nil: break
    }
  }

  private func wantedPeer(of device: RemoteDevice) -> DeviceAddress? {
    [device.address, device.identity].compactMap(\.self).first { links[$0] != nil }
  }

  private mutating func openLink(
    _ peer: DeviceAddress, isOurs: Bool, into actions: inout [Action]
  ) {
    links[existing: peer].phase = .open
    if madeLinks.remove(peer) != nil || isOurs { links[existing: peer].isOurs = true }
    links[existing: peer].failureCount = 0
    links[existing: peer].needsDiscovery = false
    links[existing: peer].info = LinkInfo(peer: peer, role: .central)
    refreshInfo(peer)
    deliverToAll(.linkOpened(links[existing: peer].info), into: &actions)
    actions.append(.readConnections)
    join(peer, into: &actions)
  }

  /// Copies the known properties of the device to the link. Returns whether that has changed it.
  @discardableResult
  private mutating func refreshInfo(_ peer: DeviceAddress) -> Bool {
    guard let link = links[peer], let path = link.path, let device = devices[path] else {
      return false
    }
    var info = link.info
    info.name = device.name
    info.mtu = max(23, device.objects.mtu)
    info.services = device.objects.primaryServices(nil).map(\.uuid)
    guard info != link.info else { return false }
    links[peer]?.info = info
    return true
  }

  /// Reports the properties of a link if they have changed.
  mutating func updateLink(_ path: String, into actions: inout [Action]) {
    guard let peer = linkPeers[path], let link = links[peer], link.isUp, refreshInfo(peer) else {
      return
    }
    deliverToAll(.linkUpdated(links[existing: peer].info), into: &actions)
  }

  // MARK: Links of other programs

  /// Reports a link that another program has made, if it is one of LE.
  ///
  /// - Parameter isLowEnergy: Whether it is known to be one.
  mutating func adoptLink(
    _ path: String, isLowEnergy: Bool = false, now: Instant, into actions: inout [Action]
  ) {
    guard state == .poweredOn, let device = devices[path], device.isConnected,
      linkPeers[path] == nil, links[device.address] == nil,
      ObjectPath.adapter(of: path) == adapter, links.count < BlueZLimits.linkCountMax,
      isLowEnergy || device.address.kind == .random || !device.objects.isEmpty
    else { return }
    let peer = device.address
    links[peer] = BlueZLink(peer: peer, phase: .open)
    setPath(path, of: peer)
    openLink(peer, isOurs: false, into: &actions)
    if links[existing: peer].isOurs {
      links[peer]?.unusedUntil = now + BlueZLimits.unusedLinkMax
    }
  }

  mutating func adoptLinks(now: Instant, into actions: inout [Action]) {
    for path in devices.keys.sorted() { adoptLink(path, now: now, into: &actions) }
  }

  // MARK: The end of links

  mutating func deviceRemoved(_ path: String, now: Instant, into actions: inout [Action]) {
    guard let peer = linkPeers[path] else { return }
    if links[peer]?.isUp == true { linkEnded(peer, now: now, into: &actions) }
    guard links[peer] != nil else { return }
    // A Connect of it may get no reply.
    forgetPath(of: peer)
    links[peer]?.phase = .unheard
    links[peer]?.needsDiscovery = true
    removeLinkIfUnused(peer)
  }

  mutating func disconnectReplied(
    _ result: Result<[BusValue], BusError>, _ peer: DeviceAddress, now: Instant,
    into actions: inout [Action]
  ) {
    guard case .closing = links[peer]?.phase, case .failure(let error) = result,
      error.name == BlueZErrorName.notConnected || error.isAboutUnknownObject
    else { return }
    linkEnded(peer, now: now, into: &actions)
  }

  private mutating func linkEnded(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let link = links[peer] else { return }
    // Where the kernel doesn't give the reason, it is not known.
    let error: HostError =
      switch link.phase {
      case .closing: .disconnected(.localHostTerminatedConnection)
      case .open, .waiting, .unheard, .connecting:
        .disconnected(link.disconnectionReason ?? .unspecifiedError)
      }
    end(peer, error, now: now, into: &actions)
    links[peer]?.isOurs = false
    if links[peer]?.isPending == true {
      links[peer]?.phase = .waiting(until: now + BlueZLimits.pause(after: 1))
    } else {
      removeLink(peer)
    }
    unregisterAgentIfUnused(now: now, into: &actions)
  }

  /// Tells all clients of the end of a link.
  private mutating func end(
    _ peer: DeviceAddress, _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    failOperations(peer, error, into: &actions)
    if let path = links[peer]?.path {
      endImplicitPairing(path, .notConnected, now: now, into: &actions)
    }
    endRSSIRequests(peer, .failure(error), into: &actions)
    endSubscriptions(of: peer, into: &actions)
    endChannels(to: peer, error, into: &actions)
    links[peer]?.connectionHandle = nil
    links[peer]?.disconnectionReason = nil
    stopNotifying(peer, now: now, into: &actions)
    deliverToAll(.linkClosed(peer, error), into: &actions)
    for id in links[peer]?.users.keys.sorted() ?? [] {
      switch links[peer]?.users[id] {
      case .connected(let options):
        let again = options.reconnectsAutomatically
        links[peer]?.users[id] = again ? .pending(options) : nil
        deliver(.disconnected(peer, error, reconnecting: again), to: id, into: &actions)
      case .leaving(let again):
        links[peer]?.users[id] = again.map { .pending($0) }
        deliver(.disconnected(peer, nil, reconnecting: again != nil), to: id, into: &actions)
      case .pending, nil: break
      }
    }
  }

  /// The radio is gone, and all links with it. Requests for links remain.
  mutating func endLinks(now: Instant, into actions: inout [Action]) {
    for peer in links.keys.sorted(by: { $0.bits < $1.bits }) {
      if links[peer]?.isUp == true { end(peer, .radioNotReady, now: now, into: &actions) }
      if links[peer]?.isOurs == true, madeLinks.count < BlueZLimits.linkCountMax {
        madeLinks.insert(peer)
      }
      forgetPath(of: peer)
      links[peer]?.phase = .unheard
      links[peer]?.isOurs = false
      links[peer]?.unusedUntil = nil
      links[peer]?.failureCount = 0
      removeLinkIfUnused(peer)
    }
    for id in clients.keys { clients[id]?.reported = [:] }
  }
}
