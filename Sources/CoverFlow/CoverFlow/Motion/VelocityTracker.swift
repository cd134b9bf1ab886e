public import Essentials

/// How fast a finger moves: the slope of a line through its last places, by least squares.
///
/// The line goes through all places within 100 ms before the last one. It ends at the last place and not at
/// the release, which a slow page hears of much later.
public struct VelocityTracker: Sendable {
  /// How far back places count.
  public static let window = TimeSpan.milliseconds(100)
  /// A finger that was still for so long before it was lifted had stopped.
  public static let stillness = TimeSpan.milliseconds(150)
  /// Places that lie closer together in time say nothing about speed.
  private static let spanMin = TimeSpan.milliseconds(4)
  /// A mouse with 1,000 reports a second has a hundred places within the window.
  private static let capacity = 128
  /// A time that is earlier by more than this is of a clock that was set back.
  private static let disorderMax = TimeSpan.seconds(1)

  private struct Sample: Sendable {
    var at: Instant
    var x: Double
  }

  private var samples: [Sample] = []
  /// Where the next sample goes once the array is full.
  private var next = 0

  /// Knows no places yet.
  public init() {}

  /// When the finger was at its last place; nil before the first.
  public var lastMoveAt: Instant? { samples.isEmpty ? nil : last.at }

  private var last: Sample {
    samples[(next + samples.count - 1) % samples.count]
  }

  /// Forgets all places.
  public mutating func reset() {
    samples.removeAll(keepingCapacity: true)
    next = 0
  }

  /// Adds a place.
  ///
  /// - Parameters:
  ///   - x: In points; what isn't a number is ignored.
  ///   - time: When the finger was there, which coalesced events say for each place. Slightly out of order
  ///     counts as at the same time; a clock that was set back makes a new beginning.
  public mutating func add(x: Double, at time: Instant) {
    guard x.isFinite else { return }
    var time = time
    if !samples.isEmpty {
      let newest = last.at
      if newest - time > Self.disorderMax { reset() } else { time = max(time, newest) }
    }
    assert(samples.isEmpty || time >= last.at, "a finger moves back in time")
    let sample = Sample(at: time, x: x)
    if samples.count < Self.capacity {
      samples.append(sample)
    } else {
      samples[next] = sample
      next = (next + 1) % Self.capacity
    }
  }

  /// The speed at the last place, in points per second; 0 where it can't be known.
  public var velocity: Double {
    guard !samples.isEmpty else { return 0 }
    let newest = last
    var count = 0.0
    var sums = (t: 0.0, x: 0.0, tt: 0.0, tx: 0.0)
    var span = TimeSpan.zero
    for sample in samples where newest.at - sample.at <= Self.window {
      let age = newest.at - sample.at
      let t = -age.seconds
      let x = sample.x - newest.x
      span = max(span, age)
      count += 1
      sums.t += t
      sums.x += x
      sums.tt += t * t
      sums.tx += t * x
    }
    let spread = count * sums.tt - sums.t * sums.t
    guard span >= Self.spanMin, spread > 0 else { return 0 }
    let slope = (count * sums.tx - sums.t * sums.x) / spread
    return slope.isFinite ? slope : 0
  }
}
