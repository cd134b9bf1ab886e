import BluetoothInterface
import BluetoothWire
import Essentials

// Reading and writing values (Core 5.4, Vol 3, Part G, §4.8 and §4.9).

/// Read Characteristic Value, continued with Read Long where the value fills its response
/// (§4.8.1, §4.8.3).
struct ReadValue: GATTProcedure {
  let handle: UInt16
  private(set) var value: [UInt8] = []
  private var isFirst = true

  init(_ handle: UInt16) { self.handle = handle }

  mutating func start(mtu: Int) -> GATTStep { .request(.readRequest(handle: handle)) }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    switch response {
    case .readResponse(let part) where isFirst, .readBlobResponse(let part) where !isFirst:
      isFirst = false
      value += part.prefix(GATTLimits.valueByteCountMax - value.count)
      guard part.count >= mtu - 1, value.count < GATTLimits.valueByteCountMax else {
        return .done(.value(value))
      }
      return .request(.readBlobRequest(handle: handle, offset: UInt16(value.count)))
    // The value ended exactly with its response; some servers then answer with this error (§4.8.3).
    case .errorResponse(_, _, .attributeNotLong) where !isFirst,
      .errorResponse(_, _, .invalidOffset) where !isFirst:
      return .done(.value(value))
    default: return .unusable(response)
    }
  }
}

/// Read Using Characteristic UUID (§4.8.2), repeated to the end of the range.
struct ReadByUUID: GATTProcedure {
  private let type: BluetoothUUID
  private var search: HandleSearch
  private var found: [AttributeValue] = []

  init(_ type: BluetoothUUID, in range: HandleRange) {
    self.type = type
    search = HandleSearch(range)
  }

  private var request: ATTPDU {
    .readByTypeRequest(start: search.next, end: search.end, type: type)
  }

  mutating func start(mtu: Int) -> GATTStep {
    search.isOver ? .done(.values([])) : .request(request)
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    if response.isNotFound { return .done(.values(found)) }
    guard case .readByTypeResponse(let list) = response else {
      // What could be read before one that could not is worth having.
      if case .errorResponse = response, !found.isEmpty { return .done(.values(found)) }
      return .unusable(response)
    }
    for entry in list {
      guard search.found(entry.handle, through: entry.handle) else { return search.refusal }
      found.append(AttributeValue(handle: entry.handle, value: Array(entry.value)))
    }
    return search.isOver ? .done(.values(found)) : .request(request)
  }
}

/// Read Multiple Variable Length (§4.8.5); the plain form (§4.8.4) where the peer doesn't know it.
/// Values that did not fit are read one by one.
struct ReadMultiple: GATTProcedure {
  private let handles: [UInt16]
  private var found: [AttributeValue] = []
  private var single: ReadValue?

  init(_ handles: [UInt16]) { self.handles = handles }

  mutating func start(mtu: Int) -> GATTStep {
    guard handles.count > 1 else { return nextSingle(mtu: mtu) }
    // The request too has to fit; handles that don't are read one by one.
    let some = handles.prefix((mtu - 1) / 2)
    return .request(.readMultipleVariableRequest(ATTHandleList(some)))
  }

  private mutating func nextSingle(mtu: Int) -> GATTStep {
    guard found.count < handles.count else { return .done(.values(found)) }
    var next = ReadValue(handles[found.count])
    let step = next.start(mtu: mtu)
    single = next
    return step
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    if single != nil { return receivedSingle(response, mtu: mtu) }
    switch response {
    case .readMultipleVariableResponse(let list):
      for (entry, handle) in zip(list, handles) {
        // Only the last can be cut.
        guard entry.value.count == entry.byteCount else { break }
        guard entry.byteCount <= GATTLimits.valueByteCountMax else {
          return .failed(.invalidResponse)
        }
        found.append(AttributeValue(handle: handle, value: Array(entry.value)))
      }
      return nextSingle(mtu: mtu)
    case .readMultipleResponse(let values): return .done(.value(Array(values)))
    case .errorResponse(.readMultipleVariableRequest, _, .requestNotSupported)
    where handles.count <= (mtu - 1) / 2:
      return .request(.readMultipleRequest(ATTHandleList(handles)))
    case .errorResponse(_, _, .requestNotSupported): return nextSingle(mtu: mtu)
    default: return .unusable(response)
    }
  }

  private mutating func receivedSingle(_ response: ATTPDU, mtu: Int) -> GATTStep {
    guard let step = single?.received(response, mtu: mtu) else { return .failed(.invalidResponse) }
    guard case .done(.value(let value)) = step else { return step }
    found.append(AttributeValue(handle: handles[found.count], value: value))
    return nextSingle(mtu: mtu)
  }
}

/// Write Characteristic Value (§4.9.3), Write Long (§4.9.4) and Reliable Writes (§4.9.5).
///
/// Each prepared write is compared with its echo; if one differs, or the peer refuses one, all of
/// them are cancelled.
struct WriteValues: GATTProcedure {
  private let values: [AttributeValue]
  private let isReliable: Bool
  /// The index of the value that is being prepared, its offset, and the byte count sent last.
  private var position = 0
  private var offset = 0
  private var sentCount = 0
  /// Why everything is being cancelled.
  private var failure: HostError?

  /// One value, in parts only where it has to be.
  init(_ value: AttributeValue) {
    values = [value]
    isReliable = false
  }

  /// All values or none.
  init(reliably values: [AttributeValue]) {
    self.values = values
    isReliable = true
  }

  mutating func start(mtu: Int) -> GATTStep {
    guard let first = values.first else { return .done(.done) }
    guard values.allSatisfy({ $0.value.count <= GATTLimits.valueByteCountMax }) else {
      return .failed(
        .invalidArgument("A value is longer than \(GATTLimits.valueByteCountMax) bytes."))
    }
    if !isReliable, first.value.count <= mtu - 3 {
      return .request(.writeRequest(handle: first.handle, value: first.value[...]))
    }
    return prepare(mtu: mtu)
  }

  private mutating func prepare(mtu: Int) -> GATTStep {
    let part = values[position].value.dropFirst(offset).prefix(mtu - 5)
    sentCount = part.count
    return .request(
      .prepareWriteRequest(
        handle: values[position].handle, offset: UInt16(offset), value: part))
  }

  private mutating func cancel(because error: HostError) -> GATTStep {
    failure = error
    return .request(.executeWriteRequest(isExecuted: false))
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    switch response {
    case .writeResponse: return .done(.done)
    case .executeWriteResponse: return failure.map { .failed($0) } ?? .done(.done)
    case .prepareWriteResponse(let handle, let echoedOffset, let echo):
      let current = values[position]
      let part = current.value.dropFirst(offset).prefix(sentCount)
      guard handle == current.handle, Int(echoedOffset) == offset, echo == part else {
        return cancel(because: .invalidResponse)
      }
      offset += sentCount
      if offset == current.value.count {
        position += 1
        offset = 0
      }
      guard position == values.count else { return prepare(mtu: mtu) }
      return .request(.executeWriteRequest(isExecuted: true))
    case .errorResponse(.prepareWriteRequest, let handle, let error):
      return cancel(because: .att(error, handle: handle))
    case .errorResponse:
      return failure.map { .failed($0) } ?? .unusable(response)
    default: return .unusable(response)
    }
  }
}

/// Exchange MTU (§4.3.1).
struct ExchangeMTU: GATTProcedure {
  let mtuMax: Int

  mutating func start(mtu: Int) -> GATTStep {
    .request(.exchangeMTURequest(mtu: UInt16(mtuMax)))
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    guard case .exchangeMTUResponse(let mtu) = response else { return .unusable(response) }
    return .peerMTU(Int(mtu))
  }
}
