import BluetoothInterface
import Essentials
import EventLoop
import Synchronization

/// The loop of sessions through the hub: an epoll loop with the clock of the hub's radio. That is the wall's, real and
/// monotonic, except where the radio's time is virtual.
struct HubLoop: SessionLoop {
  let loop: EpollLoop
  let clock: HubClock

  var now: Instant { clock.now }
  // Virtual time begins in 2001.
  var calendarTime: Double { clock.virtualNow.map { ($0 - .zero).seconds } ?? CalendarTime.now }

  func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    HubTimer(clock: clock, real: loop.makeTimer(onFire), onFire: onFire)
  }
}

/// The clock of a hub's radio, with the timers that wait for virtual time.
final class HubClock: @unchecked Sendable {
  // Sendable because state in a `Mutex` has a lock of its own, and the timers are used on the loop only.
  private struct Entry {
    var timer: HubTimer
    var time: Instant
    var order: UInt64
  }

  private let virtual = Mutex<Instant?>(nil)
  private var entries: [ObjectIdentifier: Entry] = [:]
  private var lastOrder: UInt64 = 0
  /// Whether timers that wait for real time are noted, since the hub may have virtual time: before the first answer.
  private var isUndecided = true

  /// The virtual time: that of the last thing that came from the hub; nil where its time is the wall's. From any thread.
  var virtualNow: Instant? { virtual.withLock { $0 } }
  var now: Instant { virtualNow ?? .now }

  /// When the first timer is due that waits for virtual time.
  var firstTimer: Instant? { virtualNow == nil ? nil : entries.values.map(\.time).min() }

  // MARK: On the loop

  /// The hub has this virtual time. Returns the timers that are due, in the order of their times.
  func advance(to time: Instant) -> [HubTimer] {
    if virtualNow == nil {
      let now = Instant.now
      // Those that are due have fired, or do so next.
      entries = entries.filter { $0.value.time > now }
      rebase(from: now, to: time)
      for entry in entries.values { entry.timer.real.cancel() }
    }
    isUndecided = false
    virtual.withLock { $0 = time }
    let due = entries.values.filter { $0.time <= time }.sorted {
      ($0.time, $0.order) < ($1.time, $1.order)
    }
    for entry in due { entries[ObjectIdentifier(entry.timer)] = nil }
    return due.map(\.timer)
  }

  /// The hub's time is the wall's, or the hub is gone: what waited for virtual time waits as long by the wall's clock.
  func becomeReal() {
    if let virtualNow {
      virtual.withLock { $0 = nil }
      rebase(from: virtualNow, to: .now)
      for entry in entries.values { entry.timer.real.set(entry.time) }
    }
    entries = [:]
    isUndecided = false
  }

  private func rebase(from old: Instant, to new: Instant) {
    for (id, entry) in entries { entries[id]?.time = new + max(.zero, entry.time - old) }
  }

  fileprivate func set(_ timer: HubTimer, _ time: Instant) {
    let isVirtual = virtualNow != nil
    if isVirtual || isUndecided {
      lastOrder += 1
      entries[ObjectIdentifier(timer)] = Entry(timer: timer, time: time, order: lastOrder)
    }
    if !isVirtual { timer.real.set(time) }
  }

  fileprivate func cancel(_ timer: HubTimer) {
    entries[ObjectIdentifier(timer)] = nil
    timer.real.cancel()
  }
}

/// A timer of a session's loop. Used on that loop only.
final class HubTimer: LoopTimer, @unchecked Sendable {
  // Sendable because it is constant.
  private let clock: HubClock
  fileprivate let real: any LoopTimer
  let onFire: @Sendable () -> Void

  fileprivate init(clock: HubClock, real: any LoopTimer, onFire: @escaping @Sendable () -> Void) {
    self.clock = clock
    self.real = real
    self.onFire = onFire
  }

  func set(_ time: Instant) { clock.set(self, time) }
  func cancel() { clock.cancel(self) }
}
