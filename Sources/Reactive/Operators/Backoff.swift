public import FoundationEssentials

/// The delays before further attempts: they grow exponentially up to a maximum, less a random part.
///
/// Before attempt *n*, counted from zero, the wait is `initial` × `multiplier`ⁿ seconds, or
/// `maximum` if that is shorter. The jitter keeps clients that failed together from trying again
/// together: 0 for none, 0.5 for “equal jitter”, 1 for “full jitter”.
public struct Backoff: Sendable, Hashable {
  /// The delay before the first further attempt, in seconds.
  public let initial: TimeInterval
  /// The factor by which each delay is longer than the previous one.
  public let multiplier: Double
  /// The maximum delay in seconds.
  public let maximum: TimeInterval
  /// The random part of each delay, from 0 to 1: a delay of *d* seconds becomes a uniformly
  /// distributed one between (1 − `jitter`) × *d* and *d* seconds.
  public let jitter: Double

  /// Creates delays that grow exponentially.
  ///
  /// - Parameters:
  ///   - initial: The delay before the first further attempt, in seconds; not negative.
  ///   - multiplier: The factor by which each delay is longer than the previous one; at least 1,
  ///     and finite.
  ///   - maximum: The maximum delay in seconds; at least `initial`.
  ///   - jitter: The random part of each delay, from 0 to 1.
  public init(
    initial: TimeInterval, multiplier: Double = 2, maximum: TimeInterval, jitter: Double = 0
  ) {
    precondition(initial >= 0, "an attempt can't be delayed by \(initial) seconds")
    precondition(
      multiplier >= 1 && multiplier.isFinite, "waits don't grow by a factor of \(multiplier)")
    precondition(
      maximum >= initial, "no wait is \(initial) seconds or more and \(maximum) at most")
    precondition((0...1).contains(jitter), "a jitter is from 0 to 1, got \(jitter)")
    self.initial = initial
    self.multiplier = multiplier
    self.maximum = maximum
    self.jitter = jitter
  }
}

extension SignalProducer {
  /// Restarts the producer on `scheduler` after a failure, at most `count` times, with a growing
  /// delay.
  ///
  /// ```swift
  /// request.retry(
  ///   upTo: 5, backoff: Backoff(initial: 1, maximum: 30, jitter: 0.5), on: QueueScheduler.main,
  ///   using: SystemRandomNumberGenerator())
  /// ```
  ///
  /// Values are passed as they come, those of runs that fail later, too. The failure after the last
  /// start, completion and an interruption are passed on. Disposal disposes of the current run, or
  /// of the wait for the next.
  ///
  /// - Parameters:
  ///   - count: The maximum number of restarts. The next failure is passed on. Traps if it is
  ///     negative.
  ///   - backoff: The delays before each restart. Each run begins with the initial delay.
  ///   - scheduler: The scheduler of the delays and the starts.
  ///   - generator: The random number generator for the jitter. Each run uses its own copy.
  /// - Returns: A producer that fails when there have been `count` + 1 failures.
  public func retry(
    upTo count: Int, backoff: Backoff, on scheduler: any DateScheduler,
    using generator: some RandomNumberGenerator & Sendable
  ) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    guard count > 0 else { return self }
    return retrying(
      count,
      pause: Pause(backoff: backoff, scheduler: scheduler, generator: generator))
  }
}

/// The waits before the attempts of one run.
struct Pause {
  let scheduler: any DateScheduler
  private let backoff: Backoff
  /// Nil where there is no jitter.
  private var generator: (any RandomNumberGenerator)?
  /// Seconds before the next attempt, of which the jitter is to be taken.
  private var wait: TimeInterval

  init(backoff: Backoff, scheduler: any DateScheduler, generator: (any RandomNumberGenerator)?) {
    self.backoff = backoff
    self.scheduler = scheduler
    self.generator = generator
    wait = backoff.initial
  }

  /// Seconds before the next attempt.
  mutating func next() -> TimeInterval {
    defer { wait = min(wait * backoff.multiplier, backoff.maximum) }
    guard backoff.jitter > 0, wait.isFinite, let number = generator?.next() else { return wait }
    // From 0 up to 1.
    let chance = Double(number >> 11) * 0x1p-53
    return wait - wait * backoff.jitter * chance
  }
}
