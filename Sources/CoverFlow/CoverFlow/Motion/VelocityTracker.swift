public import Essentials

/// Measures the speed of a finger: the slope of a least-squares line through its last positions.
///
/// The line uses all positions within 100 ms before the last one. It ends at the last position
/// instead of the release, which a slow page receives much later.
public struct VelocityTracker: Sendable {
  /// The time before the last position from which positions are used.
  public static let window = TimeSpan.milliseconds(100)
  /// A finger that was still for this time before it was lifted has the speed 0.
  public static let stillness = TimeSpan.milliseconds(150)
  /// Places that are closer together in time are too inaccurate to measure a speed.
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

  /// Creates a tracker without positions.
  public init() {}

  /// The time of the last position; nil before the first.
  public var lastMoveAt: Instant? { samples.isEmpty ? nil : last.at }

  private var last: Sample {
    samples[(next + samples.count - 1) % samples.count]
  }

  /// Removes all positions.
  public mutating func reset() {
    samples.removeAll(keepingCapacity: true)
    next = 0
  }

  /// Adds a position.
  ///
  /// - Parameters:
  ///   - x: In points; ignored if it isn't finite.
  ///   - time: The time of the position, for each coalesced event. A slightly earlier time than the
  ///     last counts as the same time; a much earlier one, from a clock that was set back, clears
  ///     the earlier positions.
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

  /// The speed at the last position in points per second; 0 if it is not known.
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
