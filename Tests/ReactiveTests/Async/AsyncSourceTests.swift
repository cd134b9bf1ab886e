import Dispatch
import Foundation
import Reactive
import Synchronization
import Testing

@Suite("Producers made of asynchronous code")
struct AsyncSourceTests {
  /// Counts up to a number, or without end, noting every element that is asked for.
  private struct Numbers: AsyncSequence, Sendable {
    var last = Int.max
    var failure: TestError?
    let pulls = Counter()

    struct Iterator: AsyncIteratorProtocol {
      var next = 1
      let numbers: Numbers

      mutating func next() async throws(TestError) -> Int? {
        try await next(isolation: nil)
      }

      mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws(TestError) -> Int? {
        numbers.pulls.increment()
        guard next <= numbers.last else {
          if let failure = numbers.failure { throw failure }
          return nil
        }
        defer { next += 1 }
        return next
      }
    }

    func makeAsyncIterator() -> Iterator { Iterator(numbers: self) }
  }

  @Test("a sequence's elements are the values, its end completion, its error the failure")
  func sequence() async throws {
    #expect(try await Numbers(last: 3).producer.collect().singleValue() == [1, 2, 3])
    let failing = SignalProducer(Numbers(last: 2, failure: .two))
    #expect(
      await failing.materialize().map(\.description).collect().lastValue() == [
        "VALUE 1", "VALUE 2", "FAILED two",
      ])
  }

  @Test("every start iterates anew")
  func anew() async throws {
    let producer = Numbers(last: 2).producer
    #expect(try await producer.repeat(2).collect().lastValue() == [1, 2, 1, 2])
  }

  @Test("interrupting the run cancels the task")
  func interruptionCancels() async {
    let cancelled = Expectation()
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    continuation.onTermination = { if case .cancelled = $0 { cancelled.fulfill() } }
    let received = Expectation()
    let disposable = stream.producer.startWithValues { _ in received.fulfill() }
    continuation.yield(1)
    await received.wait()
    disposable.dispose()
    await cancelled.wait()
  }

  @Test("a sequence without end that ignores cancellation is left", .timeLimit(.minutes(5)))
  func leaving() async throws {
    let numbers = Numbers()
    #expect(try await numbers.producer.take(first: 3).lastValue() == 3)
    var before = -1
    while numbers.pulls.value != before {
      before = numbers.pulls.value
      for _ in 0..<20 { await Task.yield() }
    }
  }

  @Test("a cancellation that is thrown is an interruption")
  func cancellationError() async {
    let ended = Expectation()
    SignalProducer<Int, any Error>(awaiting: { () async throws -> Int in
      throw CancellationError()
    }).startWithInterrupted { ended.fulfill() }
    await ended.wait()
  }

  @Test("a function's value is awaited, its error the failure")
  func function() async throws {
    #expect(await SignalProducer<Int, Never>(awaiting: { 4 }).singleValue() == 4)
    let failing = SignalProducer<Int, TestError>(awaiting: {
      () async throws(TestError) -> Int in throw .one
    })
    await #expect(throws: TestError.one) { try await failing.lastValue() }
  }

  @Test("latest cancels the sequence before", .timeLimit(.minutes(5)))
  func latest() async {
    let cancelled = Expectation()
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    continuation.onTermination = { if case .cancelled = $0 { cancelled.fulfill() } }
    let (outer, input) = Signal<SignalProducer<Int, Never>, Never>.pipe()
    let received = Expectation()
    outer.flatten(.latest).observeValues { _ in received.fulfill() }
    input.send(value: stream.producer)
    continuation.yield(1)
    await received.wait()
    input.send(value: .never)
    await cancelled.wait()
  }

  @Test(
    "a sequence under backpressure is asked for no more than there is room for",
    .timeLimit(.minutes(5)), arguments: [1, 2, 5])
  func backpressure(_ limit: Int) async throws {
    let numbers = Numbers()
    var iterator = numbers.producer.map { $0 * 2 }.filter { $0 % 4 == 0 }
      .values(buffering: .backpressure(limit)).makeAsyncIterator()
    for count in 1...50 {
      // Gives the source every chance to run ahead.
      for _ in 0..<20 { await Task.yield() }
      // Every other number passes; the one after the last that fits may have been asked for.
      #expect(numbers.pulls.value <= 2 * (count - 1 + limit))
      #expect(try await iterator.next() == 4 * count)
    }
  }

  /// Operators that deliver values later than they come.
  typealias Numeric = SignalProducer<Int, TestError>
  static let hops: [@Sendable (Numeric) -> Numeric] = [
    { $0.observe(on: QueueScheduler()) },
    { $0.observe(on: QueueScheduler()).map { $0 }.observe(on: QueueScheduler()) },
    { $0.delay(0.001, on: QueueScheduler()) },
    { $0.collect(every: .milliseconds(1), on: QueueScheduler()).flatten() },
    { $0.flatMap(.latest) { Numeric(value: $0) }.observe(on: QueueScheduler()) },
  ]

  @Test(
    "values on their way through a scheduler take room under backpressure, too",
    .timeLimit(.minutes(5)), arguments: hops.indices, [1, 4])
  func backpressureThroughHops(_ hop: Int, _ limit: Int) async throws {
    let numbers = Numbers()
    var iterator = Self.hops[hop](numbers.producer)
      .values(buffering: .backpressure(limit)).makeAsyncIterator()
    for count in 1...30 {
      for _ in 0..<20 { await Task.yield() }
      // The one after the last that fits may have been asked for.
      #expect(numbers.pulls.value <= count + limit)
      #expect(try await iterator.next() == count)
    }
  }

  /// Operators that start a source later than the run, on another thread.
  static let starters: [@Sendable (Numeric) -> Numeric] = [
    { source in Numeric(value: 0).observe(on: QueueScheduler()).flatMap(.concat) { _ in source } },
    { source in
      Numeric.never.timeout(after: 0.001, raising: .one, on: QueueScheduler())
        .flatMapError { _ in source }
    },
    { source in
      Numeric { observer, _ in QueueScheduler().schedule { observer.send(value: 0) } }
        .flatMap(.latest) { _ in source }
    },
    { $0.start(on: QueueScheduler()) },
    { Numeric.empty.observe(on: QueueScheduler()).concat($0) },
    { Numeric.empty.delay(0.001, on: QueueScheduler()).then($0) },
    { source in
      let attempts = Counter()
      return Numeric { observer, lifetime in
        attempts.increment()
        let attempt = attempts.value == 1 ? Numeric(error: .one) : source
        lifetime += attempt.start(observer)
      }
      .retry(upTo: 1, interval: 0.001, on: QueueScheduler())
    },
  ]

  @Test(
    "a source that is started later, on another thread, waits under backpressure, too",
    .timeLimit(.minutes(5)), arguments: starters.indices)
  func backpressureOfLaterStarts(_ starter: Int) async throws {
    let numbers = Numbers()
    var iterator = Self.starters[starter](numbers.producer)
      .values(buffering: .backpressure(3)).makeAsyncIterator()
    for count in 1...30 {
      for _ in 0..<20 { await Task.yield() }
      #expect(numbers.pulls.value <= count + 3)
      #expect(try await iterator.next() == count)
    }
  }

  @Test("a function that sends waits until its value is wanted", .timeLimit(.minutes(5)))
  func sending() async {
    let log = Log<String>()
    let producer = SignalProducer<Int, Never>(sending: { input in
      for value in 1...3 {
        await input.send(value)
        log.append("sent \(value)")
      }
    })
    var iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
    while log.entries.isEmpty { await Task.yield() }
    for _ in 0..<100 { await Task.yield() }
    #expect(log.entries == ["sent 1"])
    #expect(await iterator.next() == 1)
    while log.entries.count < 2 { await Task.yield() }
    for _ in 0..<100 { await Task.yield() }
    #expect(log.entries == ["sent 1", "sent 2"])
    #expect(await iterator.next() == 2)
    #expect(await iterator.next() == 3)
    #expect(await iterator.next() == nil)
  }

  @Test("nothing waits without backpressure")
  func noBackpressure() async throws {
    let values = try await Numbers(last: 1_000).producer.collect().lastValue()
    #expect(values == Array(1...1_000))
  }

  @Test("sources behind flatMap wait, too", .timeLimit(.minutes(5)))
  func backpressureOfInner() async throws {
    let inner = Numbers()
    let producer = Numbers(last: 2).producer
      .flatMap(.concat) { _ in inner.producer.take(first: 10) }
    var iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
    for count in 1...20 {
      for _ in 0..<20 { await Task.yield() }
      #expect(inner.pulls.value <= count + 1)
      #expect(try await iterator.next() != nil)
    }
    #expect(try await iterator.next() == nil)
  }

  @Test("a source of which nothing passes doesn't hold up the others", .timeLimit(.minutes(5)))
  func silentSource() async throws {
    let silent = Numbers(last: 100).producer.filter { _ in false }
    let producer = SignalProducer.merge(silent, Numbers(last: 100).producer, silent)
    var iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
    var count = 0
    while try await iterator.next() != nil { count += 1 }
    #expect(count == 100)
  }

  @Test(
    "a source that waits makes nothing more when its run is over", .timeLimit(.minutes(5)),
    arguments: 0..<4)
  func stopsAtOnce(_ way: Int) async {
    for _ in 0..<100 {
      let (made, ended) = (Counter(), Expectation())
      let source = Numeric(sending: { input in
        while !Task.isCancelled {
          made.increment()
          await input.send(made.value)
        }
        ended.fulfill()
      })
      do {
        let ways: [@Sendable (Numeric) -> Numeric] = [
          { $0 }, { $0.observe(on: QueueScheduler()) }, { $0.delay(1, on: QueueScheduler()) },
          { $0.start(on: QueueScheduler()) },
        ]
        let iterator = ways[way](source)
          .values(buffering: .backpressure(2)).makeAsyncIterator()
        while made.value < 3 { await Task.yield() }
        withExtendedLifetime(iterator) {}
      }
      await ended.wait()
      #expect(made.value == 3)
    }
  }

  @Test(
    "values that are dropped at the end of a run make no room for its source",
    .timeLimit(.minutes(5)))
  func droppedValues() async {
    let (made, ended, scheduler) = (Counter(), Expectation(), TestScheduler())
    let source = Numeric(sending: { input in
      while !Task.isCancelled {
        made.increment()
        await input.send(made.value)
      }
      ended.fulfill()
    })
    // The scheduler drops the values before the source is cancelled, which has time to go on.
    let producer = Numeric { observer, lifetime in
      lifetime.observeEnded {
        scheduler.advance()
        for _ in 0..<100_000 { sched_yield() }
      }
      lifetime += source.start(observer)
    }
    do {
      let iterator = producer.observe(on: scheduler).values(buffering: .backpressure(2))
        .makeAsyncIterator()
      while made.value < 3 { await Task.yield() }
      withExtendedLifetime(iterator) {}
    }
    await ended.wait()
    #expect(made.value == 3)
  }

  @Test("a run that several share doesn't wait for the slowest of them", .timeLimit(.minutes(5)))
  func sharedRun() async throws {
    let shared = Numbers(last: 100).producer.replayLazily(upTo: 100)
    var slow = shared.values(buffering: .backpressure(1)).makeAsyncIterator()
    #expect(try await shared.collect().lastValue() == Array(1...100))
    #expect(try await slow.next() == 1)
  }

  @Test("the feed of a property waits for no observer", .timeLimit(.minutes(5)))
  func propertyFeed() async throws {
    let log = Log<Int>()
    let producer = SignalProducer<Int, Never> { observer, lifetime in
      let property = Property(
        initial: 0,
        then: SignalProducer<Int, Never>(sending: { input in
          for value in 1...50 { await input.send(value) }
        }))
      lifetime += property.producer.startWithValues { log.append($0) }
      lifetime += property.producer.start(observer)
    }
    var iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
    while log.entries.last != 50 { await Task.yield() }
    #expect(await iterator.next() != nil)
  }

  @Test(
    "a function that waits despite cancellation goes on when the run is over",
    .timeLimit(.minutes(5)))
  func uncancelledWaiter() async {
    let ended = Expectation()
    let producer = SignalProducer<Int, Never>(sending: { input in
      await Task {
        for value in 1...5 { await input.send(value) }
        ended.fulfill()
      }.value
    })
    var iterator = producer.take(first: 1).values(buffering: .backpressure(1)).makeAsyncIterator()
    #expect(await iterator.next() == 1)
    #expect(await iterator.next() == nil)
    await ended.wait()
    withExtendedLifetime(iterator) {}
  }

  @Test("cancellation frees a source that waits", .timeLimit(.minutes(5)))
  func cancellationFrees() async {
    let (ready, ended) = (Expectation(), Expectation())
    let producer = SignalProducer<Int, Never>(sending: { input in
      await input.send(1)
      ready.fulfill()
      await input.send(2)
      ended.fulfill()
    })
    do {
      let iterator = producer.values(buffering: .backpressure(1)).makeAsyncIterator()
      await ready.wait()
      withExtendedLifetime(iterator) {}
    }
    await ended.wait()
  }
}
