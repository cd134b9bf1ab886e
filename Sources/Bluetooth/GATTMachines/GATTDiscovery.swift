import BluetoothInterface
import BluetoothWire
import Essentials

// Discovery (Core 5.4, Vol 3, Part G, §4.4 to §4.7).

/// Discover All Primary Services (§4.4.1).
struct DiscoverServices: GATTProcedure {
  private var search = HandleSearch(.all)
  private var found: [RemoteService] = []

  private var request: ATTPDU {
    .readByGroupTypeRequest(start: search.next, end: search.end, type: 0x2800)
  }

  mutating func start(mtu: Int) -> GATTStep { .request(request) }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    if response.isNotFound { return .done(.services(found)) }
    guard case .readByGroupTypeResponse(let list) = response else {
      return .unusable(response)
    }
    for entry in list {
      guard let uuid = BluetoothUUID(attribute: entry.value) else {
        return .failed(.invalidResponse)
      }
      guard search.found(entry.start, through: entry.end) else { return search.refusal }
      found.append(
        RemoteService(uuid: uuid, range: HandleRange(entry.start, entry.end), isPrimary: true))
    }
    return search.isOver ? .done(.services(found)) : .request(request)
  }
}

/// Discover Primary Service by Service UUID (§4.4.2), for one UUID after the other.
///
/// Servers compare the bytes of values (Part F, §3.4.3.3), and some store an assigned number in its 128-bit form. So a
/// UUID that is not found in the short form is searched for in the full one.
struct DiscoverServicesByUUID: GATTProcedure {
  private var uuids: [BluetoothUUID]
  /// Whether the last UUID is searched for in its 128-bit form.
  private var isFull = false
  private var search = HandleSearch(.all)
  private var found: [RemoteService] = []

  init(_ uuids: [BluetoothUUID]) {
    // Each once, the first asked for first.
    var known: Set<BluetoothUUID> = []
    self.uuids = uuids.filter { known.insert($0).inserted }.reversed()
  }

  /// Searches for the last of the remaining UUIDs.
  private var nextStep: GATTStep {
    guard let uuid = uuids.last else {
      return .done(.services(found.sorted { $0.range.start < $1.range.start }))
    }
    var value = ByteWriter(capacity: 16)
    if isFull {
      value.uint64(uuid.low)
      value.uint64(uuid.high)
    } else {
      uuid.append(to: &value)
    }
    return .request(
      .findByTypeValueRequest(
        start: search.next, end: search.end, type: 0x2800, value: value.bytes[...]))
  }

  mutating func start(mtu: Int) -> GATTStep { nextStep }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    guard let uuid = uuids.last else { return .failed(.invalidResponse) }
    if case .findByTypeValueResponse(let list) = response {
      for entry in list {
        guard search.found(entry.start, through: entry.end) else { return search.refusal }
        found.append(
          RemoteService(uuid: uuid, range: HandleRange(entry.start, entry.end), isPrimary: true))
      }
    } else if !response.isNotFound {
      return .unusable(response)
    }
    if search.isOver || response.isNotFound {
      let isMissing = !found.contains { $0.uuid == uuid }
      isFull = isMissing && !isFull && uuid.width == .bits16
      if !isFull { uuids.removeLast() }
      search = HandleSearch(.all)
    }
    return nextStep
  }
}

/// Find Included Services (§4.5.1). The declaration holds only UUIDs of 16 bits; the others are
/// read from the included service's own declaration. Whether that is primary is asked too, where it
/// isn't known.
struct DiscoverIncludedServices: GATTProcedure {
  private enum Stage {
    case including
    case uuid(Int)
    case kind(Int)
  }

  private let known: RemoteDatabase
  private var stage = Stage.including
  private var search: HandleSearch
  private var found: [(range: HandleRange, uuid: BluetoothUUID?, isPrimary: Bool?)] = []

  init(_ range: HandleRange, known: RemoteDatabase) {
    self.known = known
    search = HandleSearch(range)
  }

  mutating func start(mtu: Int) -> GATTStep { nextStep }

  private var nextStep: GATTStep {
    mutating get {
      if case .including = stage, !search.isOver {
        return .request(
          .readByTypeRequest(start: search.next, end: search.end, type: 0x2802))
      }
      if let index = found.firstIndex(where: { $0.uuid == nil }) {
        stage = .uuid(index)
        return .request(.readRequest(handle: found[index].range.start))
      }
      if let index = found.firstIndex(where: { $0.isPrimary == nil }) {
        stage = .kind(index)
        let handle = found[index].range.start
        return .request(.findInformationRequest(start: handle, end: handle))
      }
      return .done(
        .services(
          found.compactMap { service in
            service.uuid.map {
              RemoteService(
                uuid: $0, range: service.range, isPrimary: service.isPrimary ?? true)
            }
          }))
    }
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    switch (stage, response) {
    case (.including, .readByTypeResponse(let list)):
      for entry in list {
        guard search.found(entry.handle, through: entry.handle) else { return search.refusal }
        guard take(entry.value) else { return .failed(.invalidResponse) }
      }
      if search.isOver { stage = .uuid(0) }
    case (.including, _) where response.isNotFound: stage = .uuid(0)
    case (.uuid(let index), .readResponse(let value)):
      guard let uuid = BluetoothUUID(attribute: value) else { return .failed(.invalidResponse) }
      found[index].uuid = uuid
    case (.kind(let index), .findInformationResponse(let list)):
      var entries = list.makeIterator()
      found[index].isPrimary = entries.next()?.type != 0x2801
    case (.kind(let index), .errorResponse): found[index].isPrimary = true
    default: return .unusable(response)
    }
    return nextStep
  }

  private mutating func take(_ value: ArraySlice<UInt8>) -> Bool {
    var reader = ByteReader(value)
    guard value.count == 4 || value.count == 6, let start = try? reader.uint16(),
      let end = try? reader.uint16(), start > 0, start <= end
    else { return false }
    let uuid = value.count == 6 ? BluetoothUUID(attribute: reader.rest()) : nil
    found.append((HandleRange(start, end), uuid, known.isPrimary(start)))
    return true
  }
}

/// Discover All Characteristics of a Service (§4.6.1). By UUID (§4.6.2) is the same on the wire.
struct DiscoverCharacteristics: GATTProcedure {
  private var search: HandleSearch
  private var found: [RemoteCharacteristic] = []

  init(_ range: HandleRange) { search = HandleSearch(range) }

  private var request: ATTPDU {
    .readByTypeRequest(start: search.next, end: search.end, type: 0x2803)
  }

  private var reply: HostReply {
    var characteristics = found
    for index in characteristics.indices.dropLast() {
      characteristics[index].endHandle = characteristics[index + 1].declarationHandle - 1
    }
    return .characteristics(characteristics)
  }

  mutating func start(mtu: Int) -> GATTStep {
    search.isOver ? .done(.characteristics([])) : .request(request)
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    if response.isNotFound { return .done(reply) }
    guard case .readByTypeResponse(let list) = response else { return .unusable(response) }
    for entry in list {
      var reader = ByteReader(entry.value)
      guard let properties = try? reader.uint8(), let valueHandle = try? reader.uint16(),
        let uuid = BluetoothUUID(attribute: reader.rest()),
        valueHandle > entry.handle, valueHandle <= search.end
      else { return .failed(.invalidResponse) }
      // The value has a higher handle than its declaration, and the next declaration a higher one
      // than the value.
      guard search.found(entry.handle, through: valueHandle) else { return search.refusal }
      found.append(
        RemoteCharacteristic(
          uuid: uuid, declarationHandle: entry.handle, valueHandle: valueHandle,
          endHandle: search.end, properties: CharacteristicProperties(rawValue: properties)))
    }
    return search.isOver ? .done(reply) : .request(request)
  }
}

/// Discover All Characteristic Descriptors (§4.7.1).
struct DiscoverDescriptors: GATTProcedure {
  private var search: HandleSearch
  private var found: [RemoteDescriptor] = []

  init(_ range: HandleRange) { search = HandleSearch(range) }

  private var request: ATTPDU { .findInformationRequest(start: search.next, end: search.end) }

  mutating func start(mtu: Int) -> GATTStep {
    search.isOver ? .done(.descriptors([])) : .request(request)
  }

  mutating func received(_ response: ATTPDU, mtu: Int) -> GATTStep {
    if response.isNotFound { return .done(.descriptors(found)) }
    guard case .findInformationResponse(let list) = response else { return .unusable(response) }
    for entry in list {
      guard search.found(entry.handle, through: entry.handle) else { return search.refusal }
      found.append(RemoteDescriptor(uuid: entry.type, handle: entry.handle))
    }
    return search.isOver ? .done(.descriptors(found)) : .request(request)
  }
}

extension BluetoothUUID {
  /// Reads a UUID as attribute values hold it: 2 or 16 bytes (Part F, §3.2.1).
  init?(attribute bytes: ArraySlice<UInt8>) {
    guard bytes.count != 4 else { return nil }
    self.init(littleEndian: bytes)
  }
}
