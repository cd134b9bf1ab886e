import Essentials
import Glibc
import EventLoop

/// How long to wait before something that failed is tried again: longer each time; and whether the
/// failure is new, so that it is logged once.
struct RetryPauses {
  let shortest: TimeSpan
  private let longest: TimeSpan
  private var failureCount = 0

  init(from shortest: TimeSpan = .seconds(1), to longest: TimeSpan = .seconds(60)) {
    self.shortest = shortest
    self.longest = longest
  }

  /// It failed; the pause before the next attempt, and whether it is the first failure in a row.
  mutating func failed() -> (pause: TimeSpan, isFirst: Bool) {
    defer { failureCount += 1 }
    let factor = Int64(1) << min(failureCount, 16)
    return (min(shortest * factor, longest), failureCount == 0)
  }

  /// It did not fail.
  mutating func succeeded() { failureCount = 0 }
}

extension SystemError {
  /// Whether there is too little of something just now, so that it is worth another attempt.
  var isShortage: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM, EAGAIN].contains(number) }
}
