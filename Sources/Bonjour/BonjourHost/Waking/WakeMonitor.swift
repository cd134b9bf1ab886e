import CLinux
import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix

/// Notices that the machine slept and is awake again. On one event loop.
///
/// It sets a timer that never rings, to be cancelled whenever the clock on the wall jumps
/// (timerfd_create(2)), as it does when the machine wakes. So watching costs nothing: nothing is
/// asked from time to time, and a machine that could rest is not kept from it. Whether the clock was
/// only set is told by ``SleepWatch``.
final class WakeMonitor {
  private let eventLoop: any EventLoop
  private let openTimer: () throws(SystemError) -> Int32
  private let onTrouble: (SystemError) -> Void
  private let onWake: () -> Void
  private var pauses: RetryPauses
  private var watch = SleepWatch(.current)
  private var channel: (any Channel)?
  private var isStopped = false

  /// How long to wait before another timer is set; what happens meanwhile is noticed then.
  private static let restartDelay = TimeSpan.milliseconds(100)

  /// - Parameters:
  ///   - eventLoop: Where everything happens.
  ///   - pauses: How long to wait where there is no timer to be had just now.
  ///   - openTimer: Gives the descriptor of a timer.
  ///   - onTrouble: Told once why there is none; where there is a shortage, it is tried again.
  ///   - onWake: Told that the machine is awake again.
  init(
    on eventLoop: any EventLoop, pauses: RetryPauses = RetryPauses(),
    openTimer: @escaping () throws(SystemError) -> Int32 = WakeMonitor.openSystemTimer,
    onTrouble: @escaping (SystemError) -> Void = { _ in }, onWake: @escaping () -> Void
  ) {
    self.eventLoop = eventLoop
    self.pauses = pauses
    self.openTimer = openTimer
    self.onTrouble = onTrouble
    self.onWake = onWake
  }

  /// Whether there is a timer to notice by.
  var isWatching: Bool { channel != nil }

  /// Starts to watch. Where there are no such timers, nothing is ever told.
  func start() {
    guard !isStopped else { return }
    let descriptor: Int32
    do throws(SystemError) { descriptor = try openTimer() } catch { return failed(error) }
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(bound.value))
        }
      }
      .takingOwnershipOfDescriptor(input: descriptor)
      .assumeIsolated()
      .whenComplete { result in
        switch result {
        case .success(let channel): bound.value.opened(channel)
        case .failure(let error):
          close(descriptor)
          bound.value.failed(SystemError(number: (error as? IOError)?.errnoCode ?? ENOMEM))
        }
      }
  }

  private func failed(_ error: SystemError) {
    let (pause, isFirst) = pauses.failed()
    if isFirst { onTrouble(error) }
    if error.isShortage { start(in: pause) }
  }

  private func start(in pause: TimeSpan) {
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    eventLoop.scheduleTask(in: .nanoseconds(pause.nanoseconds)) { bound.value.start() }
  }

  /// Tells nothing any more.
  func stop() {
    isStopped = true
    channel?.close(promise: nil)
    channel = nil
  }

  private func opened(_ channel: any Channel) {
    guard !isStopped else { return channel.close(promise: nil) }
    self.channel = channel
    pauses.succeeded()
    // What happened before the timer was set, it does not tell.
    look()
  }

  private func look() {
    if watch.slept(.current) != nil { onWake() }
  }

  /// The timer was cancelled, which used it up.
  fileprivate func timerEnded() {
    guard !isStopped else { return }
    channel = nil
    look()
    start(in: Self.restartDelay)
  }

  /// A timer as described above.
  static func openSystemTimer() throws(SystemError) -> Int32 {
    let descriptor = timerfd_create(CLOCK_REALTIME, Int32(O_NONBLOCK | O_CLOEXEC))
    guard descriptor >= 0 else { throw .current }
    var never = itimerspec()
    never.it_value.tv_sec = 7_000_000_000  // In the year 2191.
    let flags = Int32(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    guard unsafe timerfd_settime(descriptor, flags, &never, nil) == 0 else {
      let error = SystemError.current
      close(descriptor)
      throw error
    }
    return descriptor
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let monitor: WakeMonitor

    init(_ monitor: WakeMonitor) { self.monitor = monitor }

    /// A timer that is cancelled cannot be read from.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { monitor.timerEnded() }
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
