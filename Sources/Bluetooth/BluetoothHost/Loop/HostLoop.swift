import Essentials
import EventLoop
import NIOCore
import NIOPosix

/// Where a host runs: a clock, and a place where one thing happens after the other.
protocol HostLoop: Sendable {
  /// The time by this loop.
  var now: Instant { get }
  /// The calendar time in seconds since 1 January 2001, UTC. Virtual time begins on that day. From
  /// any thread.
  var calendarTime: Double { get }
  /// Runs the work soon, after what was handed over before. From any thread.
  func execute(_ work: @escaping @Sendable () -> Void)
  /// Runs what was handed over now if time stands still otherwise.
  func hurry()
  /// Makes a timer that calls `onFire` on this loop.
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer
  /// Tells that a client was told something; virtual time waits for it to deal with that.
  func delivered(to slot: ClientSlot)
  /// Tells that a client has something to do of its own: virtual time waits for that, too. From any
  /// thread.
  func hasWork(_ slot: ClientSlot)
}

/// A NIO event loop with the real, monotonic clock.
struct EventLoopClock: HostLoop {
  let eventLoop: any EventLoop
  /// Keeps the loop awake while packets follow one another closely.
  let poller: BusyPoller

  init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    poller = BusyPoller(eventLoop: eventLoop)
  }

  /// One of the process's event loops.
  static func shared() -> EventLoopClock {
    EventLoopClock(eventLoop: MultiThreadedEventLoopGroup.singleton.next())
  }

  var now: Instant { .now }

  func execute(_ work: @escaping @Sendable () -> Void) { poller.execute(work) }

  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    EventLoopTimer(eventLoop: eventLoop, onFire: onFire)
  }

  func hurry() {}
  func delivered(to slot: ClientSlot) {}
  func hasWork(_ slot: ClientSlot) {}
}
