import Essentials
import EventLoop
import NIOCore

/// A timer of a NIO event loop, whose clock is ``Instant/now``'s.
final class EventLoopTimer: LoopTimer {
  private let eventLoop: any EventLoop
  private let onFire: @Sendable () -> Void
  private var scheduled: Scheduled<Void>?

  /// Calls `onFire` on the event loop.
  init(eventLoop: any EventLoop, onFire: @escaping @Sendable () -> Void) {
    self.eventLoop = eventLoop
    self.onFire = onFire
  }

  func set(_ time: Instant) {
    scheduled?.cancel()
    let deadline = NIODeadline.uptimeNanoseconds(UInt64(max(0, time.nanoseconds)))
    scheduled = eventLoop.scheduleTask(deadline: deadline, onFire)
  }

  func cancel() {
    scheduled?.cancel()
    scheduled = nil
  }
}
