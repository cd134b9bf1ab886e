internal import Synchronization

/// Records which indices have changed, from any thread. Calls `notify` once, at the first change
/// after ``take(count:)``.
package final class DirtySet: Sendable {
  private struct State {
    /// A bit for each index.
    var words: [UInt64]
    var isNotified: Bool
  }

  private let state: Mutex<State>
  private let notify: @Sendable () -> Void

  /// A set in which all is marked already.
  ///
  /// - Parameter notify: Called on the thread that marks the first index after ``take()``, without
  ///   a lock.
  init(count: Int, notify: @escaping @Sendable () -> Void) {
    state = Mutex(
      State(words: Array(repeating: .max, count: (count + 63) / 64), isNotified: true))
    self.notify = notify
  }

  func mark(_ index: Int) {
    let isFirst = state.withLock { state in
      state.words[index / 64] |= 1 << UInt64(index % 64)
      defer { state.isNotified = true }
      return !state.isNotified
    }
    if isFirst { notify() }
  }

  var hasMarks: Bool { state.withLock { state in state.words.contains { $0 != 0 } } }

  /// The indices below `count` that are marked, in order; none is then.
  func take(count: Int) -> [Int] {
    let words = state.withLock { state in
      defer {
        for index in state.words.indices { state.words[index] = 0 }
        state.isNotified = false
      }
      return state.words
    }
    return (0..<count).filter { words[$0 / 64] & 1 << UInt64($0 % 64) != 0 }
  }
}
