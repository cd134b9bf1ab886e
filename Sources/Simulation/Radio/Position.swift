/// A position in the world, in metres.
public struct Position: Hashable, Sendable {
  /// Metres to the east.
  public var x: Double
  /// Metres to the north.
  public var y: Double
  /// Metres above the floor.
  public var z: Double

  /// Creates a position.
  public init(x: Double = 0, y: Double = 0, z: Double = 0) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// The origin of the coordinates.
  public static let origin = Position()

  /// The distance between two positions in metres.
  public func distance(to other: Position) -> Double {
    let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
    return (dx * dx + dy * dy + dz * dz).squareRoot()
  }
}
