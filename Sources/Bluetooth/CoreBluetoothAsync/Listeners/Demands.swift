package import RunLoopSupport
internal import Synchronization

/// What several streams and runs demand of a resource that they share: the scan of a manager, the
/// connection of a peripheral, the advertising of a manager.
package final class Demands<Key: Hashable & Sendable, Demand: Sendable>: Sendable {
  private struct Entry: Sendable {
    var demands: [UInt64: Demand] = [:]
    /// Whether a thread applies them.
    var isApplying = false
    /// Whether they changed since they were applied last.
    var isChanged = false
  }

  private struct State: Sendable {
    var entries: [Key: Entry] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Creates an object without demands.
  package init() {}

  /// Adds a demand, until the registration is cancelled.
  ///
  /// - Parameter apply: Called with the current demands, without a lock and by one thread at a
  ///   time, after each change. It must do nothing if they are already satisfied.
  package func add(
    _ demand: Demand, for key: Key, apply: @escaping @Sendable ([Demand]) -> Void
  ) -> ListenerRegistration {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.entries[key, default: Entry()].demands[state.lastNumber] = demand
      return state.lastNumber
    }
    changed(key, apply)
    return ListenerRegistration { [self] in
      state.withLock { _ = $0.entries[key]?.demands.removeValue(forKey: number) }
      changed(key, apply)
    }
  }

  /// Applies the demands once more, if there are any.
  package func reapply(_ key: Key, _ apply: ([Demand]) -> Void) {
    if state.withLock({ $0.entries[key]?.demands.isEmpty == false }) { changed(key, apply) }
  }

  /// Applies the demands until they don't change any more. Returns at once if another thread is
  /// applying them: otherwise the calls of both might interleave.
  private func changed(_ key: Key, _ apply: ([Demand]) -> Void) {
    let isFirst = state.withLock { state in
      var entry = state.entries[key] ?? Entry()
      let isFirst = !entry.isApplying
      (entry.isApplying, entry.isChanged) = (true, true)
      state.entries[key] = entry
      return isFirst
    }
    guard isFirst else { return }
    while let demands = state.withLock({ Self.takeChange(of: key, in: &$0) }) { apply(demands) }
  }

  /// The demands in the order in which they were added, if they changed.
  private static func takeChange(of key: Key, in state: inout State) -> [Demand]? {
    guard var entry = state.entries[key] else { return nil }
    let isChanged = entry.isChanged
    (entry.isApplying, entry.isChanged) = (isChanged, false)
    state.entries[key] = isChanged || !entry.demands.isEmpty ? entry : nil
    return isChanged ? entry.demands.sorted { $0.key < $1.key }.map(\.value) : nil
  }
}
