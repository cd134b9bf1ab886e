internal import Logging

/// The policy for programs that request authorization, from `AMBIT_LOCATION_AUTHORIZATION`. It
/// replaces the dialogue of Apple's systems.
package enum LocationPolicy: String, Sendable, CaseIterable {
  /// Programs may use location services at all times. The default.
  case always
  /// Programs may use location services while they are in use.
  case whenInUse
  /// Denied by the user.
  case denied
  /// Restricted by an administrator; the user can't change it.
  case restricted
  /// Not determined until the program requests authorization, which is granted.
  case ask

  /// Parses the name of a policy. Nil is `always`, an unknown name `denied`.
  package static func named(_ name: String?) -> LocationPolicy {
    guard let name else { return .always }
    if let policy = LocationPolicy(rawValue: name) { return policy }
    Logger(label: "CoreLocation").error(
      """
      AMBIT_LOCATION_AUTHORIZATION: "\(name)" is not one of \
      \(allCases.map(\.rawValue).joined(separator: ", ")); it counts as denied.
      """)
    return .denied
  }

  /// The status before the program has requested authorization.
  var initialStatus: CLAuthorizationStatus {
    switch self {
    case .always: .authorizedAlways
    case .whenInUse: .authorizedWhenInUse
    case .denied: .denied
    case .restricted: .restricted
    case .ask: .notDetermined
    }
  }

  /// The status of a program after it requested authorization, from its status before.
  func status(
    after old: CLAuthorizationStatus, asking wanted: CLAuthorizationStatus
  ) -> CLAuthorizationStatus {
    guard self == .ask, old != .authorizedAlways else { return old }
    return wanted
  }
}

extension CLAuthorizationStatus {
  /// Whether regions may be monitored and beacons ranged.
  var allowsLocation: Bool { self == .authorizedAlways || self == .authorizedWhenInUse }
}
