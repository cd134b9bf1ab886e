/// Assigns items to elements. The number of elements is fixed, independent of the number of items.
///
/// An item that stays near the front keeps its element, even if its index changes because other
/// items were added or removed.
public struct CoverPool: Sendable {
  /// The index of each slot's item; nil for an empty slot.
  public private(set) var indices: [Int?]
  /// Which slots' elements show an item, as last reported by `show`.
  private var isFilled: [Bool]
  /// Which of the items in the window have a slot.
  private var isShown: [Bool]

  /// Creates a pool of `slotCount` slots, at least one.
  public init(slotCount: Int) {
    let count = max(1, slotCount)
    indices = Array(repeating: nil, count: count)
    isFilled = Array(repeating: false, count: count)
    isShown = Array(repeating: false, count: count)
  }

  /// The number of slots.
  public var slotCount: Int { indices.count }

  /// The items that have slots when `front` is at the front: as many as there are slots, or all
  /// items if there are fewer.
  public func window(front: Int, count: Int) -> Range<Int> {
    let size = min(slotCount, max(0, count))
    let start = max(0, min(front - slotCount / 2, count - size))
    return start..<start + size
  }

  /// The slot of an item.
  public func slot(of index: Int) -> Int? {
    indices.firstIndex(of: index)
  }

  /// Assigns a slot to every item of a window. Items that already have one keep it.
  ///
  /// - Parameters:
  ///   - window: At most as many items as there are slots.
  ///   - assigned: Called for each slot that has a new item.
  ///   - vacated: Called for each slot that has become empty.
  public mutating func show(
    _ window: Range<Int>, assigned: (_ slot: Int, _ index: Int) -> Void,
    vacated: (_ slot: Int) -> Void
  ) {
    precondition(window.count <= slotCount, "a window has at most as many items as there are slots")
    for place in isShown.indices { isShown[place] = false }
    for slot in indices.indices {
      guard let index = indices[slot], window.contains(index) else { continue }
      isShown[index - window.lowerBound] = true
    }
    var missing = window.lowerBound
    for slot in indices.indices {
      if let index = indices[slot], window.contains(index) { continue }
      while missing < window.upperBound, isShown[missing - window.lowerBound] { missing += 1 }
      if missing < window.upperBound {
        assert(self.slot(of: missing) == nil, "an item in the window has a slot already")
        (indices[slot], isFilled[slot]) = (missing, true)
        assigned(slot, missing)
        missing += 1
      } else {
        if isFilled[slot] { vacated(slot) }
        (indices[slot], isFilled[slot]) = (nil, false)
      }
    }
  }

  /// Gives items their new indices. Those without one lose their slots, which `show` then reports.
  ///
  /// - Parameter newIndex: The new index of an item by its old one. No two items may have the same.
  mutating func renumber(_ newIndex: (Int) -> Int?) {
    for slot in indices.indices {
      indices[slot] = indices[slot].flatMap(newIndex)
    }
  }
}
