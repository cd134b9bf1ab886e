/// The shape of the flow: the placement of a cover by its distance from the front, in covers, and
/// the viewer's perspective.
///
/// Place, depth and angle are continuously differentiable functions of the distance alone: so a
/// cover moves smoothly in every kind of motion, and the order of covers needs no separate
/// animation. Lengths are in points.
public struct CoverFlowLayout: Hashable, Sendable {
  /// The stage's width.
  public private(set) var width: Double
  /// The stage's height.
  public private(set) var height: Double
  /// The width of a cover at the front. Even and whole, so that a cover in front is not blurred.
  public private(set) var coverWidth: Double
  /// The height of a cover at the front, even and whole.
  public private(set) var coverHeight: Double
  /// The distance from the front to the first cover at a side.
  public private(set) var gap: Double
  /// The distance between two covers at a side.
  public private(set) var spacing: Double
  /// The distance by which covers at a side are set back.
  public private(set) var depth: Double
  /// The distance from the viewer's eye to the stage.
  public private(set) var eyeDistance: Double
  /// The greatest distance from the front, in covers, at which a cover can be seen.
  public private(set) var reach: Double

  /// The shape in multiples of a cover's width, from measurements with covers of 300 points; the
  /// covers of a side are turned by 70 degrees.
  private enum Shape {
    static let gap = 175.0 / 300
    /// With less spacing, covers hide more of each other, and are drawn all the same.
    static let spacing = 86.0 / 300
    static let depth = 160.0 / 300
    static let eyeDistance = 3.0
    static let sideAngleDegrees = 70.0
    /// A cover's share of the stage. Wide ones get a smaller share: what a frame costs where it is drawn
    /// without a graphics card grows with the cover.
    static let widthShare = 0.64
    static let wideShare = 0.07
    static let wideBase = 221.0
    static let heightShare = 0.62
    static let coverWidths = 96.0...420.0
    static let sizeMax = 100_000.0
    /// How far a flipped cover comes forward, in multiples of its width.
    static let lift = 0.5
  }

  /// Creates a layout for a stage.
  ///
  /// - Parameters:
  ///   - width: The stage's width; 1 is used if it isn't positive.
  ///   - height: The stage's height, likewise.
  ///   - coverAspect: A cover's height divided by its width, within 0.5 ... 2.
  ///   - sideCovers: The number of elements for covers at each side.
  public init(width: Double, height: Double, coverAspect: Double = 1, sideCovers: Int = 10) {
    self.width = Self.size(width)
    self.height = Self.size(height)
    let aspect = coverAspect.isFinite ? max(0.5, min(2, coverAspect)) : 1
    let widest = min(
      self.width * Shape.widthShare, Shape.wideBase + self.width * Shape.wideShare)
    let wanted = min(widest, self.height * Shape.heightShare / aspect)
    let bounded = max(Shape.coverWidths.lowerBound, min(Shape.coverWidths.upperBound, wanted))
    coverWidth = (bounded / 2).rounded(.down) * 2
    coverHeight = (coverWidth * aspect / 2).rounded(.down) * 2
    gap = coverWidth * Shape.gap
    depth = coverWidth * Shape.depth
    eyeDistance = coverWidth * Shape.eyeDistance
    // Where the stage's edge is among the covers at the side, which look smaller.
    let edge = self.width / 2 * (eyeDistance + depth) / eyeDistance
    let side = Double(max(1, min(1_000, sideCovers)))
    // On a wide stage the spacing is larger, so that the last covers are beyond its edge.
    spacing = max(coverWidth * Shape.spacing, (edge - gap) / (side - 0.5))
    let visible = (edge + coverWidth / 2 - gap) / spacing
    reach = max(1, min(side, visible))
    assert(spacing > 0 && coverHeight > 0, "covers have a size, and stand apart")
  }

  private static func size(_ wanted: Double) -> Double {
    wanted.isFinite ? max(1, min(Shape.sizeMax, wanted)) : 1
  }

  /// The distance that a finger moves to bring the next cover to the front, in points.
  public var pointsPerCover: Double { coverWidth * 0.4 }

  /// The number of covers of one page: those that are visible at one side.
  public var coversPerPage: Int { max(1, Int(reach.rounded(.down))) }

  /// The placement of a cover.
  ///
  /// - Parameter distance: The cover's index minus the position, in covers: negative at the left.
  public func placement(distance: Double) -> CoverPlacement {
    let bounded = max(-1, min(1, distance))
    let magnitude = abs(bounded)
    // Both are flat where they are clamped; depth is flat at the front, too.
    let turn = bounded * (1.5 - 0.5 * bounded * bounded)
    let back = bounded * bounded * (3 - 2 * magnitude)
    return CoverPlacement(
      x: gap * turn + spacing * distance, z: -depth * back,
      angleDegrees: -Shape.sideAngleDegrees * turn)
  }

  /// How far a cover comes forward that is flipped by a part of half a turn, 0 ... 1.
  func lift(flipped part: Double) -> Double { coverWidth * Shape.lift * part }

  /// The projection of a cover as the viewer sees it.
  public func projection(of placement: CoverPlacement) -> ProjectedCover {
    ProjectedCover(
      left: edge(of: placement, at: -coverWidth / 2),
      right: edge(of: placement, at: coverWidth / 2))
  }

  private func edge(of placement: CoverPlacement, at offset: Double) -> ProjectedCover.Edge {
    let (sine, cosine) = Turn.sineAndCosine(degrees: placement.angleDegrees)
    // Never behind the eye: a cover's edge comes forward by less than half of its width.
    let scale = eyeDistance / max(1, eyeDistance - placement.z + offset * sine)
    return ProjectedCover.Edge(
      x: (placement.x + offset * cosine) * scale, halfHeight: coverHeight / 2 * scale)
  }

  /// Whether any part of a cover is within the stage.
  public func isVisible(distance: Double) -> Bool {
    guard abs(distance) <= reach + 0.5 else { return false }
    let seen = projection(of: placement(distance: distance))
    return seen.left.x < width / 2 && seen.right.x > -width / 2
  }

  /// Whether a point of the stage is within a cover, ignoring covers in front of it.
  ///
  /// - Parameters:
  ///   - x: In points, to the right of the middle of the stage.
  ///   - y: In points, below the middle of the covers.
  ///   - placement: The placement of the cover.
  public func contains(x: Double, y: Double, placement: CoverPlacement) -> Bool {
    let seen = projection(of: placement)
    guard seen.left.x <= x, x <= seen.right.x, seen.left.x < seen.right.x else { return false }
    let part = (x - seen.left.x) / (seen.right.x - seen.left.x)
    let halfHeight =
      seen.left.halfHeight + (seen.right.halfHeight - seen.left.halfHeight) * part
    return abs(y) <= halfHeight
  }
}
