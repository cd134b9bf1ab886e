import Essentials

/// Items with deadlines, the soonest first, and those with equal deadlines in the order in which they
/// were inserted: a binary heap.
///
/// An item whose deadline changes is inserted again; the caller that removes it compares the
/// instant with the current one and drops outdated items.
struct DeadlineQueue<Item: Sendable>: Sendable {
  private struct Element: Sendable {
    var instant: Instant
    /// How many were inserted before it.
    var number: UInt64
    var item: Item

    static func < (a: Element, b: Element) -> Bool {
      a.instant == b.instant ? a.number < b.number : a.instant < b.instant
    }
  }

  private var heap: [Element] = []
  private var insertedCount: UInt64 = 0

  var count: Int { heap.count }

  /// When the first item is due, also if it is out of date.
  var next: Instant? { heap.first?.instant }

  /// The first item, and when it is due.
  var first: (instant: Instant, item: Item)? { heap.first.map { ($0.instant, $0.item) } }

  /// Whether an entry matches. Looks at all of them.
  func contains(where matches: (Instant, Item) -> Bool) -> Bool {
    heap.contains { matches($0.instant, $0.item) }
  }

  mutating func insert(_ item: Item, at instant: Instant) {
    heap.append(Element(instant: instant, number: insertedCount, item: item))
    insertedCount += 1
    var index = heap.count - 1
    while index > 0 {
      let parent = (index - 1) / 2
      guard heap[index] < heap[parent] else { break }
      heap.swapAt(index, parent)
      index = parent
    }
  }

  /// Takes the first item if it is due.
  mutating func popDue(_ now: Instant) -> (instant: Instant, item: Item)? {
    guard let first, first.instant <= now else { return nil }
    removeFirst()
    return first
  }

  mutating func removeFirst() {
    guard heap.count > 1 else {
      heap.removeAll(keepingCapacity: true)
      return
    }
    let before = heap[0]
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    sift(from: 0)
    assert(before < heap[0], "a later item was first")
  }

  /// Keeps the items for which `isCurrent` returns true.
  mutating func prune(_ isCurrent: (Instant, Item) -> Bool) {
    heap.removeAll { !isCurrent($0.instant, $0.item) }
    for index in (0..<heap.count / 2).reversed() { sift(from: index) }
  }

  /// Moves an element down to where no later one is above it.
  private mutating func sift(from start: Int) {
    var index = start
    while true {
      var smallest = index
      for child in (2 * index + 1..<2 * index + 3).clamped(to: heap.indices) {
        if heap[child] < heap[smallest] { smallest = child }
      }
      guard smallest != index else { return }
      heap.swapAt(index, smallest)
      index = smallest
    }
  }
}

extension Instant {
  /// The earlier of the two that are there.
  static func earliest(_ a: Instant?, _ b: Instant?) -> Instant? {
    guard let a, let b else { return a ?? b }
    return min(a, b)
  }
}

extension Sequence {
  /// The earliest instant of the elements.
  func earliest(_ instant: (Element) -> Instant?) -> Instant? {
    reduce(nil) { .earliest($0, instant($1)) }
  }
}
