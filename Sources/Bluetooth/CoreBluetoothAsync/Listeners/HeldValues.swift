internal import CoreBluetooth
internal import Synchronization

/// The newest values of a restored connection's characteristics, which wait for the first observer
/// of each.
final class HeldValues: Sendable {
  /// Values of one characteristic; more than a hub keeps. Older ones are dropped.
  static let valuesMax = 1_024

  private struct State: Sendable {
    var isHolding = false
    var values: [CBCharacteristic: [Data]] = [:]
    /// Characteristics whose values are no longer held.
    var observed: Set<CBCharacteristic> = []
  }

  private let state = Mutex(State())

  /// Holds values from now on.
  func begin() { state.withLock { $0.isHolding = true } }

  /// Drops the values; the connection has ended.
  func end() {
    let old = state.withLock { state in
      defer { state = State() }
      return state
    }
    _ = old  // Released without the lock.
  }

  /// Holds a value; false if its characteristic has observers, or had.
  func hold(_ value: Data, of characteristic: CBCharacteristic) -> Bool {
    state.withLock { state in
      guard state.isHolding, !state.observed.contains(characteristic) else { return false }
      var values = state.values[characteristic, default: []]
      state.values[characteristic] = nil  // So that the values are not copied.
      if values.count == Self.valuesMax { values.removeFirst() }
      values.append(value)
      state.values[characteristic] = values
      return true
    }
  }

  /// The held values of a characteristic, for its first observer.
  func take(_ characteristic: CBCharacteristic) -> [Data] {
    state.withLock { state in
      guard state.isHolding, state.observed.insert(characteristic).inserted else { return [] }
      return state.values.removeValue(forKey: characteristic) ?? []
    }
  }
}

/// Passes held values on before those that come meanwhile, on the manager's queue.
final class ValuesInOrder: Sendable {
  private let notify: @Sendable (Data) -> Void
  /// Values that wait for the held ones; nil once those were passed on.
  private let waiting = Mutex<[Data]?>([])

  init(_ notify: @escaping @Sendable (Data) -> Void) { self.notify = notify }

  /// Passes on a value.
  func send(_ value: Data) {
    let mustWait = waiting.withLock { waiting in
      waiting?.append(value)
      return waiting != nil
    }
    if !mustWait { notify(value) }
  }

  /// Passes on the held values, then those that have come since.
  func start(with held: [Data]) {
    var next: [Data]? = held
    while let values = next {
      for value in values { notify(value) }
      next = waiting.withLock { waiting in
        let come = waiting ?? []
        waiting = come.isEmpty ? nil : []
        return come.isEmpty ? nil : come
      }
    }
  }
}
