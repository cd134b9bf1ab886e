/// A geographic circle.
///
/// It exists so that code compiles. Monitoring it fails with `CLError.regionMonitoringFailure`, as
/// locations are not supported.
open class CLCircularRegion: CLRegion, @unchecked Sendable {
  // Unchecked: as its superclass; its own properties are constant.

  /// The centre of the circle.
  public let center: CLLocationCoordinate2D
  /// The radius in metres.
  public let radius: CLLocationDistance

  /// Creates a circle.
  public init(center: CLLocationCoordinate2D, radius: CLLocationDistance, identifier: String) {
    self.center = center
    self.radius = radius
    super.init(identifier: identifier)
  }

  /// Decodes a circle; nil if the archive is invalid.
  public required init?(coder: NSCoder) {
    center = CLLocationCoordinate2D(
      latitude: coder.decodeDouble(forKey: "latitude"),
      longitude: coder.decodeDouble(forKey: "longitude"))
    radius = coder.decodeDouble(forKey: "radius")
    super.init(coder: coder)
  }

  /// Encodes the circle.
  open override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    coder.encode(center.latitude, forKey: "latitude")
    coder.encode(center.longitude, forKey: "longitude")
    coder.encode(radius, forKey: "radius")
  }

  override func makeCopy() -> CLRegion {
    CLCircularRegion(center: center, radius: radius, identifier: identifier)
  }

  /// Whether a point is in the circle.
  open func contains(_ coordinate: CLLocationCoordinate2D) -> Bool {
    center.distance(from: coordinate) <= radius
  }
}
