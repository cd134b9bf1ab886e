import Dispatch
import FoundationEssentials
import Reactive
import Testing

@Suite("delay")
struct DelayTests {
  @Test("delay moves values and completion, and keeps their distances")
  func delay() {
    let marbles = Marbles()
    let source = marbles.source("-1-23--|")
    marbles.expect(source.producer.delay(3, on: marbles.scheduler)).toBe("----1-23--|")
    #expect(source.runs == ["^------!"])
  }

  @Test("delay passes a failure at once and drops the values that wait")
  func failure() {
    let marbles = Marbles()
    marbles.expect(marbles.source("-1-2#").producer.delay(2, on: marbles.scheduler))
      .toBe("---1#")
  }

  @Test("a delayed run that is disposed of delivers only the interruption, and leaves its source")
  func disposal() {
    let marbles = Marbles()
    let source = marbles.source("-1-2-3-|")
    marbles.expect(source.producer.delay(2, on: marbles.scheduler), disposedAt: 4)
      .toBe("---1!")
    #expect(source.runs == ["^---!"])
  }

  @Test("a negative delay is a programmer error")
  func negative() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = SignalProducer<Int, Never>.empty.delay(-1, on: TestScheduler())
    }
    #expect(end?.message.contains("a stream can't be delayed by -1.0 seconds") == true)
  }
}

@Suite("debounce")
struct DebounceTests {
  @Test("debounce delivers a value after a silence of the interval")
  func debounce() {
    let marbles = Marbles()
    marbles.expect(marbles.source("-12-3---45------|").producer.debounce(2, on: marbles.scheduler))
      .toBe("------3----5----|")
  }

  @Test("completion drops the value that waits")
  func completionDrops() {
    let marbles = Marbles()
    marbles.expect(marbles.source("-1|").producer.debounce(2, on: marbles.scheduler))
      .toBe("--|")
  }

  @Test("completion waits for the value that waits, if asked to")
  func completionWaits() {
    let marbles = Marbles()
    let scheduler = marbles.scheduler
    marbles.expect(
      marbles.source("-12|").producer.debounce(3, on: scheduler, discardWhenCompleted: false)
    ).toBe("-----(2|)")
    let other = Marbles()
    other.expect(
      other.source("-1---|").producer
        .debounce(2, on: other.scheduler, discardWhenCompleted: false)
    ).toBe("---1-|")
  }

  @Test("debounce passes a failure at once, and an interruption of its run")
  func otherEnds() {
    let marbles = Marbles()
    marbles.expect(
      marbles.source("-1#").producer
        .debounce(2, on: marbles.scheduler, discardWhenCompleted: false)
    ).toBe("--#")
    let other = Marbles()
    other.expect(other.source("-1----|").producer.debounce(4, on: other.scheduler), disposedAt: 3)
      .toBe("---!")
  }

  @Test("a signal without observers leaves its source, and its value is released")
  func release() {
    final class Payload: Sendable {}
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Payload, Never>.pipe()
    var payload: Payload? = Payload()
    weak let released = payload
    let observation = signal.debounce(1, on: scheduler).observeValues { _ in }
    payload.map { input.send(value: $0) }
    payload = nil
    #expect(released != nil)
    observation?.dispose()
    scheduler.run()
    #expect(released == nil)
  }
}

@Suite("throttle", .ownThread)
struct ThrottleTests {
  @Test("throttle delivers the first value at once, then the latest of each interval")
  func throttle() {
    let marbles = Marbles()
    marbles.expect(
      marbles.source("-1234567-----8-9---|").producer.throttle(3, on: marbles.scheduler)
    ).toBe("-1--4--7-----8--9--|")
  }

  @Test("completion waits for the value that throttle holds back, if it is to be kept")
  func throttleKeepsTheLastValue() {
    let marbles = Marbles()
    marbles.expect(
      marbles.source("-12|").producer
        .throttle(3, on: marbles.scheduler, discardWhenCompleted: false)
    ).toBe("-1--(2|)")
  }

  @Test("a failure drops the value that throttle holds back, also if completion would keep it")
  func throttleKeepsNothingAtAFailure() {
    let marbles = Marbles()
    marbles.expect(
      marbles.source("-12-#").producer
        .throttle(9, on: marbles.scheduler, discardWhenCompleted: false)
    ).toBe("-1--#")
  }

  @Test("the end drops the value that throttle holds back")
  func ends() {
    let marbles = Marbles()
    marbles.expect(marbles.source("-12|").producer.throttle(3, on: marbles.scheduler))
      .toBe("-1-|")
    let other = Marbles()
    other.expect(other.source("-12-#").producer.throttle(9, on: other.scheduler)).toBe("-1--#")
  }

  @Test("throttling by a property keeps the latest value back while it is true")
  func whileTrue() {
    let marbles = Marbles()
    let gate = MutableProperty(false)
    marbles.at(1.5) { gate.value = true }
    marbles.at(5) { gate.value = false }
    marbles.at(7.5) { gate.value = true }
    marbles.expect(
      marbles.source("-1-2-3-4-5|").producer.throttle(while: gate, on: marbles.scheduler)
    ).toBe("-1---3-4--|")
  }

  @Test("a value replaces one that throttling by a property holds back, and the end follows it")
  func whileUndelivered() {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let gate = MutableProperty(true)
    let log = Log<String>()
    signal.throttle(while: gate, on: scheduler).record(in: log)
    input.send(value: 1)
    gate.value = false
    input.send(value: 2)
    #expect(log.entries.isEmpty)
    scheduler.advance()
    input.send(value: 3)
    input.sendCompleted()
    scheduler.advance()
    #expect(log.entries == ["VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("a value that throttling by a property held back never replaces a later one")
  func whileOvertaken() {
    for _ in 0..<500 {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, Never>.pipe()
      let gate = MutableProperty(true)
      let log = Log<Int>()
      signal.throttle(while: gate, on: scheduler).observeValues { log.append($0) }
      input.send(value: 1)
      race({ gate.value = false }, { input.send(value: 2) })
      scheduler.advance()
      #expect(log.entries == [2])
    }
  }

  @Test("a producer throttled by a property doesn't keep it")
  func whileKept() {
    var gate: MutableProperty<Bool>? = MutableProperty(true)
    let (signal, input) = Signal<Int, Never>.pipe()
    let producer = gate.map { signal.producer.throttle(while: $0, on: ImmediateScheduler()) }
    let log = Log<String>()
    producer?.record(in: log)
    input.send(value: 1)
    weak let released = gate
    gate = nil
    #expect(released == nil)
    // Its last value counts.
    input.send(value: 2)
    #expect(log.entries.isEmpty)
  }

  @Test("throttling by a property goes on with its last value when the property is gone")
  func whileGone() {
    let marbles = Marbles()
    var gate: MutableProperty<Bool>? = MutableProperty(false)
    let expectation = gate.map { gate in
      marbles.expect(marbles.signal("-1-2|").throttle(while: gate, on: marbles.scheduler))
    }
    gate = nil
    expectation?.toBe("-1-2|")
  }
}

@Suite("collect(every:)")
struct CollectEveryTests {
  private func collected(
    _ marbles: Marbles, _ diagram: String, skipEmpty: Bool = false, discard: Bool = true
  ) -> SignalProducer<String, MarbleError> {
    marbles.source(diagram).producer
      .collect(
        every: .seconds(3), on: marbles.scheduler, skipEmpty: skipEmpty,
        discardWhenCompleted: discard
      )
      .map { $0.joined() }
  }

  @Test("collecting delivers the values of each interval")
  func collect() {
    let marbles = Marbles()
    marbles.expect(collected(marbles, "-12-3-----|")).toBe("---[12]--3--[]|")
  }

  @Test("collecting leaves out empty intervals, if requested")
  func skipEmpty() {
    let marbles = Marbles()
    marbles.expect(collected(marbles, "-12-3------|", skipEmpty: true))
      .toBe("---[12]--3----|")
  }

  @Test("completion waits for the interval, if requested")
  func completion() {
    let marbles = Marbles()
    marbles.expect(collected(marbles, "-12-3|", discard: false)).toBe("---[12]--(3|)")
    let other = Marbles()
    other.expect(collected(other, "-12-#", discard: false)).toBe("---[12]#")
  }
}

@Suite("timeout")
struct TimeoutTests {
  @Test("a timeout fails a stream that hasn't ended in time, and leaves it")
  func late() {
    let marbles = Marbles()
    let source = marbles.source("-1-2-3-|")
    marbles.expect(
      source.producer.timeout(after: 4, raising: MarbleError(), on: marbles.scheduler)
    ).toBe("-1-2#")
    #expect(source.runs == ["^---!"])
  }

  @Test("a timeout leaves alone a stream that ends in time")
  func early() {
    let marbles = Marbles()
    marbles.expect(
      marbles.source("-1|").producer
        .timeout(after: 4, raising: MarbleError(), on: marbles.scheduler)
    ).toBe("-1|")
    let other = Marbles()
    other.expect(
      other.values("-1").timeout(after: 2, raising: MarbleError(), on: other.scheduler)
    ).toBe("-1#")
  }
}

@Suite("observe(on:) and start(on:)")
struct HopTests {
  @Test("events happen on the scheduler, in order")
  func order() {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.observe(on: scheduler).observe { log.append("\($0)") }
    input.send(value: 1)
    input.send(value: 2)
    input.sendCompleted()
    #expect(log.entries == [])
    scheduler.advance()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "COMPLETED"])
  }

  @Test("disposing of a run stops its source at once and drops what waits")
  func disposal() {
    let scheduler = TestScheduler()
    let stopped = Counter()
    let log = Log<String>()
    let run = SignalProducer<Int, Never> { observer, lifetime in
      observer.send(value: 1)
      lifetime.observeEnded {
        withExtendedLifetime(observer) { stopped.increment() }
      }
    }.observe(on: scheduler).start { log.append("\($0)") }
    run.dispose()
    #expect(stopped.value == 1)
    scheduler.advance()
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("a hundred thousand values cross to a queue in order, and the end comes last")
  func queue() async {
    let queue = QueueScheduler()
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let done = Expectation()
    signal.observe(on: queue).observe { event in
      dispatchPrecondition(condition: .onQueue(queue.queue))
      if let value = event.value { log.append(value) } else { done.fulfill() }
    }
    for number in 0..<100_000 { input.send(value: number) }
    input.sendCompleted()
    await done.wait()
    #expect(log.entries == Array(0..<100_000))
  }

  @Test("two streams and other work on one queue keep their common order")
  func commonOrder() async {
    let queue = QueueScheduler()
    let (first, firstInput) = Signal<Int, Never>.pipe()
    let (second, secondInput) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let done = Expectation()
    first.observe(on: queue).observeValues { log.append($0) }
    second.observe(on: queue).observeValues { log.append($0) }
    for number in 0..<300 {
      switch number % 3 {
      case 0: firstInput.send(value: number)
      case 1: secondInput.send(value: number)
      default: queue.schedule { log.append(number) }
      }
    }
    queue.schedule { done.fulfill() }
    await done.wait()
    #expect(log.entries == Array(0..<300))
  }

  @Test("starting on a scheduler waits for it, and can be called off")
  func startOn() {
    let scheduler = TestScheduler()
    let starts = Counter()
    let producer = SignalProducer<Int, Never> { () -> Int in
      starts.increment()
      return 1
    }.start(on: scheduler)
    let log = Log<String>()
    producer.start { log.append("\($0)") }
    producer.start().dispose()
    #expect(starts.value == 0)
    scheduler.advance()
    #expect(starts.value == 1)
    #expect(log.entries == ["VALUE 1", "COMPLETED"])
  }
}

@Suite("Timers")
struct TimerTests {
  @Test("an interval counts, and stops when it is disposed of")
  func interval() {
    let marbles = Marbles()
    marbles.expect(
      SignalProducer.interval(.seconds(2), on: marbles.scheduler), disposedAt: 7
    ).toBe("--0-1-2!")
  }

  @Test("an interval sends the values of a sequence, and completes an interval after the last")
  func sequence() {
    let marbles = Marbles()
    marbles.expect(
      SignalProducer.interval("abc", interval: .seconds(2), on: marbles.scheduler)
    ).toBe("--a-b-c-|")
  }

  @Test("a timer sends the scheduler's dates")
  func timer() {
    let scheduler = TestScheduler()
    let log = Log<TimeInterval>()
    let run = SignalProducer.timer(interval: .milliseconds(500), on: scheduler)
      .startWithValues { log.append($0.timeIntervalSinceReferenceDate) }
    scheduler.advance(by: .seconds(2))
    run.dispose()
    scheduler.advance(by: .seconds(2))
    #expect(log.entries == [0.5, 1, 1.5, 2])
  }
}
