import BluetoothInterface
import BluetoothWire
import Essentials

// Services of this program. Each is an application of its own, because bluetoothd reads the objects of one only once.

/// A request of a peer that its client has not answered.
struct PendingServerRequest: Sendable {
  var client: BlueZSessionID
  var peer: DeviceAddress
  var handle: UInt16
  var call: IncomingCallID
  var isRead: Bool
  var deadline: Instant
}

extension BlueZMachine {
  static let serviceRoot = "/org/ambit/application/"

  // MARK: Publishing

  mutating func addService(
    _ definition: ServiceDefinition, _ id: BlueZSessionID, _ token: RequestToken, now: Instant,
    into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    if let error = refusal(of: definition, by: id) {
      return complete(id, token, .failure(error), into: &actions)
    }
    lastObject += 1
    let root = Self.serviceRoot + String(lastObject)
    services[root] = LocalService(client: id, definition: definition, root: root)
    registerService(root, token, now: now, into: &actions)
  }

  private func refusal(
    of definition: ServiceDefinition, by id: BlueZSessionID
  ) -> HostError? {
    guard definition.includedServices.isEmpty else {
      return .unsupported("Over bluetoothd, a service can't include those of other requests.")
    }
    let owners = services.values.map { [$0.client] }
    guard mayHave(id, oneMoreOf: owners, countMax: BlueZLimits.serviceCountMax) else {
      return .limitReached("services")
    }
    guard definition.attributeCount <= BlueZLimits.serviceAttributeCountMax else {
      return .limitReached("attributes of a service")
    }
    guard definition.characteristics.allSatisfy({ !$0.flags.isEmpty }) else {
      return .invalidArgument("bluetoothd takes no characteristic without a property.")
    }
    return nil
  }

  mutating func registerService(
    _ root: String, _ token: RequestToken?, now: Instant, into actions: inout [Action]
  ) {
    guard let adapter else { return }
    services[root]?.phase = .registering(token)
    services[root]?.adapter = adapter
    services[root]?.refusal?.retryAt = nil
    send(
      bluez(
        adapter, BusName.gattManager, "RegisterApplication", [.path(root), .properties([:])]),
      .publish(root: root), deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  mutating func serviceReplied(
    _ result: Result<[BusValue], BusError>, _ root: String, now: Instant,
    into actions: inout [Action]
  ) {
    guard let service = services[root], case .registering(let token) = service.phase else { return }
    let error: String
    switch result {
    case .success:
      if let published = service.published {
        services[root]?.phase = .registered
        services[root]?.refusal = nil
        if let token {
          complete(service.client, token, .success(.published(published)), into: &actions)
        }
        return
      }
      error = "it has registered a service without handles"
    case .failure(let reply): error = reply.loggedText
    }
    if let token {
      removeService(root, now: now, into: &actions)
      let failure = HostError.transport("bluetoothd takes no service: \(error).")
      return complete(service.client, token, .failure(failure), into: &actions)
    }
    // The client has published it, as far as it knows.
    unregister(service, now: now, into: &actions)
    let refusal = Refusal(count: (service.refusal?.count ?? 0) + 1, error: error, now: now)
    services[root]?.phase = .waiting
    services[root]?.refusal = refusal
    registrationRefused(refusal, of: "A service", service.client, now: now, into: &actions)
  }

  mutating func removeServices(
    of id: BlueZSessionID, handle: UInt16? = nil, now: Instant, into actions: inout [Action]
  ) {
    for root in services.keys.sorted() {
      guard let service = services[root], service.client == id,
        handle.map({ $0 == service.handle }) ?? true
      else { continue }
      if case .registering(let token?) = service.phase {
        complete(id, token, .failure(.cancelled), into: &actions)
      }
      removeService(root, now: now, into: &actions)
    }
  }

  private mutating func removeService(
    _ root: String, now: Instant, into actions: inout [Action]
  ) {
    guard let service = services.removeValue(forKey: root) else { return }
    failUpdates(of: service, .cancelled, into: &actions)
    let handles = Set(service.characteristics.map(\.valueHandle))
    for id in serverRequests.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let request = serverRequests[id], handles.contains(request.handle) else { continue }
      serverRequests[id] = nil
      counters.expiredRequests += 1
      actions.append(.answer(request.call, .failure(ATTErrorCode.unlikelyError.busError)))
    }
    unregister(service, now: now, into: &actions)
  }

  private mutating func unregister(
    _ service: LocalService, now: Instant, into actions: inout [Action]
  ) {
    guard service.phase != .waiting, let adapter = service.adapter, adapters[adapter] != nil else {
      return
    }
    send(
      bluez(adapter, BusName.gattManager, "UnregisterApplication", [.path(service.root)]),
      .release, deadline: now + BlueZLimits.answerMax, into: &actions)
  }

  /// The radio is on: services of before that bluetoothd or this adapter doesn't have are registered.
  mutating func resumeServices(now: Instant, into actions: inout [Action]) {
    for root in services.keys.sorted() {
      guard let service = services[root], service.phase == .waiting || service.adapter != adapter
      else { continue }
      registerService(root, nil, now: now, into: &actions)
    }
  }

  /// bluetoothd is gone, and its applications and calls with it.
  mutating func loseServices(into actions: inout [Action]) {
    // Calls without an answer are bounded, also across bluetoothd's end.
    for id in serverRequests.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let request = serverRequests[id] else { continue }
      actions.append(.answer(request.call, .failure(ATTErrorCode.unlikelyError.busError)))
    }
    serverRequests = [:]
    for root in services.keys.sorted() {
      guard let service = services[root] else { continue }
      failUpdates(of: service, .radioNotReady, into: &actions)
      for index in service.characteristics.indices {
        services[root]?.characteristics[index].unconfirmed = []
      }
      if case .registering(let token?) = service.phase {
        services[root] = nil
        complete(service.client, token, .failure(.radioNotReady), into: &actions)
      } else {
        services[root]?.phase = .waiting
        services[root]?.refusal = nil
      }
    }
  }

  /// An adapter is gone, and what bluetoothd had registered for it. It may come back at the same path.
  mutating func loseRegistrations(with adapter: String) {
    for root in services.keys
    where services[root]?.adapter == adapter && services[root]?.phase == .registered {
      services[root]?.phase = .waiting
    }
    for id in advertisements.keys
    where advertisements[id]?.adapter == adapter && advertisements[id]?.phase == .registered {
      advertisements[id]?.phase = .waiting
    }
  }

  private mutating func failUpdates(
    of service: LocalService, _ error: HostError, into actions: inout [Action]
  ) {
    for update in service.characteristics.flatMap(\.unconfirmed) {
      complete(update.client, update.token, .failure(error), into: &actions)
    }
  }

  // MARK: Calls of bluetoothd

  mutating func serviceCalled(
    _ id: IncomingCallID, _ call: BusMethodCall, now: Instant, into actions: inout [Action]
  ) {
    guard
      let root = services.keys.first(where: { call.path == $0 || call.path.hasPrefix($0 + "/") }),
      let service = services[root]
    else { return actions.append(.answer(id, .failure(Self.unknownObject))) }
    switch (call.interface, call.member) {
    case (BusName.objectManager, "GetManagedObjects") where call.path == root:
      actions.append(.answer(id, .success([.objects(service.objects)])))
    case (BusName.properties, "Set"):
      if call.arguments.count == 3, call.arguments[1].text == "Handle",
        let handle = call.arguments[2].uint16
      {
        services[root]?.setHandle(handle, of: call.path)
      }
      actions.append(.answer(id, .success([])))
    case (BusName.descriptor, "ReadValue"):
      answerFixed(id, service.descriptor(at: call.path), call, into: &actions)
    case (BusName.characteristic, _):
      guard let index = service.characteristic(at: call.path) else {
        return actions.append(.answer(id, .failure(Self.unknownObject)))
      }
      characteristicCalled(id, call, root, index, now: now, into: &actions)
    default: actions.append(.answer(id, .failure(Self.unknownMethod)))
    }
  }

  private func answerFixed(
    _ id: IncomingCallID, _ value: [UInt8]?, _ call: BusMethodCall, into actions: inout [Action]
  ) {
    let offset = Int(call.options["offset"]?.uint16 ?? 0)
    guard let value else {
      return actions.append(.answer(id, .failure(Self.unknownObject)))
    }
    guard offset <= value.count else {
      return actions.append(.answer(id, .failure(ATTErrorCode.invalidOffset.busError)))
    }
    actions.append(.answer(id, .success([.bytes(Array(value[offset...]))])))
  }

  private mutating func characteristicCalled(
    _ id: IncomingCallID, _ call: BusMethodCall, _ root: String, _ index: Int, now: Instant,
    into actions: inout [Action]
  ) {
    guard let characteristic = services[root]?.characteristics[index] else { return }
    switch call.member {
    case "ReadValue":
      if let value = characteristic.definition.value {
        return answerFixed(id, value, call, into: &actions)
      }
      let offset = Int(call.options["offset"]?.uint16 ?? 0)
      request(
        .read(handle: characteristic.valueHandle, offset: offset), needsResponse: true, id, call,
        root, now: now, into: &actions)
    case "WriteValue":
      let write = ServerRequest.Write(
        handle: characteristic.valueHandle,
        offset: Int(call.options["offset"]?.uint16 ?? 0), value: call.arguments.first?.bytes ?? [])
      request(
        .write([write]), needsResponse: characteristic.needsResponse, id, call, root, now: now,
        into: &actions)
    case "StartNotify":
      actions.append(.answer(id, .success([])))
      subscribed(root, index, into: &actions)
    case "StopNotify":
      actions.append(.answer(id, .success([])))
      unsubscribe(root, index, nil, into: &actions)
    case "Confirm":
      actions.append(.answer(id, .success([])))
      guard let first = characteristic.unconfirmed.first else { return }
      services[root]?.characteristics[index].unconfirmed.removeFirst()
      complete(first.client, first.token, .success(.done), into: &actions)
    default: actions.append(.answer(id, .failure(Self.unknownMethod)))
    }
  }

  /// Delivers a peer's request to the client of the service.
  private mutating func request(
    _ kind: ServerRequest.Kind, needsResponse: Bool, _ id: IncomingCallID, _ call: BusMethodCall,
    _ root: String, now: Instant, into actions: inout [Action]
  ) {
    guard let client = services[root]?.client, let path = call.options["device"]?.text,
      let peer = devices[path]?.address
    else {
      return actions.append(.answer(id, .failure(ATTErrorCode.unlikelyError.busError)))
    }
    // A peer with a public address is known for one of LE by this only.
    if call.options["link"]?.text == "LE" {
      adoptLink(path, isLowEnergy: true, now: now, into: &actions)
    }
    if let mtu = call.options["mtu"]?.uint16 {
      devices[path]?.objects.update(mtu: mtu)
      updateLink(path, into: &actions)
    }
    lastServerRequest += 1
    let requestID = ServerRequestID(rawValue: lastServerRequest)
    let request = ServerRequest(
      id: requestID, peer: linkPeers[path] ?? peer, kind: kind, needsResponse: needsResponse)
    let source = ValueSource(peer: request.peer, handle: request.firstHandle)
    guard !isBehind(client) else {
      if !needsResponse {
        clients[client]?.droppedWrites[source, default: 0] += 1
        counters.droppedValues += 1
      }
      return actions.append(.answer(id, .failure(ATTErrorCode.insufficientResources.busError)))
    }
    if let count = clients[client]?.droppedWrites.removeValue(forKey: source) {
      deliver(
        .writesDropped(source.peer, handle: source.handle, count: count), to: client, into: &actions
      )
    }
    let isRead = if case .read = kind { true } else { false }
    if needsResponse {
      serverRequests[requestID] = PendingServerRequest(
        client: client, peer: request.peer, handle: request.firstHandle, call: id, isRead: isRead,
        deadline: now + BlueZLimits.serverAnswerMax)
    } else {
      actions.append(.answer(id, .success([])))
    }
    deliver(.serverRequest(request), to: client, into: &actions)
  }

  mutating func respond(
    _ id: ServerRequestID, _ result: Result<[UInt8], ATTErrorCode>, of client: BlueZSessionID,
    into actions: inout [Action]
  ) {
    guard let request = serverRequests[id], request.client == client else { return }
    serverRequests[id] = nil
    let values: Result<[BusValue], BusError> =
      result.map { request.isRead ? [.bytes($0)] : [] }.mapError(\.busError)
    actions.append(.answer(request.call, values))
  }

  /// Answers the requests that clients did not answer before bluetoothd's limit.
  mutating func wakeServer(now: Instant, into actions: inout [Action]) {
    for id in serverRequests.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let request = serverRequests[id], request.deadline <= now else { continue }
      serverRequests[id] = nil
      counters.expiredRequests += 1
      actions.append(.answer(request.call, .failure(ATTErrorCode.unlikelyError.busError)))
      deliver(
        .requestsExpired(request.peer, handle: request.handle, count: 1), to: request.client,
        into: &actions)
    }
    for root in services.keys.sorted() {
      for index in services[root]?.characteristics.indices ?? 0..<0 {
        while let first = services[root]?.characteristics[index].unconfirmed.first,
          first.deadline <= now
        {
          services[root]?.characteristics[index].unconfirmed.removeFirst()
          complete(first.client, first.token, .failure(.attTimeout), into: &actions)
        }
      }
    }
  }

  var nextServerWake: Instant? {
    let deadlines =
      serverRequests.values.map(\.deadline)
      + services.values.flatMap(\.characteristics).compactMap(\.unconfirmed.first?.deadline)
    return deadlines.min()
  }

  // MARK: Subscribers

  /// A peer has subscribed; bluetoothd doesn't report which one. It is one of those that are connected as centrals.
  private mutating func subscribed(
    _ root: String, _ index: Int, into actions: inout [Action]
  ) {
    guard let service = services[root] else { return }
    let characteristic = service.characteristics[index]
    let open = links.filter { $0.value.isUp && !characteristic.subscribers.contains($0.key) }
    let centrals = open.filter { $0.value.info.role == .peripheral }
    let candidates = centrals.isEmpty ? open.filter { !$0.value.isOurs } : centrals
    for peer in candidates.keys.sorted(by: { $0.bits < $1.bits }) {
      services[root]?.characteristics[index].subscribers.insert(peer)
      deliver(
        .subscribed(peer, handle: characteristic.valueHandle), to: service.client, into: &actions)
    }
  }

  /// Reports the end of a peer's subscription, or of all.
  private mutating func unsubscribe(
    _ root: String, _ index: Int, _ peer: DeviceAddress?, into actions: inout [Action]
  ) {
    guard let service = services[root] else { return }
    let characteristic = service.characteristics[index]
    let gone = characteristic.subscribers.filter { peer == nil || $0 == peer }
    services[root]?.characteristics[index].subscribers.subtract(gone)
    for peer in gone.sorted(by: { $0.bits < $1.bits }) {
      deliver(
        .unsubscribed(peer, handle: characteristic.valueHandle), to: service.client, into: &actions)
    }
  }

  /// A link has ended.
  mutating func endSubscriptions(of peer: DeviceAddress, into actions: inout [Action]) {
    for root in services.keys.sorted() {
      for index in services[root]?.characteristics.indices ?? 0..<0 {
        unsubscribe(root, index, peer, into: &actions)
      }
    }
  }

  mutating func updateValue(
    _ handle: UInt16, _ value: [UInt8], _ peers: [DeviceAddress]?, _ id: BlueZSessionID,
    _ token: RequestToken, now: Instant, into actions: inout [Action]
  ) {
    guard state == .poweredOn else {
      return complete(id, token, .failure(.radioNotReady), into: &actions)
    }
    guard
      let root = services.keys.first(where: { root in
        services[root]?.client == id
          && services[root]?.characteristics.contains { $0.valueHandle == handle } == true
      }), let service = services[root], service.phase == .registered,
      let index = service.characteristics.firstIndex(where: { $0.valueHandle == handle }),
      case let characteristic = service.characteristics[index],
      characteristic.definition.hasConfiguration
    else {
      let error = HostError.invalidArgument("This program has no such value to notify.")
      return complete(id, token, .failure(error), into: &actions)
    }
    if let peers, !characteristic.subscribers.isSubset(of: peers) {
      let error = HostError.unsupported("bluetoothd sends a value to all subscribers.")
      return complete(id, token, .failure(error), into: &actions)
    }
    actions.append(
      .emit(
        bluez(
          service.path(ofCharacteristic: index), BusName.properties, "PropertiesChanged",
          [.string(BusName.characteristic), .properties(["Value": .bytes(value)]), .strings([])])))
    if characteristic.definition.properties.isDisjoint(with: [.notify]),
      !characteristic.subscribers.isEmpty
    {
      services[root]?.characteristics[index].unconfirmed.append(
        LocalService.Unconfirmed(
          client: id, token: token, deadline: now + BlueZLimits.confirmationMax))
    } else {
      // The reply proves that bluetoothd has taken the value, so that its socket doesn't fill.
      send(
        bluez("/", BusName.peer, "Ping"), .updated(id, token),
        deadline: now + BlueZLimits.answerMax, into: &actions)
    }
  }
}

extension BusMethodCall {
  /// The options in the last argument of the methods of attributes.
  var options: [String: BusValue] { arguments.last?.properties ?? [:] }
}
