import Dispatch
import Reactive
import Testing

private func values(_ range: ClosedRange<Int>) -> SignalProducer<Int, TestError> {
  SignalProducer(range)
}

private func expected(_ values: [Int]) -> [String] {
  values.map { "VALUE \($0)" } + ["COMPLETED"]
}

@Suite("Operators on one stream")
struct OperatorTests {
  @Test("map, filter and compactMap transform and choose")
  func mapping() {
    #expect(values(1...4).map { $0 * 2 }.recorded == expected([2, 4, 6, 8]))
    #expect(values(1...4).filter { $0 % 2 == 0 }.recorded == expected([2, 4]))
    #expect(values(1...4).compactMap { $0 > 2 ? $0 : nil }.recorded == expected([3, 4]))
    #expect(values(1...2).map(value: 9).recorded == expected([9, 9]))
    #expect(values(1...2).map(\.bitWidth).recorded == expected([64, 64]))
  }

  @Test("the operators take and skip split a stream in two", arguments: 1...5)
  func takeAndSkip(_ count: Int) {
    #expect(values(1...4).take(first: count).recorded == expected(Array((1...4).prefix(count))))
    #expect(values(1...4).skip(first: count).recorded == expected(Array((1...4).dropFirst(count))))
    #expect(values(1...4).take(last: count).recorded == expected(Array((1...4).suffix(count))))
  }

  @Test("take(while:), take(until:) and skip(while:) turn at the first value that doesn't match")
  func conditions() {
    #expect(values(1...5).take(while: { $0 < 3 }).recorded == expected([1, 2]))
    #expect(values(1...5).take(until: { $0 < 3 }).recorded == expected([1, 2, 3]))
    #expect(values(1...5).skip(while: { $0 < 3 }).recorded == expected([3, 4, 5]))
  }

  @Test("a signal of which nothing is taken has ended")
  func takeNothing() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.take(first: 0).record(in: log)
    input.send(value: 1)
    #expect(log.entries == ["INTERRUPTED"])
  }

  @Test("take(first:) of a negative number is a programmer error")
  func takeNegative() async {
    let end = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      _ = SignalProducer<Int, Never>([1]).take(first: -1)
    }
    #expect(
      end?.message.contains("take(first:) takes no negative number of values, got -1") == true)
  }

  @Test("scan emits each step, reduce the last")
  func folding() {
    #expect(values(1...4).scan(0, +).recorded == expected([1, 3, 6, 10]))
    #expect(values(1...4).reduce(0, +).recorded == expected([10]))
    #expect(values(1...3).reduce(into: 1) { $0 *= $1 }.recorded == expected([6]))
    #expect(values(1...3).scanMap(0) { ($0 + $1, $0) }.recorded == expected([0, 1, 3]))
  }

  @Test("collect keeps its groups, and the rest, and an empty one of nothing")
  func collecting() {
    #expect(
      values(1...5).collect(count: 2).recorded == [
        "VALUE [1, 2]", "VALUE [3, 4]", "VALUE [5]", "COMPLETED",
      ])
    #expect(
      values(1...4).collect(count: 2).recorded == [
        "VALUE [1, 2]", "VALUE [3, 4]", "COMPLETED",
      ])
    #expect(SignalProducer<Int, Never>.empty.collect().recorded == ["VALUE []", "COMPLETED"])
    #expect(
      values(1...4).collect { (_, next: Int) in next == 3 }.recorded == [
        "VALUE [1, 2]", "VALUE [3, 4]", "COMPLETED",
      ])
  }

  @Test("repeated values are skipped, unique values passed once, neighbours paired")
  func distinct() {
    let repeating = SignalProducer<Int, Never>([1, 1, 2, 2, 1])
    #expect(repeating.skipRepeats().recorded == expected([1, 2, 1]))
    #expect(repeating.uniqueValues().recorded == expected([1, 2]))
    #expect(
      repeating.combinePrevious().map { $0 * 10 + $1 }.recorded == expected([11, 12, 22, 21]))
  }

  @Test("events become values and values events again")
  func materializing() {
    let failing = SignalProducer<Int, TestError>(value: 1).concat(error: .one)
    #expect(failing.materialize().recorded == ["VALUE VALUE 1", "VALUE FAILED one", "COMPLETED"])
    #expect(failing.materialize().dematerialize().recorded == ["VALUE 1", "FAILED one"])
    #expect(
      failing.materializeResults().dematerializeResults().recorded == [
        "VALUE 1", "FAILED one",
      ])
  }

  @Test("errors are mapped, recovered from, retried")
  func errors() {
    let failing = SignalProducer<Int, TestError>(value: 1).concat(error: .one)
    #expect(failing.mapError { _ in TestError.two }.recorded == ["VALUE 1", "FAILED two"])
    #expect(
      failing.flatMapError { _ in SignalProducer<Int, Never>(value: 9) }.recorded
        == expected([1, 9]))
    #expect(failing.retry(upTo: 2).recorded == ["VALUE 1", "VALUE 1", "VALUE 1", "FAILED one"])
    #expect(
      values(1...3).attempt { $0 < 3 ? .success(()) : .failure(.two) }.recorded == [
        "VALUE 1", "VALUE 2", "FAILED two",
      ])
    #expect(values(1...2).repeat(2).recorded == expected([1, 2, 1, 2]))
  }

  @Test("a hundred thousand synchronous retries cost no stack")
  func manyRetries() {
    let counter = Counter()
    SignalProducer<Int, TestError> { observer, _ in
      counter.increment()
      observer.send(error: .one)
    }
    .retry(upTo: 100_000).start()
    #expect(counter.value == 100_001)
  }
}

@Suite("Operators on several streams", .ownThread)
struct JoiningTests {
  private let a = Signal<Int, TestError>.pipe()
  private let b = Signal<Int, TestError>.pipe()
  private let log = Log<String>()

  @Test("combineLatest waits for all, and completes with the last")
  func combineLatest() {
    Signal.combineLatest(a.output, b.output).map { "\($0)\($1)" }.record(in: log)
    a.input.send(value: 1)
    b.input.send(value: 2)
    a.input.send(value: 3)
    a.input.sendCompleted()
    b.input.send(value: 4)
    b.input.sendCompleted()
    #expect(log.entries == ["VALUE 12", "VALUE 32", "VALUE 34", "COMPLETED"])
  }

  @Test("zip pairs, and completes when one that has completed is used up")
  func zip() {
    Signal.zip(a.output, b.output).map { "\($0)\($1)" }.record(in: log)
    a.input.send(value: 1)
    a.input.send(value: 2)
    a.input.sendCompleted()
    b.input.send(value: 3)
    b.input.send(value: 4)
    #expect(log.entries == ["VALUE 13", "VALUE 24", "COMPLETED"])
  }

  @Test("combineLatest and zip of three start their producers in order")
  func arities() {
    let one = SignalProducer<Int, Never>([1, 2])
    #expect(
      SignalProducer.zip(one, one, one).map { "\($0)\($1)\($2)" }.recorded == [
        "VALUE 111", "VALUE 222", "COMPLETED",
      ])
    #expect(
      SignalProducer.combineLatest(one, one, one).map { "\($0)\($1)\($2)" }.recorded == [
        "VALUE 221", "VALUE 222", "COMPLETED",
      ])
    #expect(
      SignalProducer.merge(one, one, one).recorded
        == [1, 2, 1, 2, 1, 2].map { "VALUE \($0)" } + ["COMPLETED"])
  }

  @Test("a failure of one is the failure of all")
  func failure() {
    Signal.merge(a.output, b.output).record(in: log)
    a.input.send(value: 1)
    b.input.send(error: .two)
    a.input.send(value: 2)
    #expect(log.entries == ["VALUE 1", "FAILED two"])
  }

  @Test("sample emits the latest when asked")
  func sample() {
    let asks = Signal<(), Never>.pipe()
    a.output.sample(on: asks.output).record(in: log)
    asks.input.send(value: ())
    a.input.send(value: 1)
    a.input.send(value: 2)
    asks.input.send(value: ())
    a.input.sendCompleted()
    asks.input.sendCompleted()
    #expect(log.entries == ["VALUE 2", "COMPLETED"])
  }

  @Test("take(until:), skip(until:) and take(untilReplacement:) turn at the other's event")
  func triggers() {
    let trigger = Signal<(), Never>.pipe()
    a.output.take(until: trigger.output).map { $0 + 10 }.record(in: log)
    a.output.skip(until: trigger.output).map { $0 + 20 }.record(in: log)
    a.output.take(untilReplacement: b.output).record(in: log)
    a.input.send(value: 1)
    trigger.input.send(value: ())
    a.input.send(value: 2)
    b.input.send(value: 5)
    a.input.send(value: 3)
    #expect(
      log.entries == [
        "VALUE 11", "VALUE 1", "COMPLETED", "VALUE 2", "VALUE 22", "VALUE 5", "VALUE 23",
      ])
  }

  @Test("the operator then ignores the first stream and follows the second")
  func then() {
    #expect(
      values(1...3).then(SignalProducer<String, Never>(value: "x")).recorded == [
        "VALUE x", "COMPLETED",
      ])
  }

  @Test("an error that a closure throws is the failure, of its type")
  func typedAttempts() {
    @Sendable func verify(_ value: Int) throws(TestError) { if value > 2 { throw .one } }
    @Sendable func double(_ value: Int) throws(TestError) -> Int {
      try verify(value)
      return value * 2
    }
    let source = SignalProducer<Int, TestError>(1...4)
    let attempted: SignalProducer<Int, TestError> = source.attempt(verify)
    #expect(attempted.recorded == ["VALUE 1", "VALUE 2", "FAILED one"])
    let mapped: SignalProducer<Int, TestError> = source.attemptMap(double)
    #expect(mapped.recorded == ["VALUE 2", "VALUE 4", "FAILED one"])
    let (signal, input) = Signal<Int, TestError>.pipe()
    let log = Log<String>()
    signal.attempt(verify).attemptMap(double).record(in: log)
    for value in 1...4 { input.send(value: value) }
    #expect(log.entries == ["VALUE 2", "VALUE 4", "FAILED one"])
  }

  @Test("replayLazily sends to a start inside a delivery before that start returns")
  func replayInside() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let replayed = signal.producer.replayLazily(upTo: 1)
    let log = Log<String>()
    replayed.take(first: 1).startWithValues { value in
      log.append("outer \(value)")
      replayed.startWithValues { log.append("inner \($0)") }
      log.append("started")
    }
    input.send(value: 1)
    input.send(value: 2)
    #expect(log.entries == ["outer 1", "inner 1", "started", "inner 2"])
  }

  @Test("replayLazily sends to a start during another thread's delivery before that start returns")
  func replayBeside() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let replayed = signal.producer.replayLazily(upTo: 1)
    let log = Log<String>()
    replayed.startWithValues { value in
      guard value == 1 else { return }
      let started = DispatchSemaphore(value: 0)
      detach {
        replayed.startWithValues { log.append("beside \($0)") }
        started.signal()
      }
      log.append("\(started.wait(timeout: .now() + 60))")
    }
    input.send(value: 1)
    input.send(value: 2)
    #expect(log.entries == ["beside 1", "success", "beside 2"])
  }

  @Test("replayLazily runs once, and remembers")
  func replay() {
    let counter = Counter()
    let producer = SignalProducer<Int, Never> { observer, _ in
      counter.increment()
      for value in 1...4 { observer.send(value: value) }
      observer.sendCompleted()
    }
    .replayLazily(upTo: 2)
    #expect(counter.value == 0)
    #expect(producer.recorded == expected([1, 2, 3, 4]))
    #expect(producer.recorded == expected([3, 4]))
    #expect(counter.value == 1)
  }
}

@Suite("Flattening")
struct FlattenTests {
  typealias Pipe = (output: Signal<Int, Never>, input: Signal<Int, Never>.Observer)
  private let outer = Signal<SignalProducer<Int, Never>, Never>.pipe()
  private let inner: [Pipe] = (0..<3).map { _ in Signal<Int, Never>.pipe() }
  private let log = Log<String>()

  private func run(_ strategy: FlattenStrategy) {
    outer.output.flatten(strategy).record(in: log)
    outer.input.send(value: inner[0].output.producer)
    outer.input.send(value: inner[1].output.producer)
    outer.input.sendCompleted()
    inner[0].input.send(value: 1)
    inner[1].input.send(value: 2)
    inner[0].input.sendCompleted()
    inner[1].input.send(value: 3)
    inner[1].input.sendCompleted()
  }

  @Test("merge passes all inner streams")
  func merge() {
    run(.merge)
    #expect(log.entries == ["VALUE 1", "VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("concat passes inner streams one after the other")
  func concat() {
    run(.concat)
    #expect(log.entries == ["VALUE 1", "VALUE 3", "COMPLETED"])
  }

  @Test("latest passes the newest inner stream")
  func latest() {
    run(.latest)
    #expect(log.entries == ["VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("race passes the first inner stream to send")
  func race() {
    run(.race)
    #expect(log.entries == ["VALUE 1", "COMPLETED"])
  }

  @Test("a race that is decided while the outer producer runs completes when both have")
  func raceWithRunningOuter() {
    let marbles = Marbles()
    let (fast, slow) = (marbles.source("-1-2|"), marbles.source("--3-4-|"))
    let outer = marbles.source("-fs------|")
    marbles.expect(
      outer.producer.flatMap(.race) { $0 == "f" ? fast.producer : slow.producer }
    ).toBe("--1-2----|")
    #expect(outer.runs == ["^--------!"])
    #expect(slow.runs == ["--(^!)"])
  }

  @Test("throttle drops what comes while one runs")
  func throttle() {
    run(.throttle)
    #expect(log.entries == ["VALUE 1", "COMPLETED"])
  }

  @Test("a hundred thousand waiting producers are started without growing the stack")
  func manyWaiting() {
    let counter = Counter()
    SignalProducer<Int, Never>(0..<100_000)
      .flatMap(.concat) { SignalProducer<Int, Never>(value: $0) }
      .startWithValues { _ in counter.increment() }
    #expect(counter.value == 100_000)
    outer.output.flatten(.concat).observeValues { _ in counter.increment() }
    outer.input.send(value: inner[0].output.producer)
    for value in 0..<100_000 { outer.input.send(value: SignalProducer(value: value)) }
    inner[0].input.sendCompleted()
    #expect(counter.value == 200_000)
  }

  @Test("disposing of the output disposes of every inner stream")
  func disposal() {
    let counter = Counter()
    let endless = SignalProducer<Int, Never> { observer, lifetime in
      let held = [observer]
      lifetime.observeEnded {
        _ = held
        counter.increment()
      }
    }
    let disposable = SignalProducer<Int, Never>(0..<10).flatMap(.merge) { _ in endless }.start()
    #expect(counter.value == 0)
    disposable.dispose()
    #expect(counter.value == 10)
  }

  @Test(
    "a flattened stream can be written as an implicit member, whichever of the streams can fail")
  func implicitMembers() {
    let (sure, unsure) = (values(1...2), SignalProducer<Int, TestError>([1, 2]))
    #expect(sure.flatMap(.latest) { _ in .init(value: 0) }.recorded == expected([0, 0]))
    #expect(unsure.flatMap(.merge) { _ in .init(value: 0) }.recorded == expected([0, 0]))
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    signal.flatMap(.concat) { .init(value: $0) }.record(in: log)
    input.send(value: 3)
    #expect(log.entries == ["VALUE 3"])
    let failing: SignalProducer<Int, TestError> = sure.flatMap(.merge) { _ in unsure }
    #expect(failing.recorded == expected([1, 2, 1, 2]))
  }
}
