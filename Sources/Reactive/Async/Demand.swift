/// How many values the consumer of a run, or of a part of it, still wants: sources wait for it, and
/// operators that keep values count them in it.
///
/// The task that awaits the values of a run has one. So has an operator that keeps values until
/// another stream goes on: what it keeps mustn't make the other stream wait, and so it counts that in
/// a demand of its own, for which it starts the stream whose values it keeps.
final class Demand: Sendable {
  /// The demand that the start under way on this task is for. Read by sources when they are started,
  /// and by operators that keep values or start streams later.
  @TaskLocal static var current: Demand?

  private typealias Source = CheckedContinuation<Void, Never>

  private enum Phase {
    case open
    /// The sources are about to be cancelled. They must make nothing more, as it would be dropped.
    case ended
    /// Nothing is consumed any more. A source that waits although it has been cancelled goes on.
    case closed
  }

  private struct State {
    var phase = Phase.open
    /// Values that have left their sources and are not consumed yet.
    var count = 0
    var sources: [UInt64: Source] = [:]
    var nextSource: UInt64 = 0

    mutating func takeSources() -> [Source] {
      defer { sources = [:] }
      return Array(sources.values)
    }
  }

  private let limit: Int
  private let downstream: Demand?
  private let state = Locked(State())

  /// - Parameters:
  ///   - limit: How many values may wait to be consumed.
  ///   - downstream: The demand for what is made of the values.
  init(limit: Int, downstream: Demand? = nil) {
    self.limit = limit
    self.downstream = downstream
  }

  /// Starts part of a run later than the run, on any thread.
  ///
  /// - Parameter demand: The value of ``current`` when the run was started. Nil takes the place of
  ///   the demand of whatever starts it now.
  @inline(__always)
  static func with<Result>(_ demand: Demand?, start: () -> Result) -> Result {
    guard let demand else { return withNone(start: start) }
    return $current.withValue(demand, operation: start)
  }

  /// Starts a run that waits for no consumer: one that several share, as then it would wait for the
  /// slowest, or one that has nothing to do with the start under way.
  static func withNone<Result>(start: () -> Result) -> Result {
    if current == nil { return start() }
    return $current.withValue(nil, operation: start)
  }

  // MARK: The consumer's side

  /// Notes that a value has left its source and will be consumed later.
  func hold() {
    state.withLock { $0.count += 1 }
  }

  /// Subtracts values that have been consumed or dropped.
  func release(_ count: Int) {
    let sources = state.withLock { state in
      state.count -= count
      return hasRoom(state) ? state.takeSources() : []
    }
    for source in sources { source.resume() }
  }

  /// Makes sources wait for their cancellation.
  func end() {
    state.withLock { if $0.phase == .open { $0.phase = .ended } }
  }

  /// Lets sources go on. The run must have been disposed of.
  func close() {
    let sources = state.withLock { state in
      state.phase = .closed
      return state.takeSources()
    }
    for source in sources { source.resume() }
  }

  // MARK: The sources' side

  /// Suspends until more values are wanted, or never again will be.
  func waitForRoom() async {
    repeat {
      await waitForOwnRoom()
      // Meanwhile another source may have used the room here.
      await downstream?.waitForRoom()
    } while downstream != nil && !Task.isCancelled && !state.withLock { hasRoom($0) }
  }

  private func hasRoom(_ state: borrowing State) -> Bool {
    switch state.phase {
    case .open: state.count < limit
    case .ended: false
    case .closed: true
    }
  }

  private func waitForOwnRoom() async {
    let id = state.withLock { state -> UInt64? in
      if hasRoom(state) { return nil }
      state.nextSource += 1
      return state.nextSource
    }
    guard let id else { return }
    await withTaskCancellationHandler {
      await withCheckedContinuation { (source: Source) in
        let goesOn = state.withLock { state in
          if Task.isCancelled || hasRoom(state) { return true }
          state.sources[id] = source
          return false
        }
        if goesOn { source.resume() }
      }
    } onCancel: {
      state.withLock { $0.sources.removeValue(forKey: id) }?.resume()
    }
  }
}
