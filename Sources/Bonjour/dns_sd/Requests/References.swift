public import CDNSServiceDiscovery
import Glibc

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRefSockFD(_ sdRef: DNSServiceRef?) -> dnssd_sock_t {
  do { return try Reference.find(sdRef).replies.descriptor } catch { return -1 }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceProcessResult(_ sdRef: DNSServiceRef?) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(sdRef)
    // As with Apple: only the reference that owns the descriptor, and none without callbacks.
    if case .registration(isSilent: true) = reference.kind { throw .badReference }
    guard !reference.isSubordinate, !reference.replies.usesDispatch else { throw .badReference }
    try reference.replies.process()
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceRefDeallocate(_ sdRef: DNSServiceRef?) { Reference.deallocate(sdRef) }

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceCreateConnection(
  _ sdRef: UnsafeMutablePointer<DNSServiceRef?>?
) -> DNSServiceErrorType {
  Reference.start(sdRef, 0, .connection) { (_) throws(ServiceError) in
    // Not before there is something to connect to.
    _ = try SharedHost.host()
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceSendQueuedRequests(_ sdRef: DNSServiceRef?) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(sdRef)
    guard case .connection = reference.kind else { throw .badReference }
    reference.sendQueued()
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceSetDispatchQueue(
  _ service: DNSServiceRef?, _ queue: OpaquePointer?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    let reference = try Reference.find(service)
    guard let queue, !reference.isSubordinate else { throw .badParameter }
    guard let used = ClientDispatchQueue(queue) else { throw .unsupported }
    guard reference.replies.use(used) else { throw .badParameter }
  }
}

/// See `dns_sd.h`.
@c @implementation
public func DNSServiceGetProperty(
  _ property: UnsafePointer<CChar>?, _ result: UnsafeMutableRawPointer?,
  _ size: UnsafeMutablePointer<UInt32>?
) -> DNSServiceErrorType {
  status { () throws(ServiceError) in
    guard let size, let result else { throw .badParameter }
    guard try Arguments.string(property) == kDNSServiceProperty_DaemonVersion else {
      throw .badParameter
    }
    // As much as there is room for, and how much there is.
    let version = UInt32(_DNS_SD_H)
    withUnsafeBytes(of: version) { bytes in
      let count = min(bytes.count, Int(size.load()))
      if let start = bytes.baseAddress { memcpy(result, start, count) }
    }
    size.store(UInt32(MemoryLayout<UInt32>.size))
  }
}
