/// A timer of an event loop. It fires once, at the time that was set last. Used on its loop only.
public protocol LoopTimer: AnyObject {
  /// Sets the time, instead of any time set before. A past time fires at once.
  func set(_ time: Instant)
  /// Cancels the timer.
  func cancel()
}
