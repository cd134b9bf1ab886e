import EventLoop
import Testing

@Suite("A lock of several objects")
struct SharedLockTests {
  /// Two numbers that change together.
  private final class Pair: @unchecked Sendable {
    // Unchecked: the numbers are guarded by `lock`.
    let lock = SharedLock()
    var first = 0
    var second = 0
    var differenceCount = 0
  }

  private struct Refusal: Error, Equatable {}

  @Test("changes by several threads under the lock are made whole")
  func exclusion() async {
    let pair = Pair()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<10_000 {
            pair.lock.withLock {
              if pair.first != pair.second { pair.differenceCount += 1 }
              pair.first += 1
              pair.second += 1
            }
          }
        }
      }
    }
    #expect(pair.differenceCount == 0)
    #expect(pair.lock.withLock { pair.first } == 40_000)
  }

  @Test("an error passes through, and the lock is free after it")
  func errors() {
    let lock = SharedLock()
    #expect(throws: Refusal()) { try lock.withLock { throw Refusal() } }
    #expect(lock.withLock { 1 } == 1)
  }
}
