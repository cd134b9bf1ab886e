/// A point above a floor, in metres.
public struct FloorPoint: Hashable, Sendable {
  /// Along the floor's first axis.
  public var x: Double
  /// Along the floor's second axis.
  public var y: Double
  /// The height above the floor.
  public var z: Double

  /// Makes a point of its coordinates in metres.
  public init(x: Double, y: Double, z: Double = 0) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// The distance in metres, heights left out.
  public func horizontalDistance(to other: FloorPoint) -> Double {
    let (dx, dy) = (x - other.x, y - other.y)
    return (dx * dx + dy * dy).squareRoot()
  }

  /// The distance in metres.
  public func distance(to other: FloorPoint) -> Double {
    let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
    return (dx * dx + dy * dy + dz * dz).squareRoot()
  }
}

/// A receiver at a fixed position.
public struct FloorReceiver: Hashable, Sendable {
  /// What traces call it.
  public var id: String
  /// Where its antenna is.
  public var position: FloorPoint

  /// Makes a receiver of its name and place.
  public init(id: String, position: FloorPoint) {
    self.id = id
    self.position = position
  }
}

/// A room: a polygon without holes.
public struct FloorRoom: Hashable, Sendable {
  /// What it is called.
  public var name: String
  /// Its corners in order, at least three; heights mean nothing.
  public var corners: [FloorPoint]

  /// Makes a room of its corners.
  public init(name: String, corners: [FloorPoint]) {
    self.name = name
    self.corners = corners
  }

  /// Whether the point is inside: a ray from it crosses the outline an odd number of times.
  public func contains(_ point: FloorPoint) -> Bool {
    guard var previous = corners.last else { return false }
    var isInside = false
    for corner in corners {
      if (corner.y > point.y) != (previous.y > point.y) {
        let share = (point.y - corner.y) / (previous.y - corner.y)
        if point.x < corner.x + share * (previous.x - corner.x) { isInside.toggle() }
      }
      previous = corner
    }
    return isInside
  }
}

/// A wall, from the floor to the ceiling.
public struct FloorWall: Hashable, Sendable {
  /// One end; heights mean nothing.
  public var start: FloorPoint
  /// The other end.
  public var end: FloorPoint
  /// In dB, how much weaker a signal is behind it.
  public var attenuation: Double

  /// Makes a wall of its ends.
  public init(from start: FloorPoint, to end: FloorPoint, attenuation: Double) {
    self.start = start
    self.end = end
    self.attenuation = attenuation
  }

  /// Whether the straight line between two places passes it.
  func separates(_ a: FloorPoint, _ b: FloorPoint) -> Bool {
    func side(_ p: FloorPoint, _ q: FloorPoint, _ r: FloorPoint) -> Double {
      (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)
    }
    return side(start, end, a) * side(start, end, b) < 0
      && side(a, b, start) * side(a, b, end) < 0
  }
}

/// One floor with its receivers, rooms and walls.
public struct FloorPlan: Hashable, Sendable {
  /// More than any floor has; the arithmetic of a fix multiplies a number for each.
  public static let receiversMax = 100
  /// As many rooms as a plan may have.
  public static let roomsMax = 1_000

  /// The receivers. No two have one name.
  public let receivers: [FloorReceiver]
  /// The rooms; where they overlap, a point belongs to the first.
  public let rooms: [FloorRoom]
  /// The walls, as far as they are known.
  public let walls: [FloorWall]
  /// As many walls as a plan may have.
  public static let wallsMax = 1_000
  /// The height in metres at which beacons are carried.
  public let beaconHeight: Double
  private let indices: [String: Int]

  /// Makes a plan. Returns nil if a receiver's name occurs twice, if the number of receivers, rooms
  /// or walls is out of range, if a coordinate isn't finite and within a kilometre, if a room has
  /// fewer than three corners, or if a wall's attenuation isn't in 0...100 dB.
  ///
  /// - Parameter beaconHeight: In metres; 1.75 is a phone or badge held high, as in the public
  ///   data.
  public init?(
    receivers: [FloorReceiver], rooms: [FloorRoom] = [], walls: [FloorWall] = [],
    beaconHeight: Double = 1.75
  ) {
    guard (1...Self.receiversMax).contains(receivers.count), rooms.count <= Self.roomsMax,
      rooms.allSatisfy({ (3...1_000).contains($0.corners.count) }), walls.count <= Self.wallsMax,
      walls.allSatisfy({ (0...100).contains($0.attenuation) })
    else { return nil }
    let points =
      receivers.map(\.position) + rooms.flatMap(\.corners) + walls.flatMap { [$0.start, $0.end] }
    let numbers = points.flatMap { [$0.x, $0.y, $0.z] } + [beaconHeight]
    guard numbers.allSatisfy({ $0.magnitude <= 1_000 }) else { return nil }
    let pairs = receivers.enumerated().map { ($1.id, $0) }
    indices = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    guard indices.count == receivers.count else { return nil }
    self.receivers = receivers
    self.rooms = rooms
    self.walls = walls
    self.beaconHeight = beaconHeight
  }

  /// In dB, what walls between two places take from a signal.
  func wallLoss(from a: FloorPoint, to b: FloorPoint) -> Double {
    walls.reduce(0) { $1.separates(a, b) ? $0 + $1.attenuation : $0 }
  }

  /// The place of a receiver in `receivers`.
  public func index(ofReceiver id: String) -> Int? { indices[id] }

  /// The corners of the rectangle around all receivers and rooms.
  public var bounds: (low: FloorPoint, high: FloorPoint) {
    let points = receivers.map(\.position) + rooms.flatMap(\.corners)
    guard var low = points.first else { return (FloorPoint(x: 0, y: 0), FloorPoint(x: 0, y: 0)) }
    var high = low
    for point in points {
      low = FloorPoint(x: min(low.x, point.x), y: min(low.y, point.y))
      high = FloorPoint(x: max(high.x, point.x), y: max(high.y, point.y))
    }
    return (low, high)
  }
}
