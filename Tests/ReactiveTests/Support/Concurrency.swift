import Dispatch
import Synchronization

/// Runs the given pieces of work at the same moment on threads of their own, and waits for all.
func race(_ work: (@Sendable () -> Void)...) {
  let waiting = Synchronization.Atomic(work.count)
  DispatchQueue.concurrentPerform(iterations: work.count) { index in
    waiting.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    // On a busy machine one thread may run everything; then there is nobody to wait for.
    for _ in 0..<10_000 where waiting.load(ordering: .acquiring) > 0 {}
    work[index]()
  }
}
