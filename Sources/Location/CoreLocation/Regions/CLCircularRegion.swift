/// A circle on the globe.
///
/// It is there so that code compiles. Monitoring one fails with `CLError.regionMonitoringFailure`:
/// nothing here knows where on the globe this machine is.
open class CLCircularRegion: CLRegion, @unchecked Sendable {
  // Unchecked: as its superclass; its own properties are constant.

  /// The centre.
  public let center: CLLocationCoordinate2D
  /// Metres.
  public let radius: CLLocationDistance

  /// A circle.
  public init(center: CLLocationCoordinate2D, radius: CLLocationDistance, identifier: String) {
    self.center = center
    self.radius = radius
    super.init(identifier: identifier)
  }

  /// A circle from an archive.
  public required init?(coder: NSCoder) {
    center = CLLocationCoordinate2D(
      latitude: coder.decodeDouble(forKey: "latitude"),
      longitude: coder.decodeDouble(forKey: "longitude"))
    radius = coder.decodeDouble(forKey: "radius")
    super.init(coder: coder)
  }

  /// Writes it to an archive.
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
