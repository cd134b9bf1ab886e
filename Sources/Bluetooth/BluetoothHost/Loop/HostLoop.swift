package import BluetoothInterface
package import Essentials
package import EventLoop

/// The loop that a host runs on, and that its clients' sessions have, too.
package protocol HostLoop: SessionLoop {
  /// Runs pending work now, where it would wait for virtual time to advance otherwise.
  func runPending()
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
