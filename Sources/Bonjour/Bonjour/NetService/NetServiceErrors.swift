internal import BonjourHost
internal import DiscoveryMachines
internal import DNSWire
internal import EventLoop

extension NetService {
  /// The key of the code in an error dictionary: an ``ErrorCode``, or an error number of the system
  /// if ``errorDomain`` is the system's.
  public static let errorCode = "NSNetServicesErrorCode"

  /// The key under which an error dictionary has the domain: 10 for codes of ``ErrorCode``, 1 for
  /// those of the system.
  public static let errorDomain = "NSNetServicesErrorDomain"

  /// Why something was not done.
  public enum ErrorCode: Int, Sendable {
    /// An unknown error.
    case unknownError = -72000
    /// Another service has the name.
    case collisionError = -72001
    /// The service was not found.
    case notFoundError = -72002
    /// The object does something else already.
    case activityInProgress = -72003
    /// A name, type, domain or port can't be one.
    case badArgumentError = -72004
    /// The operation was cancelled.
    case cancelledError = -72005
    /// The object was created for another purpose.
    case invalidError = -72006
    /// The operation reached its timeout.
    case timeoutError = -72007
    /// The app may not do that.
    case missingRequiredConfigurationError = -72008
  }

  /// Options of publishing.
  public struct Options: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Options with these bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Publishing fails if another host has the name; without it the service is renamed.
    public static let noAutoRename = Options(rawValue: 1 << 0)
    /// The service object listens on the port itself, and passes connections to its delegate.
    public static let listenForConnections = Options(rawValue: 1 << 1)
  }
}

/// Why a request to a service or a browser failed.
enum NetServiceFailure: Error, Hashable, Sendable {
  case service(NetService.ErrorCode)
  case system(SystemError)

  /// The dictionary that delegates receive.
  var dictionary: [String: NSNumber] {
    switch self {
    case .service(let code):
      [
        NetService.errorCode: NSNumber(value: code.rawValue),
        NetService.errorDomain: NSNumber(value: Self.netServicesDomain),
      ]
    case .system(let error):
      [
        NetService.errorCode: NSNumber(value: error.number),
        NetService.errorDomain: NSNumber(value: Self.posixDomain),
      ]
    }
  }

  /// kCFStreamErrorDomainNetServices.
  private static let netServicesDomain = 10
  /// kCFStreamErrorDomainPOSIX.
  private static let posixDomain = 1

  init(_ error: QueryError) {
    switch error.reason {
    case .notOnThisLink, .nameTooLong: self = .service(.badArgumentError)
    case .timedOut: self = .timeout
    case .tooManyClients, .identifierInUse: self = .service(.unknownError)
    }
  }
}

extension NetServiceFailure {
  static let busy = NetServiceFailure.service(.activityInProgress)
  static let badArgument = NetServiceFailure.service(.badArgumentError)
  static let collision = NetServiceFailure.service(.collisionError)
  static let timeout = NetServiceFailure.service(.timeoutError)
}
