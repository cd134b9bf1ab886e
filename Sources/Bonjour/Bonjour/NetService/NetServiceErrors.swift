internal import BonjourHost
internal import DiscoveryMachines
internal import DNSWire
internal import EventLoop

extension NetService {
  /// The key of the error code in an error dictionary: an ``ErrorCode``, or an `errno` value if
  /// ``errorDomain`` is that of the system.
  public static let errorCode = "NSNetServicesErrorCode"

  /// The key of the error domain in an error dictionary: 10 for ``ErrorCode``, 1 for `errno`
  /// values.
  public static let errorDomain = "NSNetServicesErrorDomain"

  /// The code of an error.
  public enum ErrorCode: Int, Sendable {
    /// An unknown error.
    case unknownError = -72000
    /// The name is already in use.
    case collisionError = -72001
    /// The service was not found.
    case notFoundError = -72002
    /// The object is already publishing, resolving or searching.
    case activityInProgress = -72003
    /// A name, type, domain or port is not valid.
    case badArgumentError = -72004
    /// The operation was cancelled.
    case cancelledError = -72005
    /// The object was created for another purpose, such as resolving instead of publishing.
    case invalidError = -72006
    /// The operation timed out.
    case timeoutError = -72007
    /// The app lacks a required configuration.
    case missingRequiredConfigurationError = -72008
  }

  /// Options for publishing.
  public struct Options: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// Creates options from their bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Publishing fails if another host has the name. Without this option the service is renamed.
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
