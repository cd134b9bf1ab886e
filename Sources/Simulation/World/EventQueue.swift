/// The scheduled events of the world, soonest first; events of the same instant in the order in
/// which they were scheduled.
///
/// A four-ary heap of plain entries: kinds are numbers and subjects are indices, because an
/// advertising event must not cost an allocation.
struct EventQueue {
  /// What an entry makes the world do.
  enum Kind: UInt8 {
    /// Runs the closure in slot `subject`.
    case work
    /// Lets controller `subject` perform the next command of its queue.
    case command
    /// Lets advertiser `subject` send one advertising event.
    case advertisingEvent
    /// Lets link `subject` have its next connection event.
    case connectionEvent
    /// Hands over what the links of an unpaced world have queued.
    case delivery
    /// Lets link `subject` report completed packets that waited for company.
    case completion
  }

  struct Entry {
    var nanoseconds: Int64
    var order: UInt64
    var subject: Int32
    /// Tells an entry that still counts from one whose subject has moved on.
    var token: UInt32
    var kind: Kind

    func comes(before other: Entry) -> Bool {
      nanoseconds < other.nanoseconds
        || (nanoseconds == other.nanoseconds && order < other.order)
    }
  }

  private var heap: [Entry] = []
  private var scheduledCount: UInt64 = 0

  var count: Int { heap.count }
  var nextNanoseconds: Int64? { heap.first?.nanoseconds }

  mutating func push(_ kind: Kind, at nanoseconds: Int64, subject: Int, token: UInt32 = 0) {
    let entry = Entry(
      nanoseconds: nanoseconds, order: scheduledCount, subject: Int32(subject), token: token,
      kind: kind)
    scheduledCount += 1
    heap.append(entry)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 4
      guard entry.comes(before: heap[parent]) else { break }
      heap[child] = heap[parent]
      child = parent
    }
    heap[child] = entry
  }

  /// Takes the first entry off, if it is due at `deadline` or before.
  mutating func pop(dueBy deadline: Int64) -> Entry? {
    guard let first = heap.first, first.nanoseconds <= deadline else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty { sink(last) }
    return first
  }

  private mutating func sink(_ entry: Entry) {
    let count = heap.count
    var parent = 0
    while true {
      let firstChild = 4 * parent + 1
      guard firstChild < count else { break }
      var least = firstChild
      for child in (firstChild + 1)..<max(firstChild + 1, min(firstChild + 4, count))
      where heap[child].comes(before: heap[least]) {
        least = child
      }
      guard heap[least].comes(before: entry) else { break }
      heap[parent] = heap[least]
      parent = least
    }
    heap[parent] = entry
  }
}
