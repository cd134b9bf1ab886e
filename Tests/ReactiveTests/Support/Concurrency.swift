import Dispatch
import Synchronization

/// Runs the given pieces of work at the same moment on threads of their own, and blocks until all are
/// through. For tests that have a thread of their own: `.ownThread`.
func race(_ work: (@Sendable () -> Void)...) {
  let waiting = Synchronization.Atomic(work.count)
  let done = DispatchGroup()
  for piece in work {
    detach(in: done) {
      waiting.wrappingSubtract(1, ordering: .acquiringAndReleasing)
      // On a busy machine the other threads may not run; then the wait ends.
      for _ in 0..<10_000 where waiting.load(ordering: .acquiring) > 0 {}
      piece()
    }
  }
  done.wait()
}

/// Lets a test wait for what happens on other threads.
struct Expectation: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream()
  }

  func fulfill() { continuation.yield() }

  /// Suspends until it has been fulfilled `count` times.
  func wait(count: Int = 1) async {
    var iterator = stream.makeAsyncIterator()
    for _ in 0..<count { await iterator.next() }
  }
}
