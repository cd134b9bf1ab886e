/// The difference between two orders of keys, as changes that a page performs one after the other
/// on its elements.
package enum KeyedDifference {
  package enum Change: Hashable, Sendable {
    case remove(String)
    /// Puts a new key before another one, or at the end.
    case insert(String, before: String?)
    /// Moves an existing key before another one, or to the end.
    case move(String, before: String?)
  }

  /// The minimum number of changes: elements that stay in order aren't moved.
  ///
  /// No key may occur twice in either order. Takes O(n log n) time.
  package static func changes(from old: [String], to new: [String]) -> [Change] {
    let oldIndices = Dictionary(old.enumerated().map { ($1, $0) }) { first, _ in first }
    let newKeys = Set(new)
    assert(oldIndices.count == old.count && newKeys.count == new.count, "a key occurs twice")
    var changes: [Change] = old.filter { !newKeys.contains($0) }.map { .remove($0) }
    let staying = longestIncreasing(new.map { oldIndices[$0] ?? -1 })
    // From the end, so that what a key is put before is in its place already.
    var next: String?
    for (index, key) in new.enumerated().reversed() {
      if oldIndices[key] == nil {
        changes.append(.insert(key, before: next))
      } else if !staying[index] {
        changes.append(.move(key, before: next))
      }
      next = key
    }
    return changes
  }

  /// Marks the elements of the longest increasing subsequence; those below zero belong to none.
  private static func longestIncreasing(_ numbers: [Int]) -> [Bool] {
    // Where the best subsequence of each length ends, and what comes before each element in it.
    var ends: [Int] = []
    var previous = [Int](repeating: -1, count: numbers.count)
    for (index, number) in numbers.enumerated() where number >= 0 {
      if let last = ends.last, numbers[last] >= number {
        var (low, high) = (0, ends.count - 1)
        while low < high {
          let middle = (low + high) / 2
          if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
        }
        if low > 0 { previous[index] = ends[low - 1] }
        ends[low] = index
      } else {
        previous[index] = ends.last ?? -1
        ends.append(index)
      }
    }
    var isStaying = [Bool](repeating: false, count: numbers.count)
    var index = ends.last ?? -1
    while index >= 0 {
      isStaying[index] = true
      index = previous[index]
    }
    return isStaying
  }
}
