import Essentials

/// The queriers of all interfaces in the order of their indices, and which of them is to be woken
/// next. An event costs what the interfaces cost that it changes, however many there are.
struct InterfaceList: RandomAccessCollection, MutableCollection, ExpressibleByArrayLiteral, Sendable
{
  private var queriers: [InterfaceQuerier] = []
  private var wakes = WakeQueue<InterfaceIndex>()

  init(arrayLiteral elements: InterfaceQuerier...) {
    for querier in elements { insert(querier, at: count) }
  }

  var startIndex: Int { 0 }
  var endIndex: Int { queriers.count }

  subscript(position: Int) -> InterfaceQuerier {
    _read { yield queriers[position] }
    _modify {
      wakes.record(queriers[position].interface.index)
      yield &queriers[position]
    }
  }

  /// The position of the first interface whose index is not below this one.
  func insertionPosition(of index: InterfaceIndex) -> Int { Self.position(of: index, in: queriers) }

  private static func position(of index: InterfaceIndex, in queriers: [InterfaceQuerier]) -> Int {
    var (low, high) = (0, queriers.count)
    while low < high {
      let middle = (low + high) / 2
      if queriers[middle].interface.index < index { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func position(of index: InterfaceIndex) -> Int? {
    let position = insertionPosition(of: index)
    guard position < queriers.count, queriers[position].interface.index == index else { return nil }
    return position
  }

  mutating func insert(_ querier: InterfaceQuerier, at position: Int) {
    queriers.insert(querier, at: position)
    wakes.record(querier.interface.index)
  }

  mutating func remove(at position: Int) -> InterfaceQuerier {
    let gone = queriers.remove(at: position)
    wakes.forget(gone.interface.index)
    return gone
  }

  /// When the first of them is due, as of the last call of ``settle()``.
  var nextWake: Instant? { wakes.next }

  /// Brings ``nextWake`` up to date.
  mutating func settle() {
    let queriers = queriers
    wakes.settle { index in
      let position = Self.position(of: index, in: queriers)
      assert(queriers[position].interface.index == index, "\(index) is gone, and would be woken")
      return queriers[position].nextWake
    }
  }

  /// The interfaces that are due at `now`, in their order.
  mutating func takeDue(now: Instant) -> [InterfaceIndex] {
    settle()
    return wakes.takeDue(now: now).sorted()
  }
}
