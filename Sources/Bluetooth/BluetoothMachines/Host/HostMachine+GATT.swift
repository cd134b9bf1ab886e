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

extension HostMachine {
  /// Lets a link's GATT client put out something and acts on it. The link may be gone after this.
  mutating func withGATT(
    _ index: Int, now: Instant, into actions: inout [Action],
    _ body: (inout GATTClient, inout [GATTClient.Output]) -> Void
  ) {
    var outputs: [GATTClient.Output] = []
    swap(&outputs, &gattOutputs)
    let handle = links[index].handle
    body(&links[index].gatt, &outputs)
    due(links[index].gatt.nextWake)
    for output in outputs {
      guard let index = linkIndex(handle: handle) else { break }
      take(output, from: index, now: now, into: &actions)
    }
    outputs.removeAll(keepingCapacity: true)
    swap(&outputs, &gattOutputs)
  }

  private mutating func take(
    _ output: GATTClient.Output, from index: Int, now: Instant, into actions: inout [Action]
  ) {
    switch output {
    case .valueReceived(let handle, let value, _):
      deliver(value, of: handle, from: index, into: &actions)
    case .send(let pdu):
      sendAttributePDU(pdu, tag: nil, link: index)
    case .completed(let id, let result):
      completed(id, result, now: now, into: &actions)
    case .mtuChanged(let mtu):
      mtuChanged(mtu, index, into: &actions)
    case .servicesChanged(let range):
      let peer = links[index].peer
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
    scheduler.enqueue(frame, handle: links[index].handle)
  }

  private func deliver(
    _ value: ArraySlice<UInt8>, of handle: UInt16, from index: Int, into actions: inout [Action]
  ) {
    let peer = links[index].peer
    for position in links[index].subscriptions.indices
    where links[index].subscriptions[position].target.valueHandle == handle {
      for client in links[index].subscriptions[position].clients {
        actions.append(.deliver(client, .valueUpdated(peer, handle: handle, value)))
      }
      return
    }
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
    operations[id] = Operation(handle: links[index].handle, purpose: purpose)
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.start(operation, id: id, now: now, into: &outputs)
    }
  }

  /// What every new link of a central begins with: agree on the MTU, learn the name.
  mutating func introduce(_ index: Int, now: Instant, into actions: inout [Action]) {
    links[index].isIntroduced = true
    let handle = links[index].handle
    withGATT(index, now: now, into: &actions) { gatt, outputs in
      gatt.exchangeMTU(now: now, into: &outputs)
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
    switch operation {
    case .writeWithoutResponse(let handle, let value):
      writeWithoutResponse(value, to: handle, link: index, waiter, into: &actions)
      return
    case .discoverServices:
      guard hasRoom(waiter, into: &actions) else { return }
      start(operation, for: .services(waiter), link: index, now: now, into: &actions)
    case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .read,
      .readByUUID, .readMultiple, .write, .reliableWrite:
      guard hasRoom(waiter, into: &actions) else { return }
      start(operation, for: .request(waiter), link: index, now: now, into: &actions)
    }
  }

  private func hasRoom(_ waiter: Waiter, into actions: inout [Action]) -> Bool {
    if operations.count < Limits.operationsMax { return true }
    complete(waiter, .failure(.limitReached("waiting operations")), into: &actions)
    return false
  }

  /// A Write Command needs no answer, so it doesn't wait in the client's line; it is done when the
  /// controller has it (Core 5.4, Vol 3, Part F, §3.4.5.3).
  private mutating func writeWithoutResponse(
    _ value: [UInt8], to handle: UInt16, link index: Int, _ waiter: Waiter,
    into actions: inout [Action]
  ) {
    guard value.count <= links[index].info.mtu - 3 else {
      let room = links[index].info.mtu - 3
      let error = HostError.invalidArgument(
        "\(value.count) bytes in a write without response; this link takes \(room).")
      return complete(waiter, .failure(error), into: &actions)
    }
    guard links[index].writes.count < Limits.operationsMax else {
      return complete(waiter, .failure(.limitReached("waiting writes")), into: &actions)
    }
    var writer = ByteWriter(capacity: value.count + 3)
    writer.uint8(ATTOpcode.writeCommand.rawValue)
    writer.uint16(handle)
    writer.append(value)
    lastTag += 1
    let tag = SendTag(rawValue: Self.writeTagMark | lastTag)
    links[index].writes.append(PendingWrite(tag: tag, waiter: waiter))
    sendAttributePDU(writer.bytes, tag: tag, link: index)
  }

  /// Marks the tags of writes without response among those of the attribute protocol.
  static var writeTagMark: UInt64 { 1 << 62 }

  /// An attribute PDU was handed to the controller.
  mutating func attributeHandedOver(
    _ tag: SendTag, link index: Int, now: Instant, into actions: inout [Action]
  ) {
    guard tag.rawValue & Self.writeTagMark != 0 else {
      return serverHandedOver(tag, link: index, now: now, into: &actions)
    }
    // They leave in the order they came.
    guard let first = links[index].writes.firstIndex(where: { $0.tag == tag }) else { return }
    let write = links[index].writes.remove(at: first)
    complete(write.waiter, .success(.done), into: &actions)
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
      if !links[index].info.services.contains(service.uuid) {
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
    let text = value.prefix(248).prefix { $0 != 0 }
    guard !text.isEmpty else { return }
    links[index].info.name = String(decoding: text, as: UTF8.self)
    announceUpdate(index, into: &actions)
  }

  // MARK: The end

  /// Fails everything that waits for a link that is gone.
  mutating func failOperations(
    of link: inout Link, _ error: HostError, into actions: inout [Action]
  ) {
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
    for write in link.writes { complete(write.waiter, .failure(error), into: &actions) }
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
    let handle = links[index].handle
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
    let writes = links[index].writes.filter { $0.waiter.client == client }
    links[index].writes.removeAll { $0.waiter.client == client }
    for write in writes { complete(write.waiter, .failure(.cancelled), into: &actions) }
    let waiters = links[index].parameterWaiters.filter { $0.client == client }
    links[index].parameterWaiters.removeAll { $0.client == client }
    for waiter in waiters { complete(waiter, .failure(.cancelled), into: &actions) }
    endSubscriptions(
      of: index, by: client, linkIsEnding: linkIsEnding, now: now, into: &actions)
  }
}
