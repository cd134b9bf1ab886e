import Foundation
import Synchronization

/// A thread that lasts as long as the program, for what belongs to a thread.
///
/// A process with a signal for its parent's death gets it when the thread ends that started it
/// (prctl(2), `PR_SET_PDEATHSIG`), and threads of tasks end when they have idled for some seconds.
package final class LastingThread: Sendable {
  package static let shared = LastingThread()

  private let work = Mutex<[@Sendable () -> Void]>([])
  private let count = DispatchSemaphore(value: 0)

  private init() {
    Thread.detachNewThread { [self] in
      while true {
        count.wait()
        work.withLock { $0.removeFirst() }()
      }
    }
  }

  /// Calls `body` on the thread, and returns its result.
  package func perform<Value>(_ body: @escaping () -> Value) -> Value {
    let done = DispatchSemaphore(value: 0)
    // Used by one thread at a time: the caller waits for the other.
    nonisolated(unsafe) let body = body
    nonisolated(unsafe) var result: Value?
    work.withLock {
      $0.append {
        result = body()
        done.signal()
      }
    }
    count.signal()
    done.wait()
    guard let result else { preconditionFailure("the thread has not called its work") }
    return result
  }
}
