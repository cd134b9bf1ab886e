import BluetoothInterface
import BluetoothWire
import Essentials

// Finding and reading (Core 5.4, Vol 3, Part F, §3.4.3 and §3.4.4).

extension GATTServer {
  // MARK: Permissions

  // Properties define the procedures that a value supports (Part G, §3.3.1.1), permissions the
  // security that they need: a request must satisfy both.

  /// The error of a peer's read of an attribute; nil if it is permitted.
  func readError(_ attribute: AttributeDatabase.Attribute, _ place: RequestContext) -> ATTErrorCode?
  {
    let permissions = attribute.permissions
    guard attribute.properties.contains(.read),
      !permissions.isDisjoint(with: .anyRead)
    else { return .readNotPermitted }
    return securityError(
      place, needsEncryption: permissions.contains(.readEncryptionRequired),
      needsAuthentication: permissions.contains(.readAuthenticationRequired))
  }

  /// Why a peer may not write an attribute in the way that needs `property`; nil if it may.
  func writeError(
    _ attribute: AttributeDatabase.Attribute, _ place: RequestContext,
    needing property: CharacteristicProperties = .write
  ) -> ATTErrorCode? {
    let permissions = attribute.permissions
    guard attribute.properties.contains(property),
      !permissions.isDisjoint(with: .anyWrite)
    else { return .writeNotPermitted }
    switch attribute.source {
    case .fixed, .databaseHash: return .writeNotPermitted
    case .owner, .configuration, .clientFeatures: break
    }
    return securityError(
      place, needsEncryption: permissions.contains(.writeEncryptionRequired),
      needsAuthentication: permissions.contains(.writeAuthenticationRequired))
  }

  /// The error for a link that isn't protected as it has to be (Core 5.4, Vol 3, Part C, §10.3.1).
  private func securityError(
    _ place: RequestContext, needsEncryption: Bool, needsAuthentication: Bool
  ) -> ATTErrorCode? {
    guard needsEncryption || needsAuthentication else { return nil }
    if let encryption = sessions[place.session].encryption {
      return encryption.isAuthenticated || !needsAuthentication
        ? nil : .insufficientAuthentication
    }
    return sessions[place.session].hasKey ? .insufficientEncryption : .insufficientAuthentication
  }

  /// The value that the server knows itself; nil where its owner has to be asked.
  mutating func ownValue(
    _ attribute: AttributeDatabase.Attribute, _ place: RequestContext
  ) -> ArraySlice<UInt8>? {
    switch attribute.source {
    case .fixed(let value): return value[...]
    case .owner: return nil
    case .configuration:
      let bits = sessions[place.session].configuration(attribute.handle)
      return [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
    case .clientFeatures: return [sessions[place.session].clientFeatures]
    case .databaseHash: return database.hash()[...]
    }
  }

  // MARK: Finding

  /// Refuses an invalid range (§3.4.3.1); returns whether the range is valid.
  private func isRange(
    _ range: HandleRange, _ opcode: ATTOpcode, _ place: RequestContext, into outputs: inout [Output]
  ) -> Bool {
    if range.start != 0, range.start <= range.end { return true }
    refuse(opcode, range.start, .invalidHandle, place, into: &outputs)
    return false
  }

  func findInformation(_ range: HandleRange, _ place: RequestContext, into outputs: inout [Output])
  {
    guard isRange(range, .findInformationRequest, place, into: &outputs) else { return }
    let room = self[place].mtu - 2
    var writer = ByteWriter(capacity: room)
    var typeByteCount = 0
    for attribute in database.attributes(in: range) {
      let byteCount = attribute.type.attributeByteCount
      if typeByteCount == 0 { typeByteCount = byteCount }
      guard byteCount == typeByteCount, writer.count + 2 + byteCount <= room else { break }
      writer.uint16(attribute.handle)
      attribute.type.append(to: &writer)
    }
    guard typeByteCount > 0 else {
      refuse(.findInformationRequest, range.start, .attributeNotFound, place, into: &outputs)
      return
    }
    let list = ATTInformationList(
      entryByteCount: 2 + typeByteCount, encoded: writer.bytes[...])
    reply(.findInformationResponse(list), place, into: &outputs)
  }

  func findByTypeValue(
    _ range: HandleRange, _ type: UInt16, _ value: ArraySlice<UInt8>, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    guard isRange(range, .findByTypeValueRequest, place, into: &outputs) else { return }
    let room = self[place].mtu - 1
    var writer = ByteWriter()
    let type = BluetoothUUID(type)
    for attribute in database.attributes(in: range) where attribute.type == type {
      // Only values that never change are compared: asking a client for each would take for ever.
      guard case .fixed(let own) = attribute.source,
        own[...] == value || Self.areEqualServices(type, own[...], value),
        readError(attribute, place) == nil
      else { continue }
      guard writer.count + 4 <= room else { break }
      writer.uint16(attribute.handle)
      writer.uint16(attribute.groupEnd)
    }
    guard writer.count > 0 else {
      refuse(.findByTypeValueRequest, range.start, .attributeNotFound, place, into: &outputs)
      return
    }
    let list = ATTHandleRangeList(entryByteCount: 4, encoded: writer.bytes[...])
    reply(.findByTypeValueResponse(list), place, into: &outputs)
  }

  /// Whether two values of service declarations are the same UUID in different forms: a client may search for an
  /// assigned number in its 128-bit form.
  private static func areEqualServices(
    _ type: BluetoothUUID, _ first: ArraySlice<UInt8>, _ second: ArraySlice<UInt8>
  ) -> Bool {
    guard type == 0x2800 || type == 0x2801, first.count != second.count,
      let uuid = BluetoothUUID(attribute: first)
    else { return false }
    return uuid == BluetoothUUID(attribute: second)
  }

  func readByGroupType(
    _ range: HandleRange, _ type: BluetoothUUID, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    guard isRange(range, .readByGroupTypeRequest, place, into: &outputs) else { return }
    guard type == 0x2800 || type == 0x2801 else {
      refuse(.readByGroupTypeRequest, range.start, .unsupportedGroupType, place, into: &outputs)
      return
    }
    let room = self[place].mtu - 2
    var writer = ByteWriter()
    var entryByteCount = 0
    for attribute in database.attributes(in: range) where attribute.type == type {
      guard case .fixed(let value) = attribute.source else { continue }
      if entryByteCount == 0 { entryByteCount = 4 + value.count }
      guard 4 + value.count == entryByteCount, writer.count + entryByteCount <= room else { break }
      writer.uint16(attribute.handle)
      writer.uint16(attribute.groupEnd)
      writer.append(value)
    }
    guard entryByteCount > 0 else {
      refuse(.readByGroupTypeRequest, range.start, .attributeNotFound, place, into: &outputs)
      return
    }
    let list = ATTGroupDataList(entryByteCount: entryByteCount, encoded: writer.bytes[...])
    reply(.readByGroupTypeResponse(list), place, into: &outputs)
  }

  // MARK: Reading

  /// Values of a type, as far as they have the first one's length and the server knows them; if a
  /// client keeps the first, it is asked for that one.
  mutating func readByType(
    _ range: HandleRange, _ type: BluetoothUUID, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    guard isRange(range, .readByTypeRequest, place, into: &outputs) else { return }
    let room = self[place].mtu - 2
    let valueByteCountMax = min(room - 2, 253)
    var writer = ByteWriter()
    var byteCount: Int?
    for attribute in database.attributes(in: range) where attribute.type == type {
      if let error = readError(attribute, place) {
        // Only the first match may be refused; later ones just end the list (§3.4.4.1).
        guard byteCount == nil else { break }
        return refuse(.readByTypeRequest, attribute.handle, error, place, into: &outputs)
      }
      guard let value = ownValue(attribute, place) else {
        guard byteCount == nil, case .owner(let owner) = attribute.source else { break }
        ask(
          owner, .read(handle: attribute.handle, offset: 0), .readByTypeRequest,
          attribute.handle, .readByType, deadline: now + GATTLimits.clientAnswerTimeout, place,
          into: &outputs)
        return
      }
      if case .databaseHash = attribute.source, sessions[place.session].awareness == .unaware {
        sessions[place.session].awareness = .notified(over: nil)
      }
      if byteCount == nil { byteCount = value.count }
      let part = value.prefix(valueByteCountMax)
      guard value.count == byteCount, writer.count + 2 + part.count <= room else { break }
      writer.uint16(attribute.handle)
      writer.append(part)
    }
    guard let byteCount else {
      return refuse(.readByTypeRequest, range.start, .attributeNotFound, place, into: &outputs)
    }
    let list = ATTAttributeDataList(
      entryByteCount: 2 + min(byteCount, valueByteCountMax), encoded: writer.bytes[...])
    reply(.readByTypeResponse(list), place, into: &outputs)
  }

  /// Answers Read By Type with the one value that a client gave.
  func answerByType(
    _ handle: UInt16, _ value: [UInt8], _ place: RequestContext, into outputs: inout [Output]
  ) {
    let part = value.prefix(min(self[place].mtu - 4, 253))
    var writer = ByteWriter(capacity: 2 + part.count)
    writer.uint16(handle)
    writer.append(part)
    let list = ATTAttributeDataList(entryByteCount: writer.count, encoded: writer.bytes[...])
    reply(.readByTypeResponse(list), place, into: &outputs)
  }

  /// Read and Read Blob. A value that fits one PDU may be read in parts too: the error Attribute
  /// Not Long is a server's right, not its duty (§3.4.4.5).
  mutating func read(
    _ handle: UInt16, offset: Int, _ opcode: ATTOpcode, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    guard let attribute = database.attribute(handle) else {
      return refuse(opcode, handle, .invalidHandle, place, into: &outputs)
    }
    if let error = readError(attribute, place) {
      return refuse(opcode, handle, error, place, into: &outputs)
    }
    guard let value = ownValue(attribute, place) else {
      guard case .owner(let owner) = attribute.source else { return }
      guard offset <= GATTLimits.valueByteCountMax else {
        return refuse(opcode, handle, .invalidOffset, place, into: &outputs)
      }
      return ask(
        owner, .read(handle: handle, offset: offset), opcode, handle, .read,
        deadline: now + GATTLimits.clientAnswerTimeout, place, into: &outputs)
    }
    guard offset <= value.count else {
      return refuse(opcode, handle, .invalidOffset, place, into: &outputs)
    }
    let part = value.dropFirst(offset).prefix(self[place].mtu - 1)
    reply(
      opcode == .readBlobRequest ? .readBlobResponse(value: part) : .readResponse(value: part),
      place, into: &outputs)
  }

  mutating func readMultiple(
    _ handles: [UInt16], isVariable: Bool, _ place: RequestContext, now: Instant,
    into outputs: inout [Output]
  ) {
    let opcode: ATTOpcode = isVariable ? .readMultipleVariableRequest : .readMultipleRequest
    for handle in handles {
      guard let attribute = database.attribute(handle) else {
        return refuse(opcode, handle, .invalidHandle, place, into: &outputs)
      }
      if let error = readError(attribute, place) {
        return refuse(opcode, handle, error, place, into: &outputs)
      }
    }
    goOn(
      MultipleRead(handles: handles, isVariable: isVariable),
      deadline: now + GATTLimits.clientAnswerTimeout, place, into: &outputs)
  }

  /// Collects values until the response is full, pausing at each that a client keeps.
  mutating func goOn(
    _ reading: MultipleRead, deadline: Instant, _ place: RequestContext,
    into outputs: inout [Output]
  ) {
    var reading = reading
    let opcode: ATTOpcode = reading.isVariable ? .readMultipleVariableRequest : .readMultipleRequest
    let room = self[place].mtu - 1
    while reading.position < reading.handles.count, reading.collected.count < room {
      let handle = reading.handles[reading.position]
      guard let attribute = database.attribute(handle) else {
        return refuse(opcode, handle, .invalidHandle, place, into: &outputs)
      }
      if let value = ownValue(attribute, place) {
        reading.collect(value)
      } else if case .owner(let owner) = attribute.source {
        return ask(
          owner, .read(handle: handle, offset: 0), opcode, handle, .readMultiple(reading),
          deadline: deadline, place, into: &outputs)
      }
    }
    let part = reading.collected.prefix(room)
    if reading.isVariable {
      let list = ATTLengthValueList(entryByteCount: 0, encoded: part)
      reply(.readMultipleVariableResponse(list), place, into: &outputs)
    } else {
      reply(.readMultipleResponse(values: part), place, into: &outputs)
    }
  }
}

extension AttributePermissions {
  fileprivate static let anyRead: AttributePermissions = [
    .readable, .readEncryptionRequired, .readAuthenticationRequired,
  ]
  fileprivate static let anyWrite: AttributePermissions = [
    .writeable, .writeEncryptionRequired, .writeAuthenticationRequired,
  ]
}
