public import Essentials

/// The motion of an object: its position over time.
public indirect enum Motion: Hashable, Sendable {
  /// The object doesn't move.
  case still(Position)
  /// The object moves in a straight line for ever, at this velocity in metres per second along each
  /// axis.
  case steady(from: Position, since: Instant, metresPerSecond: Position)
  /// The object passes these waypoints in straight lines, and stays at the last one. The times must
  /// ascend.
  case path([Waypoint])
  /// The object passes these waypoints in straight lines, continues from the last one to the first,
  /// and repeats that. Times count from that of the first.
  case loop([Waypoint])
  /// The object is carried: `ahead` metres in front of the carrier, `height` metres above the
  /// floor.
  case carried(by: Motion, ahead: Double, height: Double)

  /// A position at a certain time.
  public struct Waypoint: Hashable, Sendable {
    /// The time.
    public var time: Instant
    /// The position.
    public var position: Position

    /// Creates a waypoint.
    public init(time: Instant, position: Position) {
      self.time = time
      self.position = position
    }
  }

  /// The position at `time`.
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
    case .loop(let waypoints):
      return Motion.position(on: waypoints, at: Motion.wrapped(time, around: waypoints))
    case .carried(let carrier, let ahead, let height):
      let middle = carrier.position(at: time)
      let heading = carrier.heading(at: time)
      return Position(
        x: middle.x + ahead * heading.x, y: middle.y + ahead * heading.y, z: height)
    }
  }

  /// The direction of the object at `time`, as a horizontal unit vector: that of its motion or,
  /// while it rests, of its last motion; north if it never moved.
  public func heading(at time: Instant) -> Position {
    switch self {
    case .still: return Position(y: 1)
    case .steady(_, _, let velocity): return Motion.direction(velocity) ?? Position(y: 1)
    case .path(let waypoints): return Motion.heading(on: waypoints, at: time)
    case .loop(let waypoints):
      return Motion.heading(on: waypoints, at: Motion.wrapped(time, around: waypoints))
    case .carried(let carrier, _, _): return carrier.heading(at: time)
    }
  }

  var isStill: Bool {
    switch self {
    case .still: true
    case .carried(let carrier, _, _): carrier.isStill
    case .steady, .path, .loop: false
    }
  }

  /// The time of the first round at which it is where it is at `time`.
  private static func wrapped(_ time: Instant, around waypoints: [Waypoint]) -> Instant {
    guard let first = waypoints.first?.time, let last = waypoints.last?.time, last > first,
      time > first
    else { return time }
    return first + .nanoseconds((time - first).nanoseconds % (last - first).nanoseconds)
  }

  /// The first waypoint that comes after a time.
  private static func next(on waypoints: [Waypoint], after time: Instant) -> Int {
    var (low, high) = (0, waypoints.count)
    while low < high {
      let middle = (low + high) / 2
      if waypoints[middle].time > time { high = middle } else { low = middle + 1 }
    }
    return low
  }

  private static func position(on waypoints: [Waypoint], at time: Instant) -> Position {
    let next = next(on: waypoints, after: time)
    guard next < waypoints.count else { return waypoints.last?.position ?? .origin }
    guard next > 0 else { return waypoints[0].position }
    let (a, b) = (waypoints[next - 1], waypoints[next])
    let share = (time - a.time).seconds / (b.time - a.time).seconds
    return Position(
      x: a.position.x + (b.position.x - a.position.x) * share,
      y: a.position.y + (b.position.y - a.position.y) * share,
      z: a.position.z + (b.position.z - a.position.z) * share)
  }

  private static func heading(on waypoints: [Waypoint], at time: Instant) -> Position {
    // The step under way is the one that ends at the next waypoint; before it, the last that went
    // anywhere.
    var index = min(next(on: waypoints, after: time), waypoints.count - 1)
    while index > 0 {
      if let way = step(to: index, on: waypoints) { return way }
      index -= 1
    }
    return waypoints.indices.dropFirst().lazy.compactMap { step(to: $0, on: waypoints) }.first
      ?? Position(y: 1)
  }

  private static func step(to index: Int, on waypoints: [Waypoint]) -> Position? {
    let (a, b) = (waypoints[index - 1].position, waypoints[index].position)
    return direction(Position(x: b.x - a.x, y: b.y - a.y))
  }

  private static func direction(_ way: Position) -> Position? {
    let length = (way.x * way.x + way.y * way.y).squareRoot()
    return length > 0 ? Position(x: way.x / length, y: way.y / length) : nil
  }
}
