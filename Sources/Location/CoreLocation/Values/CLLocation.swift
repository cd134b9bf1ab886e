internal import Glibc

// What code for beacons names, though locations are not determined here.

/// A geographic coordinate.
public struct CLLocationCoordinate2D: Sendable {
  /// The latitude in degrees, north positive.
  public var latitude: CLLocationDegrees
  /// The longitude in degrees, east positive.
  public var longitude: CLLocationDegrees

  /// Creates the coordinate at zero degrees.
  public init() { self.init(latitude: 0, longitude: 0) }

  /// Creates a coordinate.
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// An invalid coordinate.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// Whether latitude and longitude are in their ranges.
public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
  (-90...90).contains(coord.latitude) && (-180...180).contains(coord.longitude)
}

/// Creates a coordinate.
public func CLLocationCoordinate2DMake(
  _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
  CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

/// A geographic location. Programs can create locations, but Core Location on Linux doesn't report
/// any.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: everything is constant.

  /// The coordinate.
  public let coordinate: CLLocationCoordinate2D
  /// The altitude in metres above sea level.
  public let altitude: CLLocationDistance
  /// The radius of uncertainty in metres; negative where the coordinate is invalid.
  public let horizontalAccuracy: CLLocationAccuracy
  /// The uncertainty of the altitude in metres; negative where the altitude is invalid.
  public let verticalAccuracy: CLLocationAccuracy
  /// The direction of travel, in degrees from north; negative if unknown.
  public let course: CLLocationDirection
  /// The uncertainty of the course in degrees; negative where the course is invalid.
  public let courseAccuracy: CLLocationDirectionAccuracy
  /// The speed in metres per second; negative if unknown.
  public let speed: CLLocationSpeed
  /// The uncertainty of the speed in metres per second; negative where the speed is invalid.
  public let speedAccuracy: CLLocationSpeedAccuracy
  /// The time of the location.
  public let timestamp: Date

  /// Creates a location without altitude.
  ///
  /// The timestamp is the reference date, as this module reads no clock.
  public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
      horizontalAccuracy: 0, verticalAccuracy: -1,
      timestamp: Date(timeIntervalSinceReferenceDate: 0))
  }

  /// Creates a location with unknown course and speed.
  public convenience init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
    horizontalAccuracy hAccuracy: CLLocationAccuracy,
    verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
  ) {
    self.init(
      coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy,
      verticalAccuracy: vAccuracy, course: -1, speed: -1, timestamp: timestamp)
  }

  /// Creates a location with unknown accuracies of course and speed.
  public convenience init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
    horizontalAccuracy hAccuracy: CLLocationAccuracy,
    verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection,
    speed: CLLocationSpeed, timestamp: Date
  ) {
    self.init(
      coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy,
      verticalAccuracy: vAccuracy, course: course, courseAccuracy: -1, speed: speed,
      speedAccuracy: -1, timestamp: timestamp)
  }

  /// Creates a location.
  public init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
    horizontalAccuracy hAccuracy: CLLocationAccuracy,
    verticalAccuracy vAccuracy: CLLocationAccuracy, course: CLLocationDirection,
    courseAccuracy: CLLocationDirectionAccuracy, speed: CLLocationSpeed,
    speedAccuracy: CLLocationSpeedAccuracy, timestamp: Date
  ) {
    self.coordinate = coordinate
    self.altitude = altitude
    horizontalAccuracy = hAccuracy
    verticalAccuracy = vAccuracy
    self.course = course
    self.courseAccuracy = courseAccuracy
    self.speed = speed
    self.speedAccuracy = speedAccuracy
    self.timestamp = timestamp
  }

  /// Decodes a location.
  public required convenience init?(coder: NSCoder) {
    self.init(
      coordinate: CLLocationCoordinate2D(
        latitude: coder.decodeDouble(forKey: "latitude"),
        longitude: coder.decodeDouble(forKey: "longitude")),
      altitude: coder.decodeDouble(forKey: "altitude"),
      horizontalAccuracy: coder.decodeDouble(forKey: "horizontalAccuracy"),
      verticalAccuracy: coder.decodeDouble(forKey: "verticalAccuracy"),
      course: coder.decodeDouble(forKey: "course"),
      courseAccuracy: coder.decodeDouble(forKey: "courseAccuracy"),
      speed: coder.decodeDouble(forKey: "speed"),
      speedAccuracy: coder.decodeDouble(forKey: "speedAccuracy"),
      timestamp: Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "timestamp")))
  }

  /// Encodes the location.
  open func encode(with coder: NSCoder) {
    coder.encode(coordinate.latitude, forKey: "latitude")
    coder.encode(coordinate.longitude, forKey: "longitude")
    coder.encode(altitude, forKey: "altitude")
    coder.encode(horizontalAccuracy, forKey: "horizontalAccuracy")
    coder.encode(verticalAccuracy, forKey: "verticalAccuracy")
    coder.encode(course, forKey: "course")
    coder.encode(courseAccuracy, forKey: "courseAccuracy")
    coder.encode(speed, forKey: "speed")
    coder.encode(speedAccuracy, forKey: "speedAccuracy")
    coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "timestamp")
  }

  /// Always true: archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  /// Returns the same object, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The floor of a building; always nil.
  open var floor: CLFloor? { nil }

  /// The distance along the surface of the Earth, in metres.
  open func distance(from location: CLLocation) -> CLLocationDistance {
    coordinate.distance(from: location.coordinate)
  }
}

extension CLLocationCoordinate2D {
  /// The mean radius of the earth in metres (IUGG).
  private static let earthRadius = 6_371_008.8

  /// The distance on a sphere, in metres (haversine formula).
  func distance(from other: CLLocationCoordinate2D) -> CLLocationDistance {
    func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
    let latitudes = sin(radians(latitude - other.latitude) / 2)
    let longitudes = sin(radians(longitude - other.longitude) / 2)
    let square =
      latitudes * latitudes
      + cos(radians(latitude)) * cos(radians(other.latitude)) * longitudes * longitudes
    return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
  }
}

/// A floor of a building. Never reported.
open class CLFloor: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// The floor; 0 is the ground floor.
  public let level: Int

  init(level: Int) { self.level = level }
}

/// The direction in which a device points. Never reported.
open class CLHeading: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// The direction in degrees from magnetic north.
  public let magneticHeading: CLLocationDirection = -1
  /// The direction in degrees from true north; negative if unknown.
  public let trueHeading: CLLocationDirection = -1
  /// The uncertainty in degrees; negative where the heading is invalid.
  public let headingAccuracy: CLLocationDirection = -1
  /// The time of the heading.
  public let timestamp = Date.distantPast

  override init() { super.init() }
}

/// A visit to a place. Never reported.
open class CLVisit: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// The time of arrival.
  public let arrivalDate = Date.distantPast
  /// The time of departure.
  public let departureDate = Date.distantFuture
  /// The coordinate of the place.
  public let coordinate = kCLLocationCoordinate2DInvalid
  /// The radius of uncertainty in metres.
  public let horizontalAccuracy: CLLocationAccuracy = -1

  override init() { super.init() }
}
