import Dispatch
import Foundation

/// Reads lines, each when one is requested, so that a long script is not held in memory. One task at a
/// time.
package final class LineReader: Sendable {
  private struct State {
    var waiting: CheckedContinuation<String?, Never>?
    /// A line is being read.
    var isReading = false
    /// A line that came when nothing waited for it any more; the end of the input is nil.
    var unclaimed: String??
  }

  private let queue = DispatchQueue(label: "ambit.input")
  private let state = Guarded(State())
  private let readLine: @Sendable () -> String?

  /// - Parameter readLine: Waits for a line; returns nil at the end of the input.
  package init(_ readLine: @escaping @Sendable () -> String?) { self.readLine = readLine }

  /// The next line; nil at the end of the input, when the task is cancelled, and after `stopWaiting`.
  package func next() async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (line, mustRead): (String??, Bool) = state.update { state in
          if let line = state.unclaimed {
            state.unclaimed = nil
            return (line, false)
          }
          state.waiting = continuation
          defer { state.isReading = true }
          return (nil, !state.isReading)
        }
        if let line { return continuation.resume(returning: line) }
        if mustRead { queue.async { [self] in read(readLine()) } }
        if Task.isCancelled { stopWaiting() }
      }
    } onCancel: {
      stopWaiting()
    }
  }

  /// Ends the pending wait, if any, with nil; its line goes to the next caller.
  func stopWaiting() {
    let continuation = state.update { state in
      defer { state.waiting = nil }
      return state.waiting
    }
    continuation?.resume(returning: nil)
  }

  private func read(_ line: String?) {
    let continuation = state.update { state in
      state.isReading = false
      defer { state.waiting = nil }
      if state.waiting == nil { state.unclaimed = .some(line) }
      return state.waiting
    }
    continuation?.resume(returning: line)
  }
}
