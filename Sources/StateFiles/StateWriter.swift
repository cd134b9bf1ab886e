package import Essentials
import EventLoop
import Glibc
import Synchronization

/// Runs the writing of a state file on a thread of its own, which exists only while there is work:
/// each write may wait for the disk, and for other processes. A write that failed is tried again
/// after pauses that grow, and once more at the end
/// (docs/decisions/0180-a-failed-write-is-tried-again.md).
///
/// The owner has the content, and stays alive until it is written. All methods may be called from
/// any thread.
package final class StateWriter: Sendable {
  /// The result of a run.
  package enum Result: Sendable {
    /// Everything was written.
    case done
    /// Something remains that has to be tried again.
    case failed
  }

  /// How long the writer waits.
  package struct Times: Sendable {
    /// Before the second attempt; each further pause is twice as long.
    package var firstPause = TimeSpan.milliseconds(250)
    /// Between two attempts, at most.
    package var longestPause = TimeSpan.seconds(30)
    /// For the last attempt.
    package var end = TimeSpan.seconds(5)

    package init() {}

    /// The pause after this number of failures in a row.
    func pause(after failureCount: Int) -> TimeSpan {
      min(firstPause * (Int64(1) << min(max(failureCount - 1, 0), 16)), longestPause)
    }
  }

  /// Writes all that waits. Without `isTrying`, what failed before is left for later.
  package typealias Work = @Sendable (_ isTrying: Bool) -> Result

  private struct State {
    /// The work, until all was written.
    var work: Work?
    var isRequested = false
    var isRunning = false
    /// The pause after the last failure is over.
    var isTrying = false
    var failureCount = 0
    /// What waits for the end, with the numbers of the calls: each has a time of its own.
    var completions: [Int: @Sendable () -> Void] = [:]
    /// What waits for the next attempt only.
    var attempts: [Int: @Sendable () -> Void] = [:]
    /// The number of the last call that waits for something.
    var lastNumber = 0

    mutating func nextNumber() -> Int {
      lastNumber += 1
      return lastNumber
    }

    mutating func takeCompletions() -> [@Sendable () -> Void] {
      defer { completions = [:] }
      return takeAttempts(attempts.keys.sorted())
        + completions.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Of those, what still waits: the time of some may be over.
    mutating func takeAttempts(_ numbers: [Int]) -> [@Sendable () -> Void] {
      numbers.compactMap { attempts.removeValue(forKey: $0) }
    }
  }

  private enum Step {
    /// The numbers are of what waits for this attempt.
    case run(Work, isTrying: Bool, numbers: [Int])
    case complete([@Sendable () -> Void])
  }

  private let times: Times
  private let state = Mutex(State())

  package init(times: Times = Times()) { self.times = times }

  /// Runs the work, soon; during a pause, without trying again what failed.
  package func request(_ work: @escaping Work) {
    start { state in
      OpenWriters.add(self)
      state.work = work
      state.isRequested = true
    }
  }

  /// Calls `completion`, on any thread, when what was requested before is written, or was tried once
  /// and failed: then it is tried again without anyone waiting. It is called after the time of an end
  /// at the latest.
  package func afterAttempt(_ completion: @escaping @Sendable () -> Void) {
    let number = state.withLock { $0.nextNumber() }
    start { state in
      state.attempts[number] = completion
      state.isRequested = true
    }
    later(times.end) { writer in
      let late = writer.state.withLock { $0.attempts.removeValue(forKey: number) }
      late?()
    }
  }

  /// Tries for the last time what failed. Calls `completion`, on any thread, when that is done, or
  /// when the time for it, which is each call's own, is over.
  package func finish(_ completion: @escaping @Sendable () -> Void) {
    let number = state.withLock { $0.nextNumber() }
    start { state in
      state.completions[number] = completion
      state.isRequested = true
      state.isTrying = true
    }
    later(times.end) { writer in
      let late = writer.state.withLock { $0.completions.removeValue(forKey: number) }
      late?()
    }
  }

  private func later(_ span: TimeSpan, _ action: @escaping @Sendable (StateWriter) -> Void) {
    EpollLoop.shared.execute { [self] in
      EpollLoop.shared.schedule(in: span) { action(self) }
    }
  }

  private func start(_ change: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      change(&state)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    // If no thread can be started, the work is done here, although it may block.
    if isFirst, !DetachedThread.start({ self.run() }) { run() }
  }

  private func run() {
    while let step = next() {
      switch step {
      case .run(let work, let isTrying, let numbers):
        settle(work(isTrying), isTrying)
        let completions = state.withLock { $0.takeAttempts(numbers) }
        for completion in completions { completion() }
      case .complete(let completions): for completion in completions { completion() }
      }
    }
  }

  private func next() -> Step? {
    state.withLock { state in
      if state.isRequested, let work = state.work {
        let isTrying = state.isTrying || state.failureCount == 0
        state.isRequested = false
        state.isTrying = false
        return .run(work, isTrying: isTrying, numbers: state.attempts.keys.sorted())
      }
      state.isRequested = false
      guard state.completions.isEmpty, state.attempts.isEmpty else {
        return .complete(state.takeCompletions())
      }
      state.isRunning = false
      return nil
    }
  }

  private func settle(_ result: Result, _ wasTrying: Bool) {
    let pause = state.withLock { state -> TimeSpan? in
      if result == .done { state.failureCount = 0 } else if wasTrying { state.failureCount += 1 }
      // After the last attempt nothing is tried again.
      let isLast = !state.completions.isEmpty && wasTrying
      if isLast { state.failureCount = 0 }
      if !state.isRequested, result == .done || isLast {
        state.work = nil
        OpenWriters.remove(self)
      }
      guard result == .failed, wasTrying, !isLast else { return nil }
      return times.pause(after: state.failureCount)
    }
    guard let pause else { return }
    later(pause) { writer in
      writer.start { state in
        state.isRequested = true
        state.isTrying = true
      }
    }
  }
}

// MARK: - The end of the process

/// The writers with work that isn't done. A process that exits gives each a last attempt.
private enum OpenWriters {
  /// How long exit(3) waits for all of them, and how often it looks.
  private static let endNanoseconds = 2_000_000_000
  private static let pauseNanoseconds = 2_000_000

  /// The writers that exit(3) waits for.
  private static let left = Atomic(0)
  private static let all = Mutex<[ObjectIdentifier: StateWriter]>([:])
  private static let isWatchingExit: Bool = atexit { OpenWriters.finish() } == 0

  static func add(_ writer: StateWriter) {
    _ = isWatchingExit
    all.withLock { $0[ObjectIdentifier(writer)] = writer }
  }

  static func remove(_ writer: StateWriter) {
    all.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(writer)) }
  }

  private static func finish() {
    let writers = all.withLock { Array($0.values) }
    left.store(writers.count, ordering: .sequentiallyConsistent)
    for writer in writers {
      writer.finish { left.subtract(1, ordering: .sequentiallyConsistent) }
    }
    var waited = 0
    while left.load(ordering: .sequentiallyConsistent) > 0, waited < endNanoseconds {
      var pause = timespec(tv_sec: 0, tv_nsec: pauseNanoseconds)
      unsafe nanosleep(&pause, nil)
      waited += pauseNanoseconds
    }
  }
}
