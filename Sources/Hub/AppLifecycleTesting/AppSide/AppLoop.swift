import BluetoothInterface
import Essentials

/// The phone's time in a process of an app: that of the last thing that it was given.
struct AppLoop: SessionLoop {
  let runtime: AppRuntime

  var now: Instant { runtime.now }
  // Virtual time begins in 2001.
  var calendarTime: Double { (runtime.now - .zero).seconds }
  func execute(_ work: @escaping @Sendable () -> Void) { runtime.execute(work) }
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    runtime.makeTimer(onFire)
  }
}

/// The timers of a process, which the phone wakes.
struct AppTimers {
  private struct Entry {
    var timer: AppTimer
    var time: Instant
    var order: UInt64
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  private var lastOrder: UInt64 = 0

  /// When the next one is due.
  var first: Instant? { entries.values.map(\.time).min() }

  mutating func set(_ timer: AppTimer, _ time: Instant) {
    lastOrder += 1
    entries[ObjectIdentifier(timer)] = Entry(timer: timer, time: time, order: lastOrder)
  }

  mutating func cancel(_ timer: AppTimer) { entries[ObjectIdentifier(timer)] = nil }

  /// Takes those that are due, in the order of their times.
  mutating func take(_ now: Instant) -> [AppTimer] {
    let due = entries.values.filter { $0.time <= now }.sorted {
      ($0.time, $0.order) < ($1.time, $1.order)
    }
    for entry in due { cancel(entry.timer) }
    return due.map(\.timer)
  }
}

/// A timer of a session's loop. Used on that loop only.
final class AppTimer: LoopTimer, @unchecked Sendable {
  // Sendable because it is constant.
  private let runtime: AppRuntime
  let onFire: @Sendable () -> Void

  init(runtime: AppRuntime, onFire: @escaping @Sendable () -> Void) {
    self.runtime = runtime
    self.onFire = onFire
  }

  func set(_ time: Instant) { runtime.set(self, time) }
  func cancel() { runtime.cancel(self) }
}
