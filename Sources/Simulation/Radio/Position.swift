public import Essentials

/// A place in the world, in metres.
public struct Position: Hashable, Sendable {
  /// Metres to the east.
  public var x: Double
  /// Metres to the north.
  public var y: Double
  /// Metres above the floor.
  public var z: Double

  /// The place with these coordinates.
  public init(x: Double = 0, y: Double = 0, z: Double = 0) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// The middle of the world.
  public static let origin = Position()

  /// Metres between two places.
  public func distance(to other: Position) -> Double {
    let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
    return (dx * dx + dy * dy + dz * dz).squareRoot()
  }
}

/// Where something is over time.
public enum Motion: Hashable, Sendable {
  /// It stays.
  case still(Position)
  /// It moves in a straight line for ever: metres per second along each axis.
  case steady(from: Position, since: Instant, metresPerSecond: Position)
  /// It passes these places at these times, in straight lines between them, and stays at the last.
  /// The times ascend.
  case path([Waypoint])

  /// A place and when something is there.
  public struct Waypoint: Hashable, Sendable {
    /// When.
    public var time: Instant
    /// Where.
    public var position: Position

    /// Makes a waypoint.
    public init(time: Instant, position: Position) {
      self.time = time
      self.position = position
    }
  }

  /// Where it is at `time`.
  public func position(at time: Instant) -> Position {
    switch self {
    case .still(let position):
      return position
    case .steady(let start, let since, let velocity):
      let seconds = max(0, (time - since).seconds)
      return Position(
        x: start.x + velocity.x * seconds, y: start.y + velocity.y * seconds,
        z: start.z + velocity.z * seconds)
    case .path(let waypoints):
      return Motion.position(on: waypoints, at: time)
    }
  }

  var isStill: Bool {
    if case .still = self { true } else { false }
  }

  private static func position(on waypoints: [Waypoint], at time: Instant) -> Position {
    guard let next = waypoints.firstIndex(where: { $0.time > time }) else {
      return waypoints.last?.position ?? .origin
    }
    guard next > 0 else { return waypoints[0].position }
    let (a, b) = (waypoints[next - 1], waypoints[next])
    let share = (time - a.time).seconds / (b.time - a.time).seconds
    return Position(
      x: a.position.x + (b.position.x - a.position.x) * share,
      y: a.position.y + (b.position.y - a.position.y) * share,
      z: a.position.z + (b.position.z - a.position.z) * share)
  }
}

/// A wall that weakens what passes it; seen from above it is a line, and it reaches to the ceiling.
public struct Wall: Hashable, Sendable {
  /// One end.
  public var start: Position
  /// The other end.
  public var end: Position
  /// How much weaker a signal is behind it.
  public var attenuationDB: Double

  /// Makes a wall; 6 dB is a brick wall, 3 dB plasterboard, 15 dB concrete.
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
