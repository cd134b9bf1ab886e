import Essentials

/// When parts of a machine have something to do, kept for those that have changed only: the machine
/// is woken, and handles an event, without looking at all of them.
struct WakeQueue<Part: Hashable & Sendable>: Sendable {
  /// When each part wakes, as of its last change; it is queued then.
  private var wakes: [Part: Instant] = [:]
  private var queue = DeadlineQueue<Part>()
  private var changed: Set<Part> = []

  /// A part is about to be changed.
  mutating func record(_ part: Part) { changed.insert(part) }

  /// A part is gone.
  mutating func forget(_ part: Part) {
    wakes[part] = nil
    changed.remove(part)
  }

  /// When the first part wakes, as of the last call of ``settle(_:)``.
  var next: Instant? { queue.next }

  /// Takes over when the changed parts wake.
  mutating func settle(_ wake: (Part) -> Instant?) {
    for part in changed {
      let instant = wake(part)
      guard instant != wakes[part] else { continue }
      wakes[part] = instant
      if let instant { queue.insert(part, at: instant) }
    }
    changed.removeAll(keepingCapacity: true)
    while let (instant, part) = queue.first, wakes[part] != instant { queue.removeFirst() }
    guard queue.count > 2 * wakes.count + 64 else { return }
    let wakes = wakes
    queue.prune { instant, part in wakes[part] == instant }
  }

  /// The parts that are due, in any order. They count as changed.
  mutating func takeDue(now: Instant) -> [Part] {
    var due: [Part] = []
    while let (instant, part) = queue.popDue(now) {
      guard wakes[part] == instant else { continue }
      wakes[part] = nil
      changed.insert(part)
      due.append(part)
    }
    return due
  }
}
