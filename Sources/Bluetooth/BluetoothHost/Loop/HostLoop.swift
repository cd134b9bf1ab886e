package import Essentials
package import EventLoop

/// Where a host runs: a clock, and a place where one thing happens after the other.
package protocol HostLoop: Sendable {
  /// The time by this loop.
  var now: Instant { get }
  /// Runs the work soon, after work that was handed over before. From any thread.
  func execute(_ work: @escaping @Sendable () -> Void)
  /// Runs pending work now, where it would wait for virtual time to advance otherwise.
  func runPending()
  /// Makes a timer that calls `onFire` on this loop.
  func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer
  /// An event was delivered to a client; virtual time waits until the client has handled it.
  func delivered(to slot: ClientSlot)
  /// A client has work of its own; virtual time waits for that, too. From any thread.
  func hasWork(_ slot: ClientSlot)
}

/// An epoll loop with the real, monotonic clock.
package struct RealTimeLoop: HostLoop {
  /// The loop.
  package let loop: EpollLoop

  /// By default the process's one loop.
  package init(_ loop: EpollLoop = .shared) { self.loop = loop }

  package var now: Instant { .now }

  package func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

  package func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    loop.makeTimer(onFire)
  }

  package func runPending() {}
  package func delivered(to slot: ClientSlot) {}
  package func hasWork(_ slot: ClientSlot) {}
}
