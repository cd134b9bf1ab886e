import Dispatch
import Foundation

/// Reads standard input line by line, each when it is asked for, so that a long script is not held
/// in memory. One task at a time.
final class LineReader: Sendable {
  private let queue = DispatchQueue(label: "ambit.input")
  private let waiting = Guarded<CheckedContinuation<String?, Never>?>(nil)

  /// The next line; nil at the end of the input, and when the task is cancelled.
  func next() async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiting.update { $0 = continuation }
        guard !Task.isCancelled else { return answer(nil) }
        queue.async { [self] in answer(readLine()) }
      }
    } onCancel: {
      answer(nil)
    }
  }

  private func answer(_ line: String?) {
    let continuation = waiting.update { waiting in
      defer { waiting = nil }
      return waiting
    }
    continuation?.resume(returning: line)
  }
}
