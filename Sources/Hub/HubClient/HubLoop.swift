import BluetoothInterface
import Essentials
import EventLoop

/// The loop of sessions through the hub: an epoll loop with the real, monotonic clock.
struct HubLoop: SessionLoop {
  let loop: EpollLoop

  var now: Instant { .now }
  var calendarTime: Double { CalendarTime.now }

  func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    loop.makeTimer(onFire)
  }
}
