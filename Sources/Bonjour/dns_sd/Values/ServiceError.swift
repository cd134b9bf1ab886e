import CDNSServiceDiscovery
import DNSWire
import DiscoveryMachines

/// The error code of a call, which its C caller gets.
struct ServiceError: Error, Equatable {
  let code: DNSServiceErrorType

  private init(_ code: Int) { self.code = DNSServiceErrorType(truncatingIfNeeded: code) }

  static let badParameter = ServiceError(kDNSServiceErr_BadParam)
  static let badReference = ServiceError(kDNSServiceErr_BadReference)
  static let unsupported = ServiceError(kDNSServiceErr_Unsupported)
  static let noMemory = ServiceError(kDNSServiceErr_NoMemory)
  static let notRunning = ServiceError(kDNSServiceErr_ServiceNotRunning)
  static let nameConflict = ServiceError(kDNSServiceErr_NameConflict)
  static let noSuchRecord = ServiceError(kDNSServiceErr_NoSuchRecord)
  static let noSuchKey = ServiceError(kDNSServiceErr_NoSuchKey)
  static let invalid = ServiceError(kDNSServiceErr_Invalid)
  static let timeout = ServiceError(kDNSServiceErr_Timeout)

  /// The error code of a query that ended.
  init(_ error: QueryError) {
    switch error.reason {
    case .notOnThisLink: self = .unsupported
    case .nameTooLong: self = .badParameter
    case .tooManyClients, .identifierInUse: self = .noMemory
    case .timedOut: self = .timeout
    }
  }
}

let noError = DNSServiceErrorType(kDNSServiceErr_NoError)

/// The code of what `body` throws, or of success.
func status(_ body: () throws(ServiceError) -> Void) -> DNSServiceErrorType {
  do throws(ServiceError) {
    try body()
    return noError
  } catch {
    return error.code
  }
}

extension DNSServiceFlags {
  static let answeredFromCache = DNSServiceFlags(kDNSServiceFlagAnsweredFromCache)
  static let moreComing = DNSServiceFlags(kDNSServiceFlagsMoreComing)
  static let queueRequest = DNSServiceFlags(kDNSServiceFlagsQueueRequest)
  static let add = DNSServiceFlags(kDNSServiceFlagsAdd)
  static let defaultDomain = DNSServiceFlags(kDNSServiceFlagsDefault)
  static let noAutoRename = DNSServiceFlags(kDNSServiceFlagsNoAutoRename)
  static let shared = DNSServiceFlags(kDNSServiceFlagsShared)
  static let unique = DNSServiceFlags(kDNSServiceFlagsUnique)
  static let knownUnique = DNSServiceFlags(kDNSServiceFlagsKnownUnique)
  static let browseDomains = DNSServiceFlags(kDNSServiceFlagsBrowseDomains)
  static let registrationDomains = DNSServiceFlags(kDNSServiceFlagsRegistrationDomains)
  static let forceMulticast = DNSServiceFlags(kDNSServiceFlagsForceMulticast)
  static let returnIntermediates = DNSServiceFlags(kDNSServiceFlagsReturnIntermediates)
  static let shareConnection = DNSServiceFlags(kDNSServiceFlagsShareConnection)
  static let timeout = DNSServiceFlags(kDNSServiceFlagsTimeout)

  /// Whether one of these flags is set.
  func has(_ flags: DNSServiceFlags) -> Bool { self & flags != 0 }
}
