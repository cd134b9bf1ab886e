import DNSWire
import DiscoveryMachines
package import Essentials

extension ClientMessage: PortSharingMessage {
  private enum Kind {
    static let hello: UInt8 = 1
    static let ping: UInt8 = 2
    static let leaving: UInt8 = 3
    static let startQuery: UInt8 = 16
    static let stopQuery: UInt8 = 17
    static let registerService: UInt8 = 18
    static let registerRecord: UInt8 = 19
    static let updateText: UInt8 = 20
    static let unregister: UInt8 = 21
    static let updateRecord: UInt8 = 22
    static let setRecord: UInt8 = 23
    static let reconfirm: UInt8 = 24
  }

  /// Decodes a message.
  package init(decoding bytes: ArraySlice<UInt8>) throws(PortSharingError) {
    var reader = MessageReader(bytes)
    switch try reader.uint8() {
    case Kind.hello: self = try reader.hello()
    case Kind.ping: self = .ping
    case Kind.leaving: self = .leaving
    case let kind: self = .request(try Self.request(kind, &reader))
    }
    try reader.finish()
  }

  /// Reads the fields of a request of this kind.
  private static func request(
    _ kind: UInt8, _ reader: inout MessageReader
  ) throws(PortSharingError) -> DiscoveryRequest {
    switch kind {
    case Kind.startQuery:
      return .startQuery(
        try reader.queryID(), try reader.query(), on: try reader.interface(),
        options: try reader.options())
    case Kind.stopQuery: return .stopQuery(try reader.queryID())
    case Kind.reconfirm: return .reconfirm(try reader.record(), on: try reader.interface())
    case Kind.registerService:
      return .registerService(try reader.registrationID(), try reader.service())
    case Kind.registerRecord:
      return .registerRecord(try reader.registrationID(), try reader.recordRegistration())
    case Kind.updateText:
      return .updateText(try reader.registrationID(), try reader.serviceText())
    case Kind.updateRecord:
      return .updateRecord(
        try reader.registrationID(), try reader.recordData(), ttlSeconds: try reader.uint32())
    case Kind.setRecord:
      return .setRecord(
        try reader.registrationID(), try reader.uint32(),
        try reader.optional { reader throws(PortSharingError) in try reader.recordData() },
        ttlSeconds: try reader.uint32())
    case Kind.unregister: return .unregister(try reader.registrationID())
    case let other: throw .unknownValue(other)
    }
  }

  /// Appends the encoded message.
  package func write(into writer: inout ByteWriter) {
    switch self {
    case .hello(let versions, let configuration):
      writer.uint8(Kind.hello)
      writer.uint16(versions.lowerBound)
      writer.uint16(versions.upperBound)
      writer.text(configuration.hostName)
      writer.optional(configuration.interfaceNames?.sorted()) { writer, names in
        writer.list(names) { $0.text($1) }
      }
    case .ping: writer.uint8(Kind.ping)
    case .leaving: writer.uint8(Kind.leaving)
    case .request(let request): Self.write(request, into: &writer)
    }
  }

  /// Appends a request, its kind first.
  private static func write(_ request: DiscoveryRequest, into writer: inout ByteWriter) {
    switch request {
    case .startQuery(let id, let request, let index, let options):
      writer.uint8(Kind.startQuery)
      writer.uint64(id.rawValue)
      writer.query(request)
      writer.interface(index)
      writer.options(options)
    case .stopQuery(let id):
      writer.uint8(Kind.stopQuery)
      writer.uint64(id.rawValue)
    case .reconfirm(let record, let index):
      writer.uint8(Kind.reconfirm)
      writer.record(record)
      writer.interface(index)
    case .registerService(let id, let service):
      writer.uint8(Kind.registerService)
      writer.uint64(id.rawValue)
      writer.service(service)
    case .registerRecord(let id, let registration):
      writer.uint8(Kind.registerRecord)
      writer.uint64(id.rawValue)
      writer.recordRegistration(registration)
    case .updateText(let id, let text):
      writer.uint8(Kind.updateText)
      writer.uint64(id.rawValue)
      writer.string(text.wireBytes)
    case .updateRecord(let id, let data, let ttlSeconds):
      writer.uint8(Kind.updateRecord)
      writer.uint64(id.rawValue)
      writer.recordData(data)
      writer.uint32(ttlSeconds)
    case .setRecord(let id, let number, let data, let ttlSeconds):
      writer.uint8(Kind.setRecord)
      writer.uint64(id.rawValue)
      writer.uint32(number)
      writer.optional(data) { $0.recordData($1) }
      writer.uint32(ttlSeconds)
    case .unregister(let id):
      writer.uint8(Kind.unregister)
      writer.uint64(id.rawValue)
    }
  }
}

// MARK: Parts

private enum RequestKind {
  static let records: UInt8 = 1
  static let browse: UInt8 = 2
  static let resolve: UInt8 = 3
  static let addresses: UInt8 = 4
  static let serviceTypes: UInt8 = 5
  static let domains: UInt8 = 6
}

extension MessageReader {
  fileprivate mutating func hello() throws(PortSharingError) -> ClientMessage {
    let (oldest, newest) = (try uint16(), try uint16())
    guard oldest <= newest else { throw .unknownValue(UInt8(truncatingIfNeeded: oldest)) }
    let hostName = try text()
    let names = try optional { reader throws(PortSharingError) in
      try reader.list { reader throws(PortSharingError) in try reader.text() }
    }
    return .hello(
      versions: oldest...newest,
      SharedConfiguration(hostName: hostName, interfaceNames: names.map { Set($0) }))
  }

  fileprivate mutating func query() throws(PortSharingError) -> QueryRequest {
    switch try uint8() {
    case RequestKind.records: return .records(try name(), DNSType(rawValue: try uint16()))
    case RequestKind.browse:
      return .browse(
        try serviceType(),
        subtype: try optional { reader throws(PortSharingError) in try reader.label() },
        domain: try name())
    case RequestKind.resolve: return .resolve(try serviceName())
    case RequestKind.addresses:
      let (host, versions) = (try name(), try uint8())
      guard versions < 4 else { throw .unknownValue(versions) }
      let chosen = [(UInt8(1), IPVersion.v4), (2, .v6)].filter { versions & $0.0 != 0 }.map(\.1)
      return .addresses(host, versions: Set(chosen))
    case RequestKind.serviceTypes: return .serviceTypes(domain: try name())
    case RequestKind.domains:
      let number = try uint8()
      guard number < DomainUse.allCases.count else { throw .unknownValue(number) }
      return .domains(DomainUse.allCases[Int(number)])
    case let other: throw .unknownValue(other)
    }
  }

  fileprivate mutating func options() throws(PortSharingError) -> QueryOptions {
    let reachesBeyondLink = try bool()
    let timeout = try optional { reader throws(PortSharingError) in
      TimeSpan(nanoseconds: Int64(clamping: try reader.uint64()))
    }
    return QueryOptions(
      reachesBeyondLink: reachesBeyondLink, timeout: timeout, reportsAliases: try bool())
  }

  fileprivate mutating func service() throws(PortSharingError) -> ServiceRegistration {
    let name = try serviceName()
    let subtypes = try list { reader throws(PortSharingError) in try reader.label() }
    let host = try optional { reader throws(PortSharingError) in try reader.name() }
    let (port, text, index) = (try uint16(), try txtRecord(), try interface())
    let policy: ConflictPolicy = try bool() ? .refuse : .rename
    do throws(DNSWireError) {
      return try ServiceRegistration(
        name, subtypes: subtypes, host: host, port: port, text: text, interface: index,
        conflictPolicy: policy)
    } catch { throw .invalid(error) }
  }

  fileprivate mutating func serviceText() throws(PortSharingError) -> TXTRecord {
    let text = try txtRecord()
    do throws(DNSWireError) { try ServiceRegistration.check(text) } catch {
      throw .invalid(error)
    }
    return text
  }

  fileprivate mutating func recordRegistration() throws(PortSharingError) -> RecordRegistration {
    let record = try record()
    let ownership: RecordRegistration.Ownership
    switch try uint8() {
    case 0: ownership = .shared
    case 1: ownership = .unique
    case 2: ownership = .knownUnique
    case let other: throw .unknownValue(other)
    }
    return RecordRegistration(record, ownership, interface: try interface())
  }
}

extension ByteWriter {
  fileprivate mutating func query(_ request: QueryRequest) {
    switch request {
    case .records(let owner, let type):
      uint8(RequestKind.records)
      name(owner)
      uint16(type.rawValue)
    case .browse(let type, let subtype, let domain):
      uint8(RequestKind.browse)
      serviceType(type)
      optional(subtype) { $0.string($1.bytes) }
      name(domain)
    case .resolve(let service):
      uint8(RequestKind.resolve)
      name(service.name)
    case .addresses(let host, let versions):
      uint8(RequestKind.addresses)
      name(host)
      uint8((versions.contains(.v4) ? 1 : 0) | (versions.contains(.v6) ? 2 : 0))
    case .serviceTypes(let domain):
      uint8(RequestKind.serviceTypes)
      name(domain)
    case .domains(let use):
      uint8(RequestKind.domains)
      uint8(UInt8(DomainUse.allCases.firstIndex(of: use) ?? 0))
    }
  }

  fileprivate mutating func options(_ options: QueryOptions) {
    bool(options.reachesBeyondLink)
    optional(options.timeout) { $0.uint64(UInt64(clamping: $1.nanoseconds)) }
    bool(options.reportsAliases)
  }

  fileprivate mutating func service(_ service: ServiceRegistration) {
    name(service.name.name)
    // The first label of each is the subtype; the rest follows from type and domain.
    list(service.subtypeNames) { $0.string($1.firstLabel ?? []) }
    optional(service.host) { $0.name($1) }
    uint16(service.port)
    string(service.text.wireBytes)
    interface(service.interface)
    bool(service.conflictPolicy == .refuse)
  }

  fileprivate mutating func recordRegistration(_ registration: RecordRegistration) {
    record(registration.record)
    switch registration.ownership {
    case .shared: uint8(0)
    case .unique: uint8(1)
    case .knownUnique: uint8(2)
    }
    interface(registration.interface)
  }
}
