internal import Logging

/// What is answered to programs that want to use location services, as `AMBIT_LOCATION_AUTHORIZATION` says:
/// the policy that stands in for the question that Apple's systems ask their user.
package enum LocationPolicy: String, Sendable, CaseIterable {
  /// They may, at all times. The default.
  case always
  /// They may, while they are in use.
  case whenInUse
  /// The user said no.
  case denied
  /// Whoever looks after the machine doesn't let them, nor the user change that.
  case restricted
  /// They may, once they have asked: the user says yes to what is asked for.
  case ask

  /// The policy of this name; `always` for none, `denied` for one that doesn't exist.
  package static func named(_ name: String?) -> LocationPolicy {
    guard let name else { return .always }
    if let policy = LocationPolicy(rawValue: name) { return policy }
    Logger(label: "CoreLocation").error(
      """
      AMBIT_LOCATION_AUTHORIZATION: "\(name)" is none of \
      \(allCases.map(\.rawValue).joined(separator: ", ")); it counts as denied.
      """)
    return .denied
  }

  /// The status before the program has asked for anything.
  var initialStatus: CLAuthorizationStatus {
    switch self {
    case .always: .authorizedAlways
    case .whenInUse: .authorizedWhenInUse
    case .denied: .denied
    case .restricted: .restricted
    case .ask: .notDetermined
    }
  }

  /// The status after a program that has one asked for another.
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
