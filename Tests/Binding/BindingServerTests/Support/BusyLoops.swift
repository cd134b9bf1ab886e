#if BindingServer
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Work that keeps the event loops of this process busy until ``stop()``, so that everything else
  /// on them waits, as on an overloaded machine.
  final class BusyLoops: Sendable {
    private let isOver = Mutex(false)

    init() {
      for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { work(on: loop) }
    }

    func stop() { isOver.withLock { $0 = true } }

    private func work(on loop: any EventLoop) {
      loop.execute { [self] in
        let end = ContinuousClock.now + .milliseconds(200)
        while ContinuousClock.now < end {}
        guard !isOver.withLock({ $0 }) else { return }
        // Not at once: a loop looks after its connections only when it has nothing else to do.
        loop.scheduleTask(in: .milliseconds(1)) { self.work(on: loop) }
      }
    }
  }
#endif
