import Reactive
import Synchronization
import Testing

@Suite("Awaiting the values of a stream", .ownThread)
struct AsyncValuesTests {
  private let pipe = Signal<Int, TestError>.pipe()

  private func send(_ values: ClosedRange<Int>) {
    for value in values { pipe.input.send(value: value) }
  }

  @Test("values come in order, and the end after them")
  func order() async {
    var taken: [Int] = []
    for await value in SignalProducer<Int, Never>(1...5).values(buffering: .unbounded) {
      taken.append(value)
    }
    #expect(taken == [1, 2, 3, 4, 5])
  }

  @Test("a failure is thrown once, typed, after the values before it")
  func failure() async throws {
    var iterator = pipe.output.values(buffering: .unbounded).makeAsyncIterator()
    send(1...2)
    pipe.input.send(error: .two)
    #expect(try await iterator.next() == 1)
    #expect(try await iterator.next() == 2)
    do throws(TestError) {
      _ = try await iterator.next()
      Issue.record("no failure")
    } catch {
      #expect(error == .two)
    }
    #expect(try await iterator.next() == nil)
  }

  @Test(
    "values that are not awaited are kept by the buffering policy",
    arguments: [
      (AsyncBuffering.unbounded, [1, 2, 3, 4]), (.newest(2), [3, 4]), (.oldest(2), [1, 2]),
      (.newest(0), []), (.oldest(0), []), (.backpressure(1), [1, 2, 3, 4]),
    ])
  func buffering(_ policy: AsyncBuffering, _ expected: [Int]) async throws {
    var iterator = pipe.output.values(buffering: policy).makeAsyncIterator()
    send(1...4)
    pipe.input.sendCompleted()
    var taken: [Int] = []
    while let value = try await iterator.next() { taken.append(value) }
    #expect(taken == expected)
  }

  @Test("a value that is awaited needs no room", arguments: [AsyncBuffering.newest(0), .oldest(0)])
  func noBuffer(_ policy: AsyncBuffering) async {
    let (output, input) = Signal<Int, Never>.pipe()
    var iterator = output.values(buffering: policy).makeAsyncIterator()
    // Values that are sent before this task awaits are lost.
    let sending = Task {
      while !Task.isCancelled {
        input.send(value: 7)
        await Task.yield()
      }
    }
    #expect(await iterator.next() == 7)
    sending.cancel()
  }

  @Test("a buffer of a negative number is a programmer error")
  func negative() async {
    let negative = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = SignalProducer<Int, Never>([1]).values(buffering: .newest(-1))
    }
    #expect(negative?.message.contains("values can't be buffered as newest(-1)") == true)
    let none = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = SignalProducer<Int, Never>([1]).values(buffering: .backpressure(0))
    }
    #expect(none?.message.contains("values can't be buffered as backpressure(0)") == true)
  }

  @Test("an AsyncStream is one run, begun when it is made, that keeps all")
  func streams() async throws {
    let (output, input) = Signal<Int, Never>.pipe()
    let (values, throwing) = (output.asyncStream, pipe.output.asyncThrowingStream)
    for value in 1...2 { input.send(value: value) }
    input.sendCompleted()
    #expect(await values.reduce(into: []) { $0.append($1) } == [1, 2])
    send(1...2)
    pipe.input.send(error: .two)
    var taken: [Int] = []
    do {
      for try await value in throwing { taken.append(value) }
      Issue.record("no failure")
    } catch {
      #expect(error as? TestError == .two)
    }
    #expect(taken == [1, 2])
  }

  @Test("an AsyncStream that is lost interrupts its run, and so does a cancelled task")
  func lostStreams() async {
    let (lost, cancelled) = (Expectation(), Expectation())
    let endless = SignalProducer<Int, Never>.never
    _ = endless.on(interrupted: { lost.fulfill() }).asyncStream
    await lost.wait()
    let stream = endless.on(interrupted: { cancelled.fulfill() }).asyncThrowingStream
    let task = Task { for try await _ in stream {} }
    task.cancel()
    await cancelled.wait()
  }

  @Test("every iterator is a run")
  func runs() async {
    let counter = Counter()
    let producer = SignalProducer<Int, Never> { () -> Int in
      counter.increment()
      return counter.value
    }
    let values = producer.values(buffering: .unbounded)
    #expect(counter.value == 0)
    for expected in 1...2 {
      var iterator = values.makeAsyncIterator()
      #expect(await iterator.next() == expected)
      #expect(await iterator.next() == nil)
    }
  }

  @Test("cancelling the task interrupts the run and ends the iteration")
  func cancellation() async {
    let (started, interrupted) = (Expectation(), Expectation())
    let producer = SignalProducer<Int, Never> { observer, lifetime in
      lifetime.observeEnded { withExtendedLifetime(observer) { interrupted.fulfill() } }
      started.fulfill()
    }
    let task = Task {
      var count = 0
      for await _ in producer.values(buffering: .unbounded) { count += 1 }
      return count
    }
    await started.wait()
    task.cancel()
    await interrupted.wait()
    #expect(await task.value == 0)
  }

  @Test("a task that has been cancelled gets nothing of what waits")
  func cancelledBefore() async throws {
    let values = pipe.output.values(buffering: .unbounded)
    let begin = Expectation()
    let task = Task { [pipe] in
      var iterator = values.makeAsyncIterator()
      pipe.input.send(value: 1)
      await begin.wait()
      withUnsafeCurrentTask { $0?.cancel() }
      return try await iterator.next()
    }
    begin.fulfill()
    #expect(try await task.value == nil)
  }

  @Test("the loss of the iterator interrupts the run")
  func lostIterator() async {
    let disposed = Counter()
    let producer = SignalProducer<Int, Never> { observer, lifetime in
      observer.send(value: 1)
      lifetime.observeEnded { disposed.increment() }
      lifetime.observeEnded { withExtendedLifetime(observer) {} }
    }
    for await _ in producer.values(buffering: .unbounded) { break }
    #expect(disposed.value == 1)
  }

  @Test("an interruption ends the iteration after what waits")
  func interruption() async throws {
    var iterator = pipe.output.values(buffering: .unbounded).makeAsyncIterator()
    send(1...2)
    pipe.input.sendInterrupted()
    #expect(try await iterator.next() == 1)
    #expect(try await iterator.next() == 2)
    #expect(try await iterator.next() == nil)
  }

  @Test("a property's values are the present one and the changes until it is released")
  func property() async {
    var property: MutableProperty? = MutableProperty(1)
    var iterator = property?.values(buffering: .unbounded).makeAsyncIterator()
    property?.value = 2
    property = nil
    #expect(await iterator?.next() == 1)
    #expect(await iterator?.next() == 2)
    #expect(await iterator?.next() == .some(nil))
  }

  @Test("the first, the last and the only value are awaited")
  func single() async throws {
    let three = SignalProducer<Int, TestError>(1...3)
    let one = SignalProducer<Int, Never>(value: 4)
    #expect(try await three.firstValue() == 1)
    #expect(try await three.lastValue() == 3)
    #expect(try await three.singleValue() == nil)
    #expect(await one.singleValue() == 4)
    #expect(await SignalProducer<Int, Never>.empty.lastValue() == nil)
    #expect(await MutableProperty(5).firstValue() == 5)
    try await three.completion()
    await #expect(throws: TestError.one) { try await three.concat(error: .one).lastValue() }
    await #expect(throws: TestError.one) { try await three.concat(error: .one).completion() }
    #expect(try await three.concat(error: .one).firstValue() == 1)
    #expect(try await three.concat(error: .one).singleValue() == nil)
  }

  @Test("an interrupted stream has no last value")
  func interruptedLast() async {
    let producer = SignalProducer<Int, Never> { observer, _ in
      observer.send(value: 1)
      observer.sendInterrupted()
    }
    #expect(await producer.lastValue() == nil)
    #expect(await producer.singleValue() == nil)
    await producer.completion()
  }

  @Test("values from several threads all come, in any task", .timeLimit(.minutes(5)))
  func threads() async {
    let (output, input) = Signal<Int, Never>.pipe()
    var iterator = output.values(buffering: .unbounded).makeAsyncIterator()
    let sending = Task.detached {
      race(
        { for _ in 0..<2_000 { input.send(value: 1) } },
        { for _ in 0..<2_000 { input.send(value: 1) } })
      input.sendCompleted()
    }
    var sum = 0
    while let value = await iterator.next() { sum += value }
    #expect(sum == 4_000)
    await sending.value
  }

  @Test("cancelling while values come and the stream ends resumes once", .timeLimit(.minutes(5)))
  func cancellationRace() async {
    for _ in 0..<300 {
      let (output, input) = Signal<Int, Never>.pipe()
      let started = Expectation()
      let task = Task.detached {
        var iterator = output.values(buffering: .unbounded).makeAsyncIterator()
        started.fulfill()
        while await iterator.next() != nil {}
      }
      await started.wait()
      race(
        {
          input.send(value: 1)
          input.sendCompleted()
        }, { task.cancel() })
      await task.value
    }
  }
}
