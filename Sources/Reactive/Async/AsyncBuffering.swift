/// The policy for values that are sent faster than the awaiting task receives them.
public enum AsyncBuffering: Sendable, Hashable {
  /// Keeps all values.
  case unbounded
  /// Keeps the newest values, at most this many; the oldest is dropped to make room for a new one.
  ///
  /// The number is not negative. `newest(0)` keeps no values: a value is received by a task that
  /// already waits for it, or dropped.
  case newest(Int)
  /// Keeps the first values, at most this many; more values are dropped.
  ///
  /// The number is not negative. `oldest(0)` keeps no values: a value is received by a task that
  /// already waits for it, or dropped.
  case oldest(Int)
  /// Keeps all values, and suspends sources that can wait while this many are kept.
  ///
  /// The number is positive. The sources that can wait are those made of an `AsyncSequence`, or of
  /// a function that sends (``SignalProducer/init(priority:sending:)``), anywhere in the chain, if
  /// their start is part of the start of the chain or follows from a value of another source that
  /// waits. Several such sources in one chain may each be a value ahead. A run shared by several
  /// observers, of ``SignalProducer/replayLazily(upTo:)`` or a property, waits for none of them.
  ///
  /// Values that have left a source and are not delivered yet count, too: those in `observe(on:)`,
  /// `delay` and `collect(every:)`, and those that wait while another thread delivers. An operator
  /// that keeps values while it waits for another stream makes only the source of these wait, never
  /// the other: `flatMap(.concat)` while one stream runs, `.concurrent(limit:)` while `limit` do,
  /// `zip` while a value has none to be paired with. `.merge` runs a stream for every value, however
  /// many. Operators that keep the latest value only, such as `combineLatest`, `sample` and
  /// `throttle`, replace it as fast as their source goes.
  case backpressure(Int)

  var isValid: Bool {
    switch self {
    case .unbounded: true
    case .newest(let count), .oldest(let count): count >= 0
    case .backpressure(let count): count > 0
    }
  }
}
