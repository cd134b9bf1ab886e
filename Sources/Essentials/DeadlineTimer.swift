/// A timer that is set again and again, mostly for a later time. Used on one event loop.
@usableFromInline
package struct DeadlineTimer {
  @usableFromInline let timer: any LoopTimer
  @usableFromInline var setFor: Instant?

  /// - Parameter timer: A timer that is not set. What it calls has to call ``fired()``.
  @inlinable
  package init(_ timer: any LoopTimer) { self.timer = timer }

  /// Sets the timer, unless it fires earlier anyway: a timer that fires too early costs little, and setting it
  /// for every packet would cost more. Its owner sets it again when it has fired.
  ///
  /// - Parameter due: When to fire; nil leaves the timer as it is.
  @inlinable
  package mutating func set(_ due: Instant?) {
    guard let due else { return }
    if let setFor, setFor <= due { return }
    setFor = due
    timer.set(due)
  }

  /// Sets the timer for a time later than `now`, so that the loop goes on even if a machine never has enough.
  @inlinable
  package mutating func set(_ due: Instant?, after now: Instant) {
    set(due.map { max($0, now + .microseconds(1)) })
  }

  /// Notes that the timer has fired.
  @inlinable
  package mutating func fired() { setFor = nil }

  /// Cancels the timer.
  @inlinable
  package mutating func cancel() {
    timer.cancel()
    setFor = nil
  }
}
