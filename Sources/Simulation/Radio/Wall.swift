/// A wall, which weakens signals. Seen from above it is a line, and it reaches to the ceiling.
public struct Wall: Hashable, Sendable {
  /// One end.
  public var start: Position
  /// The other end.
  public var end: Position
  /// The attenuation of a signal through the wall.
  public var attenuationDB: Double

  /// Creates a wall; 6 dB is a brick wall, 3 dB plasterboard, 15 dB concrete.
  public init(from start: Position, to end: Position, attenuationDB: Double = 6) {
    self.start = start
    self.end = end
    self.attenuationDB = attenuationDB
  }

  /// Whether the straight line between two places passes the wall.
  func separates(_ a: Position, _ b: Position) -> Bool {
    func side(_ p: Position, _ q: Position, _ r: Position) -> Double {
      (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)
    }
    return side(start, end, a) * side(start, end, b) < 0
      && side(a, b, start) * side(a, b, end) < 0
  }
}
