// Names that Core Location gives to numbers, and its enumerations and constants.

/// The major number of a beacon: its group, such as the beacons of one building.
public typealias CLBeaconMajorValue = UInt16
/// The minor number of a beacon: the beacon within its group.
public typealias CLBeaconMinorValue = UInt16
/// An accuracy in metres, as one standard deviation; negative if unknown.
public typealias CLLocationAccuracy = Double
/// A distance in metres.
public typealias CLLocationDistance = Double
/// A latitude or longitude in degrees.
public typealias CLLocationDegrees = Double
/// A speed in metres per second; negative if unknown.
public typealias CLLocationSpeed = Double
/// A direction in degrees from north, 0 ..< 360; negative if unknown.
public typealias CLLocationDirection = Double
/// The accuracy of a speed in metres per second, as one standard deviation; negative if unknown.
public typealias CLLocationSpeedAccuracy = Double
/// The accuracy of a direction in degrees, as one standard deviation; negative if unknown.
public typealias CLLocationDirectionAccuracy = Double

/// The zone of a beacon's distance, estimated from one link's signal strength.
public enum CLProximity: Int, Sendable {
  /// There are too few readings, or the beacon was silent for a while.
  case unknown = 0
  /// Within half a metre.
  case immediate = 1
  /// Within a few metres.
  case near = 2
  /// Farther away.
  case far = 3
}

/// The state of a region.
public enum CLRegionState: Int, Sendable {
  /// Not determined yet, or impossible to determine because Bluetooth is off.
  case unknown = 0
  /// This device is inside the region.
  case inside = 1
  /// This device is outside of the region.
  case outside = 2
}

/// The authorization of the program to use location services.
public enum CLAuthorizationStatus: Int32, Sendable {
  /// The program has not requested authorization yet.
  case notDetermined = 0
  /// Restricted; the user can't change that.
  case restricted = 1
  /// The program may not use location services.
  case denied = 2
  /// The program may use location services at all times.
  case authorizedAlways = 3
  /// The program may use location services while it is in use. A program on Linux is in use while
  /// it runs.
  case authorizedWhenInUse = 4

  /// The old name of `authorizedAlways`.
  @available(*, deprecated, renamed: "authorizedAlways")
  public static var authorized: CLAuthorizationStatus { .authorizedAlways }
}

/// The accuracy of the locations that the program may get.
public enum CLAccuracyAuthorization: Int, Sendable {
  /// Full accuracy. Always granted.
  case fullAccuracy = 0
  /// Reduced accuracy. On Apple's systems, beacons can't be ranged or monitored with it.
  case reducedAccuracy = 1
}

/// The activity that locations are used for; stored without effect.
public enum CLActivityType: Int, Sendable {
  /// Any other activity.
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

/// The orientation of a device; stored without effect.
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

/// The highest accuracy, with data of additional sensors.
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
/// The accuracy of locations for programs with reduced accuracy.
public let kCLLocationAccuracyReduced: CLLocationAccuracy = .greatestFiniteMagnitude
/// Every movement is reported.
public let kCLDistanceFilterNone: CLLocationDistance = -1
/// Every change of heading is reported.
public let kCLHeadingFilterNone: CLLocationDegrees = -1
/// The maximum distance.
public let CLLocationDistanceMax: CLLocationDistance = .greatestFiniteMagnitude
/// The maximum time interval, in seconds.
public let CLTimeIntervalMax: TimeInterval = .greatestFiniteMagnitude
