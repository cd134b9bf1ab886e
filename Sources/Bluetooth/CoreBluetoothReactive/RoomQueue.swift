internal import CoreBluetoothAsync
internal import Synchronization

/// What waits for room in a buffer, first come first served.
final class RoomQueue: Sendable {
  /// What came of sending something.
  enum Outcome: Sendable {
    case sent
    /// There is no room: it waits.
    case full
    /// It can't be sent any more.
    case failed(BluetoothError)
  }

  private struct Item: Sendable {
    let number: UInt64
    let connection: Int
    let send: @Sendable () -> Outcome
    let done: @Sendable (BluetoothError?) -> Void
  }

  private struct State: Sendable {
    var items: [Item] = []
    var lastNumber: UInt64 = 0
    /// Whether a thread sends.
    var isSending = false
    /// Whether there may be room that was not tried.
    var mayHaveRoom = false

    mutating func take(_ number: UInt64) -> Item? {
      items.firstIndex { $0.number == number }.map { items.remove(at: $0) }
    }
  }

  private let state = Mutex(State())

  /// Sends something as soon as there is room.
  ///
  /// - Parameters:
  ///   - connection: The number of the connection over which it would be sent, where that may end.
  ///   - send: Called by one thread at a time, in order, without a lock.
  ///   - done: Called once it was sent, or with the error that ended the waiting.
  /// - Returns: The number by which it can be given up.
  func add(
    over connection: Int = 0, _ send: @escaping @Sendable () -> Outcome,
    done: @escaping @Sendable (BluetoothError?) -> Void
  ) -> UInt64 {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.items.append(
        Item(number: state.lastNumber, connection: connection, send: send, done: done))
      return state.lastNumber
    }
    sendWaiting()
    return number
  }

  /// Gives something up that was not sent.
  ///
  /// - Returns: Whether it was there; if so, its completion won't be called.
  @discardableResult
  func remove(_ number: UInt64) -> Bool {
    // Released without the lock: what it captured may end with it.
    let item = state.withLock { $0.take(number) }
    return item != nil
  }

  /// Sends items while there is space. Returns at once if another thread is sending.
  func sendWaiting() {
    let isFirst = state.withLock { state in
      defer { (state.isSending, state.mayHaveRoom) = (true, true) }
      return !state.isSending
    }
    guard isFirst else { return }
    while let item = state.withLock({ Self.next(&$0) }) {
      switch item.send() {
      case .full: continue
      case .sent: state.withLock { $0.take(item.number) }?.done(nil)
      case .failed(let error): state.withLock { $0.take(item.number) }?.done(error)
      }
      state.withLock { $0.mayHaveRoom = true }
    }
  }

  /// The first item, if there may be room for it.
  private static func next(_ state: inout State) -> Item? {
    let item = state.mayHaveRoom ? state.items.first : nil
    state.mayHaveRoom = false
    state.isSending = item != nil
    return item
  }

  /// Nothing will be sent any more over connections that have ended.
  ///
  /// - Parameter connection: The first one that is not over.
  func fail(before connection: Int, _ error: BluetoothError) {
    let items = state.withLock { state in
      let items = state.items.filter { $0.connection < connection }
      state.items.removeAll { $0.connection < connection }
      return items
    }
    for item in items { item.done(error) }
  }
}
