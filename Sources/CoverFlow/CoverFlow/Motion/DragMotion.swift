import Essentials

/// A finger that holds the covers, and moves them once it has moved far enough not to be a tap.
struct DragMotion: Sendable {
  /// Where the finger is, in points.
  private var x: Double
  private let startX: Double
  /// Whether it moves the covers.
  private(set) var hasMoved = false
  /// The position that the finger sets; beyond the ends the covers follow less and less.
  private var raw: Double
  /// Where the finger was.
  var tracker = VelocityTracker()
  /// How many covers were left of the motion that the finger stopped; nil if nothing moved.
  let interruptedDistance: Double?

  /// So far a finger trembles on a tap, in points.
  private static let slop = 6.0
  /// How much of the finger's way covers follow beyond the ends at first, and how far they go at most.
  private static let give = 0.55
  private static let giveMax = 0.5
  private static let rawMargin = 10_000.0

  /// A finger that comes down at a place while the covers are at a position.
  init(
    x: Double, at time: Instant, position: Double, positionMax: Double,
    interruptedDistance: Double?
  ) {
    self.x = x
    startX = x
    raw = Self.raw(position: position, max: positionMax)
    self.interruptedDistance = interruptedDistance
    tracker.add(x: x, at: time)
  }

  /// Takes the finger's next place; true if it begins to move the covers with it.
  mutating func move(to x: Double, at time: Instant, pointsPerCover: Double, positionMax: Double)
    -> Bool
  {
    tracker.add(x: x, at: time)
    let begins = !hasMoved && abs(x - startX) > Self.slop
    if begins {
      // The covers don't make up for the way up to here: nothing jumps.
      self.x = startX + (x > startX ? Self.slop : -Self.slop)
      hasMoved = true
    }
    guard hasMoved else { return false }
    let wanted = raw - (x - self.x) / pointsPerCover
    raw = max(-Self.rawMargin, min(positionMax + Self.rawMargin, wanted))
    self.x = x
    return begins
  }

  /// Keeps the covers where they are, though indices or the last one have changed.
  mutating func hold(position: Double, max greatest: Double) {
    raw = Self.raw(position: position, max: greatest)
  }

  /// Where the covers are.
  func position(max greatest: Double) -> Double {
    if raw < 0 { return -Self.given(-raw) }
    return raw > greatest ? greatest + Self.given(raw - greatest) : raw
  }

  private static func given(_ way: Double) -> Double {
    giveMax * give * way / (giveMax + give * way)
  }

  private static func raw(position: Double, max greatest: Double) -> Double {
    if position < 0 { return -asked(-position) }
    return position > greatest ? greatest + asked(position - greatest) : position
  }

  private static func asked(_ given: Double) -> Double {
    assert(given >= 0, "covers beyond an end are on this side of it")
    let bounded = min(given, giveMax * 0.999)
    return bounded * giveMax / (give * (giveMax - bounded))
  }
}

/// A wheel or trackpad whose place the covers follow closely, until it is quiet.
struct ScrollMotion: Sendable {
  /// The position that the wheel sets.
  var goal: Double
  /// Follows the goal.
  var spring: SettleMotion
  /// When the wheel moved last.
  var movedAt: Instant
  /// Which way it moved last: 1 or -1.
  var direction: Double

  /// So long after its last movement a wheel is quiet. Trackpads report every 8 to 16 ms.
  static let quiet = TimeSpan.milliseconds(150)

  /// The cover to settle on: the wheel counts from a quarter of a cover on.
  var target: Double {
    direction > 0 ? (goal + 0.75).rounded(.down) : (goal - 0.75).rounded(.up)
  }
}
