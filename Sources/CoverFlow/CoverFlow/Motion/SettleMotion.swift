import Essentials

/// How stiff the spring of a settling motion is while it runs, as angular frequencies in 1/s.
struct Stiffness: Hashable, Sendable {
  /// Where it begins.
  var start: Double
  /// What it grows to by itself, at `growth` per second.
  var floor: Double
  var growth: Double
  /// What braking may raise it to, this close to the target.
  var near = Stiffness.step
  /// How far from the target braking begins, and where it has all of `near`, in covers.
  var brakingFrom: Double
  var brakingTo: Double

  /// One cover in 0.62 s.
  private static let step = 15.0
  /// Long ways look calmer with less; 10,000 covers take 2.1 s.
  private static let jump = 6.5
  private static let jumpFrom = 64.0
  private static let jumpTo = 8.0
  /// Over how long a flick is projected, in seconds.
  static let projection = 0.32
  private static let slowSpeed = 1.0
  private static let fastSpeed = 8.0
  /// What a slow release pulls with.
  private static let pull = 13.0
  /// How fast the pull sets in, in 1/s²: the first glimpse of the glide has the finger's speed.
  private static let pullGrowth = 100.0

  /// The stiffness for a move to a cover `distance` covers away.
  static func move(distance: Double) -> Stiffness {
    let part = max(0, min(1, (distance - jumpTo) / (jumpFrom - jumpTo)))
    let start = step + (jump - step) * part
    return Stiffness(
      start: start, floor: start, growth: 0, brakingFrom: jumpFrom, brakingTo: jumpTo)
  }

  /// For a finger that let go at a speed, in covers per second.
  static func release(speed: Double) -> Stiffness {
    let part = max(0, min(1, (speed - slowSpeed) / (fastSpeed - slowSpeed)))
    let floor = pull + (1 / projection - pull) * part
    return Stiffness(start: 0, floor: floor, growth: pullGrowth, brakingFrom: 2, brakingTo: 1)
  }

  /// For a wheel's place, which is followed closely.
  static let scroll = Stiffness(start: 22, floor: 22, growth: 0, brakingFrom: 0, brakingTo: 0)

  /// What braking may raise it to, at a distance from the target.
  func ceiling(distance: Double) -> Double {
    guard distance < brakingFrom else { return 0 }
    guard distance > brakingTo else { return near }
    return floor + (near - floor) * (brakingFrom - distance) / (brakingFrom - brakingTo)
  }
}

/// A motion to a whole cover that never turns round and never passes it: a critically damped spring.
///
/// The spring is at least as stiff as speed divided by distance, which alone guarantees both. Where it brakes,
/// it becomes stiffer, but never so that the cover speeds up again. It is computed in steps of 4 ms, each of
/// which is exact, so that the motion doesn't depend on when frames are drawn.
struct SettleMotion: Sendable {
  /// The place minus the target, in covers.
  private(set) var offset: Double
  /// In covers per second.
  private(set) var velocity: Double
  private var omega: Double
  private let stiffness: Stiffness
  /// When offset and velocity are so.
  private var at: Instant

  private static let step = TimeSpan.milliseconds(4)
  /// Closer than this is there: a quarter of a point.
  static let tolerance = 0.001
  /// A motion that is not looked at for so long has ended.
  private static let gapMax = TimeSpan.seconds(20)
  /// How much stiffer braking may be than an exponential decay; from 2 on it would speed up.
  private static let braking = 1.6

  /// A motion that begins at a place, in covers from the target, with a velocity.
  init(offset: Double, velocity: Double, stiffness: Stiffness, now: Instant) {
    self.offset = offset
    self.velocity = velocity
    self.stiffness = stiffness
    omega = stiffness.start
    at = now
  }

  /// Moves the target by `distance` covers, while place and velocity stay as they are now.
  mutating func moveTarget(by distance: Double, now: Instant) {
    advance(to: now)
    (offset, velocity) = state(at: now)
    offset -= distance
    at = max(at, now)
  }

  /// Whether it has reached the target.
  var hasEnded: Bool { abs(offset) <= Self.tolerance }

  /// Computes place and velocity at a time; one that lies behind changes nothing.
  mutating func advance(to now: Instant) {
    if now - at > Self.gapMax {
      (offset, velocity, at) = (0, 0, now)
      return
    }
    while now - at >= Self.step, !hasEnded {
      (offset, velocity, omega) = after(Self.step.seconds)
      at = at + Self.step
    }
    if hasEnded { velocity = 0 }
  }

  /// Place and velocity at a time since the last whole step.
  func state(at now: Instant) -> (offset: Double, velocity: Double) {
    let rest = max(0, min(Self.step.seconds, (now - at).seconds))
    let (offset, velocity, _) = after(rest)
    return (offset, velocity)
  }

  private func after(_ seconds: Double) -> (offset: Double, velocity: Double, omega: Double) {
    let distance = abs(offset)
    guard distance > 0 else { return (0, 0, omega) }
    let direction = offset > 0 ? -1.0 : 1.0
    // Towards the target is positive.
    let speed = velocity * direction
    let ratio = max(0, speed / distance)
    var next = max(omega, min(stiffness.floor, omega + stiffness.growth * seconds))
    next = max(next, min(stiffness.ceiling(distance: distance), Self.braking * ratio))
    next = max(next, ratio)
    let slack = next * distance - speed
    let decay = Exponential.exp(-next * seconds)
    assert(
      slack >= -1e-9 * speed.magnitude, "the spring is too soft, and the cover would turn round")
    let newDistance = max(0, (distance + slack * seconds) * decay)
    let newSpeed = (speed + next * slack * seconds) * decay
    return (-direction * newDistance, direction * newSpeed, next)
  }
}
