import BluetoothInterface
package import BluetoothWire
import Essentials

// Writing (Core 5.4, Vol 3, Part F, §3.4.5 and §3.4.6).

extension GATTServer {
  // MARK: At once

  mutating func write(
    _ handle: UInt16, _ value: ArraySlice<UInt8>, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let attribute = database.attribute(handle) else {
      return refuse(.writeRequest, handle, .invalidHandle, place, into: &outputs)
    }
    if let error = writeError(attribute, place) ?? valueError(attribute, value, place) {
      return refuse(.writeRequest, handle, error, place, into: &outputs)
    }
    if case .owner(let owner) = attribute.source {
      let write = ServerRequest.Write(handle: handle, offset: 0, value: Array(value))
      return ask(
        owner, .write([write]), .writeRequest, handle, .write,
        deadline: now + GATTLimits.clientAnswerTimeout, place, into: &outputs)
    }
    // The answer goes first, so that a value sent because of a subscription follows it.
    reply(.writeResponse, place, into: &outputs)
    writeOwn(attribute, value, place, into: &outputs)
  }

  /// A Write Command that cannot be done is ignored (§3.4.5.3).
  mutating func writeCommand(
    _ handle: UInt16, _ value: ArraySlice<UInt8>, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    // What takes signed writes takes these, too, over an encrypted link (Part G, §4.9.2).
    let isForSigned =
      sessions[place.session].encryption != nil
      && database.attribute(handle)?.properties.contains(.authenticatedSignedWrites) == true
    writeCommand(
      handle, value, place,
      needing: isForSigned ? .authenticatedSignedWrites : .writeWithoutResponse, into: &outputs)
  }

  /// Takes a write whose signature was found right (§3.4.5.4).
  package mutating func signedWrite(
    _ handle: UInt16, _ value: ArraySlice<UInt8>, from peer: DeviceAddress,
    into outputs: inout [Output]
  ) {
    guard let session = sessionIndex(peer), !sessions[session].isFailed else {
      ignoredCount += 1
      return
    }
    let place = RequestContext(session: session, bearer: 0)
    writeCommand(
      handle, value, place, needing: .authenticatedSignedWrites, into: &outputs)
  }

  private mutating func writeCommand(
    _ handle: UInt16, _ value: ArraySlice<UInt8>, _ place: RequestContext,
    needing property: CharacteristicProperties, into outputs: inout [Output]
  ) {
    guard !sessions[place.session].isOutOfSync, let attribute = database.attribute(handle),
      writeError(attribute, place, needing: property) == nil,
      valueError(attribute, value, place) == nil
    else {
      ignoredCount += 1
      return
    }
    guard case .owner(let owner) = attribute.source else {
      return writeOwn(attribute, value, place, into: &outputs)
    }
    let write = ServerRequest.Write(handle: handle, offset: 0, value: Array(value))
    outputs.append(
      .request(
        owner,
        ServerRequest(
          id: nextRequestID(), peer: sessions[place.session].peer, kind: .write([write]),
          needsResponse: false)))
  }

  /// Why an attribute cannot take this value.
  private func valueError(
    _ attribute: AttributeDatabase.Attribute, _ value: ArraySlice<UInt8>, _ place: RequestContext
  ) -> ATTErrorCode? {
    switch attribute.source {
    case .configuration(let configuration):
      guard value.count == 2, let bits = value.first else { return .invalidAttributeValueLength }
      return UInt16(bits & 3) & ~configuration.allowed == 0 ? nil : .cccdImproperlyConfigured
    case .clientFeatures:
      guard let first = value.first else { return .invalidAttributeValueLength }
      // A client cannot clear a bit that it has set (Core 5.4, Vol 3, Part G, §7.2).
      return sessions[place.session].clientFeatures & ~first == 0 ? nil : .valueNotAllowed
    case .owner, .fixed, .databaseHash:
      let isTooLong = value.count > GATTLimits.valueByteCountMax
      return isTooLong ? .invalidAttributeValueLength : nil
    }
  }

  /// Writes an attribute that the server itself keeps; the value has been validated before.
  private mutating func writeOwn(
    _ attribute: AttributeDatabase.Attribute, _ value: ArraySlice<UInt8>, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    switch attribute.source {
    case .configuration(let configuration):
      let bits = UInt16((value.first ?? 0) & 3)
      let old = sessions[place.session].configuration(attribute.handle)
      sessions[place.session].setConfiguration(attribute.handle, bits)
      sessions[place.session].writtenConfigurations.insert(attribute.handle)
      if bits != old { outputs.append(.clientChanged(sessions[place.session].peer)) }
      if bits & 1 == 0 {
        let handle = configuration.valueHandle
        notificationsEnded(in: HandleRange(handle, handle), place.session, into: &outputs)
      }
      if bits & 2 == 0 {
        indicationsEnded(
          configuration.valueHandle, notifies: bits & 1 != 0, place.session, into: &outputs)
      }
      guard let owner = configuration.owner, (old == 0) != (bits == 0) else { return }
      let peer = sessions[place.session].peer
      outputs.append(
        bits == 0
          ? .unsubscribed(owner, peer, handle: configuration.valueHandle)
          : .subscribed(owner, peer, handle: configuration.valueHandle))
    case .clientFeatures:
      sessions[place.session].clientFeatures = (value.first ?? 0) & 7
      outputs.append(.clientChanged(sessions[place.session].peer))
    case .owner, .fixed, .databaseHash: break
    }
  }

  // MARK: Prepared

  mutating func prepareWrite(
    _ handle: UInt16, _ offset: Int, _ value: ArraySlice<UInt8>, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    guard let attribute = database.attribute(handle) else {
      return refuse(.prepareWriteRequest, handle, .invalidHandle, place, into: &outputs)
    }
    if let error = writeError(attribute, place) {
      return refuse(.prepareWriteRequest, handle, error, place, into: &outputs)
    }
    let byteCount = sessions[place.session].preparedByteCount + value.count
    guard sessions[place.session].preparedWrites.count < GATTLimits.preparedWritesMax,
      byteCount <= GATTLimits.preparedByteCountMax
    else {
      return refuse(.prepareWriteRequest, handle, .prepareQueueFull, place, into: &outputs)
    }
    sessions[place.session].preparedWrites.append(
      ServerRequest.Write(handle: handle, offset: offset, value: Array(value)))
    reply(
      .prepareWriteResponse(handle: handle, offset: UInt16(offset), value: value), place,
      into: &outputs)
  }

  /// Checks all prepared writes, then passes them to the clients concerned, one after the other.
  mutating func executeWrites(
    _ isExecuted: Bool, _ place: RequestContext, now: Instant, into outputs: inout [Output]
  ) {
    let writes = sessions[place.session].preparedWrites
    sessions[place.session].preparedWrites = []
    guard isExecuted, !writes.isEmpty else {
      return reply(.executeWriteResponse, place, into: &outputs)
    }
    var execution = Execution()
    for write in writes {
      if let error = add(write, to: &execution) {
        return refuse(.executeWriteRequest, write.handle, error, place, into: &outputs)
      }
    }
    for own in execution.own {
      guard let attribute = database.attribute(own.handle) else { continue }
      if let error = valueError(attribute, own.value[...], place) {
        return refuse(.executeWriteRequest, own.handle, error, place, into: &outputs)
      }
    }
    goOn(
      execution, deadline: now + GATTLimits.clientAnswerTimeout, place, now: now, into: &outputs)
  }

  /// Adds a prepared write to the batch of its owner.
  private func add(
    _ write: ServerRequest.Write, to execution: inout Execution
  ) -> ATTErrorCode? {
    guard let attribute = database.attribute(write.handle) else { return .invalidHandle }
    guard write.offset <= GATTLimits.valueByteCountMax else { return .invalidOffset }
    guard write.offset + write.value.count <= GATTLimits.valueByteCountMax else {
      return .invalidAttributeValueLength
    }
    if case .owner(let owner) = attribute.source {
      if let batch = execution.batches.firstIndex(where: { $0.owner == owner }) {
        execution.batches[batch].writes.append(write)
      } else {
        execution.batches.append((owner, [write]))
      }
    } else if let own = execution.own.firstIndex(where: { $0.handle == write.handle }) {
      guard write.offset == execution.own[own].value.count else { return .invalidOffset }
      execution.own[own].value += write.value
    } else {
      guard write.offset == 0 else { return .invalidOffset }
      execution.own.append((write.handle, write.value))
    }
    return nil
  }

  mutating func goOn(
    _ execution: Execution, deadline: Instant, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    var execution = execution
    guard let batch = execution.batches.first else {
      reply(.executeWriteResponse, place, into: &outputs)
      for own in execution.own {
        guard let attribute = database.attribute(own.handle) else { continue }
        writeOwn(attribute, own.value[...], place, into: &outputs)
      }
      return
    }
    execution.batches.removeFirst()
    ask(
      batch.owner, .write(batch.writes), .executeWriteRequest, batch.writes.first?.handle ?? 0,
      .execute(execution), deadline: deadline, place, into: &outputs)
  }
}
