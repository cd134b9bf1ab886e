import BluetoothInterface

// Procedures on a peer's server, and peers' requests to this host's.

extension GATTOperation: HubChoice {
  enum Number: UInt8, CaseIterable {
    case discoverServices = 1
    case discoverIncludedServices = 2
    case discoverCharacteristics = 3
    case discoverDescriptors = 4
    case read = 5
    case readByUUID = 6
    case readMultiple = 7
    case write = 8
    case reliableWrite = 9
    case writeWithoutResponse = 10
    case signedWrite = 11
  }

  var number: Number {
    switch self {
    case .discoverServices: .discoverServices
    case .discoverIncludedServices: .discoverIncludedServices
    case .discoverCharacteristics: .discoverCharacteristics
    case .discoverDescriptors: .discoverDescriptors
    case .read: .read
    case .readByUUID: .readByUUID
    case .readMultiple: .readMultiple
    case .write: .write
    case .reliableWrite: .reliableWrite
    case .writeWithoutResponse: .writeWithoutResponse
    case .signedWrite: .signedWrite
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .discoverServices:
      return try coder.fields(value, Self.discoverServices) {
        if case .discoverServices(let uuids) = $0 { uuids } else { nil }
      }
    case .discoverIncludedServices:
      return try coder.fields(value, Self.discoverIncludedServices) {
        if case .discoverIncludedServices(in: let range) = $0 { range } else { nil }
      }
    case .discoverCharacteristics:
      return try coder.fields(value, Self.discoverCharacteristics) {
        if case .discoverCharacteristics(in: let range, let uuids) = $0 {
          (range, uuids)
        } else {
          nil
        }
      }
    case .discoverDescriptors:
      return try coder.fields(value, Self.discoverDescriptors) {
        if case .discoverDescriptors(in: let range) = $0 { range } else { nil }
      }
    case .read:
      return try coder.fields(value, Self.read) {
        if case .read(let handle) = $0 { handle } else { nil }
      }
    case .readByUUID:
      return try coder.fields(value, Self.readByUUID) {
        if case .readByUUID(let uuid, in: let range) = $0 { (uuid, range) } else { nil }
      }
    case .readMultiple:
      return try coder.fields(value, Self.readMultiple) {
        if case .readMultiple(let handles) = $0 { handles } else { nil }
      }
    case .write:
      return try coder.fields(value, Self.write) {
        if case .write(let handle, let value) = $0 { (handle, value) } else { nil }
      }
    case .reliableWrite:
      return try coder.fields(value, Self.reliableWrite) {
        if case .reliableWrite(let values) = $0 { values } else { nil }
      }
    case .writeWithoutResponse:
      return try coder.fields(value, Self.writeWithoutResponse) {
        if case .writeWithoutResponse(let handle, let value) = $0 { (handle, value) } else { nil }
      }
    case .signedWrite:
      return try coder.fields(value, Self.signedWrite) {
        if case .signedWrite(let handle, let value) = $0 { (handle, value) } else { nil }
      }
    }
  }
}

extension ServerRequest.Kind: HubChoice {
  enum Number: UInt8, CaseIterable {
    case read = 1
    case write = 2
  }

  var number: Number {
    switch self {
    case .read: .read
    case .write: .write
    }
  }

  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self {
    switch number {
    case .read:
      return try coder.fields(value, Self.read) {
        if case .read(handle: let handle, offset: let offset) = $0 { (handle, offset) } else { nil }
      }
    case .write:
      return try coder.fields(value, Self.write) {
        if case .write(let writes) = $0 { writes } else { nil }
      }
    }
  }
}

extension ServerRequest.Write: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try ServerRequest.Write(
      handle: coder.field(value) { $0.handle }, offset: coder.field(value) { $0.offset },
      value: coder.field(value) { $0.value })
  }
}

extension ServerRequest: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try ServerRequest(
      id: coder.field(value) { $0.id }, peer: coder.field(value) { $0.peer },
      kind: coder.field(value) { $0.kind },
      needsResponse: coder.field(value) { $0.needsResponse })
  }
}
