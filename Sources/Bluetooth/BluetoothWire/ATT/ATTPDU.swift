/// A PDU of the attribute protocol (Core 5.4, Vol 3, Part F, §3.4).
///
/// Values and lists share the storage of the bytes that they were decoded from.
package enum ATTPDU: Hashable, Sendable {
  /// §3.4.1.1: the reason why a request failed, and the handle at which it did.
  case errorResponse(request: ATTOpcode, handle: UInt16, error: ATTErrorCode)
  /// §3.4.2.1: the maximum PDU size that the client accepts.
  case exchangeMTURequest(mtu: UInt16)
  /// §3.4.2.2: the maximum PDU size that the server accepts.
  case exchangeMTUResponse(mtu: UInt16)
  /// §3.4.3.1: requests the types of the attributes in a range.
  case findInformationRequest(start: UInt16, end: UInt16)
  /// §3.4.3.2: handles with their types.
  case findInformationResponse(ATTInformationList)
  /// §3.4.3.3: requests the groups whose first attribute has a type and a value.
  case findByTypeValueRequest(start: UInt16, end: UInt16, type: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.3.4: the first and last handles of groups.
  case findByTypeValueResponse(ATTHandleRangeList)
  /// §3.4.4.1: requests the values of the attributes of a type.
  case readByTypeRequest(start: UInt16, end: UInt16, type: BluetoothUUID)
  /// §3.4.4.2: handles with values, all of one length.
  case readByTypeResponse(ATTAttributeDataList)
  /// §3.4.4.3: requests a value.
  case readRequest(handle: UInt16)
  /// §3.4.4.4: a value, cut to what fits.
  case readResponse(value: ArraySlice<UInt8>)
  /// §3.4.4.5: requests a value from an offset on.
  case readBlobRequest(handle: UInt16, offset: UInt16)
  /// §3.4.4.6: part of a value.
  case readBlobResponse(value: ArraySlice<UInt8>)
  /// §3.4.4.7: requests several values whose lengths the client knows.
  case readMultipleRequest(ATTHandleList)
  /// §3.4.4.8: the values one after the other.
  case readMultipleResponse(values: ArraySlice<UInt8>)
  /// §3.4.4.9: requests the values and extents of groups.
  case readByGroupTypeRequest(start: UInt16, end: UInt16, type: BluetoothUUID)
  /// §3.4.4.10: groups with values, all of one length.
  case readByGroupTypeResponse(ATTGroupDataList)
  /// §3.4.4.11: requests several values of any length.
  case readMultipleVariableRequest(ATTHandleList)
  /// §3.4.4.12: values, each after its length.
  case readMultipleVariableResponse(ATTLengthValueList)
  /// §3.4.5.1: requests that a value is replaced.
  case writeRequest(handle: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.5.2: the value was written.
  case writeResponse
  /// §3.4.5.3: replaces a value; not answered.
  case writeCommand(handle: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.5.4: replaces a value if the signature, always of 12 bytes, is right; not answered.
  case signedWriteCommand(
    handle: UInt16, value: ArraySlice<UInt8>, signature: ArraySlice<UInt8>)
  /// §3.4.6.1: requests that a partial write is queued.
  case prepareWriteRequest(handle: UInt16, offset: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.6.2: echoes the queued part.
  case prepareWriteResponse(handle: UInt16, offset: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.6.3: requests that all queued writes are executed or cancelled.
  case executeWriteRequest(isExecuted: Bool)
  /// §3.4.6.4: the queue is empty again.
  case executeWriteResponse
  /// §3.4.7.1: a value, unasked.
  case handleValueNotification(handle: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.7.2: a value, unasked, to be confirmed.
  case handleValueIndication(handle: UInt16, value: ArraySlice<UInt8>)
  /// §3.4.7.3: an indication arrived.
  case handleValueConfirmation
  /// §3.4.7.4: several values, unasked.
  case multipleHandleValueNotification(ATTHandleLengthValueList)

  /// The smallest MTU that may be agreed on, and the one before any exchange (§3.2.8, Part G §5.2.1).
  package static let mtuMin = 23
  /// The longest value that an attribute may have (§3.2.9).
  package static let valueByteCountMax = 512
  /// The size of a signature in bytes (§3.3.1).
  package static let signatureByteCount = 12

  /// The opcode of the PDU.
  package var opcode: ATTOpcode {
    switch self {
    case .errorResponse: .errorResponse
    case .exchangeMTURequest: .exchangeMTURequest
    case .exchangeMTUResponse: .exchangeMTUResponse
    case .findInformationRequest: .findInformationRequest
    case .findInformationResponse: .findInformationResponse
    case .findByTypeValueRequest: .findByTypeValueRequest
    case .findByTypeValueResponse: .findByTypeValueResponse
    case .readByTypeRequest: .readByTypeRequest
    case .readByTypeResponse: .readByTypeResponse
    case .readRequest: .readRequest
    case .readResponse: .readResponse
    case .readBlobRequest: .readBlobRequest
    case .readBlobResponse: .readBlobResponse
    case .readMultipleRequest: .readMultipleRequest
    case .readMultipleResponse: .readMultipleResponse
    case .readByGroupTypeRequest: .readByGroupTypeRequest
    case .readByGroupTypeResponse: .readByGroupTypeResponse
    case .readMultipleVariableRequest: .readMultipleVariableRequest
    case .readMultipleVariableResponse: .readMultipleVariableResponse
    case .writeRequest: .writeRequest
    case .writeResponse: .writeResponse
    case .writeCommand: .writeCommand
    case .signedWriteCommand: .signedWriteCommand
    case .prepareWriteRequest: .prepareWriteRequest
    case .prepareWriteResponse: .prepareWriteResponse
    case .executeWriteRequest: .executeWriteRequest
    case .executeWriteResponse: .executeWriteResponse
    case .handleValueNotification: .handleValueNotification
    case .handleValueIndication: .handleValueIndication
    case .handleValueConfirmation: .handleValueConfirmation
    case .multipleHandleValueNotification: .multipleHandleValueNotification
    }
  }
}
