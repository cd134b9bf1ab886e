public import FoundationEssentials

/// How long to wait before each further attempt: exponentially longer, up to a maximum, less a
/// random part.
///
/// Before attempt *n*, counted from zero, the wait is `initial` × `multiplier`ⁿ seconds, or `maximum`
/// if that is shorter. The jitter keeps clients that failed together from trying again together: 0
/// for none, 0.5 for “equal jitter”, 1 for “full jitter”.
public struct Backoff: Sendable, Hashable {
  /// Seconds before the first further attempt.
  public let initial: TimeInterval
  /// How much longer each wait is than the one before.
  public let multiplier: Double
  /// Seconds that no wait exceeds.
  public let maximum: TimeInterval
  /// The part of each wait, from 0 to 1, that is left to chance: a wait of *d* seconds is one of
  /// between (1 − `jitter`) × *d* and *d* seconds, each as likely.
  public let jitter: Double

  /// Waits that grow exponentially.
  ///
  /// - Parameters:
  ///   - initial: Seconds before the first further attempt; not negative.
  ///   - multiplier: How much longer each wait is than the one before; at least 1, and finite.
  ///   - maximum: Seconds that no wait exceeds; at least `initial`.
  ///   - jitter: The part of each wait that is left to chance, from 0 to 1.
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
  /// Starts again on `scheduler` after a failure, `count` times at most, waiting longer each time.
  ///
  /// ```swift
  /// request.retry(
  ///   upTo: 5, backoff: Backoff(initial: 1, maximum: 30, jitter: 0.5), on: QueueScheduler.main,
  ///   using: SystemRandomNumberGenerator())
  /// ```
  ///
  /// Values are passed as they come, those of runs that fail later, too. The failure after the last
  /// start, completion and an interruption are passed on. Disposal disposes of the run that is
  /// under way, or of the wait for the next.
  ///
  /// - Parameters:
  ///   - count: How often, at most, the producer is started again; the failure after that is the
  ///     stream's. Not negative, or the call traps.
  ///   - backoff: How long to wait before each start. Every run begins with the initial wait.
  ///   - scheduler: Where the time is waited for and the producer started again.
  ///   - generator: What the jitter is drawn from. Every run has a copy of its own.
  /// - Returns: A producer that fails when there have been `count` + 1 failures.
  public func retry(
    upTo count: Int, backoff: Backoff, on scheduler: any DateScheduler,
    using generator: some RandomNumberGenerator & Sendable
  ) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "retry(upTo:) makes no negative number of attempts, got \(count)")
    guard count > 0 else { return self }
    return restarting(
      count, after: .failed,
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
