package import Essentials

extension ATTPDU {
  /// The encoded PDU, in one allocation.
  ///
  /// Nothing is truncated: the caller must create PDUs that fit the MTU.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: 8 + payloadByteCount)
    encode(into: &writer)
    return writer.bytes
  }

  /// Number of bytes after the fixed fields.
  private var payloadByteCount: Int {
    switch self {
    case .findInformationResponse(let list): list.encoded.count
    case .findByTypeValueRequest(_, _, _, let value): value.count
    case .findByTypeValueResponse(let list): list.encoded.count
    case .readByTypeRequest, .readByGroupTypeRequest: 16
    case .readByTypeResponse(let list): list.encoded.count
    case .readByGroupTypeResponse(let list): list.encoded.count
    case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value):
      value.count
    case .readMultipleRequest(let list), .readMultipleVariableRequest(let list):
      list.encoded.count
    case .readMultipleVariableResponse(let list): list.encoded.count
    case .writeRequest(_, let value), .writeCommand(_, let value): value.count
    case .signedWriteCommand(_, let value, let signature): value.count + signature.count
    case .prepareWriteRequest(_, _, let value), .prepareWriteResponse(_, _, let value):
      value.count
    case .handleValueNotification(_, let value), .handleValueIndication(_, let value): value.count
    case .multipleHandleValueNotification(let list): list.encoded.count
    default: 0
    }
  }

  /// Appends the PDU.
  package func encode(into writer: inout ByteWriter) {
    writer.uint8(opcode.rawValue)
    switch self {
    case .errorResponse(let request, let handle, let error):
      writer.uint8(request.rawValue)
      writer.uint16(handle)
      writer.uint8(error.rawValue)
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): writer.uint16(mtu)
    case .findInformationRequest(let start, let end):
      writer.uint16(start)
      writer.uint16(end)
    case .findInformationResponse(let list):
      writer.uint8(list.format)
      writer.append(list.encoded)
    case .findByTypeValueRequest(let start, let end, let type, let value):
      writer.uint16(start)
      writer.uint16(end)
      writer.uint16(type)
      writer.append(value)
    case .findByTypeValueResponse(let list): writer.append(list.encoded)
    case .readByTypeRequest(let start, let end, let type),
      .readByGroupTypeRequest(let start, let end, let type):
      writer.uint16(start)
      writer.uint16(end)
      type.append(to: &writer)
    case .readByTypeResponse(let list):
      writer.uint8(UInt8(clamping: list.entryByteCount))
      writer.append(list.encoded)
    case .readByGroupTypeResponse(let list):
      writer.uint8(UInt8(clamping: list.entryByteCount))
      writer.append(list.encoded)
    default: encodeValue(into: &writer)
    }
  }

  private func encodeValue(into writer: inout ByteWriter) {
    switch self {
    case .readRequest(let handle): writer.uint16(handle)
    case .readBlobRequest(let handle, let offset):
      writer.uint16(handle)
      writer.uint16(offset)
    case .readResponse(let value), .readBlobResponse(let value), .readMultipleResponse(let value):
      writer.append(value)
    case .readMultipleRequest(let list), .readMultipleVariableRequest(let list):
      writer.append(list.encoded)
    case .readMultipleVariableResponse(let list): writer.append(list.encoded)
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
      .handleValueNotification(let handle, let value),
      .handleValueIndication(let handle, let value):
      writer.uint16(handle)
      writer.append(value)
    case .signedWriteCommand(let handle, let value, let signature):
      writer.uint16(handle)
      writer.append(value)
      writer.append(signature)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      writer.uint16(handle)
      writer.uint16(offset)
      writer.append(value)
    case .executeWriteRequest(let isExecuted): writer.uint8(isExecuted ? 1 : 0)
    case .multipleHandleValueNotification(let list): writer.append(list.encoded)
    default: break
    }
  }
}
