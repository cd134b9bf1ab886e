import CLinux
import Essentials
import Glibc
import EventLoop

/// Detects that the machine slept and is awake again. On one event loop.
///
/// It sets a timer far in the future that is cancelled whenever the wall clock jumps
/// (timerfd_create(2)), as it does when the machine wakes. So it costs nothing while nothing
/// happens. ``SleepWatch`` determines whether the clock was only set.
final class WakeMonitor {
  private let loop: EpollLoop
  private let openTimer: () throws(SystemError) -> Int32
  private let onTrouble: (SystemError) -> Void
  private let onWake: () -> Void
  private var pauses: RetryPauses
  private var watch = SleepWatch(.current)
  private var timer: WatchedDescriptor?
  private var isStopped = false

  /// How long to wait before another timer is set; what happens meanwhile is detected then.
  private static let restartDelay = TimeSpan.milliseconds(100)

  /// - Parameters:
  ///   - loop: The event loop of everything here.
  ///   - pauses: How long to wait where no timer can be opened now.
  ///   - openTimer: Returns the descriptor of a timer.
  ///   - onTrouble: Called once with the error; after a shortage, it is tried again.
  ///   - onWake: Called when the machine is awake again.
  init(
    on loop: EpollLoop, pauses: RetryPauses = RetryPauses(),
    openTimer: @escaping () throws(SystemError) -> Int32 = WakeMonitor.openSystemTimer,
    onTrouble: @escaping (SystemError) -> Void = { _ in }, onWake: @escaping () -> Void
  ) {
    self.loop = loop
    self.pauses = pauses
    self.openTimer = openTimer
    self.onTrouble = onTrouble
    self.onWake = onWake
  }

  /// Whether there is a timer.
  var isWatching: Bool { timer != nil }

  /// Starts to watch. On systems without such timers, nothing is ever reported.
  func start() {
    guard !isStopped else { return }
    do throws(SystemError) {
      timer = try WatchedDescriptor(owning: try openTimer(), on: loop) { [weak self] _ in
        self?.timerEnded()
      }
    } catch { return failed(error) }
    pauses.succeeded()
    // The timer does not report what happened before it was set.
    look()
  }

  private func failed(_ error: SystemError) {
    let (pause, isFirst) = pauses.failed()
    if isFirst { onTrouble(error) }
    if error.isShortage { start(in: pause) }
  }

  private func start(in pause: TimeSpan) {
    loop.schedule(in: pause) { [weak self] in self?.start() }
  }

  /// Ends. No callback is called afterwards.
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
    if !isStopped { start(in: Self.restartDelay) }
  }

  /// How often a timer is set again after its setting was cancelled.
  private static let settingCountMax = 10

  /// A timer as described above.
  static func openSystemTimer() throws(SystemError) -> Int32 {
    let descriptor = timerfd_create(CLOCK_REALTIME, Int32(O_NONBLOCK | O_CLOEXEC))
    guard descriptor >= 0 else { throw .current }
    var never = itimerspec()
    never.it_value.tv_sec = 7_000_000_000  // In the year 2191.
    let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    // While the clock is being set it may be cancelled at once.
    for _ in 0..<settingCountMax {
      if unsafe timerfd_settime(descriptor, flags, &never, nil) == 0 { return descriptor }
      guard errno == ECANCELED else { break }
    }
    let error = SystemError.current
    close(descriptor)
    throw error
  }
}

extension SleepWatch.Reading {
  /// The current times.
  static var current: Self {
    Self(sinceBoot: time(CLOCK_BOOTTIME), awake: time(CLOCK_MONOTONIC))
  }

  private static func time(_ clock: clockid_t) -> Instant {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }
}
