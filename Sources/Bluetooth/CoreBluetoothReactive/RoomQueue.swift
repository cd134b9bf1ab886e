internal import CoreBluetoothAsync
internal import Synchronization

/// What waits for room in a buffer, first come first served.
final class RoomQueue: Sendable {
  private struct Item: Sendable {
    let number: UInt64
    /// Sends it; false if there is no room.
    let send: @Sendable () -> Bool
    let done: @Sendable (BluetoothError?) -> Void
  }

  private struct State: Sendable {
    var items: [Item] = []
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Sends something as soon as there is room.
  ///
  /// - Parameters:
  ///   - send: Called one at a time, in order, under a lock; returns false if there is no room.
  ///   - done: Called once it was sent, or with the error that ended the waiting.
  /// - Returns: The number by which it can be given up.
  func add(
    _ send: @escaping @Sendable () -> Bool, done: @escaping @Sendable (BluetoothError?) -> Void
  ) -> UInt64 {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.items.append(Item(number: state.lastNumber, send: send, done: done))
      return state.lastNumber
    }
    sendWaiting()
    return number
  }

  /// Gives something up that was not sent.
  func remove(_ number: UInt64) {
    let old = state.withLock { state in
      let old = state.items
      state.items.removeAll { $0.number == number }
      return old
    }
    _ = old  // Released without the lock: what it captured may end with it.
  }

  /// Sends what there is room for.
  func sendWaiting() {
    let sent = state.withLock { state in
      let count = state.items.firstIndex { !$0.send() } ?? state.items.count
      defer { state.items.removeFirst(count) }
      return state.items.prefix(count)
    }
    for item in sent { item.done(nil) }
  }

  /// Nothing will be sent any more of what waits.
  func failAll(_ error: BluetoothError) {
    let items = state.withLock { state in
      defer { state.items = [] }
      return state.items
    }
    for item in items { item.done(error) }
  }
}
