/// A timer of an event loop, which rings once at the time last set. Used on its loop only.
public protocol LoopTimer: AnyObject {
  /// Rings at `time` instead of any time set before; at once if that has passed.
  func set(_ time: Instant)
  /// Rings no more.
  func cancel()
}
