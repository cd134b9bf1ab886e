internal import DiscoveryMachines
internal import EventLoop

/// A number of the DNS Service Discovery interface; `kDNSServiceErr_NoError` and the others.
public typealias DNSServiceErrorType = Int32

/// A number of Apple's security interfaces.
public typealias OSStatus = Int32

/// An error of a connection, listener or browser.
public enum NWError: Error, Hashable, Sendable, CustomDebugStringConvertible {
  /// An error of the system.
  case posix(POSIXErrorCode)
  /// An error of Multicast DNS, such as `kDNSServiceErr_BadParam`.
  case dns(DNSServiceErrorType)
  /// An error of TLS. Never the case here, where TLS is not available.
  case tls(OSStatus)

  /// Number and meaning, for logs.
  public var debugDescription: String {
    switch self {
    case .posix(let code): "POSIXErrorCode(rawValue: \(code.rawValue))"
    case .dns(let code): "\(code): \(DNSServiceErrorName.text(code))"
    case .tls(let status): "\(status)"
    }
  }

  static let badParameter = NWError.dns(DNSServiceErrorType(kDNSServiceErr_BadParam))
  static let noMemory = NWError.dns(DNSServiceErrorType(kDNSServiceErr_NoMemory))
  static let nameConflict = NWError.dns(DNSServiceErrorType(kDNSServiceErr_NameConflict))

  init(_ error: SystemError) { self = .posix(error.posixError.code) }

  init(_ error: QueryError) {
    switch error.reason {
    case .notOnThisLink: self = .dns(DNSServiceErrorType(kDNSServiceErr_Unsupported))
    case .nameTooLong: self = .badParameter
    case .tooManyClients: self = .noMemory
    case .timedOut: self = .dns(DNSServiceErrorType(kDNSServiceErr_Timeout))
    case .identifierInUse: self = .dns(DNSServiceErrorType(kDNSServiceErr_Unknown))
    }
  }
}
