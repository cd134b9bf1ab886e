import CLinux
import Essentials
import Glibc
import HostEssentials

/// Notices that the machine slept and is awake again. On one event loop.
///
/// It sets a timer that never rings, to be cancelled whenever the clock on the wall jumps
/// (timerfd_create(2)), as it does when the machine wakes. So watching costs nothing: nothing is
/// asked from time to time, and a machine that could rest is not kept from it. Whether the clock was
/// only set is told by ``SleepWatch``.
final class WakeMonitor {
  private let loop: EpollLoop
  private let onWake: () -> Void
  private var watch = SleepWatch(.current)
  private var timer: WatchedDescriptor?
  private var isStopped = false

  /// How long to wait before another timer is set; what happens meanwhile is noticed then.
  private static let restartDelay = TimeSpan.milliseconds(100)

  /// - Parameters:
  ///   - loop: Where everything happens.
  ///   - onWake: Told that the machine is awake again.
  init(on loop: EpollLoop, onWake: @escaping () -> Void) {
    self.loop = loop
    self.onWake = onWake
  }

  /// Whether there is a timer to notice by.
  var isWatching: Bool { timer != nil }

  /// Starts to watch. Where there are no such timers, nothing is ever told.
  func start() {
    guard !isStopped, let descriptor = Self.openTimer() else { return }
    timer = try? WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
      self?.timerEnded()
    }
    // What happened before the timer was set, it does not tell.
    if isWatching { look() }
  }

  /// Tells nothing any more.
  func stop() {
    isStopped = true
    timer?.close()
    timer = nil
  }

  private func look() {
    if watch.slept(.current) != nil { onWake() }
  }

  /// The timer was cancelled, which used it up.
  private func timerEnded() {
    timer?.close()
    timer = nil
    look()
    guard !isStopped else { return }
    loop.schedule(in: Self.restartDelay) { [weak self] in self?.start() }
  }

  private static func openTimer() -> Int32? {
    let descriptor = timerfd_create(CLOCK_REALTIME, Int32(O_NONBLOCK | O_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    var never = itimerspec()
    never.it_value.tv_sec = 7_000_000_000  // In the year 2191.
    let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    guard unsafe timerfd_settime(descriptor, flags, &never, nil) == 0 else {
      close(descriptor)
      return nil
    }
    return descriptor
  }
}

extension SleepWatch.Reading {
  /// What the clocks say now.
  static var current: Self {
    Self(sinceBoot: time(CLOCK_BOOTTIME), awake: time(CLOCK_MONOTONIC))
  }

  private static func time(_ clock: clockid_t) -> Instant {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
