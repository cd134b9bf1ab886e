import Essentials

/// The turn of one cover to its back, or from there.
struct CoverFlip: Sendable {
  /// Which item.
  var index: Int
  /// Whether it is turned to the back; otherwise it returns to its front.
  private(set) var isFlipped = true
  /// How far it is turned, 0 for the front and 1 for the back.
  private(set) var part = 0.0
  private var spring: SettleMotion

  private static let stiffness = Stiffness(
    start: 11, floor: 11, growth: 0, brakingFrom: 0, brakingTo: 0)

  /// Begins to turn a cover to its back.
  init(index: Int, now: Instant) {
    self.index = index
    spring = SettleMotion(offset: -1, velocity: 0, stiffness: Self.stiffness, now: now)
  }

  /// Whether it is still turning.
  var isMoving: Bool { !spring.hasEnded }
  /// Whether nothing is left of it.
  var isOver: Bool { !isFlipped && !isMoving }

  /// Turns it the other way, from where it is.
  mutating func turn(toBack: Bool, now: Instant) {
    guard toBack != isFlipped else { return }
    spring.advance(to: now)
    let velocity = spring.state(at: now).velocity
    isFlipped = toBack
    spring = SettleMotion(
      offset: part - (toBack ? 1 : 0), velocity: velocity, stiffness: Self.stiffness, now: now)
  }

  /// Turns it as far as it is at a time.
  mutating func advance(to now: Instant) {
    spring.advance(to: now)
    let goal = isFlipped ? 1.0 : 0
    part = spring.hasEnded ? goal : max(0, min(1, goal + spring.state(at: now).offset))
  }

  /// Turns it all the way at once.
  mutating func finish() {
    part = isFlipped ? 1 : 0
    spring = SettleMotion(offset: 0, velocity: 0, stiffness: Self.stiffness, now: .zero)
  }
}
