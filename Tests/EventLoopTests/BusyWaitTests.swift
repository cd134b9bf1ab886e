import Essentials
import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite("When polling before sleeping is worth it")
struct BusyWaitPolicyTests {
  @Test("while events are found, every opportunity is taken")
  func found() {
    var policy = BusyWaitPolicy()
    for _ in 0..<1_000 {
      let shouldPoll = policy.shouldPoll()
      #expect(shouldPoll)
      policy.polled(foundEvents: true)
    }
  }

  @Test("every attempt in vain doubles the opportunities that are skipped, up to 1,024")
  func inVain() {
    var policy = BusyWaitPolicy()
    var skips: [Int] = []
    for _ in 0..<13 {
      let shouldPoll = policy.shouldPoll()
      #expect(shouldPoll)
      policy.polled(foundEvents: false)
      skips.append(skipCount(of: policy))
      for _ in 0..<(skips.last ?? 0) { _ = policy.shouldPoll() }
    }
    #expect(skips == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_024, 1_024])
  }

  @Test("every opportunity to poll is taken again after one success")
  func successAfterAll() {
    var policy = BusyWaitPolicy()
    for _ in 0..<5 {
      policy.polled(foundEvents: false)
      while !policy.shouldPoll() {}
    }
    policy.polled(foundEvents: true)
    let shouldPoll = policy.shouldPoll()
    #expect(shouldPoll)
    policy.polled(foundEvents: false)
    #expect(skipCount(of: policy) == 1)
  }

  @Test
  func `Each attempt that loses the processor doubles what is skipped, whatever is found between`()
  {
    var policy = BusyWaitPolicy()
    var skips: [Int] = []
    for _ in 0..<11 {
      policy.lostProcessor()
      skips.append(skipCount(of: policy))
      while !policy.shouldPoll() {}
      policy.polled(foundEvents: true)
    }
    #expect(skips == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_024])
  }

  @Test func `What a loss of the processor costs is halved by every 64 successes`() {
    var policy = BusyWaitPolicy()
    for _ in 0..<6 { policy.lostProcessor() }
    for _ in 0..<(3 * 64) { policy.polled(foundEvents: true) }
    policy.lostProcessor()
    // 128 without the successes.
    #expect(skipCount(of: policy) == 16)
    for _ in 0..<(40 * 64) { policy.polled(foundEvents: true) }
    policy.lostProcessor()
    #expect(skipCount(of: policy) == 2)
  }

  @Test("an attempt that was ended early doesn't count")
  func endedEarly() {
    var policy = BusyWaitPolicy()
    policy.polled(foundEvents: nil)
    let shouldPoll = policy.shouldPoll()
    #expect(shouldPoll)
  }

  @Test func `What an event's handler enqueued is done before the poll, which is not lost for it`()
  {
    var policy = BusyWaitPolicy()
    policy.expectEvent()
    let polls = [true, true, false, false].map { policy.shouldPoll(hasWork: $0) }
    #expect(polls == [false, false, true, false])
  }

  @Test func `A poll that work ends is made again, and the next one only after another event`() {
    var policy = BusyWaitPolicy()
    for _ in 0..<3 {
      policy.expectEvent()
      var polls: [Bool] = []
      for _ in 0..<3 {
        polls.append(policy.shouldPoll(hasWork: false))
        policy.polled(foundEvents: nil)
      }
      #expect(polls == [true, true, false])
    }
  }

  @Test func `No event is expected after a poll in vain`() {
    var policy = BusyWaitPolicy()
    policy.expectEvent()
    var polls = [policy.shouldPoll(hasWork: false)]
    policy.polled(foundEvents: false)
    polls.append(policy.shouldPoll(hasWork: false))
    #expect(polls == [true, false])
  }

  private func skipCount(of policy: BusyWaitPolicy) -> Int {
    var policy = policy
    var count = 0
    while !policy.shouldPoll() { count += 1 }
    return count
  }
}

@Suite("A loop that polls before it sleeps", .timeLimit(.minutes(5)))
struct BusyWaitTests {
  /// Longer than the time limit of a test: a test that waits for the end of the polling fails.
  private static let endless = TimeSpan.seconds(600)

  @Test("bytes that come while the loop polls are read at once")
  func bytes() async throws {
    let line = try await EchoLine(busyWaitSpan: Self.endless)
    for byte in UInt8(1)...100 {
      line.send([byte])
      #expect(await line.next() == [byte])
    }
    await line.close()
  }

  @Test("a job that is handed over while the loop polls is done at once")
  func work() async throws {
    let line = try await EchoLine(busyWaitSpan: Self.endless)
    for byte in UInt8(1)...100 {
      line.send([byte])
      #expect(await line.next() == [byte])
      await withCheckedContinuation { continuation in
        line.loop.execute { continuation.resume() }
      }
    }
    await line.close()
  }

  @Test
  func `A loop whose handlers and other threads enqueue work on and on hears of its descriptors`()
    async throws
  {
    let line = try await EchoLine(busyWaitSpan: Self.endless)
    let loop = line.loop
    let isOver = Atomic(false)
    @Sendable func goOn() { if !isOver.load(ordering: .relaxed) { loop.execute { goOn() } } }
    loop.execute { goOn() }
    for byte in UInt8(1)...100 {
      line.send([byte])
      #expect(await line.next() == [byte])
    }
    isOver.store(true, ordering: .relaxed)
    await line.close()
  }

  @Test("a timer ends the polling at its time")
  func timer() async throws {
    let line = try await EchoLine(busyWaitSpan: Self.endless)
    await withCheckedContinuation { continuation in
      let loop = line.loop
      loop.execute {
        loop.schedule(in: .milliseconds(20)) { continuation.resume() }
        line.sendFromLoop([1])
      }
    }
    await line.close()
  }

  @Test("the other end's closing is reported at once")
  func otherEndCloses() async throws {
    let line = try await EchoLine(busyWaitSpan: Self.endless)
    line.send([1])
    #expect(await line.next() == [1])
    line.closeOtherEnd()
    #expect(await line.next() == nil)
  }

  @Test("polling in vain ends, and the loop sleeps")
  func inVain() async throws {
    let line = try await EchoLine(busyWaitSpan: .microseconds(50))
    line.send([1])
    #expect(await line.next() == [1])
    // A timer would end the polling; that it fires shows that the loop waits for it.
    await withCheckedContinuation { continuation in
      let loop = line.loop
      loop.execute { loop.schedule(in: .milliseconds(5)) { continuation.resume() } }
    }
    await line.close()
  }
}

/// A channel of a loop that polls after every byte, and the other end of its socket.
final class EchoLine: Sendable {
  let loop: EpollLoop
  private let channel: LoopConfined<ByteChannel>
  private let otherEnd: Int32
  private let portions: AsyncStream<[UInt8]>

  init(busyWaitSpan: TimeSpan = .zero) async throws {
    let ends = try SocketPair.make()
    otherEnd = ends.other
    let loop = EpollLoop(busyWaitSpan: busyWaitSpan)
    let (portions, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    channel = try await withCheckedThrowingContinuation { result in
      loop.execute {
        result.resume(
          with: .init {
            LoopConfined(
              try ByteChannel(
                owning: ends.watched, on: loop, expectsPromptEvents: true,
                onRead: { continuation.yield($0) }, onEnd: { _ in continuation.finish() }),
              to: loop)
          })
      }
    }
    self.loop = loop
    self.portions = portions
  }

  func send(_ bytes: [UInt8]) {
    let count = unsafe write(otherEnd, bytes, bytes.count)
    #expect(count == bytes.count)
  }

  func sendFromLoop(_ bytes: [UInt8]) { send(bytes) }

  func next() async -> [UInt8]? { await portions.first { _ in true } }

  func closeOtherEnd() { _ = Glibc.close(otherEnd) }

  func close() async {
    await withCheckedContinuation { continuation in
      loop.execute { [channel] in
        channel.value.close()
        continuation.resume()
      }
    }
    closeOtherEnd()
  }
}

/// Two connected sockets that don't block.
enum SocketPair {
  static func make() throws(SystemError) -> (watched: Int32, other: Int32) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw .current }
    return (ends[0], ends[1])
  }
}
