import BluetoothWire
import Essentials

// This host as the client of its peers' attributes.

/// What an operation of a link's GATT client is for.
struct Operation: Sendable {
  enum Purpose: Sendable {
    case request(Waiter)
    /// A request whose answer also tells which services the peer has.
    case services(Waiter)
    /// Writes the configuration of the subscription with this value handle.
    case subscription(UInt16)
    /// Reads the peer's name.
    case name
    /// Whoever asked has been answered already.
    case abandoned
  }

  var handle: UInt16
  var purpose: Purpose
}

/// What was learned of a peer's attributes on an earlier link.
struct RememberedPeer: Sendable {
  let peer: DeviceAddress
  let database: RemoteDatabase
}

extension HostMachine {
  /// Lets a link's GATT client put out something and acts on it. The link may be gone after this.
  mutating func withGATT(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout GATTClient, inout [GATTClient.Output]) -> Void
  ) {
    var outputs: [GATTClient.Output] = []
    swap(&outputs, &gattOutputs)
    let handle = linkHandles[index]
    due(Self.use(&links[index].gatt, &outputs, body))
    for output in outputs {
      guard let index = linkIndex(handle: handle) else { break }
      take(output, from: index, now: now, into: &actions)
    }
    outputs.removeAll(keepingCapacity: true)
    swap(&outputs, &gattOutputs)
  }

  /// Says when the client is due. All in one access: reading `nextWake` through the array would
  /// copy the whole link.
  private static func use(
    _ gatt: inout GATTClient, _ outputs: inout [GATTClient.Output],
    _ body: (inout GATTClient, inout [GATTClient.Output]) -> Void
  ) -> Instant? {
    body(&gatt, &outputs)
    return gatt.nextWake
  }

  private mutating func take(
    _ output: GATTClient.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .valueReceived(let handle, let value, _):
      deliver(value, of: handle, from: index, into: &actions)
    case .send(let pdu, let tag):
      sendAttributePDU(pdu, tag: tag, link: index)
    case .completed(let id, let result):
      completed(id, result, now: now, into: &actions)
    case .mtuChanged(let mtu):
      server.setMTU(mtu, linkPeers[index])
      mtuChanged(mtu, index, into: &actions)
    case .servicesChanged(let range):
      let peer = linkPeers[index]
      links[index].info.services = []
      // The peer forgot these too; a configuration that is being written is left to its answer.
      links[index].subscriptions.removeAll {
        $0.writing == nil && range.contains($0.target.valueHandle)
      }
      for hold in holds where hold.peer == peer && hold.state == .connected {
        tell(hold.client, .servicesChanged(peer, range), into: &actions)
      }
    case .bearerFailed(let error):
      disconnectLink(index, because: error, now: now, into: &actions)
    }
  }

  /// Routes an attribute PDU to the half of the bearer that it is for.
  mutating func receiveAttributePDU(
    _ pdu: ArraySlice<UInt8>, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    guard let first = pdu.first else { return }
    if ATTOpcode(rawValue: first).isForClient {
      withGATT(index, now: now, into: &actions) { gatt, outputs in
        gatt.receive(pdu, now: now, into: &outputs)
      }
    } else {
      receiveForServer(pdu, from: index, now: now, into: &actions)
    }
  }

  mutating func sendAttributePDU(_ pdu: [UInt8], tag: SendTag?, link index: Int) {
    let frame = OutgoingFrame(
      channel: L2CAPChannelIdentifier.attribute, payload: pdu, tag: tag)
    scheduler.enqueue(frame, handle: linkHandles[index])
  }

  private mutating func deliver(
    _ value: ArraySlice<UInt8>, of handle: UInt16, from index: Int, into actions: inout [Action]
  ) {
    let peer = linkPeers[index]
    for position in links[index].subscriptions.indices
    where links[index].subscriptions[position].target.valueHandle == handle {
      for client in links[index].subscriptions[position].clients {
        actions.append(.deliver(client, .valueUpdated(peer, handle: handle, value)))
      }
      return
    }
    counters.unsolicitedValues += 1
  }

  mutating func mtuChanged(_ mtu: Int, _ index: Int, into actions: inout [Action]) {
    guard links[index].info.mtu != mtu else { return }
    links[index].info.mtu = mtu
    announceUpdate(index, into: &actions)
  }

  // MARK: Operations

  /// Starts an operation of a link.
  mutating func start(
    _ operation: GATTOperation, for purpose: Operation.Purpose, link index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    lastOperation += 1
    let id = OperationID(rawValue: lastOperation)
    operations[id] = Operation(handle: linkHandles[index], purpose: purpose)
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.start(operation, id: id, now: now, into: &outputs)
    }
  }

  /// What every new link of a central begins with: agree on the MTU, learn the name.
  mutating func introduce(_ index: Int, now: Instant, into actions: inout [Action]) {
    links[index].isIntroduced = true
    let known = remembered.first { $0.peer == linkPeers[index] }?.database
    let handle = linkHandles[index]
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.exchangeMTU(now: now, into: &outputs)
      if let known { gatt.adopt(known, now: now, into: &outputs) }
    }
    guard let index = linkIndex(handle: handle) else { return }
    start(.readByUUID(0x2A00, in: .all), for: .name, link: index, now: now, into: &actions)
  }

  mutating func run(
    _ operation: GATTOperation, on peer: DeviceAddress, _ waiter: Waiter, now: Instant,
    into actions: inout [Action]
  ) {
    guard let index = heldLink(waiter.client, peer), !links[index].isClosing else {
      return complete(waiter, .failure(absence), into: &actions)
    }
    // The peer made this link while we were looking for it.
    if !links[index].isIntroduced { introduce(index, now: now, into: &actions) }
    switch operation {
    case .discoverServices:
      guard hasRoom(waiter, into: &actions) else { return }
      start(operation, for: .services(waiter), link: index, now: now, into: &actions)
    case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read,
      .readByUUID, .readMultiple, .write, .reliableWrite, .writeWithoutResponse:
      guard hasRoom(waiter, into: &actions) else { return }
      start(operation, for: .request(waiter), link: index, now: now, into: &actions)
    }
  }

  private func hasRoom(_ waiter: Waiter, into actions: inout [Action]) -> Bool {
    if operations.count < Limits.operationsMax { return true }
    complete(waiter, .failure(.limitReached("waiting operations")), into: &actions)
    return false
  }

  private mutating func completed(
    _ id: OperationID, _ result: Result<HostReply, HostError>, now: Instant,
    into actions: inout [Action]
  ) {
    guard let operation = operations.removeValue(forKey: id) else { return }
    let link = linkIndex(handle: operation.handle)
    switch operation.purpose {
    case .request(let waiter): complete(waiter, result, into: &actions)
    case .services(let waiter):
      if let link { learnServices(result, link, into: &actions) }
      complete(waiter, result, into: &actions)
    case .subscription(let valueHandle):
      guard let link else { return }
      configured(valueHandle, result, link: link, now: now, into: &actions)
    case .name:
      if let link { learnName(result, link, into: &actions) }
    case .abandoned: break
    }
  }

  private mutating func learnServices(
    _ result: Result<HostReply, HostError>, _ index: Int, into actions: inout [Action]
  ) {
    guard case .success(.services(let found)) = result else { return }
    let known = links[index].info.services
    for service in found where service.isPrimary {
      if links[index].info.services.count < GATTLimits.foundMax,
        !links[index].info.services.contains(service.uuid)
      {
        links[index].info.services.append(service.uuid)
      }
    }
    if links[index].info.services.count != known.count { announceUpdate(index, into: &actions) }
  }

  private mutating func learnName(
    _ result: Result<HostReply, HostError>, _ index: Int, into actions: inout [Action]
  ) {
    guard case .success(.values(let values)) = result, let value = values.first?.value else {
      return
    }
    // At most 248 bytes (Core 5.4, Vol 3, Part C, §12.1); some end it with zeros.
    let text = value.utf8Prefix(248).prefix { $0 != 0 }
    guard !text.isEmpty else { return }
    links[index].info.name = String(decoding: text, as: UTF8.self)
    announceUpdate(index, into: &actions)
  }

  /// Keeps what was learned of a peer's attributes, if the next link can tell whether it still
  /// holds.
  private mutating func remember(_ link: Link) {
    // Where the link ended before anything was learned, what was known before is as good as it was.
    guard link.gatt.database.hash != nil else { return }
    remembered.removeAll { $0.peer == link.peer }
    if remembered.count >= Limits.rememberedPeersMax { remembered.removeFirst() }
    remembered.append(RememberedPeer(peer: link.peer, database: link.gatt.database))
  }

  // MARK: The end

  /// Fails everything that waits for a link that is gone.
  mutating func failOperations(
    of link: inout Link, _ error: HostError, into actions: inout [Action]
  ) {
    remember(link)
    var outputs: [GATTClient.Output] = []
    link.gatt.close(error, into: &outputs)
    for output in outputs {
      guard case .completed(let id, let result) = output,
        let operation = operations.removeValue(forKey: id)
      else { continue }
      switch operation.purpose {
      case .request(let waiter), .services(let waiter): complete(waiter, result, into: &actions)
      case .subscription, .name, .abandoned: break
      }
    }
    for subscription in link.subscriptions {
      for wish in subscription.wishes {
        complete(wish.waiter, .failure(error), into: &actions)
      }
    }
  }

  /// A client lets go of a link that may go on for others.
  mutating func endUse(
    of index: Int, by client: ClientID, linkIsEnding: Bool, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = linkHandles[index]
    // In the order they were asked: a dictionary has another one in every process.
    let ids = operations.filter { $0.value.handle == handle }.keys
    for id in ids.sorted(by: { $0.rawValue < $1.rawValue }) {
      switch operations[id]?.purpose {
      case .request(let waiter) where waiter.client == client,
        .services(let waiter) where waiter.client == client:
        operations[id]?.purpose = .abandoned
        complete(waiter, .failure(.cancelled), into: &actions)
      case .request, .services, .subscription, .name, .abandoned, nil: break
      }
    }
    let waiters = links[index].parameterWaiters.filter { $0.client == client }
    links[index].parameterWaiters.removeAll { $0.client == client }
    for waiter in waiters { complete(waiter, .failure(.cancelled), into: &actions) }
    endSubscriptions(
      of: index, by: client, linkIsEnding: linkIsEnding, now: now, into: &actions)
    // A link that ends takes its channels along.
    if !linkIsEnding { closeChannels(of: client, link: handle, now: now, into: &actions) }
  }
}
