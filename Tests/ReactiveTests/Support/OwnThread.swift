import Foundation
import Reactive
import Testing

/// Reactive's `Atomic`, also for files that import Synchronization. The thread sanitizer doesn't see what a
/// `Mutex` orders when threads wait for it, which this makes up for.
typealias LockedValue<Value> = Atomic<Value>

/// Runs code on a thread that does nothing else meanwhile. Dispatch would give it one of those that
/// other tests may be blocking.
///
/// - Parameter group: Left when the work has been done and let go of.
func detach(in group: DispatchGroup? = nil, _ work: @escaping @Sendable () -> Void) {
  group?.enter()
  let worker = Worker.idle.modify { $0.popLast() } ?? Worker()
  worker.perform(work, in: group)
}

/// A thread that goes from work to work, because making one takes long under the thread sanitizer.
private final class Worker: Sendable {
  static let idle = Atomic<[Worker]>([])

  private struct Work: Sendable {
    let action: @Sendable () -> Void
    let group: DispatchGroup?
  }

  private let next = Atomic<Work?>(nil)
  private let hasWork = DispatchSemaphore(value: 0)

  init() {
    Thread.detachNewThread { [self] in while true { performNext() } }
  }

  func perform(_ action: @escaping @Sendable () -> Void, in group: DispatchGroup?) {
    next.value = Work(action: action, group: group)
    hasWork.signal()
  }

  private func performNext() {
    hasWork.wait()
    var work = next.swap(nil)
    let group = work?.group
    work?.action()
    work = nil
    Self.idle.modify { $0.append(self) }
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
  /// A suite's trait applies to its tests.
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

  private let state = Atomic(State())
  private let changes = DispatchSemaphore(value: 0)

  init() {
    detach { [self] in run() }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.modify { $0.jobs.append(job) }
    changes.signal()
  }

  /// Ends the thread when it has performed what it was given.
  func end() {
    state.modify { $0.hasEnded = true }
    changes.signal()
  }

  private func run() {
    while true {
      changes.wait()
      let (jobs, hasEnded) = state.modify { state in
        defer { state.jobs = [] }
        return (state.jobs, state.hasEnded)
      }
      for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
      if hasEnded, jobs.isEmpty { return }
    }
  }
}
