import Dispatch

/// A timer that is set again and again; fires on a queue of its own.
final class WakeTimer: Sendable {
  /// Later than any use; Dispatch counts nanoseconds in 64 bits.
  private static let delayMax = Duration.seconds(1_000_000_000)

  // Timer sources may be used from any thread.
  nonisolated(unsafe) private let source: any DispatchSourceTimer

  init() {
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ambit.timer"))
  }

  deinit {
    source.cancel()
    // Dispatch traps where a source is released that was never active.
    source.activate()
  }

  /// Begins; nothing fires before.
  func start(_ onFire: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: onFire)
    source.activate()
  }

  /// Fires after this time, and not at the time set before; never for nil.
  func set(after delay: Duration?) {
    guard let delay else { return source.schedule(deadline: .distantFuture) }
    let (seconds, attoseconds) = min(max(delay, .zero), Self.delayMax).components
    let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    source.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .milliseconds(1))
  }

  /// Ends for good.
  func stop() { source.cancel() }
}
