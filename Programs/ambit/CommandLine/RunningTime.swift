/// A span of time in which the process runs. A process that is stopped, as by Ctrl-Z or a debugger, or that a
/// busy machine keeps waiting, can't do anything meanwhile: that time is not counted.
///
/// The owner looks at it again and again, and each look counts one step at most.
package struct RunningTime: Sendable {
  /// The time between two looks.
  static let step = Duration.milliseconds(100)

  private var rest: Duration
  private var latest: ContinuousClock.Instant

  package init(_ span: Duration, from now: ContinuousClock.Instant = .now) {
    rest = span
    latest = now
  }

  /// Counts the time since the last look, and returns the time until the next one; nil if the span is over.
  package mutating func look(at now: ContinuousClock.Instant = .now) -> Duration? {
    rest -= min(now - latest, Self.step)
    latest = now
    return rest > .zero ? min(rest, Self.step) : nil
  }

  /// Returns when the span is over; throws if the task is cancelled before.
  package static func wait(for span: Duration) async throws {
    var time = RunningTime(span)
    while let pause = time.look() { try await Task.sleep(for: pause) }
  }
}
