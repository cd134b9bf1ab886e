import DNSWire
import DiscoveryMachines
package import Essentials

extension OwnerMessage: PortSharingMessage {
  private enum Kind {
    static let welcome: UInt8 = 1
    static let rejected: UInt8 = 2
    static let pong: UInt8 = 3
    static let found: UInt8 = 16
    static let registered: UInt8 = 17
    static let refused: UInt8 = 18
    static let interfaces: UInt8 = 19
    // 20 had another meaning in versions 2 and 3.
    static let answersFromCache: UInt8 = 21
  }

  /// Decodes a message.
  package init(decoding bytes: ArraySlice<UInt8>) throws(PortSharingError) {
    var reader = MessageReader(bytes)
    switch try reader.uint8() {
    case Kind.welcome: self = .welcome(version: try reader.uint16())
    case Kind.rejected:
      let number = try reader.uint8()
      guard let reason = RejectionReason(rawValue: number) else { throw .unknownValue(number) }
      self = .rejected(reason)
    case Kind.pong: self = .pong
    case Kind.found:
      self = .report(
        .found(
          try reader.queryID(), try reader.event(), on: try reader.interface(),
          moreComing: try reader.bool()))
    case Kind.registered:
      self = .report(.registered(try reader.registrationID(), try reader.name()))
    case Kind.refused: self = .report(.refused(try reader.registrationID(), try reader.name()))
    case Kind.interfaces:
      let interfaces = try reader.list { reader throws(PortSharingError) in
        (InterfaceIndex(rawValue: try reader.uint32()), try reader.text())
      }
      self = .report(.interfaces(Dictionary(interfaces) { first, _ in first }))
    case Kind.answersFromCache: self = .report(.answersFromCache(try reader.queryID()))
    case let other: throw .unknownValue(other)
    }
    try reader.finish()
  }

  /// Appends the encoded message.
  package func write(into writer: inout ByteWriter) {
    switch self {
    case .welcome(let version):
      writer.uint8(Kind.welcome)
      writer.uint16(version)
    case .rejected(let reason):
      writer.uint8(Kind.rejected)
      writer.uint8(reason.rawValue)
    case .pong: writer.uint8(Kind.pong)
    case .report(.found(let id, let event, let index, let moreComing)):
      writer.uint8(Kind.found)
      writer.uint64(id.rawValue)
      writer.event(event)
      writer.interface(index)
      writer.bool(moreComing)
    case .report(.registered(let id, let name)):
      writer.uint8(Kind.registered)
      writer.uint64(id.rawValue)
      writer.name(name)
    case .report(.refused(let id, let name)):
      writer.uint8(Kind.refused)
      writer.uint64(id.rawValue)
      writer.name(name)
    case .report(.interfaces(let interfaces)):
      writer.uint8(Kind.interfaces)
      writer.list(interfaces.sorted { $0.key < $1.key }) { writer, interface in
        writer.uint32(interface.key.rawValue)
        writer.text(interface.value)
      }
    case .report(.answersFromCache(let id)):
      writer.uint8(Kind.answersFromCache)
      writer.uint64(id.rawValue)
    }
  }
}

// MARK: Parts

private enum EventKind {
  static let recordAdded: UInt8 = 1
  static let recordRemoved: UInt8 = 2
  static let recordAbsent: UInt8 = 3
  static let serviceAdded: UInt8 = 4
  static let serviceRemoved: UInt8 = 5
  static let resolved: UInt8 = 6
  static let addressAdded: UInt8 = 7
  static let addressRemoved: UInt8 = 8
  static let addressAbsent: UInt8 = 9
  static let typeAdded: UInt8 = 10
  static let typeRemoved: UInt8 = 11
  static let domainAdded: UInt8 = 12
  static let domainRemoved: UInt8 = 13
  static let failed: UInt8 = 14
}

extension MessageReader {
  fileprivate mutating func event() throws(PortSharingError) -> QueryEvent {
    switch try uint8() {
    case EventKind.recordAdded: return .recordAdded(try record())
    case EventKind.recordRemoved: return .recordRemoved(try record())
    case EventKind.recordAbsent: return .recordAbsent(DNSType(rawValue: try uint16()))
    case EventKind.serviceAdded: return .serviceAdded(try serviceName())
    case EventKind.serviceRemoved: return .serviceRemoved(try serviceName())
    case EventKind.resolved:
      return .resolved(
        ServiceResolution(
          name: try serviceName(), host: try name(), port: try uint16(), text: try txtRecord()))
    case EventKind.addressAdded: return .addressAdded(try address(), ttlSeconds: try uint32())
    case EventKind.addressRemoved: return .addressRemoved(try address())
    case EventKind.addressAbsent: return .addressAbsent(try version())
    case EventKind.typeAdded: return .typeAdded(try serviceType())
    case EventKind.typeRemoved: return .typeRemoved(try serviceType())
    case EventKind.domainAdded: return .domainAdded(try name())
    case EventKind.domainRemoved: return .domainRemoved(try name())
    case EventKind.failed: return .failed(try error())
    case let other: throw .unknownValue(other)
    }
  }

  private mutating func error() throws(PortSharingError) -> QueryError {
    switch try uint8() {
    case 1: return .notOnThisLink(try name())
    case 2: return .nameTooLong
    case 3: return .tooManyClients
    case 4: return .identifierInUse
    case 5: return .timedOut
    case let other: throw .unknownValue(other)
    }
  }
}

extension ByteWriter {
  fileprivate mutating func event(_ event: QueryEvent) {
    switch event {
    case .recordAdded(let found): kind(EventKind.recordAdded) { $0.record(found) }
    case .recordRemoved(let gone): kind(EventKind.recordRemoved) { $0.record(gone) }
    case .recordAbsent(let type): kind(EventKind.recordAbsent) { $0.uint16(type.rawValue) }
    case .serviceAdded(let service): kind(EventKind.serviceAdded) { $0.name(service.name) }
    case .serviceRemoved(let service): kind(EventKind.serviceRemoved) { $0.name(service.name) }
    case .resolved(let resolution):
      kind(EventKind.resolved) { writer in
        writer.name(resolution.name.name)
        writer.name(resolution.host)
        writer.uint16(resolution.port)
        writer.string(resolution.text.wireBytes)
      }
    case .addressAdded(let address, let ttlSeconds):
      kind(EventKind.addressAdded) { writer in
        writer.string(address.bytes)
        writer.uint32(ttlSeconds)
      }
    case .addressRemoved(let address): kind(EventKind.addressRemoved) { $0.string(address.bytes) }
    case .addressAbsent(let absent): kind(EventKind.addressAbsent) { $0.version(absent) }
    case .typeAdded(let type): kind(EventKind.typeAdded) { $0.serviceType(type) }
    case .typeRemoved(let type): kind(EventKind.typeRemoved) { $0.serviceType(type) }
    case .domainAdded(let domain): kind(EventKind.domainAdded) { $0.name(domain) }
    case .domainRemoved(let domain): kind(EventKind.domainRemoved) { $0.name(domain) }
    case .failed(let reason): kind(EventKind.failed) { $0.error(reason) }
    }
  }

  private mutating func kind(_ kind: UInt8, _ write: (inout ByteWriter) -> Void) {
    uint8(kind)
    write(&self)
  }

  private mutating func error(_ error: QueryError) {
    switch error.reason {
    case .notOnThisLink(let wanted):
      uint8(1)
      name(wanted)
    case .nameTooLong: uint8(2)
    case .tooManyClients: uint8(3)
    case .identifierInUse: uint8(4)
    case .timedOut: uint8(5)
    }
  }
}
