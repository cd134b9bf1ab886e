import BluetoothInterface
import BluetoothWire
import Essentials
import GATTMachines
import L2CAPMachines
import PairingMachines

// This host's clients at the attributes of its peers.

extension HostMachine {
  /// Lets a link's GATT session put out something and acts on it. The link may be gone after this.
  mutating func withGATT(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout GATTClientSession, inout [GATTClientSession.Output]) -> Void
  ) {
    var produced: [GATTClientSession.Output] = []
    swap(&produced, &outputs.gatt)
    let handle = links.handles[index]
    due(Self.use(&links.entries[index].gatt, &produced, body))
    // An output may end the link; those after it concern its clients only.
    produced.takeEach { take($0, from: handle, now: now, into: &actions) }
    swap(&produced, &outputs.gatt)
  }

  /// Returns when the session is due. All in one access: reading `nextWake` through the table would
  /// copy the whole link.
  private static func use(
    _ gatt: inout GATTClientSession, _ produced: inout [GATTClientSession.Output],
    _ body: (inout GATTClientSession, inout [GATTClientSession.Output]) -> Void
  ) -> Instant? {
    body(&gatt, &produced)
    return gatt.nextWake
  }

  // Not inlined: the optimizer copies `withGATT` for each closure that is passed to it.
  @inline(never)
  private mutating func take(
    _ output: GATTClientSession.Output, from handle: UInt16, now: Instant,
    into actions: inout [Action]
  ) {
    if case .completed(let request, let result) = output {
      return complete(request, result, into: &actions)
    }
    guard let index = links.index(handle: handle) else { return }
    let peer = links.peers[index]
    switch output {
    case .valueUpdated(let client, let valueHandle, let value):
      let isAdmitted = backlog.admitsValue(
        client, of: handle, .notification(peer, handle: valueHandle))
      guard isAdmitted else { return }
      actions.append(.deliver(client, .valueUpdated(peer, handle: valueHandle, value)))
    case .indicated(let clients, let valueHandle, let value, let bearer):
      // No peer may send another one over the bearer before the first is confirmed (Vol 3, Part F,
      // §3.3.2).
      guard !confirmations.contains(handle, over: bearer) else {
        for client in clients {
          backlog.valueDropped(.notification(peer, handle: valueHandle), for: client)
        }
        return
      }
      for client in clients {
        let isAdmitted = backlog.admitsIndication(
          client, of: handle, .notification(peer, handle: valueHandle))
        guard isAdmitted else { continue }
        actions.append(.deliver(client, .valueUpdated(peer, handle: valueHandle, value)))
        if backlog.isAcknowledging(client) {
          actions.append(.deliver(client, .acknowledgementRequested))
          expectsHandling.append(client)
        }
      }
      // The peer sends none to the others before this one is confirmed.
      let othersWait = links.entries[index].gatt.subscriptions.isUsed(byOthersThan: clients)
      confirmations.add(handle, over: bearer, clients, othersWait: othersWait)
    case .nameRead(let name):
      links.entries[index].info.name = name
      announceUpdate(index, into: &actions)
    case .servicesFound(let services):
      servicesFound(services, index, into: &actions)
    case .link(let output): take(output, of: index, now: now, into: &actions)
    case .completed: break
    }
  }

  private mutating func take(
    _ output: GATTClient.LinkOutput, of index: Int, now: Instant, into actions: inout [Action]
  ) {
    let peer = links.peers[index]
    switch output {
    case .send(let pdu, let tag, let bearer):
      sendAttributePDU(pdu, tag: tag, over: bearer, link: index, now: now, into: &actions)
    case .bearersWanted: openBearers(on: index, now: now, into: &actions)
    case .closeBearer(let bearer):
      closeBearer(bearer, link: index, now: now, into: &actions)
    case .mtuChanged(let mtu):
      server.setMTU(mtu, peer)
      mtuChanged(mtu, index, into: &actions)
    case .servicesChanged(let range):
      links.entries[index].info.services = []
      for client in linkRequests.connectedClients(peer) {
        notify(client, .servicesChanged(peer, range), into: &actions)
      }
    case .securityRequired(let error, let requester):
      let requirement = requirement(after: error, on: index)
      secure(index, requirement, for: requester, now: now, into: &actions)
    case .securityInsufficient(let error):
      guard requirement(after: error, on: index) == .authentication else { break }
      withSecurity(index, now: now, into: &actions) { link, host, outputs in
        link.refusedAgain(host: &host, into: &outputs)
      }
    case .bearerFailed(let error):
      disconnectLink(index, because: error, now: now, into: &actions)
    }
  }

  private mutating func servicesFound(
    _ services: [BluetoothUUID], _ index: Int, into actions: inout [Action]
  ) {
    let knownCount = links.entries[index].info.services.count
    for uuid in services where !links.entries[index].info.services.contains(uuid) {
      guard links.entries[index].info.services.count < GATTLimits.foundMax else { break }
      links.entries[index].info.services.append(uuid)
    }
    if links.entries[index].info.services.count != knownCount {
      announceUpdate(index, into: &actions)
    }
  }

  /// Both halves of the bearer agreed on an MTU.
  mutating func mtuChanged(_ mtu: Int, _ index: Int, into actions: inout [Action]) {
    guard links.entries[index].info.mtu != mtu else { return }
    links.entries[index].info.mtu = mtu
    announceUpdate(index, into: &actions)
  }

  /// Routes an attribute PDU to the half of the bearer that it is for.
  mutating func receiveAttributePDU(
    _ pdu: ArraySlice<UInt8>, over bearer: ATTBearer, from index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    // A peer whose bond was refused reads no values while the link ends.
    guard let first = pdu.first, links.entries[index].security.lastPDU == nil else { return }
    if ATTOpcode(rawValue: first).isForClient {
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.receive(pdu, over: bearer, now: now, into: &outputs)
      }
    } else {
      receiveForServer(pdu, over: bearer, from: index, now: now, into: &actions)
    }
  }

  mutating func sendAttributePDU(
    _ pdu: [UInt8], tag: SendTag?, over bearer: ATTBearer, link index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    guard bearer == .fixed else {
      return send(pdu, over: bearer, link: index, now: now, into: &actions)
    }
    let frame = OutgoingFrame(
      channel: L2CAPChannelIdentifier.attribute, payload: pdu, tag: tag)
    scheduler.enqueue(frame, handle: links.handles[index])
  }

  // MARK: Requests

  /// Begins what every link of a central begins with.
  mutating func startLinkSetup(_ index: Int, now: Instant, into actions: inout [Action]) {
    demandProof(of: index, now: now, into: &actions)
    let known = peerCache.database(of: links.peers[index])
    let isEncrypted = links.entries[index].security.isEncrypted
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.setUp(known: known, isEncrypted: isEncrypted, now: now, into: &outputs)
    }
  }

  mutating func run(
    _ operation: GATTOperation, on peer: DeviceAddress, _ request: PendingRequest, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = usableLink(request.client, peer) else {
      return complete(request, .failure(notConnectedError(peer)), into: &actions)
    }
    // The peer made this link while this host was looking for it.
    if !links.entries[index].gatt.isSetUp { startLinkSetup(index, now: now, into: &actions) }
    if case .signedWrite(let handle, let value) = operation,
      signWrite(handle, value, on: index, request, now: now, into: &actions)
    {
      return
    }
    let requester = requester(of: request.client)
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.run(operation, for: request, of: requester, now: now, into: &outputs)
    }
  }

  /// All sessions of a program are one requester.
  func requester(of client: ClientID) -> Requester {
    pairingCauses.program(of: client).map { .program($0) } ?? .client(client)
  }

  /// Holds clients' requests to a bonded central until it has proved that it has the keys of its
  /// bond.
  private mutating func demandProof(
    of index: Int, now: Instant, into actions: inout [Action]
  ) {
    var isNeeded = false
    withSecurity(index, now: now, into: &actions) { link, host, outputs in
      isNeeded = link.demandProof(host: host, now: now, into: &outputs)
    }
    if isNeeded { links.entries[index].gatt.hold() }
  }

  /// A client wants the values of a characteristic, or no longer wants them.
  mutating func subscribe(
    _ isOn: Bool, _ peer: DeviceAddress, _ target: SubscriptionTarget,
    _ request: PendingRequest, now: Instant, into actions: inout [Action]
  ) {
    guard let index = usableLink(request.client, peer) else {
      return complete(request, .failure(notConnectedError(peer)), into: &actions)
    }
    if !links.entries[index].gatt.isSetUp { startLinkSetup(index, now: now, into: &actions) }
    let requester = requester(of: request.client)
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.subscribe(isOn, target, for: request, of: requester, now: now, into: &outputs)
    }
  }

  /// A link is gone: caches its peer's attributes and fails all its pending requests.
  mutating func endGATT(
    of link: inout Link, _ error: HostError, into actions: inout [Action]
  ) {
    peerCache.store(link.gatt.database, of: link.peer)
    var produced: [GATTClientSession.Output] = []
    link.gatt.close(error, into: &produced)
    for case .completed(let request, let result) in produced {
      complete(request, result, into: &actions)
    }
  }
}
