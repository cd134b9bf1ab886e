/// The place of one cover on the stage: first turned about its vertical middle line, then moved.
///
/// Lengths are in points from the middle of the stage, x to the right, z towards the viewer.
public struct CoverPlacement: Hashable, Sendable {
  /// How far to the right of the middle.
  public var x: Double
  /// How far in front of the stage; negative for covers at the side.
  public var z: Double
  /// The turn about the vertical axis, as CSS's `rotateY` has it: a positive one moves the right edge back.
  public var angleDegrees: Double

  /// A placement from its parts.
  public init(x: Double, z: Double, angleDegrees: Double) {
    self.x = x
    self.z = z
    self.angleDegrees = angleDegrees
  }
}

/// A cover as the viewer sees it: the place on the stage of its two vertical edges.
public struct ProjectedCover: Hashable, Sendable {
  /// An edge: its x, and half of its height.
  public struct Edge: Hashable, Sendable {
    /// In points from the middle of the stage.
    public var x: Double
    /// In points; the edge reaches as far up as down.
    public var halfHeight: Double
  }

  /// The edge at the left.
  public var left: Edge
  /// The edge at the right.
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
