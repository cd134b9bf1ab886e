/// The domain of `CLError`.
public let kCLErrorDomain: String = "kCLErrorDomain"
/// The key in `CLError.userInfo` for a region that can be monitored instead.
public let kCLErrorUserInfoAlternateRegionKey: String = "kCLErrorUserInfoAlternateRegionKey"

/// An error of Core Location.
public struct CLError: CustomNSError, Hashable, @unchecked Sendable {
  // Unchecked: `userInfo` may hold anything, but is never changed and in practice holds strings.

  /// The error codes.
  public enum Code: Int, Sendable {
    /// The location cannot be determined at the moment.
    case locationUnknown = 0
    /// The program may not use location services.
    case denied = 1
    /// The network is not available.
    case network = 2
    /// The heading cannot be determined.
    case headingFailure = 3
    /// The program may not monitor regions.
    case regionMonitoringDenied = 4
    /// The region can't be monitored: the limit is reached, or the kind of region is not supported.
    case regionMonitoringFailure = 5
    /// The start of monitoring is delayed.
    case regionMonitoringSetupDelayed = 6
    /// Events of regions are delayed.
    case regionMonitoringResponseDelayed = 7
    /// Geocoding found no result.
    case geocodeFoundNoResult = 8
    /// Geocoding found a partial result.
    case geocodeFoundPartialResult = 9
    /// Geocoding was cancelled.
    case geocodeCanceled = 10
    /// Deferred updates failed.
    case deferredFailed = 11
    /// Updates can't be deferred, because locations are not updated.
    case deferredNotUpdatingLocation = 12
    /// The accuracy is too low for deferred updates.
    case deferredAccuracyTooLow = 13
    /// Updates can't be deferred because of a distance filter.
    case deferredDistanceFiltered = 14
    /// Deferred updates were cancelled.
    case deferredCanceled = 15
    /// Ranging is not possible now: Bluetooth is off or may not be used.
    case rangingUnavailable = 16
    /// Ranging failed.
    case rangingFailure = 17
    /// The user declined a prompt.
    case promptDeclined = 18
    /// Earlier locations are not available.
    case historicalLocationError = 19

    /// Makes `catch CLError.denied` work.
    public static func ~= (code: Code, error: any Error) -> Bool {
      (error as? CLError)?.code == code
    }
  }

  /// The error code.
  public let code: Code
  /// Additional information; at least a description.
  public let userInfo: [String: Any]

  /// Creates an error with this code.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  /// Creates the error with an `NSError`'s code and user information, as Swift does for imported
  /// errors. The domain is not checked.
  public init(_nsError error: NSError) {
    self.init(Code(rawValue: error.code) ?? .locationUnknown, userInfo: error.userInfo)
  }

  init(_ code: Code, _ text: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  /// A region that can be monitored instead; always nil, unless it is in `userInfo`.
  public var alternateRegion: CLRegion? {
    userInfo[kCLErrorUserInfoAlternateRegionKey] as? CLRegion
  }

  /// `kCLErrorDomain`.
  public static var errorDomain: String { kCLErrorDomain }
  /// The code's number.
  public var errorCode: Int { code.rawValue }
  /// `userInfo`, with a description in any case.
  public var errorUserInfo: [String: Any] {
    userInfo.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
  }
  /// The description of the error for users.
  public var localizedDescription: String {
    userInfo[NSLocalizedDescriptionKey] as? String ?? code.text
  }

  /// Two errors are equal if their codes are.
  public static func == (a: CLError, b: CLError) -> Bool { a.code == b.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CLError.Code {
  /// One sentence for people.
  var text: String {
    switch self {
    case .locationUnknown: "The location is not known."
    case .denied: "The program may not use location services."
    case .network: "The network is not available."
    case .headingFailure: "The heading cannot be determined."
    case .regionMonitoringDenied: "The program may not monitor regions."
    case .regionMonitoringFailure: "The region cannot be monitored."
    case .regionMonitoringSetupDelayed: "Monitoring the region begins later."
    case .regionMonitoringResponseDelayed: "Events of the region come late."
    case .geocodeFoundNoResult: "No place was found."
    case .geocodeFoundPartialResult: "A part of the place was found."
    case .geocodeCanceled: "The search for a place was cancelled."
    case .deferredFailed: "Deferred updates failed."
    case .deferredNotUpdatingLocation: "Locations aren't updated."
    case .deferredAccuracyTooLow: "The accuracy is too low for deferred updates."
    case .deferredDistanceFiltered: "Deferred updates don't go with a distance filter."
    case .deferredCanceled: "Deferred updates were cancelled."
    case .rangingUnavailable: "Ranging is not possible while Bluetooth is not available."
    case .rangingFailure: "Ranging failed."
    case .promptDeclined: "The user declined."
    case .historicalLocationError: "Earlier locations are not available."
    }
  }
}

extension CLError {
  /// `Code.locationUnknown`.
  public static var locationUnknown: Code { .locationUnknown }
  /// `Code.denied`.
  public static var denied: Code { .denied }
  /// `Code.network`.
  public static var network: Code { .network }
  /// `Code.headingFailure`.
  public static var headingFailure: Code { .headingFailure }
  /// `Code.regionMonitoringDenied`.
  public static var regionMonitoringDenied: Code { .regionMonitoringDenied }
  /// `Code.regionMonitoringFailure`.
  public static var regionMonitoringFailure: Code { .regionMonitoringFailure }
  /// `Code.regionMonitoringSetupDelayed`.
  public static var regionMonitoringSetupDelayed: Code { .regionMonitoringSetupDelayed }
  /// `Code.regionMonitoringResponseDelayed`.
  public static var regionMonitoringResponseDelayed: Code { .regionMonitoringResponseDelayed }
  /// `Code.geocodeFoundNoResult`.
  public static var geocodeFoundNoResult: Code { .geocodeFoundNoResult }
  /// `Code.geocodeFoundPartialResult`.
  public static var geocodeFoundPartialResult: Code { .geocodeFoundPartialResult }
  /// `Code.geocodeCanceled`.
  public static var geocodeCanceled: Code { .geocodeCanceled }
  /// `Code.deferredFailed`.
  public static var deferredFailed: Code { .deferredFailed }
  /// `Code.deferredNotUpdatingLocation`.
  public static var deferredNotUpdatingLocation: Code { .deferredNotUpdatingLocation }
  /// `Code.deferredAccuracyTooLow`.
  public static var deferredAccuracyTooLow: Code { .deferredAccuracyTooLow }
  /// `Code.deferredDistanceFiltered`.
  public static var deferredDistanceFiltered: Code { .deferredDistanceFiltered }
  /// `Code.deferredCanceled`.
  public static var deferredCanceled: Code { .deferredCanceled }
  /// `Code.rangingUnavailable`.
  public static var rangingUnavailable: Code { .rangingUnavailable }
  /// `Code.rangingFailure`.
  public static var rangingFailure: Code { .rangingFailure }
  /// `Code.promptDeclined`.
  public static var promptDeclined: Code { .promptDeclined }
  /// `Code.historicalLocationError`.
  public static var historicalLocationError: Code { .historicalLocationError }
}
