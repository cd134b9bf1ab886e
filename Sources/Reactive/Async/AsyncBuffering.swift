/// What happens to values that come faster than the task that awaits them takes them.
public enum AsyncBuffering: Sendable, Hashable {
  /// All are kept.
  case unbounded
  /// The newest so many are kept; the one that has waited longest makes room for a new one.
  ///
  /// The number is not negative. None are kept of `newest(0)`: a value is taken by a task that
  /// waits for it, or lost.
  case newest(Int)
  /// The first so many are kept; a value that finds no room is lost.
  ///
  /// The number is not negative. None are kept of `oldest(0)`: a value is taken by a task that
  /// waits for it, or lost.
  case oldest(Int)
  /// All are kept, and sources that can wait make no more while so many are.
  ///
  /// The number is positive. Those can wait that are made of an `AsyncSequence`, or of a function
  /// that sends (``SignalProducer/init(priority:sending:)``), wherever in the chain they are, if
  /// their start is part of the start of the chain or follows from a value of another that waits.
  /// Several such sources in one chain may each be a value ahead. A run that several share, of
  /// ``SignalProducer/replayLazily(upTo:)`` or a property, waits for none of them.
  ///
  /// Counted are also the values that have left a source and are on their way: in `observe(on:)`,
  /// `delay` and `collect(every:)`. What an operator keeps because it waits for another stream, as
  /// `zip` and `flatMap(.concat)` do, is not: if it were, that other stream could be kept from
  /// sending what is waited for.
  case backpressure(Int)

  var isValid: Bool {
    switch self {
    case .unbounded: true
    case .newest(let count), .oldest(let count): count >= 0
    case .backpressure(let count): count > 0
    }
  }
}
