package import CoreBluetooth
internal import Synchronization

/// Values that wait for space in buffers, in order for each receiver. A lane whose buffer is full
/// delays only lanes that have a receiver in common with it.
package final class RoomQueue: Sendable {
  /// The result of sending a value.
  package enum Outcome: Sendable {
    case sent
    /// There is no space: the value waits.
    case full
    /// The value can't be sent any more.
    case failed(BluetoothError)
  }

  /// The receivers of the items of one lane. Lanes without any share no receiver with others.
  package typealias Lane = Set<UUID>

  private struct Item: Sendable {
    let number: UInt64
    let connection: Int
    let lane: Lane
    let send: @Sendable () -> Outcome
    let done: @Sendable (BluetoothError?) -> Void
  }

  private struct State: Sendable {
    var items: [UInt64: Item] = [:]
    /// The lanes that have items.
    var lanes: [Lane: Numbers] = [:]
    var lastNumber: UInt64 = 0
    /// Whether a thread sends.
    var isSending = false
    /// The lanes that had no room when they were last tried.
    var fullLanes: Set<Lane> = []
    /// Counts how often there may have been new room.
    var roomCount: UInt64 = 0

    mutating func add(_ item: Item) {
      items[item.number] = item
      lanes[item.lane, default: Numbers()].append(item.number)
    }

    mutating func take(_ number: UInt64) -> Item? {
      guard let item = items.removeValue(forKey: number) else { return nil }
      lanes[item.lane]?.remove(number)
      if lanes[item.lane]?.first == nil { lanes[item.lane] = nil }
      return item
    }

    /// The first item that there may be room for, and that overtakes none with the same receiver.
    var next: Item? {
      var passed: [Lane] = []
      for (lane, number) in lanes.compactMapValues(\.first).sorted(by: { $0.value < $1.value }) {
        let isFree = !fullLanes.contains(lane) && passed.allSatisfy { $0.isDisjoint(with: lane) }
        if isFree { return items[number] }
        passed.append(lane)
      }
      return nil
    }
  }

  /// The numbers of the items of a lane, the oldest first.
  private struct Numbers: Sendable {
    private var numbers: [UInt64] = []
    private var firstIndex = 0

    var first: UInt64? { firstIndex < numbers.count ? numbers[firstIndex] : nil }

    mutating func append(_ number: UInt64) { numbers.append(number) }

    mutating func remove(_ number: UInt64) {
      guard number == first else { return removeLater(number) }
      firstIndex += 1
      guard firstIndex * 2 > numbers.count else { return }
      numbers.removeFirst(firstIndex)
      firstIndex = 0
    }

    private mutating func removeLater(_ number: UInt64) {
      var range = firstIndex..<numbers.count
      while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
        if numbers[middle] == number {
          numbers.remove(at: middle)
          return
        }
        range = numbers[middle] < number ? middle + 1..<range.upperBound : range.lowerBound..<middle
      }
    }
  }

  private let state = Mutex(State())

  /// Creates an empty queue.
  package init() {}

  /// Sends a value as soon as there is space.
  ///
  /// - Parameters:
  ///   - connection: The number of the connection over which it would be sent, where that may end.
  ///   - lane: The receivers: the order is kept within a lane, and across lanes with a common receiver.
  ///   - send: Called by one thread at a time, in order, without a lock.
  ///   - done: Called once it was sent, or with the error that ended the waiting.
  /// - Returns: The number by which it can be given up.
  package func add(
    over connection: Int = 0, lane: Lane = [], _ send: @escaping @Sendable () -> Outcome,
    done: @escaping @Sendable (BluetoothError?) -> Void
  ) -> UInt64 {
    let number = state.withLock { state in
      state.lastNumber += 1
      state.add(
        Item(
          number: state.lastNumber, connection: connection, lane: lane, send: send, done: done))
      return state.lastNumber
    }
    sendWaiting()
    return number
  }

  /// Removes a value that was not sent. Values that waited only behind it are sent.
  ///
  /// - Returns: Whether it was still waiting; if so, its completion won't be called.
  @discardableResult
  package func remove(_ number: UInt64) -> Bool {
    // Released without the lock: what it captured may end with it.
    let item = state.withLock { $0.take(number) }
    guard item != nil else { return false }
    sendWaiting()
    return true
  }

  /// Sends items while there is space. Returns at once if another thread is sending.
  package func sendWaiting() {
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

  /// The next item, and how often there has been new room until now.
  private static func next(_ state: inout State) -> (Item, UInt64)? {
    let item = state.next
    state.isSending = item != nil
    return item.map { ($0, state.roomCount) }
  }

  /// Nothing will be sent any more over connections that have ended.
  ///
  /// - Parameter connection: The first one that is not over.
  package func fail(before connection: Int, _ error: BluetoothError) {
    let items = state.withLock { state in
      let numbers = state.items.values.filter { $0.connection < connection }.map(\.number)
      return numbers.sorted().compactMap { state.take($0) }
    }
    for item in items { item.done(error) }
    if !items.isEmpty { sendWaiting() }
  }
}
