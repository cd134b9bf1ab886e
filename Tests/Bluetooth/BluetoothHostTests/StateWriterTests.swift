import Dispatch
import Essentials
import EventLoop
import StateFiles
import Synchronization
import Testing

@Suite("The writer of state files", .timeLimit(.minutes(5)))
struct StateWriterTests {
  @Test("each of two that wait for the end of a write that hangs gets all of its time")
  func twoEnds() async throws {
    var times = StateWriter.Times()
    times.end = .milliseconds(600)
    let writer = StateWriter(times: times)
    let isHeld = DispatchSemaphore(value: 0)
    writer.request { _ in
      isHeld.wait()
      return .done
    }
    let (ends, continuation) = AsyncStream.makeStream(of: Int.self)
    writer.finish { continuation.yield(1) }
    // Time that passes between the two can't be awaited.
    try await Task.sleep(for: .milliseconds(300))
    let start = Instant.now
    writer.finish { continuation.yield(2) }
    var iterator = ends.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    #expect(await iterator.next() == 2)
    #expect(Instant.now - start >= times.end)
    // A third needs no time once the write has ended.
    writer.finish { continuation.yield(3) }
    // The write, and the last attempt.
    for _ in 0..<2 { isHeld.signal() }
    #expect(await iterator.next() == 3)
  }

  @Test("what waits for an attempt goes on when it has failed, and the write is tried again")
  func failedAttempt() async {
    let writer = StateWriter()
    let attemptCount = Atomic(0)
    writer.request { isTrying in
      guard isTrying else { return .failed }
      return attemptCount.add(1, ordering: .relaxed).newValue < 2 ? .failed : .done
    }
    await withCheckedContinuation { done in writer.afterAttempt { done.resume() } }
    #expect(attemptCount.load(ordering: .relaxed) >= 1)
    await withCheckedContinuation { done in writer.finish { done.resume() } }
    #expect(attemptCount.load(ordering: .relaxed) == 2)
    // Nothing is left to wait for.
    await withCheckedContinuation { done in writer.afterAttempt { done.resume() } }
    #expect(attemptCount.load(ordering: .relaxed) == 2)
  }

  @Test("what was requested is written when what waits for the attempt goes on")
  func attempt() async {
    let writer = StateWriter()
    for number in 1...100 {
      let isWritten = Atomic(false)
      writer.request { _ in
        isWritten.store(true, ordering: .relaxed)
        return .done
      }
      await withCheckedContinuation { done in writer.afterAttempt { done.resume() } }
      let isDone = isWritten.load(ordering: .relaxed)
      #expect(isDone, "\(number)")
    }
  }

  @Test("a write that hangs holds up what waits for the attempt for the time of an end at most")
  func hangingAttempt() async {
    var times = StateWriter.Times()
    times.end = .milliseconds(50)
    let writer = StateWriter(times: times)
    let isHeld = DispatchSemaphore(value: 0)
    writer.request { _ in
      isHeld.wait()
      return .done
    }
    await withCheckedContinuation { done in writer.afterAttempt { done.resume() } }
    // The write, and the request of the attempt.
    for _ in 0..<2 { isHeld.signal() }
    await withCheckedContinuation { done in writer.finish { done.resume() } }
  }
}
