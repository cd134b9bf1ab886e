import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite("Watches that any thread arms", .timeLimit(.minutes(5)))
struct OneShotWatchTests {
  /// Closes a descriptor when it is released, as the owner of a socket does.
  private final class Owner: Sendable {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
  }

  private let loop = EpollLoop()

  private func makeWatch(
    _ descriptor: Int32, for readiness: Readiness = .readable
  ) -> (OneShotWatch, AsyncStream<Bool>) {
    let (reports, continuation) = AsyncStream.makeStream(of: Bool.self)
    let watch = OneShotWatch(
      descriptor, ownedBy: Owner(descriptor), for: readiness, on: loop
    ) { [loop] in continuation.yield(loop.isCurrent) }
    return (watch, reports)
  }

  /// Returns after the loop has handled all events of now.
  private func passTurns() async {
    for _ in 0..<3 {
      await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }
  }

  @Test("each arming is followed by one report on the loop, as long as the descriptor is ready")
  func reports() async throws {
    let ends = try SocketPair.make()
    defer { close(ends.other) }
    let (watch, stream) = makeWatch(ends.watched)
    var reports = stream.makeAsyncIterator()
    #expect(unsafe write(ends.other, [7], 1) == 1)
    for _ in 0..<3 {
      watch.arm()
      #expect(await reports.next() == true)
    }
    withExtendedLifetime(watch) {}
  }

  @Test("a descriptor that is ready is not reported before it is awaited")
  func unarmed() async throws {
    let ends = try SocketPair.make()
    defer { close(ends.other) }
    let count = Atomic(0)
    let watch = OneShotWatch(
      ends.watched, ownedBy: Owner(ends.watched), for: .readable, on: loop
    ) { count.add(1, ordering: .relaxed) }
    #expect(unsafe write(ends.other, [7], 1) == 1)
    await passTurns()
    #expect(count.load(ordering: .relaxed) == 0)
    watch.arm()
    while count.load(ordering: .relaxed) == 0 { await passTurns() }
    await passTurns()
    #expect(count.load(ordering: .relaxed) == 1)
  }

  @Test("a watch that was armed before becomes ready later, also by the end of its peer")
  func later() async throws {
    let ends = try SocketPair.make()
    let (watch, stream) = makeWatch(ends.watched)
    var reports = stream.makeAsyncIterator()
    watch.arm()
    await passTurns()
    #expect(unsafe write(ends.other, [7], 1) == 1)
    #expect(await reports.next() == true)
    var byte: UInt8 = 0
    #expect(unsafe read(ends.watched, &byte, 1) == 1)
    watch.arm()
    await passTurns()
    close(ends.other)
    #expect(await reports.next() == true)
    withExtendedLifetime(watch) {}
  }

  @Test("a cancelled watch reports nothing; a released one closes its descriptor")
  func cancelled() async throws {
    let ends = try SocketPair.make()
    defer { close(ends.other) }
    let count = Atomic(0)
    var watch: OneShotWatch? = OneShotWatch(
      ends.watched, ownedBy: Owner(ends.watched), for: .readable, on: loop
    ) { count.add(1, ordering: .relaxed) }
    watch?.arm()
    await passTurns()
    watch?.cancel()
    #expect(unsafe write(ends.other, [7], 1) == 1)
    watch?.arm()
    await passTurns()
    #expect(count.load(ordering: .relaxed) == 0)
    watch = nil
    await passTurns()
    #expect(unsafe send(ends.other, [7], 1, Int32(MSG_NOSIGNAL)) == -1)
  }

  @Test("a watch that each report arms anew reports every byte of a peer that waits for it")
  func rounds() async throws {
    let ends = try SocketPair.make()
    defer { close(ends.other) }
    let (watch, stream) = makeWatch(ends.watched)
    var reports = stream.makeAsyncIterator()
    for round in 0..<2_000 {
      // On one thread and then on the other, before and after the descriptor becomes ready.
      if round.isMultiple(of: 2) { watch.arm() }
      #expect(unsafe write(ends.other, [UInt8(truncatingIfNeeded: round)], 1) == 1)
      if !round.isMultiple(of: 2) { loop.execute { watch.arm() } }
      #expect(await reports.next() == true)
      var byte: UInt8 = 0
      #expect(unsafe read(ends.watched, &byte, 1) == 1)
      #expect(byte == UInt8(truncatingIfNeeded: round))
    }
  }
}
