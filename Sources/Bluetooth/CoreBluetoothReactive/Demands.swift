internal import CoreBluetoothAsync
internal import Reactive
internal import Synchronization

/// What several runs demand of something that there is once: a scan, a connection, the
/// notifications of a characteristic.
final class Demands<Key: Hashable & Sendable, Demand: Sendable>: Sendable {
  private struct Entry: Sendable {
    var demands: [UInt64: Demand] = [:]
    /// Changes whenever the demands do.
    var version: UInt64 = 0
  }

  private struct State: Sendable {
    var entries: [Key: Entry] = [:]
    var lastNumber: UInt64 = 0

    mutating func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }
  }

  private let state = Mutex(State())

  /// Adds a demand, until the disposable is disposed of.
  ///
  /// - Parameter apply: Called with the demands that there are, without a lock, after each change.
  ///   It does nothing where that is the case already.
  func add(
    _ demand: Demand, for key: Key, apply: @escaping @Sendable ([Demand]) -> Void
  ) -> any Disposable {
    let number = state.withLock { state in
      let number = state.nextNumber()
      state.entries[key, default: Entry()].demands[number] = demand
      state.entries[key]?.version = number
      return number
    }
    reapply(key, apply)
    return AnyDisposable { [self] in
      state.withLock { state in
        let version = state.nextNumber()
        state.entries[key]?.demands[number] = nil
        state.entries[key]?.version = version
        if state.entries[key]?.demands.isEmpty == true { state.entries[key] = nil }
      }
      reapply(key, apply)
    }
  }

  /// Applies the demands that there are now, and again if they changed meanwhile: two threads may
  /// have applied theirs in the wrong order.
  func reapply(_ key: Key, _ apply: ([Demand]) -> Void) {
    while true {
      let entry = state.withLock { $0.entries[key] }
      apply((entry?.demands ?? [:]).sorted { $0.key < $1.key }.map(\.value))
      if state.withLock({ $0.entries[key]?.version }) == entry?.version { return }
    }
  }
}
