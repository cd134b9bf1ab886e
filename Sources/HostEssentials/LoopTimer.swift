package import Essentials
package import NIOCore

/// Rings once at the time last set. Used on its loop only.
package protocol LoopTimer: AnyObject {
  /// Rings at `time` instead of any time set before; at once if that has passed.
  func set(_ time: Instant)
  /// Rings no more.
  func cancel()
}

extension Instant {
  /// The time by the event loops' clock, which is monotonic: the only clock of the hosts.
  package static var now: Instant {
    Instant(nanoseconds: Int64(NIODeadline.now().uptimeNanoseconds))
  }
}

/// A timer of a NIO event loop.
package final class EventLoopTimer: LoopTimer {
  private let eventLoop: any EventLoop
  private let onFire: @Sendable () -> Void
  private var scheduled: Scheduled<Void>?

  /// Calls `onFire` on the event loop.
  package init(eventLoop: any EventLoop, onFire: @escaping @Sendable () -> Void) {
    self.eventLoop = eventLoop
    self.onFire = onFire
  }

  package func set(_ time: Instant) {
    scheduled?.cancel()
    let deadline = NIODeadline.uptimeNanoseconds(UInt64(max(0, time.nanoseconds)))
    scheduled = eventLoop.scheduleTask(deadline: deadline, onFire)
  }

  package func cancel() {
    scheduled?.cancel()
    scheduled = nil
  }
}
