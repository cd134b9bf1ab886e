import Essentials
import Glibc
import Synchronization
import Testing

@testable import EventLoop

@Suite("An event loop on epoll", .timeLimit(.minutes(5)))
struct EpollLoopTests {
  private let loop = EpollLoop()

  /// Does something on the loop and gives what comes of it.
  private func run<Result: Sendable>(
    _ body: @escaping @Sendable (EpollLoop) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { [loop] continuation in
      loop.execute { continuation.resume(with: .init { try body(loop) }) }
    }
  }

  /// Two sockets that are connected and do not block; the second is closed with the test.
  private final class Pair: Sendable {
    let watched: Int32
    let other: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemError.current }
      (watched, other) = (ends[0], ends[1])
    }

    func write(_ text: String) { _ = unsafe Glibc.write(other, text, text.utf8.count) }
    deinit { close(other) }
  }

  private static func read(_ descriptor: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  @Test("jobs are done in the order in which a thread hands them over, on one thread")
  func order() async throws {
    let done = Mutex<[Int]>([])
    let threads = Mutex<Set<pthread_t>>([])
    for number in 0..<1_000 {
      loop.execute {
        done.withLock { $0.append(number) }
        _ = threads.withLock { $0.insert(pthread_self()) }
      }
    }
    try await run { _ in }
    #expect(done.withLock { $0 } == Array(0..<1_000))
    #expect(threads.withLock { $0.count } == 1)
  }

  @Test("jobs of many threads are all done, whether the loop waits or not")
  func manyThreads() async throws {
    let counter = Counter()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { [loop] in
          for _ in 0..<2_000 {
            loop.execute { counter.count.withLock { $0 += 1 } }
            await Task.yield()
          }
        }
      }
    }
    try await run { _ in }
    #expect(counter.count.withLock { $0 } == 16_000)
  }

  private final class Counter: Sendable { let count = Mutex(0) }

  @Test("the loop's thread takes no signals but those that it causes itself")
  func signals() async throws {
    let isBlocked = try await run { _ in
      var mask = sigset_t()
      unsafe pthread_sigmask(SIG_SETMASK, nil, &mask)
      return [SIGUSR1, SIGTERM, SIGCHLD, SIGPIPE, SIGSEGV, SIGILL].map {
        unsafe sigismember(&mask, $0) == 1
      }
    }
    #expect(isBlocked == [true, true, true, true, false, false])
  }

  @Test("timers ring at their times and not before, those for one time as they were set")
  func timers() async throws {
    let (rings, continuation) = AsyncStream.makeStream(of: (Int, Instant).self)
    let start = Instant.now
    let spans: [Int64] = [30, 10, 20, 10]
    try await run { loop in
      for (number, span) in spans.enumerated() {
        loop.makeTimer { continuation.yield((number, .now)) }.set(start + .milliseconds(span))
      }
    }
    var numbers: [Int] = []
    for await (number, time) in rings.prefix(4) {
      #expect(time >= start + .milliseconds(spans[number]))
      numbers.append(number)
    }
    #expect(numbers == [1, 3, 2, 0])
  }

  @Test("a timer that is set again rings once, and one that is cancelled never")
  func changedTimers() async throws {
    let (rings, continuation) = AsyncStream.makeStream(of: String.self)
    try await run { loop in
      let now = Instant.now
      let cancelled = loop.makeTimer { continuation.yield("cancelled") }
      let timer = loop.makeTimer {
        cancelled.cancel()
        continuation.yield("timer")
      }
      timer.set(now + .milliseconds(1))
      timer.set(now + .milliseconds(5))
      cancelled.set(now + .milliseconds(5))
      loop.schedule(in: .milliseconds(10)) { continuation.finish() }
    }
    #expect(await Array(rings) == ["timer"])
  }

  @Test("a timer that is always set for now leaves time for everything else")
  func greedyTimer() async throws {
    let pair = try Pair()
    let (heard, continuation) = AsyncStream.makeStream(of: String?.self)
    try await run { loop in
      let timers = Greedy(loop)
      let watched = try WatchedDescriptor(owning: pair.watched, on: loop) { _ in
        continuation.yield(Self.read(pair.watched))
        timers.isEnough = true
      }
      timers.close = { watched.close() }
      timers.set()
    }
    pair.write("heard")
    #expect(await heard.first { _ in true } == "heard")
  }

  private final class Greedy {
    var isEnough = false
    var close: () -> Void = {}
    private let loop: EpollLoop

    init(_ loop: EpollLoop) { self.loop = loop }

    func set() {
      if isEnough { return close() }
      loop.schedule(in: .zero) { self.set() }
    }
  }

  @Test("input is reported until it was read, and so is its end")
  func reading() async throws {
    let (heard, continuation) = AsyncStream.makeStream(of: String?.self)
    var pair: Pair? = try Pair()
    let number = try #require(pair?.watched)
    try await run { loop in
      var watched: WatchedDescriptor?
      watched = try WatchedDescriptor(owning: number, on: loop) { readiness in
        #expect(readiness.contains(.readable))
        let text = Self.read(number)
        continuation.yield(text)
        if text == "" { watched?.close() }
      }
    }
    var iterator = heard.makeAsyncIterator()
    for text in ["one", "two"] {
      pair?.write(text)
      #expect(await iterator.next() == text)
    }
    pair = nil
    #expect(await iterator.next() == "")
  }

  @Test("a closed descriptor is not reported, even if it was ready at the same time")
  func closing() async throws {
    let (told, continuation) = AsyncStream.makeStream(of: Int.self)
    let pairs = try [Pair(), Pair()]
    try await run { loop in
      var watched: [WatchedDescriptor] = []
      for (number, pair) in pairs.enumerated() {
        watched.append(
          try WatchedDescriptor(owning: pair.watched, on: loop) { _ in
            continuation.yield(number)
            for descriptor in watched { descriptor.close() }
            #expect(watched.allSatisfy { !$0.isOpen })
            // Once the loop has told all that it saw.
            loop.schedule(in: .zero) { continuation.finish() }
          })
      }
      // Both are ready when the loop looks.
      for pair in pairs { pair.write("now") }
    }
    #expect(await Array(told).count == 1)
  }

  @Test("room for writing is reported only on request")
  func writing() async throws {
    let (told, continuation) = AsyncStream.makeStream(of: String.self)
    let pair = try Pair()
    try await run { loop in
      var watched: WatchedDescriptor?
      watched = try WatchedDescriptor(owning: pair.watched, on: loop) { readiness in
        continuation.yield(readiness == .writable ? "told" : "\(readiness)")
        watched?.close()
        continuation.finish()
      }
      loop.schedule(in: .milliseconds(2)) {
        continuation.yield("asked")
        watched?.interest = [.readable, .writable]
      }
    }
    #expect(await Array(told) == ["asked", "told"])
  }

  @Test("a descriptor that cannot be looked at is an error")
  func noDescriptor() async throws {
    await #expect(throws: SystemError(number: EBADF)) {
      try await run { loop in _ = try WatchedDescriptor(owning: -1, on: loop) { _ in } }
    }
  }

  @Test("a list of timers gives them by time, each once, whichever are set and removed")
  func list() {
    final class Timer { var time: Instant? }
    var random = SeededGenerator(seed: 7)
    var list = TimerList<Timer>()
    let timers = (0..<50).map { _ in Timer() }
    var now = Instant.zero
    for _ in 0..<5_000 {
      let timer = timers[Int.random(in: timers.indices, using: &random)]
      if let time = timer.time { list.remove(timer, at: time) }
      timer.time =
        Bool.random(using: &random) ? now + .nanoseconds(.random(in: 0...40, using: &random)) : nil
      if let time = timer.time { list.insert(timer, at: time) }
      #expect(list.next == timers.compactMap(\.time).min())
      now = now + .nanoseconds(1)
      while let due = list.popDue(now) {
        #expect(due.time.map { $0 <= now } == true)
        due.time = nil
      }
      #expect(list.count == timers.count { $0.time != nil })
    }
  }
}

extension Array {
  /// All that a stream gives until it ends.
  fileprivate init(_ stream: AsyncStream<Element>) async {
    self = []
    for await element in stream { append(element) }
  }
}
