import BluetoothInterface
import BluetoothWire
import Essentials

/// Records one device of a capture: its advertising, and the attribute PDUs of its links.
struct LinkRecorder: Sendable {
  /// Attribute handles are 16 bits; a real device has a few hundred attributes.
  private static let attributeCountMax = 4_096
  /// Reads, writes and notifications that are kept.
  private static let eventCountMax = 100_000

  private struct Service: Sendable {
    var end: UInt16
    var uuid: BluetoothUUID
    var isPrimary: Bool
  }

  private struct Declaration: Sendable {
    var valueHandle: UInt16
    var properties: CharacteristicProperties
    var uuid: BluetoothUUID
  }

  /// What happened to a value, by its handle: it finds its place when everything is discovered.
  private enum Event: Sendable {
    case read(UInt16, Result<[UInt8], ATTErrorCode>)
    case wrote(UInt16, [UInt8], WriteResult)
    case notified(UInt16, [UInt8])

    var byteCount: Int {
      switch self {
      case .read(_, .success(let value)), .wrote(_, let value, _), .notified(_, let value):
        value.count
      case .read(_, .failure): 0
      }
    }
  }

  /// What became of a write.
  private enum WriteResult: Sendable {
    case taken
    case refused(ATTErrorCode)
    /// The device answers no such write; it may have ignored it.
    case unknown

    var error: ATTErrorCode? { if case .refused(let error) = self { error } else { nil } }
  }

  private let address: DeviceAddress
  private var recorder = PeripheralRecorder()
  private var data: [UInt8] = []
  private var response: [UInt8] = []
  private var isConnectable = false
  private var services: [UInt16: Service] = [:]
  private var includes: [UInt16: UInt16] = [:]
  private var declarations: [UInt16: Declaration] = [:]
  private var types: [UInt16: BluetoothUUID] = [:]
  private var events: [(time: Instant, event: Event, protection: PeripheralFile.Protection)] = []
  /// That of the link now. Whether a key is authenticated is not in a capture of packets.
  private var protection = PeripheralFile.Protection.none
  /// Events that found no room.
  private var droppedCount = 0
  private var lastClosed: Instant?
  /// The request that waits for its response.
  private var request: (pdu: ATTPDU, time: Instant)?
  /// The parts of a long value that were read so far.
  private var long: [UInt8] = []
  /// The parts of a long value that were prepared to be written.
  private var prepared: [UInt16: [UInt8]] = [:]

  init(_ address: DeviceAddress) { self.address = address }

  var hasAttributes: Bool { !services.isEmpty }

  var name: String? {
    let all = [data, response]
    for structure in all.flatMap({ Array(AdvertisingData($0[...])) })
    where structure.type == .completeLocalName || structure.type == .shortenedLocalName {
      return StandardValue.printable(structure.data)
    }
    return nil
  }

  mutating func heard(
    _ bytes: ArraySlice<UInt8>, isResponse: Bool, isConnectable: Bool, rssi: Int8?,
    at time: Instant
  ) {
    if isResponse {
      response = Array(bytes)
    } else {
      data = Array(bytes)
      self.isConnectable = isConnectable
    }
    recorder.heard(
      data: data, scanResponse: response, isConnectable: self.isConnectable,
      rssi: rssi.map(Int.init), at: time)
  }

  mutating func encryptionChanged(isOn: Bool) { protection = isOn ? .encryption : .none }

  mutating func linkOpened() {
    protection = .none
    lastClosed = nil
    request = nil
    prepared = [:]
  }

  mutating func linkClosed(at time: Instant) {
    lastClosed = time
    request = nil
  }

  // MARK: PDUs

  mutating func sent(_ pdu: ATTPDU, at time: Instant) {
    switch pdu {
    case .writeCommand(let handle, let value), .signedWriteCommand(let handle, let value, _):
      record(.wrote(handle, Array(value), .unknown), at: time)
    case .prepareWriteRequest(let handle, let offset, let value):
      let before = (prepared[handle] ?? []).prefix(Int(offset))
      prepared[handle] = Array((before + value).prefix(ATTPDU.valueByteCountMax))
      request = (pdu, time)
    // The device may be a client of this host, too: what answers it is no request of ours.
    default: if pdu.opcode.isRequest { request = (pdu, time) }
    }
  }

  mutating func received(_ pdu: ATTPDU, at time: Instant) {
    switch pdu {
    case .handleValueNotification(let handle, let value),
      .handleValueIndication(let handle, let value):
      return record(.notified(handle, Array(value)), at: time)
    case .multipleHandleValueNotification(let list):
      for entry in list { record(.notified(entry.handle, Array(entry.value)), at: time) }
      return
    default: break
    }
    guard pdu.opcode.isResponse, let (asked, askedTime) = request else { return }
    request = nil
    answered(asked, pdu, askedTime)
  }

  private mutating func answered(_ asked: ATTPDU, _ answer: ATTPDU, _ time: Instant) {
    switch (asked, answer) {
    case (.readByGroupTypeRequest(_, _, let type), .readByGroupTypeResponse(let list)):
      for group in list {
        addService(group.start, group.end, group.value, isPrimary: type == 0x2800)
      }
    case (.findByTypeValueRequest(_, _, 0x2800, let value), .findByTypeValueResponse(let list)):
      for range in list { addService(range.start, range.end, value, isPrimary: true) }
    case (.readByTypeRequest(_, _, let type), .readByTypeResponse(let list)):
      for entry in list { add(entry, of: type, at: time) }
    case (.findInformationRequest, .findInformationResponse(let list)):
      for entry in list {
        if types[entry.handle] != nil || types.count < Self.attributeCountMax {
          types[entry.handle] = entry.type
        } else {
          droppedCount += 1
        }
      }
    case (.readRequest(let handle), .readResponse(let value)):
      long = Array(value)
      record(.read(handle, .success(long)), at: time)
    case (.readBlobRequest(let handle, let offset), .readBlobResponse(let value)):
      guard Int(offset) <= long.count else { return }
      long = Array((long.prefix(Int(offset)) + value).prefix(ATTPDU.valueByteCountMax))
      // The whole value takes the place of its beginning.
      if case .read(handle, _)? = events.last?.event { events.removeLast() }
      record(.read(handle, .success(long)), at: time)
    case (.readRequest(let handle), .errorResponse(_, _, let error)):
      record(.read(handle, .failure(error)), at: time)
    case (.writeRequest(let handle, let value), .writeResponse):
      record(.wrote(handle, Array(value), .taken), at: time)
    case (.writeRequest(let handle, let value), .errorResponse(_, _, let error)):
      record(.wrote(handle, Array(value), .refused(error)), at: time)
    case (.executeWriteRequest(true), _):
      var result = WriteResult.taken
      if case .errorResponse(_, _, let error) = answer { result = .refused(error) }
      for (handle, value) in prepared.sorted(by: { $0.key < $1.key }) {
        record(.wrote(handle, value, result), at: time)
      }
      prepared = [:]
    case (.executeWriteRequest(false), _): prepared = [:]
    default: break
    }
  }

  private mutating func record(_ event: Event, at time: Instant) {
    guard events.count < Self.eventCountMax, event.byteCount <= ATTPDU.valueByteCountMax else {
      droppedCount += 1
      return
    }
    events.append((time, event, protection))
  }

  private mutating func addService(
    _ start: UInt16, _ end: UInt16, _ value: ArraySlice<UInt8>, isPrimary: Bool
  ) {
    guard end >= start, let uuid = BluetoothUUID(littleEndian: value) else { return }
    guard services[start] != nil || services.count < PeripheralFile.Limits.serviceCount else {
      droppedCount += 1
      return
    }
    services[start] = Service(end: end, uuid: uuid, isPrimary: isPrimary)
  }

  /// Declarations and values that were read by their type.
  private mutating func add(
    _ entry: ATTAttributeData, of type: BluetoothUUID, at time: Instant
  ) {
    var reader = ByteReader(entry.value)
    switch type {
    case 0x2803:
      guard let properties = try? reader.uint8(), let handle = try? reader.uint16(),
        let uuid = BluetoothUUID(littleEndian: reader.rest())
      else { return }
      guard declarations[entry.handle] != nil || declarations.count < Self.attributeCountMax else {
        droppedCount += 1
        return
      }
      declarations[entry.handle] = Declaration(
        valueHandle: handle, properties: CharacteristicProperties(rawValue: properties),
        uuid: uuid)
    case 0x2802:
      guard includes.count < Self.attributeCountMax, let start = try? reader.uint16(),
        let end = try? reader.uint16()
      else { return }
      includes[entry.handle] = start
      if services[start] == nil, !reader.isAtEnd {
        addService(start, end, reader.rest(), isPrimary: false)
      }
    default: record(.read(entry.handle, .success(Array(entry.value))), at: time)
    }
  }

  // MARK: The file

  /// Services that every device has, and that hosts serve by themselves.
  private static let systemServices: Set<BluetoothUUID> = [0x1800, 0x1801]

  /// The discovered attributes, in order.
  private struct Database {
    /// Where the services of the file start.
    var starts: [UInt16] = []
    /// The handles of all attributes whose type is known.
    var handles: [UInt16] = []
    /// The first value that was read of each attribute.
    var values: [UInt16: [UInt8]] = [:]
    /// The characteristics of the file by the handles of their values.
    var indices: [UInt16: PeripheralFile.CharacteristicIndex] = [:]
  }

  /// The file, as far as the capture determines it.
  func recording(at end: Instant) -> PeripheralRecording {
    var recorder = recorder
    recorder.countDropped(droppedCount)
    recorder.file.address = address.isIdentityAddress ? address : nil
    recorder.file.name = name
    var database = Database()
    database.handles = types.keys.sorted()
    database.starts = services.keys.sorted().filter { start in
      services[start].map { !Self.systemServices.contains($0.uuid) } ?? false
    }
    for case (_, .read(let handle, .success(let value)), _) in events
    where database.values[handle] == nil {
      database.values[handle] = value
    }
    for (number, start) in database.starts.enumerated() {
      addAttributes(from: start, number, to: &recorder, &database)
    }
    replay(into: &recorder, database)
    return recorder.finished(at: lastClosed ?? end)
  }

  private func addAttributes(
    from start: UInt16, _ number: Int, to recorder: inout PeripheralRecorder,
    _ database: inout Database
  ) {
    guard let found = services[start] else { return }
    var service = PeripheralFile.Service(uuid: found.uuid)
    service.isPrimary = found.isPrimary
    let range = start...found.end
    for (_, included) in includes.filter({ range.contains($0.key) }).sorted(by: { $0.key < $1.key })
    {
      if let index = database.starts.firstIndex(of: included), index != number {
        service.includedServices.append(index)
      }
    }
    let own = declarations.filter { range.contains($0.key) }.sorted { $0.key < $1.key }
    let limit = PeripheralFile.Limits.characteristicCount
    recorder.countDropped(max(0, own.count - limit))
    for (place, (_, declaration)) in own.prefix(limit).enumerated() {
      var characteristic = PeripheralFile.Characteristic(
        uuid: declaration.uuid, properties: declaration.properties)
      // Up to the next declaration; a value follows its declaration.
      let end = own.dropFirst(place + 1).first.map { $0.key - 1 } ?? found.end
      let first = database.handles.partitionIndex { $0 > declaration.valueHandle }
      for handle in database.handles[first...].prefix(while: { $0 <= end }) {
        guard let type = types[handle], type != 0x2902, type != 0x2803 else { continue }
        guard characteristic.descriptors.count < PeripheralFile.Limits.descriptorCount else {
          recorder.countDropped(1)
          continue
        }
        characteristic.descriptors.append(
          PeripheralFile.Descriptor(uuid: type, value: database.values[handle] ?? []))
      }
      database.indices[declaration.valueHandle] = PeripheralFile.CharacteristicIndex(
        service: number, characteristic: place)
      service.characteristics.append(characteristic)
    }
    recorder.file.services.append(service)
  }

  /// The first value that was read of a characteristic of this type, in any service.
  private func firstValue(of type: BluetoothUUID, _ database: Database) -> [UInt8]? {
    declarations.values.filter { $0.uuid == type }.map(\.valueHandle).sorted()
      .compactMap { database.values[$0] }.first
  }

  private func replay(into recorder: inout PeripheralRecorder, _ database: Database) {
    let indices = database.indices
    let discovered = Set(declarations.values.map(\.valueHandle))
    if let value = firstValue(of: 0x2A00, database),
      let name = StandardValue.printable(value[...])
    {
      recorder.file.name = name
    }
    if let value = firstValue(of: 0x2A01, database), value.count == 2, value != [0, 0] {
      recorder.file.appearance = UInt16(value[0]) | UInt16(value[1]) << 8
    }
    for (time, event, protection) in events {
      switch event {
      case .read(let handle, let result):
        guard let index = indices[handle] else { break }
        recorder.read(index, result)
        if case .success = result { recorder.allowed(.read, to: index, over: protection) }
      case .notified(let handle, let value):
        if let index = indices[handle] {
          recorder.notified(index, value, at: time)
          recorder.allowed(.notify, to: index, over: protection)
        } else if !discovered.contains(handle) {
          recorder.countDropped(1)
        }
      case .wrote(let handle, let value, let result):
        if let index = indices[handle] {
          recorder.wrote(index, value, error: result.error, at: time)
          switch result {
          case .taken: recorder.allowed(.write, to: index, over: protection)
          case .unknown: recorder.wroteUnanswered(to: index, over: protection)
          case .refused(let error): recorder.refusedWrite(to: index, error, over: protection)
          }
        } else if types[handle] == 0x2902, result.error == nil, value.contains(where: { $0 != 0 }) {
          recorder.beginTimeline(at: time)
        } else if !discovered.contains(handle), types[handle] == nil {
          recorder.countDropped(1)
        }
      }
    }
  }
}
