import Reactive
import Testing

@Suite("Atomic", .ownThread)
struct AtomicTests {
  private struct Refusal: Error {}

  @Test("an atomic is read, written, swapped and modified")
  func access() {
    let atomic = Atomic(1)
    #expect(atomic.value == 1)
    atomic.value = 2
    #expect(atomic.swap(3) == 2)
    #expect(
      atomic.modify { value in
        value += 1
        return value * 10
      } == 40)
    #expect(atomic.withValue { $0 } == 4)
  }

  @Test("an error that the closure throws comes out, and the lock is free again")
  func throwing() {
    let atomic = Atomic(1)
    #expect(throws: Refusal.self) { try atomic.modify { _ in throw Refusal() } }
    #expect(throws: Refusal.self) { try atomic.withValue { _ in throw Refusal() } }
    #expect(atomic.value == 1)
  }

  @Test("no modification is lost when threads modify at once")
  func contention() {
    let atomic = Atomic(0)
    let work: @Sendable () -> Void = { for _ in 0..<10_000 { atomic.modify { $0 += 1 } } }
    race(work, work)
    #expect(atomic.value == 20_000)
  }
}
