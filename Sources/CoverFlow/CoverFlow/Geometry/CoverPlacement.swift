/// The place of one cover on the stage: first turned about its vertical middle line, then moved.
///
/// Lengths are in points from the middle of the stage, x to the right, z towards the viewer.
public struct CoverPlacement: Hashable, Sendable {
  /// The distance to the right of the middle.
  public var x: Double
  /// The distance in front of the stage; negative for covers at the side.
  public var z: Double
  /// The rotation about the vertical axis, as in CSS's `rotateY`: a positive angle moves the right
  /// edge back.
  public var angleDegrees: Double

  /// Creates a placement.
  public init(x: Double, z: Double, angleDegrees: Double) {
    self.x = x
    self.z = z
    self.angleDegrees = angleDegrees
  }
}

/// The projection of a cover: the positions on the stage of its two vertical edges.
public struct ProjectedCover: Hashable, Sendable {
  /// A vertical edge.
  public struct Edge: Hashable, Sendable {
    /// The x coordinate in points from the middle of the stage.
    public var x: Double
    /// Half of the height in points; the edge extends this far up and down.
    public var halfHeight: Double
  }

  /// The left edge.
  public var left: Edge
  /// The right edge.
  public var right: Edge
}

/// Sine and cosine for turns of covers. The C library's are neither for machines nor in a browser.
enum Turn {
  /// The sine and cosine of up to half a turn to either side, to about 1e-15.
  static func sineAndCosine(degrees: Double) -> (sine: Double, cosine: Double) {
    let bounded = max(-180, min(180, degrees))
    // Halved until the series is short, then doubled by the theorem for double angles.
    let quarter = bounded * (Double.pi / 180) / 4
    let square = quarter * quarter
    var sine = 1.0
    var cosine = 1.0
    for half in (1...9).reversed() {
      let term = Double(2 * half)
      sine = 1 - square / (term * (term + 1)) * sine
      cosine = 1 - square / (term * (term - 1)) * cosine
    }
    sine *= quarter
    for _ in 0..<2 { (sine, cosine) = (2 * sine * cosine, 1 - 2 * sine * sine) }
    return (sine, cosine)
  }
}
