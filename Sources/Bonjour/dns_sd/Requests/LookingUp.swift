import BonjourHost
public import CDNSServiceDiscovery
import DNSWire
import DiscoveryMachines
import Essentials
import Glibc

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceQueryRecord(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?, _ rrtype: UInt16,
  _ rrclass: UInt16, _ callBack: DNSServiceQueryRecordReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  Reference.start(sdRef, flags, .query) { (reference) throws(ServiceError) in
    let replies = RecordReplies(
      reference: reference, callback: try Callback(callBack, context),
      name: try Arguments.name(fullname), type: DNSType(rawValue: rrtype),
      reportsAbsence: flags.has(.returnIntermediates))
    try reference.fail { replies.reply($0, 0, 0, replies.type) }
    let recordClass = DNSClass(rawValue: rrclass)
    guard rrtype != 0, recordClass == .in || recordClass == .any else { throw .badParameter }
    try Arguments.checkIsReachable(replies.name, flags)
    let interface = try Arguments.interface(interfaceIndex)
    try reference.startQuery(
      .records(replies.name, replies.type), on: interface, flags, replies.reply)
  }
}

extension Arguments {
  /// Throws for a name that would have to be queried by unicast, which is not supported.
  fileprivate static func checkIsReachable(
    _ name: DNSName, _ flags: DNSServiceFlags
  ) throws(ServiceError) {
    guard name.isOnThisLink || flags.has(.forceMulticast) else { throw .unsupported }
  }
}

private struct RecordReplies: Sendable {
  let reference: Reference
  let callback: Callback<DNSServiceQueryRecordReply>
  let name: DNSName
  let type: DNSType
  let reportsAbsence: Bool

  func reply(_ found: FoundEvent) -> Reply? {
    let interface = found.interfaceIndex
    switch found.event {
    case .recordAdded(let record):
      return reply(record, found.addFlags, interface, record.ttlSeconds)
    case .recordRemoved(let record): return reply(record, 0, interface, 0)
    case .recordAbsent(let type):
      return reportsAbsence ? reply(.noSuchRecord, .add, interface, type) : nil
    default: return nil
    }
  }

  private func reply(
    _ record: DNSRecord, _ flags: DNSServiceFlags, _ interface: UInt32, _ ttlSeconds: UInt32
  ) -> Reply {
    let (name, data) = (record.name.description, record.data.wireBytes)
    return Reply(reference: reference, flags: flags) { [self] flags in
      callback.function(
        reference.handle, flags, interface, noError, name, record.type.rawValue,
        record.recordClass.rawValue, UInt16(truncatingIfNeeded: data.count), data, ttlSeconds,
        callback.context)
    }
  }

  func reply(
    _ error: ServiceError, _ flags: DNSServiceFlags, _ interface: UInt32, _ type: DNSType
  ) -> Reply {
    let name = name.description
    return Reply(reference: reference, flags: flags) { [self] flags in
      callback.function(
        reference.handle, flags, interface, error.code, name, type.rawValue,
        DNSClass.in.rawValue, 0, nil, 0, callback.context)
    }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceGetAddrInfo(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ protocol: DNSServiceProtocol, _ hostname: UnsafePointer<CChar>?,
  _ callBack: DNSServiceGetAddrInfoReply?, _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  Reference.start(sdRef, flags, .query) { (reference) throws(ServiceError) in
    let replies = AddressReplies(
      reference: reference, callback: try Callback(callBack, context),
      host: try Arguments.name(hostname), reportsAbsence: flags.has(.returnIntermediates))
    try reference.fail(by: replies.failure)
    let known = DNSServiceProtocol(kDNSServiceProtocol_IPv4 | kDNSServiceProtocol_IPv6)
    guard `protocol` & ~known == 0 else { throw .badParameter }
    var versions = Set(IPVersion.allCases)
    if `protocol` == kDNSServiceProtocol_IPv4 { versions = [.v4] }
    if `protocol` == kDNSServiceProtocol_IPv6 { versions = [.v6] }
    let interface = try Arguments.interface(interfaceIndex)
    try reference.startQuery(
      .addresses(replies.host, versions: versions), on: interface, flags, replies.reply)
  }
}

private struct AddressReplies: Sendable {
  let reference: Reference
  let callback: Callback<DNSServiceGetAddrInfoReply>
  let host: DNSName
  let reportsAbsence: Bool

  func reply(_ found: FoundEvent) -> Reply? {
    let interface = found.interfaceIndex
    switch found.event {
    case .addressAdded(let address, let ttlSeconds):
      return reply(address, found.addFlags, interface, noError, ttlSeconds)
    case .addressRemoved(let address): return reply(address, 0, interface, noError, 0)
    case .addressAbsent(let version):
      // Of its version, and nothing else.
      let none: InetAddress =
        version == .v4 ? .v4(Inet4Address(0, 0, 0, 0)) : .v6(Inet6Address(high: 0, low: 0))
      return reportsAbsence
        ? reply(none, .add, interface, ServiceError.noSuchRecord.code, 0) : nil
    default: return nil
    }
  }

  func failure(_ error: ServiceError) -> Reply {
    Reply(reference: reference, flags: 0) { [self, name = host.description] flags in
      callback.function(
        reference.handle, flags, 0, error.code, name, nil, 0, callback.context)
    }
  }

  private func reply(
    _ address: InetAddress, _ flags: DNSServiceFlags, _ interface: UInt32,
    _ error: DNSServiceErrorType, _ ttlSeconds: UInt32
  ) -> Reply {
    let name = host.description
    return Reply(reference: reference, flags: flags) { [self] flags in
      address.withSocketAddress(scope: interface) { address in
        callback.function(
          reference.handle, flags, interface, error, name, address, ttlSeconds, callback.context)
      }
    }
  }
}

extension FoundEvent {
  /// The flags of something that is there.
  fileprivate var addFlags: DNSServiceFlags {
    isFromCache ? .add | .answeredFromCache : .add
  }
}

extension InetAddress {
  /// The address as a C structure, with port 0; a link-local one has its scope.
  fileprivate func withSocketAddress(
    scope: UInt32, _ body: (UnsafePointer<sockaddr>) -> Void
  ) {
    switch self {
    case .v4(let v4):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: v4.bytes) }
      Self.pass(address, body)
    case .v6(let v6):
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: v6.bytes) }
      if isLinkLocal { address.sin6_scope_id = scope }
      Self.pass(address, body)
    }
  }

  private static func pass<Address>(
    _ address: Address, _ body: (UnsafePointer<sockaddr>) -> Void
  ) {
    withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceReconfirmRecord(
  _ flags: DNSServiceFlags, _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?,
  _ rrtype: UInt16, _ rrclass: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let recordClass = DNSClass(rawValue: rrclass)
    guard recordClass == .in else { throw .badParameter }
    let record = DNSRecord(
      name: try Arguments.name(fullname), ttlSeconds: 0,
      data: try Arguments.record(DNSType(rawValue: rrtype), rdata, rdlen))
    try SharedHost.host().reconfirm(record, on: try Arguments.interface(interfaceIndex))
  }
}
