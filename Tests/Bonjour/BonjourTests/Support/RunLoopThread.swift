import CoreFoundation
import Foundation

/// A thread with a run loop that runs in the default mode until the test is over.
final class RunLoopThread: @unchecked Sendable {
  // Unchecked: `loop` is set before the thread is used, and RunLoop's timers may be added anywhere.

  private(set) var loop = RunLoop.main
  private var isOver = false

  init() {
    let isReady = DispatchSemaphore(value: 0)
    let thread = Thread { [self] in
      loop = RunLoop.current
      // Something to run for.
      loop.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
      isReady.signal()
      while !isOver { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }
    thread.start()
    isReady.wait()
  }

  /// Runs something on the thread, in a mode of its loop.
  @discardableResult
  func run<Value>(
    in mode: RunLoop.Mode = .default, _ body: @escaping @Sendable () -> sending Value
  ) async -> sending Value {
    await withCheckedContinuation { continuation in
      loop.add(
        Timer(fire: .distantPast, interval: 0, repeats: false) { _ in
          continuation.resume(returning: body())
        }, forMode: mode)
    }
  }

  /// Ends the thread.
  func end() async {
    await run { [self] in
      isOver = true
      // A timer alone does not let `run(mode:before:)` return.
      CFRunLoopStop(CFRunLoopGetCurrent())
    }
  }
}
