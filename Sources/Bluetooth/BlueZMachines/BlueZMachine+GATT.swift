import BluetoothInterface
import BluetoothWire
import Essentials

// The attributes of peers: bluetoothd discovers them, and has an object for each.

extension BlueZMachine {
  mutating func run(
    _ work: BlueZLink.Work, _ peer: DeviceAddress, _ id: BlueZSessionID, _ token: RequestToken,
    now: Instant, into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard links[peer]?.isConnected(for: id) == true else {
      return complete(id, token, .failure(.notConnected), into: &actions)
    }
    links[peer]?.operations.append(BlueZLink.Operation(client: id, token: token, work: work))
    updateValueRule(now: now, into: &actions)
    startNext(peer, now: now, into: &actions)
  }

  /// Runs the operations of a link one after the other.
  private mutating func startNext(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    while let link = links[peer], link.running == .nothing, let operation = link.operations.first {
      guard let path = link.path, let device = devices[path] else { return }
      guard device.hasServices(now: now) else {
        let limit = device.areServicesResolved ? BlueZLimits.objectsMax : BlueZLimits.procedureMax
        links[peer]?.running = .awaitingServices(deadline: now + limit)
        return
      }
      start(operation, peer, device.objects, now: now, into: &actions)
    }
  }

  /// Ends the first operation.
  private mutating func finish(
    _ peer: DeviceAddress, _ result: Result<HostReply, HostError>, into actions: inout [Action]
  ) {
    guard links[peer]?.operations.isEmpty == false,
      let operation = links[peer]?.operations.removeFirst()
    else { return }
    links[peer]?.running = .nothing
    complete(operation.client, operation.token, result, into: &actions)
  }

  private mutating func start(
    _ operation: BlueZLink.Operation, _ peer: DeviceAddress, _ objects: RemoteObjects,
    now: Instant, into actions: inout [Action]
  ) {
    switch operation.work {
    case .gatt(.discoverServices(let wanted)):
      finish(peer, .success(.services(objects.primaryServices(wanted))), into: &actions)
    case .gatt(.discoverIncludedServices(let range)):
      finish(peer, .success(.services(objects.includedServices(in: range))), into: &actions)
    case .gatt(.discoverCharacteristics(let range, let wanted)):
      let found = objects.characteristics(in: range, wanted)
      finish(peer, .success(.characteristics(found)), into: &actions)
    case .gatt(.discoverDescriptors(let range)):
      finish(peer, .success(.descriptors(objects.descriptors(in: range))), into: &actions)
    case .gatt(.read(let handle)):
      callAttribute(peer, handle, "ReadValue", [.properties([:])], now: now, into: &actions)
    case .gatt(.readByUUID(let uuid, let range)):
      let handles = objects.valueHandles(of: uuid, in: range)
      let error = HostError.att(.attributeNotFound, handle: range.start)
      readEach(handles, peer, orElse: error, now: now, into: &actions)
    case .gatt(.readMultiple(let handles)):
      let error = HostError.invalidArgument("There is no handle to read.")
      readEach(handles, peer, orElse: error, now: now, into: &actions)
    case .gatt(.write(let handle, let value)):
      write(value, handle, "request", peer, now: now, into: &actions)
    case .gatt(.writeWithoutResponse(let handle, let value)):
      write(value, handle, "command", peer, now: now, into: &actions)
    case .gatt(.reliableWrite(let values)):
      guard values.count == 1, let only = values.first else {
        let error = HostError.unsupported("bluetoothd writes one value at a time reliably.")
        return finish(peer, .failure(error), into: &actions)
      }
      write(only.value, only.handle, "reliable", peer, now: now, into: &actions)
    case .gatt(.signedWrite):
      let error = HostError.unsupported("Over bluetoothd, this host signs no writes.")
      finish(peer, .failure(error), into: &actions)
    case .subscribe(let target):
      subscribe(operation.client, target, peer, now: now, into: &actions)
    case .unsubscribe(let target):
      if removeSubscriber(operation.client, target.valueHandle, peer) {
        callAttribute(peer, target.valueHandle, "StopNotify", [], now: now, into: &actions)
      } else {
        finish(peer, .success(.done), into: &actions)
      }
    }
  }

  /// Calls a method of the object with a handle, for the first operation.
  private mutating func callAttribute(
    _ peer: DeviceAddress, _ handle: UInt16, _ member: String, _ arguments: [BusValue],
    now: Instant, into actions: inout [Action]
  ) {
    guard let devicePath = links[peer]?.path, let objects = devices[devicePath]?.objects,
      let path = objects.paths[handle]
    else {
      return finish(peer, .failure(.att(.invalidHandle, handle: handle)), into: &actions)
    }
    let interface =
      objects.descriptors[path] == nil ? BusName.characteristic : BusName.descriptor
    lastOperation += 1
    links[peer]?.running = .called(serial: lastOperation)
    if devices[devicePath]?.isPaired == false { registerAgent(for: peer, now: now, into: &actions) }
    let purpose: Purpose =
      member == "StartNotify"
      ? .subscription(peer, serial: lastOperation, path: path)
      : .operation(peer, serial: lastOperation)
    send(
      bluez(path, interface, member, arguments), purpose,
      deadline: now + BlueZLimits.procedureMax, into: &actions)
  }

  private mutating func write(
    _ value: [UInt8], _ handle: UInt16, _ type: String, _ peer: DeviceAddress, now: Instant,
    into actions: inout [Action]
  ) {
    callAttribute(
      peer, handle, "WriteValue", [.bytes(value), .properties(["type": .string(type)])], now: now,
      into: &actions)
  }

  private mutating func readEach(
    _ handles: [UInt16], _ peer: DeviceAddress, orElse error: HostError, now: Instant,
    into actions: inout [Action]
  ) {
    guard let first = handles.first else { return finish(peer, .failure(error), into: &actions) }
    links[peer]?.operations[0].remaining = handles
    callAttribute(peer, first, "ReadValue", [.properties([:])], now: now, into: &actions)
  }

  // MARK: Replies

  /// The reply to `StartNotify`, also to one that no client waits for any more: its subscription is ended.
  mutating func subscriptionReplied(
    _ result: Result<[BusValue], BusError>, _ peer: DeviceAddress, _ serial: UInt64,
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    operationReplied(result, peer, serial, now: now, into: &actions)
    let mayBeActive =
      switch result {
      case .success: true
      case .failure(let error): error.name == BlueZErrorName.noReply
      }
    let isWanted = links[peer].map { link in
      link.path == ObjectPath.device(of: path) && isSubscribing(link, path)
    }
    if mayBeActive, isWanted != true { callStopNotify(path, now: now, into: &actions) }
  }

  /// Whether a client is subscribed to a characteristic, or is about to be.
  private func isSubscribing(_ link: BlueZLink, _ path: String) -> Bool {
    guard let handle = ObjectPath.handle(in: path).map({ $0 &+ 1 }) else { return false }
    if link.subscribers[handle] != nil { return true }
    guard case .called = link.running, case .subscribe(let target)? = link.operations.first?.work
    else { return false }
    return target.valueHandle == handle
  }

  mutating func operationReplied(
    _ result: Result<[BusValue], BusError>, _ peer: DeviceAddress, _ serial: UInt64, now: Instant,
    into actions: inout [Action]
  ) {
    guard let link = links[peer], link.running == .called(serial: serial),
      let operation = link.operations.first
    else { return }
    links[peer]?.running = .nothing
    if let path = link.path {
      if case .failure(let error) = result, error.name == BlueZErrorName.noReply,
        pairings[path]?.isImplicit == true
      {
        // What had no answer is a user's question, or the pairing.
        return failPairedOperation(peer, .security(.timeout), now: now, into: &actions)
      }
      let failure = HostError.security(.pairingFailed(.unspecifiedReason))
      let isFailure = if case .failure = result { true } else { false }
      endImplicitPairing(path, isFailure ? failure : nil, now: now, into: &actions)
    }
    switch result {
    case .success(let values) where operation.probeHandle != nil:
      releaseHeldValue(
        peer, operation.currentHandle, unless: values.first?.bytes, into: &actions)
      finish(peer, .success(.done), into: &actions)
    case .failure where operation.probeHandle != nil:
      // An error is a reply of the peer, too.
      releaseHeldValue(peer, operation.currentHandle, unless: nil, into: &actions)
      finish(peer, .success(.done), into: &actions)
    case .failure(let error):
      operationFailed(operation, peer, error, now: now, into: &actions)
    case .success(let values):
      operationSucceeded(operation, peer, values, now: now, into: &actions)
    }
    startNext(peer, now: now, into: &actions)
  }

  private mutating func operationFailed(
    _ operation: BlueZLink.Operation, _ peer: DeviceAddress, _ error: BusError, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = operation.currentHandle
    releaseHeldValue(peer, handle, unless: nil, into: &actions)
    links[peer]?.earlyValues = []
    links[peer]?.droppedEarlyValueCount = 0
    // Another program's operation on this attribute, or one of bluetoothd's own.
    if error.name == BlueZErrorName.inProgress,
      operation.inProgressCount < BlueZLimits.inProgressCountMax
    {
      links[peer]?.operations[0].inProgressCount += 1
      links[peer]?.running = .pausing(until: now + BlueZLimits.pause(after: 1))
      return
    }
    let failure = error.hostError(handle: handle)
    if failure.needsPairing, !operation.hasPaired, let path = links[peer]?.path,
      devices[path]?.isPaired == false
    {
      return pairForOperation(path, peer, now: now, into: &actions)
    }
    finish(peer, .failure(failure), into: &actions)
  }

  /// Ends the first operation, for which bluetoothd was about to pair, and the pairing with it.
  mutating func failPairedOperation(
    _ peer: DeviceAddress, _ error: HostError, now: Instant, into actions: inout [Action]
  ) {
    if let operation = links[peer]?.operations.first {
      releaseHeldValue(peer, operation.currentHandle, unless: nil, into: &actions)
    }
    links[peer]?.earlyValues = []
    links[peer]?.droppedEarlyValueCount = 0
    finish(peer, .failure(error), into: &actions)
    if let path = links[peer]?.path {
      endImplicitPairing(path, error, now: now, into: &actions)
    }
    startNext(peer, now: now, into: &actions)
  }

  /// The pairing for the first operation has ended: the operation is repeated, or fails for the same reason.
  mutating func operationPaired(
    _ peer: DeviceAddress, _ error: HostError?, now: Instant, into actions: inout [Action]
  ) {
    links[peer]?.running = .nothing
    if let error { finish(peer, .failure(error), into: &actions) }
    startNext(peer, now: now, into: &actions)
  }

  private mutating func operationSucceeded(
    _ operation: BlueZLink.Operation, _ peer: DeviceAddress, _ values: [BusValue], now: Instant,
    into actions: inout [Action]
  ) {
    switch operation.work {
    case .gatt(.read):
      guard let value = values.first?.bytes else {
        return finish(peer, .failure(.invalidResponse), into: &actions)
      }
      releaseHeldValue(peer, operation.currentHandle, unless: value, into: &actions)
      finish(peer, .success(.value(value)), into: &actions)
    case .gatt(.readByUUID), .gatt(.readMultiple):
      guard let value = values.first?.bytes else {
        return finish(peer, .failure(.invalidResponse), into: &actions)
      }
      releaseHeldValue(peer, operation.currentHandle, unless: value, into: &actions)
      readNext(operation, peer, value, now: now, into: &actions)
    case .subscribe(let target):
      guard links[peer]?.isConnected(for: operation.client) == true else {
        return finish(peer, .failure(.notConnected), into: &actions)
      }
      links[peer]?.subscribers[target.valueHandle, default: []].insert(operation.client)
      finish(peer, .success(.done), into: &actions)
      deliverEarlyValues(peer, target.valueHandle, operation.client, into: &actions)
    case .gatt(.writeWithoutResponse): commandQueued(peer, now: now, into: &actions)
    case .gatt, .unsubscribe: finish(peer, .success(.done), into: &actions)
    }
  }

  /// bluetoothd has queued a write without response, in a queue without bound. Of several, the last one ends with the
  /// reply to a read: a request leaves after all commands before it.
  private mutating func commandQueued(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    links[peer]?.commandCount += 1
    guard let link = links[peer], link.commandCount >= BlueZLimits.commandCountMax,
      let path = link.path, let written = link.operations.first?.currentHandle,
      let handle = devices[path]?.objects.probeHandle(after: written)
    else { return finish(peer, .success(.done), into: &actions) }
    links[peer]?.commandCount = 0
    links[peer]?.operations[0].probeHandle = handle
    callAttribute(peer, handle, "ReadValue", [.properties([:])], now: now, into: &actions)
  }

  private mutating func readNext(
    _ operation: BlueZLink.Operation, _ peer: DeviceAddress, _ value: [UInt8], now: Instant,
    into actions: inout [Action]
  ) {
    var values = operation.values
    values.append(AttributeValue(handle: operation.currentHandle, value: value))
    let remaining = Array(operation.remaining.dropFirst())
    guard let next = remaining.first else {
      return finish(peer, .success(.values(values)), into: &actions)
    }
    links[peer]?.operations[0].values = values
    links[peer]?.operations[0].remaining = remaining
    callAttribute(peer, next, "ReadValue", [.properties([:])], now: now, into: &actions)
  }

  // MARK: Subscriptions

  private mutating func subscribe(
    _ id: BlueZSessionID, _ target: SubscriptionTarget, _ peer: DeviceAddress, now: Instant,
    into actions: inout [Action]
  ) {
    let handle = target.valueHandle
    guard links[peer]?.subscribers[handle]?.isEmpty ?? true else {
      links[peer]?.subscribers[handle]?.insert(id)
      return finish(peer, .success(.done), into: &actions)
    }
    callAttribute(peer, handle, "StartNotify", [], now: now, into: &actions)
  }

  /// Returns whether the client was the last one.
  private mutating func removeSubscriber(
    _ id: BlueZSessionID, _ handle: UInt16, _ peer: DeviceAddress
  ) -> Bool {
    guard links[peer]?.subscribers[handle]?.remove(id) != nil else { return false }
    guard links[peer]?.subscribers[handle]?.isEmpty == true else { return false }
    links[peer]?.subscribers[handle] = nil
    return true
  }

  /// Ends all subscriptions of a client on a link that goes on.
  mutating func unsubscribe(
    _ id: BlueZSessionID, _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    for handle in links[peer]?.subscribers.keys.sorted() ?? []
    where removeSubscriber(id, handle, peer) {
      callStopNotify(peer, handle, now: now, into: &actions)
    }
  }

  /// bluetoothd would subscribe again when the device comes back.
  mutating func stopNotifying(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    for handle in links[peer]?.subscribers.keys.sorted() ?? [] {
      callStopNotify(peer, handle, now: now, into: &actions)
    }
    links[peer]?.subscribers = [:]
  }

  private mutating func callStopNotify(
    _ peer: DeviceAddress, _ handle: UInt16, now: Instant, into actions: inout [Action]
  ) {
    guard case .ready = phase, let devicePath = links[peer]?.path,
      let path = devices[devicePath]?.objects.paths[handle]
    else { return }
    callStopNotify(path, now: now, into: &actions)
  }

  private mutating func callStopNotify(
    _ path: String, now: Instant, into actions: inout [Action]
  ) {
    send(
      bluez(path, BusName.characteristic, "StopNotify"), .release,
      deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// Delivers the value of a signal that has nothing else. Returns whether it is one.
  mutating func valueSignalled(_ signal: BusSignal, into actions: inout [Action]) -> Bool {
    guard signal.interface == BusName.properties, case .ready(let owner) = phase,
      signal.sender == owner, signal.arguments.count >= 2,
      case .string(BusName.characteristic) = signal.arguments[0],
      case .properties(let values) = signal.arguments[1], values.count == 1,
      case .bytes(let value)? = values["Value"]
    else { return false }
    if let peer = ObjectPath.device(of: signal.path).flatMap({ linkPeers[$0] }),
      let handle = ObjectPath.handle(in: signal.path).map({ $0 &+ 1 }), let link = links[peer],
      let subscribers = link.subscribers[handle], !link.isReading(handle)
    {
      deliverValue(value, peer, handle, to: subscribers, into: &actions)
    } else {
      characteristicChanged(signal.path, values, into: &actions)
    }
    return true
  }

  mutating func characteristicChanged(
    _ path: String, _ values: [String: BusValue], into actions: inout [Action]
  ) {
    guard let devicePath = ObjectPath.device(of: path) else { return }
    if let mtu = values["MTU"]?.uint16 {
      devices[devicePath]?.objects.update(mtu: mtu)
      updateLink(devicePath, into: &actions)
    }
    guard let value = values["Value"]?.bytes, let peer = linkPeers[devicePath],
      let handle = devices[devicePath]?.objects.characteristics[path]?.valueHandle,
      let link = links[peer]
    else { return }
    guard link.subscribers[handle] != nil else {
      return keepEarlyValue(value, handle, peer)
    }
    // A read's value is signalled like a notification's, just before the reply.
    if link.isReading(handle) {
      releaseHeldValue(peer, handle, unless: nil, into: &actions)
      links[peer]?.heldValue = value
    } else {
      deliverValue(value, peer, handle, into: &actions)
    }
  }

  /// Keeps a value that the peer sent before its response to the subscription.
  private mutating func keepEarlyValue(
    _ value: [UInt8], _ handle: UInt16, _ peer: DeviceAddress
  ) {
    guard let link = links[peer], case .called = link.running,
      case .subscribe(let target)? = link.operations.first?.work, target.valueHandle == handle
    else { return }
    if link.earlyValues.count < BlueZLimits.earlyValueCountMax {
      links[peer]?.earlyValues.append(value)
    } else {
      links[peer]?.droppedEarlyValueCount += 1
    }
  }

  private mutating func deliverEarlyValues(
    _ peer: DeviceAddress, _ handle: UInt16, _ id: BlueZSessionID, into actions: inout [Action]
  ) {
    guard let link = links[peer] else { return }
    links[peer]?.earlyValues = []
    links[peer]?.droppedEarlyValueCount = 0
    for value in link.earlyValues { deliverValue(value, peer, handle, into: &actions) }
    if link.droppedEarlyValueCount > 0 {
      let source = ValueSource(peer: peer, handle: handle)
      clients[id]?.droppedValues[source, default: 0] += link.droppedEarlyValueCount
      counters.droppedValues += link.droppedEarlyValueCount
    }
  }

  /// Delivers the held value, unless it is the one that was read.
  private mutating func releaseHeldValue(
    _ peer: DeviceAddress, _ handle: UInt16, unless read: [UInt8]?, into actions: inout [Action]
  ) {
    guard let value = links[peer]?.heldValue else { return }
    links[peer]?.heldValue = nil
    if value != read { deliverValue(value, peer, handle, into: &actions) }
  }

  private mutating func deliverValue(
    _ value: [UInt8], _ peer: DeviceAddress, _ handle: UInt16, into actions: inout [Action]
  ) {
    let subscribers = links[peer]?.subscribers[handle] ?? []
    deliverValue(value, peer, handle, to: subscribers, into: &actions)
  }

  private mutating func deliverValue(
    _ value: [UInt8], _ peer: DeviceAddress, _ handle: UInt16, to subscribers: Set<BlueZSessionID>,
    into actions: inout [Action]
  ) {
    let source = ValueSource(peer: peer, handle: handle)
    for id in subscribers.sorted() {
      guard !isBehind(id) else {
        clients[id]?.droppedValues[source, default: 0] += 1
        counters.droppedValues += 1
        continue
      }
      if let count = clients[id]?.droppedValues.removeValue(forKey: source) {
        deliver(.valuesDropped(peer, handle: handle, count: count), to: id, into: &actions)
      }
      deliver(.valueUpdated(peer, handle: handle, value[...]), to: id, into: &actions)
    }
  }

  // MARK: Services that come and go

  mutating func attributeAdded(
    _ path: String, of devicePath: String, now: Instant, into actions: inout [Action]
  ) {
    adoptLink(devicePath, now: now, into: &actions)
    guard let peer = linkPeers[devicePath], let device = devices[devicePath] else { return }
    servicesMayBeThere(peer, now: now, into: &actions)
    // After the discovery of services, a new one is a change of the peer's database.
    guard device.areServicesResolved, links[peer]?.phase == .open,
      let service = device.objects.services[path],
      let range = device.objects.primaryServices([service.uuid]).map(\.range).first(where: {
        $0.start == service.handle
      })
    else { return }
    reportChange(of: range, peer, into: &actions)
  }

  mutating func serviceRemoved(
    _ range: HandleRange, of devicePath: String, into actions: inout [Action]
  ) {
    guard let peer = linkPeers[devicePath], links[peer]?.phase == .open else { return }
    reportChange(of: range, peer, into: &actions)
  }

  private mutating func reportChange(
    of range: HandleRange, _ peer: DeviceAddress, into actions: inout [Action]
  ) {
    for handle in links[peer]?.subscribers.keys.sorted() ?? [] where range.contains(handle) {
      links[peer]?.subscribers[handle] = nil
    }
    for id in links[peer]?.users.keys.sorted() ?? [] {
      deliver(.servicesChanged(peer, range), to: id, into: &actions)
    }
  }

  mutating func servicesMayBeThere(
    _ peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard case .awaitingServices = links[peer]?.running, let path = links[peer]?.path,
      devices[path]?.areServicesResolved == true
    else { return }
    links[peer]?.running = .nothing
    startNext(peer, now: now, into: &actions)
  }

  // MARK: Time and the end

  mutating func wakeOperation(_ peer: DeviceAddress, now: Instant, into actions: inout [Action]) {
    switch links[peer]?.running {
    case .awaitingServices(let deadline) where deadline <= now:
      links[peer]?.running = .nothing
      let path = links[peer]?.path
      if path.flatMap({ devices[$0]?.areServicesResolved }) != true {
        finish(peer, .failure(.attTimeout), into: &actions)
      }
      startNext(peer, now: now, into: &actions)
    case .pausing(let time) where time <= now:
      links[peer]?.running = .nothing
      startNext(peer, now: now, into: &actions)
    case .nothing, .awaitingServices, .called, .pausing, .pairing, nil: break
    }
  }

  /// Ends the operations of a client that leaves a link. One that bluetoothd performs ends with its reply.
  mutating func dropOperations(
    of id: BlueZSessionID, on peer: DeviceAddress, now: Instant, into actions: inout [Action]
  ) {
    guard let link = links[peer] else { return }
    var kept: [BlueZLink.Operation] = []
    var isFirstKept = true
    for (index, operation) in link.operations.enumerated() {
      let isPerformed = if index == 0, case .called = link.running { true } else { false }
      if operation.client != id || isPerformed {
        kept.append(operation)
      } else {
        if index == 0 { isFirstKept = false }
        complete(id, operation.token, .failure(.cancelled), into: &actions)
      }
    }
    links[peer]?.operations = kept
    if !isFirstKept {
      links[peer]?.running = .nothing
      if let path = link.path { cancelPairingIfUnwanted(path, now: now, into: &actions) }
      startNext(peer, now: now, into: &actions)
    }
  }

  mutating func failOperations(
    _ peer: DeviceAddress, _ error: HostError, into actions: inout [Action]
  ) {
    let operations = links[peer]?.operations ?? []
    links[peer]?.operations = []
    links[peer]?.running = .nothing
    links[peer]?.heldValue = nil
    links[peer]?.earlyValues = []
    links[peer]?.droppedEarlyValueCount = 0
    for operation in operations {
      complete(operation.client, operation.token, .failure(error), into: &actions)
    }
  }
}
