package import BluetoothInterface
package import Essentials
package import EventLoop

/// The event loop of a host, which its clients' sessions share.
package protocol HostLoop: SessionLoop {
  /// Whether its time is virtual: it waits for clients before it advances.
  var isVirtual: Bool { get }
  /// Runs pending closures now, if they would otherwise wait until virtual time advances.
  func runPending()
  /// Called when an event was delivered to a client. Virtual time waits until the client has
  /// handled it.
  func delivered(to slot: ClientSlot)
  /// Called when a client has work that no event caused. Virtual time waits for that, too. May be
  /// called from any thread.
  func hasWork(_ slot: ClientSlot)
}

/// An epoll loop with the real, monotonic clock.
package struct RealTimeLoop: HostLoop {
  /// The epoll loop.
  package let loop: EpollLoop

  /// Creates a host loop on an epoll loop, by default the process-wide one.
  package init(_ loop: EpollLoop = .shared) { self.loop = loop }

  package var isVirtual: Bool { false }
  package var now: Instant { .now }

  package func execute(_ work: @escaping @Sendable () -> Void) { loop.execute(work) }

  package func makeTimer(onFire: @escaping @Sendable () -> Void) -> any LoopTimer {
    loop.makeTimer(onFire)
  }

  package func runPending() {}
  package func delivered(to slot: ClientSlot) {}
  package func hasWork(_ slot: ClientSlot) {}
}
