import Dispatch
import Essentials
import EventLoop
import StateFiles
import Testing

@Suite("The writer of state files", .timeLimit(.minutes(1)))
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
}
