// Names that Core Location gives to numbers, and its enumerations and constants.

/// The number of a group of beacons, such as those of one building.
public typealias CLBeaconMajorValue = UInt16
/// The number of a beacon within its group.
public typealias CLBeaconMinorValue = UInt16
/// Metres, as one standard deviation; negative where nothing is known.
public typealias CLLocationAccuracy = Double
/// Metres.
public typealias CLLocationDistance = Double
/// Degrees of latitude or longitude.
public typealias CLLocationDegrees = Double
/// Metres per second; negative where it isn't known.
public typealias CLLocationSpeed = Double
/// Degrees from north, 0 ..< 360; negative where it isn't known.
public typealias CLLocationDirection = Double
/// Metres per second, as one standard deviation; negative where nothing is known.
public typealias CLLocationSpeedAccuracy = Double
/// Degrees, as one standard deviation; negative where nothing is known.
public typealias CLLocationDirectionAccuracy = Double

/// The zone of a beacon's distance, estimated from one link's signal strength.
public enum CLProximity: Int, Sendable {
  /// Too few readings, or the beacon fell silent.
  case unknown = 0
  /// Within half a metre.
  case immediate = 1
  /// Within a few metres.
  case near = 2
  /// Farther away.
  case far = 3
}

/// Where this device is in relation to a region.
public enum CLRegionState: Int, Sendable {
  /// Not determined yet, or not to be determined, as while Bluetooth is off.
  case unknown = 0
  /// In it.
  case inside = 1
  /// Not in it.
  case outside = 2
}

/// Whether the program may use location services.
public enum CLAuthorizationStatus: Int32, Sendable {
  /// The program has not requested it yet.
  case notDetermined = 0
  /// Restricted; the user can't change that.
  case restricted = 1
  /// It may not.
  case denied = 2
  /// It may, at all times.
  case authorizedAlways = 3
  /// It may, while it is in use. A program of Linux is in use while it runs.
  case authorizedWhenInUse = 4

  /// The old name of `authorizedAlways`.
  @available(*, deprecated, renamed: "authorizedAlways")
  public static var authorized: CLAuthorizationStatus { .authorizedAlways }
}

/// How exact the locations are that the program may have.
public enum CLAccuracyAuthorization: Int, Sendable {
  /// As exact as they are. The only one here.
  case fullAccuracy = 0
  /// Blurred. Ranging and monitoring of beacons don't work then, at Apple.
  case reducedAccuracy = 1
}

/// What locations are used for; stored without effect.
public enum CLActivityType: Int, Sendable {
  /// Something else.
  case other = 1
  /// Driving along roads.
  case automotiveNavigation = 2
  /// Walking, running, cycling.
  case fitness = 3
  /// Moving in another vehicle.
  case otherNavigation = 4
  /// Flying.
  case airborne = 5
  /// On the water.
  case maritime = 6
}

/// How a device is held; stored without effect.
public enum CLDeviceOrientation: Int32, Sendable {
  /// Not known.
  case unknown = 0
  /// Upright.
  case portrait = 1
  /// Upside down.
  case portraitUpsideDown = 2
  /// On its left side.
  case landscapeLeft = 3
  /// On its right side.
  case landscapeRight = 4
  /// Lying on its back.
  case faceUp = 5
  /// Lying on its face.
  case faceDown = 6
}

/// The highest accuracy, with data of further sensors.
public let kCLLocationAccuracyBestForNavigation: CLLocationAccuracy = -2
/// The highest accuracy.
public let kCLLocationAccuracyBest: CLLocationAccuracy = -1
/// Ten metres.
public let kCLLocationAccuracyNearestTenMeters: CLLocationAccuracy = 10
/// A hundred metres.
public let kCLLocationAccuracyHundredMeters: CLLocationAccuracy = 100
/// A kilometre.
public let kCLLocationAccuracyKilometer: CLLocationAccuracy = 1_000
/// Three kilometres.
public let kCLLocationAccuracyThreeKilometers: CLLocationAccuracy = 3_000
/// What a program gets that may have reduced accuracy only.
public let kCLLocationAccuracyReduced: CLLocationAccuracy = .greatestFiniteMagnitude
/// Every movement is reported.
public let kCLDistanceFilterNone: CLLocationDistance = -1
/// Every change of heading is reported.
public let kCLHeadingFilterNone: CLLocationDegrees = -1
/// The longest distance there is.
public let CLLocationDistanceMax: CLLocationDistance = .greatestFiniteMagnitude
/// The longest time there is, in seconds.
public let CLTimeIntervalMax: TimeInterval = .greatestFiniteMagnitude
