internal import FoundationEssentials

/// The actions that a scheduler has to perform, by date: a binary heap, stable for equal dates.
struct TimerQueue {
  /// When it is the turn of an action.
  struct Turn: Equatable {
    var date: Date
    fileprivate var sequence: UInt64

    fileprivate func isBefore(_ other: Turn) -> Bool {
      date == other.date ? sequence < other.sequence : date < other.date
    }
  }

  private struct Entry {
    /// That of the action, or an earlier one that it has been postponed from.
    var turn: Turn
    var action: ScheduledAction
  }

  private var heap: [Entry] = []
  private var nextSequence: UInt64 = 0
  /// The size at which cancelled entries are looked for. It is twice what the last look left, so
  /// looking costs a constant per insertion and cancelled entries are at most half of all.
  private var sweepSize = 64

  /// The date of the earliest work, which may have been cancelled or postponed.
  var firstDate: Date? { heap.first?.turn.date }

  mutating func insert(_ action: ScheduledAction, at date: Date) {
    if heap.count >= sweepSize { sweep() }
    heap.append(Entry(turn: assignTurn(to: action, at: date), action: action))
    siftUp(from: heap.count - 1)
  }

  /// Gives work that waits a turn that is not earlier, the same as if it were inserted now.
  ///
  /// - Returns: Whether it waits.
  mutating func postpone(_ action: ScheduledAction, to date: Date) -> Bool {
    guard let turn = action.turn, turn.date <= date, !action.isDisposed else { return false }
    // Its entry moves when it has become the earliest.
    _ = assignTurn(to: action, at: date)
    return true
  }

  private mutating func assignTurn(to action: ScheduledAction, at date: Date) -> Turn {
    let turn = Turn(date: date, sequence: nextSequence)
    nextSequence += 1
    action.turn = turn
    return turn
  }

  /// The earliest work, if it is due by `date` and wasn't cancelled.
  mutating func takeFirst(upTo date: Date) -> (date: Date, action: ScheduledAction)? {
    while let first = heap.first, first.turn.date <= date {
      if let turn = first.action.turn, turn != first.turn, !first.action.isDisposed {
        heap[0].turn = turn
        siftDown(from: 0)
        continue
      }
      heap.swapAt(0, heap.count - 1)
      heap.removeLast()
      siftDown(from: 0)
      first.action.turn = nil
      if !first.action.isDisposed { return (first.turn.date, first.action) }
    }
    return nil
  }

  private mutating func sweep() {
    heap.removeAll { $0.action.isDisposed }
    heap.sort { $0.turn.isBefore($1.turn) }
    sweepSize = max(64, heap.count * 2)
  }

  private mutating func siftUp(from start: Int) {
    var child = start
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].turn.isBefore(heap[parent].turn) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func siftDown(from start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < heap.count && heap[child].turn.isBefore(heap[least].turn) {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(least, parent)
      parent = least
    }
  }
}

/// A scheduler in which work that waits can be postponed.
protocol PostponingScheduler: DateScheduler {
  /// Has work performed at `date`, not earlier than it was, in the order as if it were scheduled now.
  ///
  /// - Parameter work: What this scheduler returned.
  /// - Returns: Whether it waits.
  func postpone(_ work: ScheduledAction, to date: Date) -> Bool
}
