import Essentials

/// Timers by when they ring. There are few, and most are set again before they ring.
struct TimerList<Timer: AnyObject> {
  /// The first that rings is last; of those for one time, the first that was set.
  private var entries: [(time: Instant, timer: Timer)] = []

  var count: Int { entries.count }
  var next: Instant? { entries.last?.time }

  mutating func insert(_ timer: Timer, at time: Instant) {
    entries.insert((time, timer), at: firstIndex(notAfter: time))
  }

  mutating func remove(_ timer: Timer, at time: Instant) {
    var index = firstIndex(notAfter: time)
    while index < entries.count, entries[index].time == time {
      if entries[index].timer === timer {
        entries.remove(at: index)
        return
      }
      index += 1
    }
  }

  /// Takes the first that rings by now.
  mutating func popDue(_ now: Instant) -> Timer? {
    guard let next, next <= now else { return nil }
    return entries.removeLast().timer
  }

  private func firstIndex(notAfter time: Instant) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = low + (high - low) / 2
      if entries[middle].time > time { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
