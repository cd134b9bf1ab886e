public import CDNSServiceDiscovery

/// Attributes that clients created; they have no effect here.
private let attributes = HandleTable<Void>()

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAttributeCreate() -> DNSServiceAttributeRef? {
  let handle = attributes.makeHandle()
  attributes[handle] = ()
  return handle
}

private func setAttribute(_ attribute: DNSServiceAttributeRef?) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard attributes[attribute] != nil else { throw .badParameter }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAttributeSetAAAAPolicy(
  _ attr: DNSServiceAttributeRef?, _ policy: DNSServiceAAAAPolicy
) -> DNSServiceErrorType {
  guard policy <= DNSServiceAAAAPolicy(kDNSServiceAAAAPolicyFallback) else {
    return ServiceError.badParameter.code
  }
  return setAttribute(attr)
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAttributeSetTimestamp(
  _ attr: DNSServiceAttributeRef?, _ timestamp: UInt32
) -> DNSServiceErrorType { setAttribute(attr) }

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAttributeSetHostKeyHash(
  _ attr: DNSServiceAttributeRef?, _ hostkeyhash: UInt32
) -> DNSServiceErrorType { setAttribute(attr) }

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceAttributeDeallocate(_ attr: DNSServiceAttributeRef?) {
  attributes.remove(attr)
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceQueryRecordWithAttribute(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ ifindex: UInt32,
  _ name: UnsafePointer<CChar>?, _ rrtype: UInt16, _ rrclass: UInt16,
  _ attr: OpaquePointer?, _ callback: DNSServiceQueryRecordReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  DNSServiceQueryRecord(sdRef, flags, ifindex, name, rrtype, rrclass, callback, context)
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRegisterWithAttribute(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ name: UnsafePointer<CChar>?, _ regtype: UnsafePointer<CChar>?,
  _ domain: UnsafePointer<CChar>?, _ host: UnsafePointer<CChar>?,
  _ portInNetworkByteOrder: UInt16, _ txtLen: UInt16, _ txtRecord: UnsafeRawPointer?,
  _ attr: DNSServiceAttributeRef?, _ callBack: DNSServiceRegisterReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  DNSServiceRegister(
    sdRef, flags, interfaceIndex, name, regtype, domain, host, portInNetworkByteOrder, txtLen,
    txtRecord, callBack, context)
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRegisterRecordWithAttribute(
  _ sdRef: DNSServiceRef?, _ recordRef: UnsafeMutablePointer<DNSRecordRef?>?,
  _ flags: DNSServiceFlags, _ interfaceIndex: UInt32, _ fullname: UnsafePointer<CChar>?,
  _ rrtype: UInt16, _ rrclass: UInt16, _ rdlen: UInt16, _ rdata: UnsafeRawPointer?,
  _ ttl: UInt32, _ attr: DNSServiceAttributeRef?, _ callBack: DNSServiceRegisterRecordReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  DNSServiceRegisterRecord(
    sdRef, recordRef, flags, interfaceIndex, fullname, rrtype, rrclass, rdlen, rdata, ttl,
    callBack, context)
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceUpdateRecordWithAttribute(
  _ sdRef: DNSServiceRef?, _ recordRef: DNSRecordRef?, _ flags: DNSServiceFlags,
  _ rdlen: UInt16, _ rdata: UnsafeRawPointer?, _ ttl: UInt32, _ attr: DNSServiceAttributeRef?
) -> DNSServiceErrorType {
  DNSServiceUpdateRecord(sdRef, recordRef, flags, rdlen, rdata, ttl)
}

// MARK: Not supported

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceNATPortMappingCreate(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags,
  _ interfaceIndex: UInt32, _ protocol: DNSServiceProtocol, _ internalPort: UInt16,
  _ externalPort: UInt16, _ ttl: UInt32, _ callBack: DNSServiceNATPortMappingReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  guard let sdRef, callBack != nil else { return ServiceError.badParameter.code }
  sdRef.store(nil)
  return ServiceError.unsupported.code
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceSleepKeepalive(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?, _ flags: DNSServiceFlags, _ fd: Int32,
  _ timeout: UInt32, _ callBack: DNSServiceSleepKeepaliveReply?,
  _ context: UnsafeMutableRawPointer?
) -> DNSServiceErrorType {
  guard let sdRef, callBack != nil else { return ServiceError.badParameter.code }
  sdRef.store(nil)
  return ServiceError.unsupported.code
}
