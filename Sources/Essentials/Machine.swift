/// A state machine, which takes events and the time, and returns actions for its driver to perform. It reads
/// no clock.
@usableFromInline
package protocol Machine {
  /// What the driver reports to the machine.
  associatedtype Event
  /// What the machine wants the driver to do.
  associatedtype Action

  /// When to call ``wake(now:into:)``; nil if the machine waits for no time.
  var nextWake: Instant? { get }
  /// Handles an event and appends the resulting actions to `actions`.
  mutating func handle(_ event: Event, now: Instant, into actions: inout [Action])
  /// Handles what is due at `now` and appends the resulting actions to `actions`.
  mutating func wake(now: Instant, into actions: inout [Action])
}

/// A machine with its actions that are not performed yet, and the timer of its next wake. Used by a driver, on
/// one event loop.
///
/// After each event or batch of events, a driver performs the actions that it takes, and sets the timer:
///
/// ```
/// runner.handle(event, now: now)
/// for action in runner.takeActions() { perform(action) }
/// runner.setTimer(now: now, loop.makeTimer { [weak self] in self?.wake() })
/// ```
@usableFromInline
package struct MachineRunner<M: Machine> {
  /// The machine.
  @usableFromInline package var machine: M
  @usableFromInline var actions: [M.Action] = []
  @usableFromInline var timer: DeadlineTimer?

  /// Creates a runner without actions, whose timer is not set.
  @inlinable
  package init(_ machine: M) { self.machine = machine }

  /// Passes an event to the machine.
  @inlinable
  package mutating func handle(_ event: M.Event, now: Instant) {
    machine.handle(event, now: now, into: &actions)
  }

  /// Wakes the machine if its time has come. Called when the timer has fired.
  @inlinable
  package mutating func wake(now: Instant) {
    timer?.fired()
    if let due = machine.nextWake, due <= now { machine.wake(now: now, into: &actions) }
  }

  /// Removes the actions that are not performed yet, and returns them.
  @inlinable
  package mutating func takeActions() -> [M.Action] {
    var taken: [M.Action] = []
    swap(&taken, &actions)
    return taken
  }

  /// Uses the storage of actions, which were performed, for those that follow.
  @inlinable
  package mutating func reuse(_ performed: consuming [M.Action]) {
    guard actions.isEmpty else { return }
    performed.removeAll(keepingCapacity: true)
    actions = performed
  }

  /// Sets the timer to the machine's next wake.
  ///
  /// - Parameters:
  ///   - now: The current time. The timer is set for a later one.
  ///   - makeTimer: Creates the timer, once.
  @inlinable
  package mutating func setTimer(now: Instant, _ makeTimer: @autoclosure () -> any LoopTimer) {
    guard let due = machine.nextWake else { return }
    if timer == nil { timer = DeadlineTimer(makeTimer()) }
    timer?.set(due, after: now)
  }

  /// Cancels the timer.
  @inlinable
  package mutating func cancelTimer() { timer?.cancel() }
}
