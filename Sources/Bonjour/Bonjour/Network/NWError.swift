internal import DiscoveryMachines
internal import EventLoop

/// An error code of DNS Service Discovery, such as `kDNSServiceErr_NoError`.
public typealias DNSServiceErrorType = Int32

/// An error code of Apple's Security framework.
public typealias OSStatus = Int32

/// An error of a connection, listener or browser.
public enum NWError: Error, Hashable, Sendable, CustomDebugStringConvertible {
  /// A POSIX error.
  case posix(POSIXErrorCode)
  /// A DNS Service Discovery error, such as `kDNSServiceErr_BadParam`.
  case dns(DNSServiceErrorType)
  /// A TLS error. Never reported, as TLS is not supported.
  case tls(OSStatus)

  /// The code and its meaning, for logs.
  public var debugDescription: String {
    switch self {
    case .posix(let code):
      "POSIXErrorCode(rawValue: \(code.rawValue)): \(Self.text(code))"
    case .dns(let code): "\(code): \(DNSServiceErrorName.text(code))"
    case .tls(let status): "\(status)"
    }
  }

  /// The system's description, with a capital as on Apple's systems.
  private static func text(_ code: POSIXErrorCode) -> String {
    let text = SystemError(number: code.rawValue).text
    return text.prefix(1).uppercased() + text.dropFirst()
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
