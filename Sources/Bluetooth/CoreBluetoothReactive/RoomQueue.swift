internal import CoreBluetooth
internal import CoreBluetoothAsync
internal import Synchronization

/// What waits for room in buffers: first come, first served, in each lane. A lane whose buffer is full
/// does not hold up the others.
final class RoomQueue: Sendable {
  /// What came of sending something.
  enum Outcome: Sendable {
    case sent
    /// There is no room: it waits.
    case full
    /// It can't be sent any more.
    case failed(BluetoothError)
  }

  /// The receivers of the items of one lane; empty for all that there are.
  typealias Lane = Set<UUID>

  private struct Item: Sendable {
    let number: UInt64
    let connection: Int
    let lane: Lane
    let send: @Sendable () -> Outcome
    let done: @Sendable (BluetoothError?) -> Void
  }

  private struct State: Sendable {
    var items: [Item] = []
    var lastNumber: UInt64 = 0
    /// Whether a thread sends.
    var isSending = false
    /// The lanes that had no room when they were last tried.
    var fullLanes: Set<Lane> = []
    /// Counts how often there may have been new room.
    var roomCount: UInt64 = 0

    mutating func take(_ number: UInt64) -> Item? {
      items.firstIndex { $0.number == number }.map { items.remove(at: $0) }
    }
  }

  private let state = Mutex(State())

  /// Sends something as soon as there is room.
  ///
  /// - Parameters:
  ///   - connection: The number of the connection over which it would be sent, where that may end.
  ///   - lane: What the order is kept among.
  ///   - send: Called by one thread at a time, in order, without a lock.
  ///   - done: Called once it was sent, or with the error that ended the waiting.
  /// - Returns: The number by which it can be given up.
  func add(
    over connection: Int = 0, lane: Lane = [], _ send: @escaping @Sendable () -> Outcome,
    done: @escaping @Sendable (BluetoothError?) -> Void
  ) -> UInt64 {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.items.append(
        Item(
          number: state.lastNumber, connection: connection, lane: lane, send: send, done: done))
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
      state.fullLanes = []
      state.roomCount += 1
      defer { state.isSending = true }
      return !state.isSending
    }
    guard isFirst else { return }
    while let (item, roomCount) = state.withLock({ Self.next(&$0) }) {
      switch item.send() {
      case .full:
        state.withLock { if $0.roomCount == roomCount { $0.fullLanes.insert(item.lane) } }
      case .sent: state.withLock { $0.take(item.number) }?.done(nil)
      case .failed(let error): state.withLock { $0.take(item.number) }?.done(error)
      }
    }
  }

  /// The first item that there may be room for, and how often there has been new room until now.
  private static func next(_ state: inout State) -> (Item, UInt64)? {
    let item = state.items.first { !state.fullLanes.contains($0.lane) }
    state.isSending = item != nil
    return item.map { ($0, state.roomCount) }
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
