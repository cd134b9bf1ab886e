/// A point above a floor, in metres.
public struct FloorPoint: Hashable, Sendable {
  /// The coordinate along the floor's first axis.
  public var x: Double
  /// The coordinate along the floor's second axis.
  public var y: Double
  /// The height above the floor.
  public var z: Double

  /// Creates a point from its coordinates in metres.
  public init(x: Double, y: Double, z: Double = 0) {
    self.x = x
    self.y = y
    self.z = z
  }

  /// The distance in metres, without the difference in height.
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
  /// The name of the receiver in traces.
  public var id: String
  /// The position of its antenna.
  public var position: FloorPoint

  /// Creates a receiver.
  public init(id: String, position: FloorPoint) {
    self.id = id
    self.position = position
  }
}

/// A room: a polygon without holes.
public struct FloorRoom: Hashable, Sendable {
  /// The name of the room.
  public var name: String
  /// The corners in order, at least three. Their heights are ignored.
  public var corners: [FloorPoint]

  /// Creates a room.
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
  /// One end. Its height is ignored.
  public var start: FloorPoint
  /// The other end.
  public var end: FloorPoint
  /// The attenuation of a signal through the wall, in dB.
  public var attenuation: Double

  /// Creates a wall between two points.
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
  /// The maximum number of receivers. The computation of a position fix is proportional to it.
  public static let receiversMax = 100
  /// The maximum number of rooms.
  public static let roomsMax = 1_000

  /// The receivers, with distinct names.
  public let receivers: [FloorReceiver]
  /// The rooms; where they overlap, a point belongs to the first.
  public let rooms: [FloorRoom]
  /// The known walls.
  public let walls: [FloorWall]
  /// The maximum number of walls.
  public static let wallsMax = 1_000
  /// The height in metres at which beacons are carried.
  public let beaconHeight: Double
  private let indices: [String: Int]

  /// Creates a plan. Returns nil if a receiver's name occurs twice, if the number of receivers,
  /// rooms or walls is out of range, if a coordinate isn't finite and within a kilometre, if a room
  /// has fewer than three corners, or if a wall's attenuation isn't in 0...100 dB.
  ///
  /// - Parameter beaconHeight: The height in metres at which beacons are carried; 1.75 is a phone
  ///   or badge held high, as in the public data set.
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

  /// The index of a receiver in `receivers`.
  public func index(ofReceiver id: String) -> Int? { indices[id] }

  /// The opposite corners of the rectangle around all receivers and rooms.
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
