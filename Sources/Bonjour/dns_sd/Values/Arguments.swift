import CDNSServiceDiscovery
import DNSWire
import DiscoveryMachines
import Essentials
import Glibc

/// What C callers hand over, as values. Nothing is believed: pointers may be null, texts without
/// end, numbers of nothing.
enum Arguments {
  typealias Text = UnsafePointer<CChar>

  /// The bytes of a text; an error where it is null or has no end within what a domain's name
  /// takes.
  static func bytes(_ text: Text?) throws(ServiceError) -> [UInt8] {
    guard let text else { throw .badParameter }
    let count = strnlen(text, Int(kDNSServiceMaxDomainName))
    guard count < Int(kDNSServiceMaxDomainName) else { throw .badParameter }
    return UnsafeRawBufferPointer(start: text, count: count).map { $0 }
  }

  /// The text; an error where it is null, too long or not UTF-8.
  static func string(_ text: Text?) throws(ServiceError) -> String {
    guard let string = String(validating: try bytes(text), as: UTF8.self) else {
      throw .badParameter
    }
    return string
  }

  /// The data of a record: `count` bytes, and where there are none the pointer doesn't matter.
  static func data(_ bytes: UnsafeRawPointer?, _ count: UInt16) throws(ServiceError) -> [UInt8] {
    guard count > 0 else { return [] }
    guard let bytes else { throw .badParameter }
    return UnsafeRawBufferPointer(start: bytes, count: Int(count)).map { $0 }
  }

  /// A domain's name, with escapes.
  static func name(_ text: Text?) throws(ServiceError) -> DNSName {
    do { return try DNSName(textBytes: try bytes(text)) } catch { throw .badParameter }
  }

  /// A domain; `local.` for nil or an empty text. Others are allowed with `ForceMulticast` only.
  static func domain(_ text: Text?, _ flags: DNSServiceFlags) throws(ServiceError) -> DNSName {
    guard let text, text.pointee != 0 else { return .local }
    let domain = try name(text)
    guard domain == .local || flags.has(.forceMulticast) else { throw .unsupported }
    return domain
  }

  /// A type, such as `_http._tcp`, and its subtypes behind commas.
  static func type(
    _ text: Text?
  ) throws(ServiceError) -> (type: ServiceType, subtypes: [DNSLabel]) {
    do { return try ServiceType.parse(try bytes(text)) } catch { throw .badParameter }
  }

  /// An instance's name as another host may have given it: any bytes.
  static func service(
    _ instance: Text?, _ type: ServiceType, _ domain: DNSName
  ) throws(ServiceError) -> ServiceName {
    do {
      let name = try type.name(in: domain).prepending(try bytes(instance))
      guard let service = ServiceName(name) else { throw ServiceError.badParameter }
      return service
    } catch {
      throw .badParameter
    }
  }

  /// The interface of a number; nil for all.
  static func interface(_ index: UInt32) throws(ServiceError) -> InterfaceIndex? {
    switch index {
    case UInt32(kDNSServiceInterfaceIndexAny), kDNSServiceInterfaceIndexInfra: return nil
    case kDNSServiceInterfaceIndexLocalOnly: return .localOnly
    case kDNSServiceInterfaceIndexUnicast, kDNSServiceInterfaceIndexP2P,
      kDNSServiceInterfaceIndexBLE:
      throw .unsupported
    default:
      var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
      guard if_indextoname(index, &name) != nil else { throw .badParameter }
      return InterfaceIndex(rawValue: index)
    }
  }

  /// How far and how long a query goes.
  static func options(_ flags: DNSServiceFlags) -> QueryOptions {
    QueryOptions(
      reachesBeyondLink: flags.has(.forceMulticast),
      timeout: flags.has(.timeout) ? Self.timeout : nil,
      reportsAliases: flags.has(.returnIntermediates))
  }

  /// After how long a query with a timeout ends; Apple leaves the number open.
  private static let timeout = TimeSpan.seconds(30)

  /// A record's data. Throws where it doesn't have the form of its type.
  static func record(
    _ type: DNSType, _ bytes: UnsafeRawPointer?, _ count: UInt16
  ) throws(ServiceError) -> DNSRecordData {
    let data = DNSRecordData(type: type, decoding: try data(bytes, count))
    guard !data.isMalformed, type != .any, type != .opt else { throw .badParameter }
    return data
  }

  /// Keys and values of a service.
  static func text(
    _ bytes: UnsafeRawPointer?, _ count: UInt16
  ) throws(ServiceError) -> TXTRecord {
    let bytes = try data(bytes, count)
    do { return try TXTRecord(decoding: bytes) } catch { throw .badParameter }
  }

  /// The TTL of a record for which 0 was passed (RFC 6762, §10).
  static func ttlSeconds(_ seconds: UInt32, _ type: DNSType) -> UInt32 {
    guard seconds == 0 else { return min(seconds, .max >> 1) }
    switch type {
    case .a, .aaaa, .srv, .hinfo: return ResponderConstants.hostTTLSeconds
    default: return ResponderConstants.otherTTLSeconds
    }
  }
}

extension DNSName {
  /// The first label with a zero behind it, as C has it; nil where it holds a zero itself.
  var firstLabelAsText: [CChar]? {
    guard let label = firstLabel, !label.contains(0) else { return nil }
    return label.map(CChar.init(bitPattern:)) + [0]
  }
}

/// A client's callback, and its context.
struct Callback<Function>: @unchecked Sendable {
  // Sendable because it is called only from where the client has its callbacks called, and the
  // context is not looked at.
  let function: Function
  let context: UnsafeMutableRawPointer?

  /// Throws where there is no function.
  init(_ function: Function?, _ context: UnsafeMutableRawPointer?) throws(ServiceError) {
    guard let function else { throw .badParameter }
    self.function = function
    self.context = context
  }
}

extension UnsafeMutablePointer {
  /// Stores a value at a C caller's address, which need not be aligned.
  func store(_ value: Pointee) where Pointee: BitwiseCopyable {
    UnsafeMutableRawPointer(self).storeBytes(of: value, as: Pointee.self)
  }

  /// Loads a value from where a C caller has it.
  func load() -> Pointee where Pointee: BitwiseCopyable {
    UnsafeRawPointer(self).loadUnaligned(as: Pointee.self)
  }
}
