import Foundation
import Synchronization
import Testing

/// Runs code on a new thread. Dispatch would give it one of those that other tests may be blocking.
///
/// - Parameter group: Left when the work has been done and let go of.
func detach(in group: DispatchGroup? = nil, _ work: @escaping @Sendable () -> Void) {
  let work = Mutex(Optional(work))
  group?.enter()
  Thread.detachNewThread {
    var taken = work.withLock { $0.take() }
    taken?()
    taken = nil
    group?.leave()
  }
}

extension Trait where Self == OwnThread {
  /// Runs each test on a thread of its own.
  static var ownThread: Self { OwnThread() }
}

/// For tests that block their thread, or keep a processor busy for long: the few threads that all tests
/// share are there for the others, and a test that waits for one of those doesn't wait for ever.
struct OwnThread: TestTrait, SuiteTrait, TestScoping {
  /// What is said of a suite is said of its tests.
  var isRecursive: Bool { true }

  @concurrent
  func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    let executor = ThreadExecutor()
    defer { executor.end() }
    try await withTaskExecutorPreference(executor) { try await function() }
  }
}

/// Performs the work of tasks on one thread.
private final class ThreadExecutor: TaskExecutor {
  private struct State: Sendable {
    var jobs: [UnownedJob] = []
    var hasEnded = false
  }

  private let state = Mutex(State())
  private let changes = DispatchSemaphore(value: 0)

  init() {
    detach { [self] in run() }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs.append(job) }
    changes.signal()
  }

  /// Ends the thread when it has performed what it was given.
  func end() {
    state.withLock { $0.hasEnded = true }
    changes.signal()
  }

  private func run() {
    while true {
      changes.wait()
      let (jobs, hasEnded) = state.withLock { state in
        defer { state.jobs = [] }
        return (state.jobs, state.hasEnded)
      }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
      if hasEnded, jobs.isEmpty { return }
    }
  }
}
