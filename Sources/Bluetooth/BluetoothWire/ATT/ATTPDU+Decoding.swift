import Essentials

extension ATTPDU {
  /// Decodes a PDU; lists and values share the storage of `bytes`.
  ///
  /// Throws `unknownCode` for an opcode that the specification doesn't define, and the other errors
  /// if the bytes are malformed for the opcode.
  package init(decoding bytes: ArraySlice<UInt8>) throws(WireError) {
    var reader = ByteReader(bytes)
    let opcode = ATTOpcode(rawValue: try reader.byte())
    var pdu = try Self.discovery(opcode, &reader)
    if pdu == nil { pdu = try Self.reading(opcode, &reader) }
    if pdu == nil { pdu = try Self.writing(opcode, &reader) }
    if pdu == nil { pdu = try Self.unasked(opcode, &reader) }
    guard let pdu else { throw .unknownCode(Int(opcode.rawValue)) }
    guard reader.isAtEnd else { throw .trailingBytes(count: reader.count) }
    self = pdu
  }

  private static func discovery(
    _ opcode: ATTOpcode, _ reader: inout ByteReader
  ) throws(WireError) -> ATTPDU? {
    switch opcode {
    case .errorResponse:
      let request = ATTOpcode(rawValue: try reader.byte())
      let handle = try reader.word()
      return .errorResponse(
        request: request, handle: handle, error: ATTErrorCode(rawValue: try reader.byte()))
    case .exchangeMTURequest: return .exchangeMTURequest(mtu: try reader.word())
    case .exchangeMTUResponse: return .exchangeMTUResponse(mtu: try reader.word())
    case .findInformationRequest:
      return .findInformationRequest(start: try reader.word(), end: try reader.word())
    case .findInformationResponse:
      let format = try reader.byte()
      return .findInformationResponse(
        try ATTInformationList(format: format, decoding: reader.rest()))
    case .findByTypeValueRequest:
      return .findByTypeValueRequest(
        start: try reader.word(), end: try reader.word(), type: try reader.word(),
        value: reader.rest())
    case .findByTypeValueResponse:
      return .findByTypeValueResponse(
        try ATTHandleRangeList(entryByteCount: 4, decoding: reader.rest()))
    default: return nil
    }
  }

  private static func reading(
    _ opcode: ATTOpcode, _ reader: inout ByteReader
  ) throws(WireError) -> ATTPDU? {
    switch opcode {
    case .readByTypeRequest:
      return .readByTypeRequest(
        start: try reader.word(), end: try reader.word(), type: try reader.type())
    case .readByTypeResponse:
      let count = Int(try reader.byte())
      return .readByTypeResponse(
        try ATTAttributeDataList(entryByteCount: count, decoding: reader.rest()))
    case .readRequest: return .readRequest(handle: try reader.word())
    case .readResponse: return .readResponse(value: reader.rest())
    case .readBlobRequest:
      return .readBlobRequest(handle: try reader.word(), offset: try reader.word())
    case .readBlobResponse: return .readBlobResponse(value: reader.rest())
    case .readMultipleRequest:
      return .readMultipleRequest(try reader.handles())
    case .readMultipleResponse: return .readMultipleResponse(values: reader.rest())
    case .readByGroupTypeRequest:
      return .readByGroupTypeRequest(
        start: try reader.word(), end: try reader.word(), type: try reader.type())
    case .readByGroupTypeResponse:
      let count = Int(try reader.byte())
      return .readByGroupTypeResponse(
        try ATTGroupDataList(entryByteCount: count, decoding: reader.rest()))
    case .readMultipleVariableRequest:
      return .readMultipleVariableRequest(try reader.handles())
    case .readMultipleVariableResponse:
      return .readMultipleVariableResponse(
        try ATTLengthValueList(entryByteCount: 0, decoding: reader.rest()))
    default: return nil
    }
  }

  private static func writing(
    _ opcode: ATTOpcode, _ reader: inout ByteReader
  ) throws(WireError) -> ATTPDU? {
    switch opcode {
    case .writeRequest: return .writeRequest(handle: try reader.word(), value: reader.rest())
    case .writeResponse: return .writeResponse
    case .writeCommand: return .writeCommand(handle: try reader.word(), value: reader.rest())
    case .signedWriteCommand:
      let handle = try reader.word()
      let value = try reader.bytes(max(0, reader.count - signatureByteCount))
      return .signedWriteCommand(
        handle: handle, value: value, signature: try reader.bytes(signatureByteCount))
    case .prepareWriteRequest:
      return .prepareWriteRequest(
        handle: try reader.word(), offset: try reader.word(), value: reader.rest())
    case .prepareWriteResponse:
      return .prepareWriteResponse(
        handle: try reader.word(), offset: try reader.word(), value: reader.rest())
    case .executeWriteRequest:
      let flags = try reader.byte()
      guard flags <= 1 else { throw .invalidValue(field: "execute flags", value: Int(flags)) }
      return .executeWriteRequest(isExecuted: flags == 1)
    case .executeWriteResponse: return .executeWriteResponse
    default: return nil
    }
  }

  private static func unasked(
    _ opcode: ATTOpcode, _ reader: inout ByteReader
  ) throws(WireError) -> ATTPDU? {
    switch opcode {
    case .handleValueNotification:
      return .handleValueNotification(handle: try reader.word(), value: reader.rest())
    case .handleValueIndication:
      return .handleValueIndication(handle: try reader.word(), value: reader.rest())
    case .handleValueConfirmation: return .handleValueConfirmation
    case .multipleHandleValueNotification:
      return .multipleHandleValueNotification(
        try ATTHandleLengthValueList(entryByteCount: 0, decoding: reader.rest()))
    default: return nil
    }
  }
}

extension ByteReader {
  fileprivate mutating func word() throws(WireError) -> UInt16 {
    do { return try uint16() } catch { throw WireError(error) }
  }

  fileprivate mutating func bytes(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
    do { return try slice(count) } catch { throw WireError(error) }
  }

  /// Takes the rest as handles, two or more (§3.4.4.7).
  fileprivate mutating func handles() throws(WireError) -> ATTHandleList {
    guard count >= 4 else { throw .truncated(needed: 4, available: count) }
    return try ATTHandleList(entryByteCount: 2, decoding: rest())
  }

  /// Takes the rest as an attribute type, of 2 or 16 bytes (§3.2.1).
  fileprivate mutating func type() throws(WireError) -> BluetoothUUID {
    let bytes = rest()
    guard bytes.count != 4, let uuid = BluetoothUUID(littleEndian: bytes) else {
      throw .invalidLength(bytes.count)
    }
    return uuid
  }
}
