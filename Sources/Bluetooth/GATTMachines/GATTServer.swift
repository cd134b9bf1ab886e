package import BluetoothInterface
package import BluetoothWire
package import Essentials
package import L2CAPMachines

/// The host's GATT server: one database, and a session for each link (Core 5.4, Vol 3, Parts F and
/// G).
///
/// Values that a client supplies are requested with `request`; the peer's request waits for
/// `respond` for at most 20 s. If a peer sends a second request meanwhile over the same bearer,
/// which violates the protocol, the second is ignored and counted. Values are sent over the fixed
/// channel only, so that they keep their order.
package struct GATTServer: Sendable {
  /// An action for the owner of the server.
  package enum Output: Sendable {
    /// Send an ATT PDU over a bearer. If it has a tag, call `sent` when the controller has it.
    case send(to: DeviceAddress, [UInt8], SendTag?, over: ATTBearer)
    /// Pass a request to a client.
    case request(ClientID, ServerRequest)
    /// A peer's request was refused until its link is protected better, as this client's attribute needs it.
    case protectionNeeded(ClientID, DeviceAddress)
    /// A peer's request was answered with Unlikely Error, because the client did not answer it.
    case requestExpired(ClientID, DeviceAddress, handle: UInt16)
    /// A peer subscribed to a client's characteristic, which is identified by its value handle.
    case subscribed(ClientID, DeviceAddress, handle: UInt16)
    /// A peer unsubscribed, or its link went down.
    case unsubscribed(ClientID, DeviceAddress, handle: UInt16)
    /// A value reached the controller, or was confirmed, for all subscribers.
    case updateCompleted(ClientID, RequestToken, Result<HostReply, HostError>)
    /// The peer's configuration, or whether it is aware of changes of the database, has changed.
    case clientChanged(DeviceAddress)
    /// The peer negotiated another MTU.
    case mtuChanged(DeviceAddress, Int)
    /// An indication was not confirmed in time. The link must be disconnected.
    case bearerFailed(DeviceAddress, HostError)
  }

  /// The number of invalid PDUs of peers that were ignored.
  package var ignoredCount = 0

  let mtuMax: Int
  var database = AttributeDatabase()
  package var sessions: [Session] = []
  package var updates = UpdateTable()
  /// The apps of clients of other processes.
  private var publishers: [ClientID: PublisherID] = [:]
  /// Numbers notifications in the order of their leaving.
  var lastNotification: UInt64 = 0
  private var lastRequest: UInt64 = 0
  /// Service Changed.
  let serviceChangedHandle: UInt16

  /// Creates a server with the services Generic Access and Generic Attribute.
  package init(
    name: String, appearance: UInt16, mtuMax: Int, takesEnhancedBearers: Bool = true
  ) {
    precondition((ATTPDU.mtuMin...0xFFFF).contains(mtuMax), "no MTU is below 23 or above 65,535")
    self.mtuMax = mtuMax
    do throws(HostError) {
      _ = try database.add(.genericAccess(name: name, appearance: appearance), owner: nil)
      let attribute = try database.add(
        .genericAttribute(takesEnhancedBearers: takesEnhancedBearers), owner: nil)
      serviceChangedHandle = attribute.characteristics.first?.valueHandle ?? 0
    } catch {
      preconditionFailure("an empty database has room for two services: \(error)")
    }
  }

  // MARK: Services

  /// Called when a client was opened; what it publishes is published by this app.
  package mutating func clientOpened(_ client: ClientID, of publisher: PublisherID?) {
    publishers[client] = publisher
  }

  /// Removes a client with its services.
  package mutating func clientClosed(
    _ client: ClientID, now: Instant, into outputs: inout [Output]
  ) {
    removeAllServices(owner: client, now: now, into: &outputs)
    publishers[client] = nil
  }

  /// Publishes a client's service and notifies the peers that subscribed to Service Changed.
  package mutating func addService(
    _ definition: ServiceDefinition, owner: ClientID, now: Instant, into outputs: inout [Output]
  ) -> Result<PublishedService, HostError> {
    do throws(HostError) {
      let service = try database.add(definition, owner: owner, publisher: publishers[owner])
      changed(service.range, now: now, into: &outputs)
      return .success(service)
    } catch {
      return .failure(error)
    }
  }

  /// Removes the service that begins at this handle, if the client published it.
  package mutating func removeService(
    _ handle: UInt16, owner: ClientID, now: Instant, into outputs: inout [Output]
  ) {
    guard let range = database.remove(handle, owner: owner) else { return }
    for index in sessions.indices {
      sessions[index].configurations.removeAll { range.contains($0.handle) }
      sessions[index].preparedWrites.removeAll { range.contains($0.handle) }
      notificationsEnded(in: range, index, into: &outputs)
    }
    changed(range, now: now, into: &outputs)
  }

  /// Removes all services of a client. Its pending requests are answered with Unlikely Error.
  package mutating func removeAllServices(
    owner: ClientID, now: Instant, into outputs: inout [Output]
  ) {
    for service in database.services where service.owner == owner {
      removeService(service.range.start, owner: owner, now: now, into: &outputs)
    }
    for place in places where self[place].pending?.owner == owner {
      refusePending(place, .unlikelyError, into: &outputs)
    }
  }

  /// The Database Hash in wire order.
  package mutating func databaseHash() -> [UInt8] { database.hash() }

  // MARK: Links

  /// Called when a link was established.
  package mutating func linkOpened(_ peer: DeviceAddress) {
    sessions.removeAll { $0.peer == peer }
    sessions.append(Session(peer: peer))
  }

  /// Called when a link was disconnected. Its subscriptions end, and updates no longer wait for it.
  package mutating func linkClosed(
    _ peer: DeviceAddress, now: Instant, into outputs: inout [Output]
  ) {
    guard let index = sessionIndex(peer) else { return }
    let session = sessions.remove(at: index)
    for configuration in session.configurations {
      guard case .configuration(let about) = database.attribute(configuration.handle)?.source,
        let owner = about.owner
      else { continue }
      outputs.append(.unsubscribed(owner, peer, handle: about.valueHandle))
    }
    abandonUpdates(of: session, because: nil, into: &outputs)
  }

  /// Sets the encryption of a link, and whether there is a key to encrypt it if it is not
  /// encrypted.
  package mutating func setEncryption(
    _ encryption: EncryptionInfo?, _ peer: DeviceAddress, hasKey: Bool = false
  ) {
    guard let index = sessionIndex(peer) else { return }
    sessions[index].encryption = encryption
    sessions[index].hasKey = hasKey || encryption != nil
  }

  /// Sets the MTU of a bearer, which client and server share: for the fixed channel the one that
  /// this host's client has negotiated, for an enhanced bearer its current one.
  package mutating func setMTU(
    _ mtu: Int, _ peer: DeviceAddress, over bearer: ATTBearer = .fixed
  ) {
    guard let place = place(peer, bearer) else { return }
    self[place].mtu = mtu
  }

  /// Called when an enhanced bearer of a peer was opened. Responses have at most `mtu` bytes.
  package mutating func bearerOpened(_ bearer: ATTBearer, mtu: Int, _ peer: DeviceAddress) {
    guard let index = sessionIndex(peer), place(peer, bearer) == nil else { return }
    sessions[index].bearers.append(Bearer(id: bearer, mtu: mtu))
  }

  /// Called when an enhanced bearer was closed. Its unanswered request is dropped.
  package mutating func bearerClosed(_ bearer: ATTBearer, _ peer: DeviceAddress) {
    guard bearer != .fixed, let place = place(peer, bearer) else { return }
    sessions[place.session].bearers.remove(at: place.bearer)
  }

  /// The value handles of a client's characteristics that a peer has subscribed to.
  package func subscriptions(of peer: DeviceAddress, owner: ClientID) -> [UInt16] {
    guard let index = sessionIndex(peer) else { return [] }
    return sessions[index].configurations.compactMap { configuration in
      guard case .configuration(let about) = database.attribute(configuration.handle)?.source,
        about.owner == owner
      else { return nil }
      return about.valueHandle
    }
  }

  package func hasServices(of client: ClientID) -> Bool {
    database.services.contains { $0.owner == client }
  }

  /// Number of the peer's configuration descriptors that are not 0.
  package func subscriptionCount(of peer: DeviceAddress) -> Int {
    sessionIndex(peer).map { sessions[$0].configurations.count } ?? 0
  }

  /// The index in `sessions` of the session with a peer. Returned as an index, because a closure
  /// that gets the sessions would copy each of them.
  package func sessionIndex(_ peer: DeviceAddress) -> Int? {
    sessions.indices.first { sessions[$0].peer == peer }
  }

  /// The session and the bearer of a peer, by index.
  private func place(_ peer: DeviceAddress, _ bearer: ATTBearer) -> RequestContext? {
    guard let session = sessionIndex(peer),
      let index = sessions[session].bearers.firstIndex(where: { $0.id == bearer })
    else { return nil }
    return RequestContext(session: session, bearer: index)
  }

  subscript(place: RequestContext) -> Bearer {
    get { sessions[place.session].bearers[place.bearer] }
    set { sessions[place.session].bearers[place.bearer] = newValue }
  }

  /// All bearers of all sessions.
  private var places: [RequestContext] {
    sessions.indices.flatMap { session in
      sessions[session].bearers.indices.map { RequestContext(session: session, bearer: $0) }
    }
  }

  // MARK: Receiving

  /// Handles a request, a command or a confirmation of a peer.
  package mutating func receive(
    _ pdu: ArraySlice<UInt8>, from peer: DeviceAddress, over bearer: ATTBearer = .fixed,
    now: Instant, into outputs: inout [Output]
  ) {
    guard let first = pdu.first, let place = place(peer, bearer),
      !sessions[place.session].isFailed
    else {
      ignoredCount += 1
      return
    }
    let opcode = ATTOpcode(rawValue: first)
    if opcode == .handleValueConfirmation, bearer == .fixed {
      confirmed(place.session, now: now, into: &outputs)
      return
    }
    // A response has no business here: answering it could begin a game of ping-pong.
    let isRequest = !opcode.isCommand && !opcode.isForClient
    if isRequest, self[place].pending != nil {
      ignoredCount += 1
      return
    }
    do throws(WireError) {
      guard pdu.count <= self[place].mtu else { throw .invalidLength(pdu.count) }
      serve(try ATTPDU(decoding: pdu), place, now: now, into: &outputs)
    } catch {
      guard isRequest else {
        ignoredCount += 1
        return
      }
      if case .unknownCode = error {
        refuse(opcode, 0, .requestNotSupported, place, into: &outputs)
      } else {
        refuse(opcode, 0, .invalidPDU, place, into: &outputs)
      }
    }
  }

  private mutating func serve(
    _ pdu: ATTPDU, _ place: RequestContext, now: Instant, into outputs: inout [Output]
  ) {
    switch pdu {
    case .exchangeMTURequest where self[place].id != .fixed:
      // The channel's own MTU counts (§3.4.2).
      refuse(.exchangeMTURequest, 0, .requestNotSupported, place, into: &outputs)
    case .exchangeMTURequest(let mtu):
      reply(.exchangeMTUResponse(mtu: UInt16(mtuMax)), place, into: &outputs)
      self[place].mtu = max(ATTPDU.mtuMin, min(mtuMax, Int(mtu)))
      outputs.append(.mtuChanged(sessions[place.session].peer, self[place].mtu))
    case .findInformationRequest(let start, let end):
      findInformation(HandleRange(start, end), place, into: &outputs)
    case .findByTypeValueRequest(let start, let end, let type, let value):
      findByTypeValue(HandleRange(start, end), type, value, place, into: &outputs)
    case .readByTypeRequest(let start, let end, let type):
      readByType(HandleRange(start, end), type, place, now: now, into: &outputs)
    case .readByGroupTypeRequest(let start, let end, let type):
      readByGroupType(HandleRange(start, end), type, place, into: &outputs)
    case .executeWriteRequest(let isExecuted):
      executeWrites(isExecuted, place, now: now, into: &outputs)
    case .writeCommand(let handle, let value):
      writeCommand(handle, value, place, now: now, into: &outputs)
    case .readRequest, .readBlobRequest, .readMultipleRequest, .readMultipleVariableRequest,
      .writeRequest, .prepareWriteRequest:
      serveByHandle(pdu, place, now: now, into: &outputs)
    // Signatures are not the server's business: without the owner's word none is right (§3.4.5.4).
    default: ignoredCount += 1
    }
  }

  private mutating func serveByHandle(
    _ pdu: ATTPDU, _ place: RequestContext, now: Instant, into outputs: inout [Output]
  ) {
    guard isInSync(place, into: &outputs) else {
      refuse(pdu.opcode, pdu.firstHandle, .databaseOutOfSync, place, into: &outputs)
      return
    }
    switch pdu {
    case .readRequest(let handle):
      read(handle, offset: 0, .readRequest, place, now: now, into: &outputs)
    case .readBlobRequest(let handle, let offset):
      read(handle, offset: Int(offset), .readBlobRequest, place, now: now, into: &outputs)
    case .readMultipleRequest(let handles):
      readMultiple(Array(handles), isVariable: false, place, now: now, into: &outputs)
    case .readMultipleVariableRequest(let handles):
      readMultiple(Array(handles), isVariable: true, place, now: now, into: &outputs)
    case .writeRequest(let handle, let value):
      write(handle, value, place, now: now, into: &outputs)
    case .prepareWriteRequest(let handle, let offset, let value):
      prepareWrite(handle, Int(offset), value, place, into: &outputs)
    default: ignoredCount += 1
    }
  }

  /// Whether a client that asked for robust caching knows the database; a client that was refused
  /// once is taken to know from its next request on.
  private mutating func isInSync(_ place: RequestContext, into outputs: inout [Output]) -> Bool {
    guard sessions[place.session].isOutOfSync else { return true }
    switch sessions[place.session].awareness {
    case .aware: return true
    case .unaware: sessions[place.session].awareness = .notified(over: self[place].id)
    case .notified(let bearer) where bearer == nil || bearer == self[place].id:
      sessions[place.session].awareness = .aware
      outputs.append(.clientChanged(sessions[place.session].peer))
      return true
    case .notified: break
    }
    return false
  }

  // MARK: Answering

  /// Handles a client's response to a request. Late, invalid or repeated responses are ignored.
  package mutating func respond(
    _ id: ServerRequestID, _ result: Result<[UInt8], ATTErrorCode>, from owner: ClientID,
    now: Instant, into outputs: inout [Output]
  ) {
    guard
      let place = places.first(where: {
        self[$0].pending?.id == id && self[$0].pending?.owner == owner
      }), let pending = self[place].pending
    else { return }
    self[place].pending = nil
    switch result {
    case .failure(let error):
      refuse(pending.opcode, pending.handle, error, place, into: &outputs)
    case .success(let value):
      switch pending.step {
      case .read:
        let part = value.prefix(self[place].mtu - 1)
        let isBlob = pending.opcode == .readBlobRequest
        reply(
          isBlob ? .readBlobResponse(value: part) : .readResponse(value: part), place,
          into: &outputs)
      case .readByType:
        answerByType(pending.handle, value, place, into: &outputs)
      case .readMultiple(var reading):
        reading.collect(value.prefix(GATTLimits.valueByteCountMax))
        goOn(reading, deadline: pending.deadline, place, into: &outputs)
      case .write:
        reply(.writeResponse, place, into: &outputs)
      case .execute(let execution):
        goOn(execution, deadline: pending.deadline, place, now: now, into: &outputs)
      }
    }
  }

  /// Passes a peer's request to a client, which answers it later.
  mutating func ask(
    _ owner: ClientID, _ kind: ServerRequest.Kind, _ opcode: ATTOpcode, _ handle: UInt16,
    _ step: UnansweredRequest.Step, deadline: Instant, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    assert(self[place].pending == nil, "a peer has one request at a time")
    let id = nextRequestID()
    self[place].pending = UnansweredRequest(
      id: id, owner: owner, deadline: deadline, opcode: opcode, handle: handle, step: step)
    outputs.append(
      .request(
        owner,
        ServerRequest(id: id, peer: sessions[place.session].peer, kind: kind, needsResponse: true)))
  }

  mutating func nextRequestID() -> ServerRequestID {
    lastRequest += 1
    return ServerRequestID(rawValue: lastRequest)
  }

  func reply(_ pdu: ATTPDU, _ place: RequestContext, into outputs: inout [Output]) {
    outputs.append(.send(to: sessions[place.session].peer, pdu.bytes, nil, over: self[place].id))
  }

  func refuse(
    _ opcode: ATTOpcode, _ handle: UInt16, _ error: ATTErrorCode, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    reply(.errorResponse(request: opcode, handle: handle, error: error), place, into: &outputs)
    guard error == .insufficientAuthentication || error == .insufficientEncryption,
      let owner = database.attribute(handle)?.source.owner
    else { return }
    outputs.append(.protectionNeeded(owner, sessions[place.session].peer))
  }

  private mutating func refusePending(
    _ place: RequestContext, _ error: ATTErrorCode, into outputs: inout [Output]
  ) {
    guard let pending = self[place].pending.take() else { return }
    refuse(pending.opcode, pending.handle, error, place, into: &outputs)
  }

  // MARK: Time

  /// The time to call `wake`; nil if no timer is running.
  package var nextWake: Instant? {
    var earliest = Instant.distantFuture
    for session in sessions where !session.isFailed {
      for case let deadline? in session.bearers.map(\.pending?.deadline) {
        earliest = min(earliest, deadline)
      }
      if let deadline = session.indication?.deadline { earliest = min(earliest, deadline) }
    }
    return earliest == .distantFuture ? nil : earliest
  }

  /// Gives a peer more time to confirm an indication, because what it sends is held back on its way
  /// here.
  package mutating func postponeTimeout(of peer: DeviceAddress, until instant: Instant) {
    guard let index = sessions.firstIndex(where: { $0.peer == peer }),
      var indication = sessions[index].indication
    else { return }
    indication.deadline = max(indication.deadline, instant)
    sessions[index].indication = indication
  }

  /// Responds for clients that don't, and fails the bearers of peers that don't confirm.
  package mutating func wake(now: Instant, into outputs: inout [Output]) {
    for place in places where !sessions[place.session].isFailed {
      if let pending = self[place].pending, pending.deadline <= now {
        refusePending(place, .unlikelyError, into: &outputs)
        outputs.append(
          .requestExpired(pending.owner, sessions[place.session].peer, handle: pending.handle))
      }
    }
    for index in sessions.indices where !sessions[index].isFailed {
      if let indication = sessions[index].indication, indication.deadline <= now {
        sessions[index].isFailed = true
        let session = sessions[index]
        sessions[index].indication = nil
        sessions[index].waitingIndications = []
        sessions[index].notifications = FIFO()
        sessions[index].waitingNotifications = []
        abandonUpdates(of: session, because: .attTimeout, into: &outputs)
        outputs.append(.bearerFailed(session.peer, .attTimeout))
      }
    }
  }
}

extension ATTPDU {
  /// The handle that a refusal of this request names.
  fileprivate var firstHandle: UInt16 {
    switch self {
    case .readRequest(let handle), .readBlobRequest(let handle, _), .writeRequest(let handle, _),
      .prepareWriteRequest(let handle, _, _):
      handle
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      handles.first { _ in true } ?? 0
    default: 0
    }
  }
}
