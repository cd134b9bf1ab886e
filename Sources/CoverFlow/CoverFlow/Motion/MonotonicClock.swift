import Essentials

/// Makes time that never goes back, and never leaps, out of a caller's clock that may.
struct MonotonicClock: Sendable {
  /// Events of a page have times of their own and are slightly out of order. Earlier than this is a clock
  /// that was set back.
  static let disorderMax = TimeSpan.seconds(1)
  /// All motions end sooner, so a longer step of the clock is shortened to this.
  static let leapMax = TimeSpan.seconds(30)

  private(set) var now = Instant.zero
  /// The caller's time that corresponds to `now`.
  private var callersNow: Instant?

  /// The time, which is that of the call before if the caller's is earlier.
  mutating func read(_ time: Instant) -> Instant {
    guard let last = callersNow else {
      callersNow = time
      return now
    }
    let passed = time - last
    if passed > .zero {
      now = now + min(passed, Self.leapMax)
      callersNow = time
    } else if last - time > Self.disorderMax {
      callersNow = time
    }
    return now
  }

  /// The caller's time of an instant.
  func callersTime(_ instant: Instant) -> Instant {
    (callersNow ?? .zero) + (instant - now)
  }
}
