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

  /// A location.
  public init(
    coordinate: CLLocationCoordinate2D, altitude: CLLocationDistance,
    horizontalAccuracy hAccuracy: CLLocationAccuracy,
    verticalAccuracy vAccuracy: CLLocationAccuracy, timestamp: Date
  ) {
    self.coordinate = coordinate
    self.altitude = altitude
    horizontalAccuracy = hAccuracy
    verticalAccuracy = vAccuracy
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
      timestamp: Date(timeIntervalSinceReferenceDate: coder.decodeDouble(forKey: "timestamp")))
  }

  /// Writes it to an archive.
  open func encode(with coder: NSCoder) {
    coder.encode(coordinate.latitude, forKey: "latitude")
    coder.encode(coordinate.longitude, forKey: "longitude")
    coder.encode(altitude, forKey: "altitude")
    coder.encode(horizontalAccuracy, forKey: "horizontalAccuracy")
    coder.encode(verticalAccuracy, forKey: "verticalAccuracy")
    coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "timestamp")
  }

  /// Archives may come from untrusted sources.
  open class var supportsSecureCoding: Bool { true }

  /// Itself, as it doesn't change.
  open func copy(with zone: NSZone? = nil) -> Any { self }

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

/// A direction that a device points to. Never reported here.
open class CLHeading: NSObject, @unchecked Sendable {
  // Unchecked: it has no content. Nobody but Core Location makes one.
  override init() { super.init() }
}

/// A stay at a place. Never reported here.
open class CLVisit: NSObject, @unchecked Sendable {
  // Unchecked: it has no content. Nobody but Core Location makes one.
  override init() { super.init() }
}
