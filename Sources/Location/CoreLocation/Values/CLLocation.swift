internal import Glibc

// What code for beacons names, though locations are not determined here.

/// A point on the globe.
public struct CLLocationCoordinate2D: Sendable {
  /// Degrees, north positive.
  public var latitude: CLLocationDegrees
  /// Degrees, east positive.
  public var longitude: CLLocationDegrees

  /// The point at zero degrees.
  public init() { self.init(latitude: 0, longitude: 0) }

  /// A point.
  public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.latitude = latitude
    self.longitude = longitude
  }
}

/// A point that isn't on the globe.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(latitude: -180, longitude: -180)

/// Whether latitude and longitude are in their ranges.
public func CLLocationCoordinate2DIsValid(_ coord: CLLocationCoordinate2D) -> Bool {
  (-90...90).contains(coord.latitude) && (-180...180).contains(coord.longitude)
}

/// A point on the globe.
public func CLLocationCoordinate2DMake(
  _ latitude: CLLocationDegrees, _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
  CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

/// Where a device was at a moment. Programs make them; Core Location here doesn't.
open class CLLocation: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  // Unchecked: everything is constant.

  /// Where.
  public let coordinate: CLLocationCoordinate2D
  /// Metres above sea level.
  public let altitude: CLLocationDistance
  /// The radius of uncertainty in metres; negative where the coordinate is invalid.
  public let horizontalAccuracy: CLLocationAccuracy
  /// The uncertainty of the altitude in metres; negative where the altitude is invalid.
  public let verticalAccuracy: CLLocationAccuracy
  /// Where the device moves to, in degrees from north; negative where it isn't known.
  public let course: CLLocationDirection
  /// The uncertainty of the course in degrees; negative where the course is invalid.
  public let courseAccuracy: CLLocationDirectionAccuracy
  /// How fast it moves, in metres per second; negative where it isn't known.
  public let speed: CLLocationSpeed
  /// The uncertainty of the speed in metres per second; negative where the speed is invalid.
  public let speedAccuracy: CLLocationSpeedAccuracy
  /// When.
  public let timestamp: Date

  /// A location without altitude.
  ///
  /// The time stamp is that of the reference date: this module reads no clock.
  public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
    self.init(
      coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude), altitude: 0,
      horizontalAccuracy: 0, verticalAccuracy: -1,
      timestamp: Date(timeIntervalSinceReferenceDate: 0))
  }

  /// A location of which course and speed are not known.
  public convenience init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
    horizontalAccuracy hAccuracy: CLLocationAccuracy,
    verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
  ) {
    self.init(
      coordinate: coordinate, altitude: altitude, horizontalAccuracy: hAccuracy,
      verticalAccuracy: vAccuracy, course: -1, speed: -1, timestamp: timestamp)
  }

  /// A location whose uncertainties of course and speed are not known.
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

  /// A location.
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

  /// A location from an archive.
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

  /// Writes it to an archive.
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

  /// Archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  /// Itself, as it doesn't change.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  /// The storey. Nil: it is not determined here.
  open var floor: CLFloor? { nil }

  /// The distance along the surface of the globe, in metres.
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

/// A storey of a building. Never reported here.
open class CLFloor: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// The storey; 0 is the ground floor.
  public let level: Int

  init(level: Int) { self.level = level }
}

/// A direction that a device points to. Never reported here.
open class CLHeading: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// Degrees from magnetic north.
  public let magneticHeading: CLLocationDirection = -1
  /// Degrees from true north; negative where that isn't known.
  public let trueHeading: CLLocationDirection = -1
  /// The uncertainty in degrees; negative where the heading is invalid.
  public let headingAccuracy: CLLocationDirection = -1
  /// When.
  public let timestamp = Date.distantPast

  override init() { super.init() }
}

/// A stay at a place. Never reported here.
open class CLVisit: NSObject, @unchecked Sendable {
  // Unchecked: everything is constant. Only Core Location creates instances.

  /// When it began.
  public let arrivalDate = Date.distantPast
  /// When it ended.
  public let departureDate = Date.distantFuture
  /// Where.
  public let coordinate = kCLLocationCoordinate2DInvalid
  /// The radius of uncertainty in metres.
  public let horizontalAccuracy: CLLocationAccuracy = -1

  override init() { super.init() }
}
