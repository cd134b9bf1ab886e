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
    let key = HubTimer.Key()
    let real = loop.makeTimer { [clock] in
      clock.hasFired(key)
      onFire()
    }
    return HubTimer(key: key, clock: clock, real: real, onFire: onFire)
  }
}

/// The clock of a hub's radio, with the timers that wait for it.
final class HubClock: @unchecked Sendable {
  // Sendable because state in a `Mutex` has a lock of its own, and everything else is used on the loop only.
  private struct Entry {
    var timer: HubTimer
    var time: Instant
    var order: UInt64
  }

  private let virtual = Mutex<Instant?>(nil)
  /// All timers that wait, also those of real time: the next hub may have virtual time.
  private var entries: [ObjectIdentifier: Entry] = [:]
  private var lastOrder: UInt64 = 0
  /// Called when a timer is set for virtual time that has come. Nothing fires before it returns.
  var onDue: (() -> Void)?

  /// The virtual time: that of the last thing that came from the hub; nil where its time is the wall's. From any thread.
  var virtualNow: Instant? { virtual.withLock { $0 } }
  var now: Instant { virtualNow ?? .now }

  // MARK: On the loop

  /// When the first timer is due that waits for virtual time.
  var firstTimer: Instant? { virtualNow == nil ? nil : entries.values.map(\.time).min() }

  /// Whether a timer is due by virtual time.
  var hasDue: Bool {
    guard let virtualNow else { return false }
    return entries.values.contains { $0.time <= virtualNow }
  }

  /// The timers that are set so far have orders up to this.
  var currentOrder: UInt64 { lastOrder }

  /// The hub has this virtual time.
  func advance(to time: Instant) {
    if virtualNow == nil {
      rebase(from: .now, to: time)
      for entry in entries.values { entry.timer.real.cancel() }
    }
    virtual.withLock { $0 = time }
  }

  /// Takes the first timer that is due by virtual time and was set with an order up to one. One timer is taken at a time,
  /// because it may cancel the next.
  func takeFirstDue(upTo order: UInt64) -> HubTimer? {
    guard let virtualNow else { return nil }
    let first = entries.values.filter { $0.time <= virtualNow && $0.order <= order }
      .min { ($0.time, $0.order) < ($1.time, $1.order) }
    guard let first else { return nil }
    entries[first.timer.id] = nil
    return first.timer
  }

  /// The hub's time is the wall's, or the hub is gone: what waited for virtual time waits as long by the wall's clock.
  func becomeReal() {
    guard let virtualNow else { return }
    virtual.withLock { $0 = nil }
    rebase(from: virtualNow, to: .now)
    for entry in entries.values.sorted(by: { $0.order < $1.order }) {
      entry.timer.real.set(entry.time)
    }
  }

  private func rebase(from old: Instant, to new: Instant) {
    for (id, entry) in entries { entries[id]?.time = new + max(.zero, entry.time - old) }
  }

  fileprivate func set(_ timer: HubTimer, _ time: Instant) {
    let virtualNow = virtualNow
    lastOrder += 1
    entries[timer.id] = Entry(
      timer: timer, time: max(time, virtualNow ?? time), order: lastOrder)
    guard let virtualNow else { return timer.real.set(time) }
    if time <= virtualNow { onDue?() }
  }

  fileprivate func cancel(_ timer: HubTimer) {
    entries[timer.id] = nil
    timer.real.cancel()
  }

  /// A timer fires by the wall's clock.
  fileprivate func hasFired(_ key: HubTimer.Key) { entries[ObjectIdentifier(key)] = nil }
}

/// A timer of a session's loop. Used on that loop only.
final class HubTimer: LoopTimer, @unchecked Sendable {
  // Sendable because it is constant.

  /// The identity of a timer, as long as it may fire.
  fileprivate final class Key: Sendable {}

  private let key: Key
  private let clock: HubClock
  fileprivate let real: any LoopTimer
  let onFire: @Sendable () -> Void

  fileprivate init(
    key: Key, clock: HubClock, real: any LoopTimer, onFire: @escaping @Sendable () -> Void
  ) {
    self.key = key
    self.clock = clock
    self.real = real
    self.onFire = onFire
  }

  fileprivate var id: ObjectIdentifier { ObjectIdentifier(key) }

  func set(_ time: Instant) { clock.set(self, time) }
  func cancel() { clock.cancel(self) }
}
