internal import FoundationEssentials

/// The actions that a scheduler has to perform, by date: a binary heap, stable for equal dates.
struct TimerQueue {
  private struct Entry {
    var date: Date
    var sequence: UInt64
    var action: ScheduledAction

    func isBefore(_ other: Entry) -> Bool {
      date == other.date ? sequence < other.sequence : date < other.date
    }
  }

  private var heap: [Entry] = []
  private var nextSequence: UInt64 = 0
  /// The size at which cancelled entries are looked for. It is twice what the last look left, so
  /// looking costs a constant per insertion and cancelled entries are at most half of all.
  private var sweepSize = 64

  /// The date of the earliest work, which may have been cancelled.
  var firstDate: Date? { heap.first?.date }

  mutating func insert(_ action: ScheduledAction, at date: Date) {
    if heap.count >= sweepSize { sweep() }
    heap.append(Entry(date: date, sequence: nextSequence, action: action))
    nextSequence += 1
    siftUp(from: heap.count - 1)
  }

  /// The earliest work, if it is due by `date` and wasn't cancelled.
  mutating func takeFirst(upTo date: Date) -> (date: Date, action: ScheduledAction)? {
    while let first = heap.first, first.date <= date {
      heap.swapAt(0, heap.count - 1)
      heap.removeLast()
      siftDown(from: 0)
      if !first.action.isDisposed { return (first.date, first.action) }
    }
    return nil
  }

  private mutating func sweep() {
    heap.removeAll { $0.action.isDisposed }
    heap.sort { $0.isBefore($1) }
    sweepSize = max(64, heap.count * 2)
  }

  private mutating func siftUp(from start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].isBefore(heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(from start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && heap[child].isBefore(heap[least]) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(least, parent)
      parent = least
    }
  }
}
