import FoundationEssentials
import Reactive
import Testing

/// Behaviour of ReactiveSwift that programs rely on, and that no other suite tests.
@Suite("Producers, at their edges")
struct ProducerSemanticsTests {
  private typealias Source = SignalProducer<Int, TestError>

  @Test("a run of which nothing is taken is interrupted and not begun")
  func takeNothing() {
    let starts = Counter()
    let source = Source { _, _ in starts.increment() }
    #expect(source.take(first: 0).recorded == ["INTERRUPTED"])
    #expect(starts.value == 0)
    #expect(Source([1, 2]).take(last: 0).recorded == ["COMPLETED"])
  }

  @Test("starting is called from the outside in, started from the inside out")
  func startOrder() {
    let log = Log<String>()
    SignalProducer<Int, Never>(value: 0)
      .on(starting: { log.append("starting 1") }, started: { log.append("started 1") })
      .map { $0 }
      .on(starting: { log.append("starting 2") }, started: { log.append("started 2") })
      .start { log.append($0.description) }
    #expect(
      log.entries == [
        "starting 2", "starting 1", "VALUE 0", "COMPLETED", "started 1", "started 2",
      ])
  }

  @Test("a handle that is disposed of in the setup interrupts, and nothing is started")
  func disposalInSetup() {
    let (starts, log) = (Counter(), Log<String>())
    let source = Source { observer, _ in
      starts.increment()
      observer.send(value: 1)
    }
    source.map { $0 }.startWithSignal { signal, handle in
      signal.record(in: log)
      handle.dispose()
      signal.record(in: log)
    }
    #expect(starts.value == 0)
    #expect(log.entries == ["INTERRUPTED", "INTERRUPTED"])
  }

  @Test("a handle stops what goes on after the source has ended, and so does a lifted run's")
  func disposalAfterTheSource() {
    let (scheduler, log) = (TestScheduler(), Log<String>())
    let value = SignalProducer<Int, Never>(value: 1)
    value.delay(1, on: scheduler).startWithSignal { signal, handle in
      signal.record(in: log)
      scheduler.schedule { handle.dispose() }
    }
    value.lift { $0.delay(1, on: scheduler) }.record(in: log).dispose()
    scheduler.run()
    #expect(log.entries == ["INTERRUPTED", "INTERRUPTED"])
  }

  @Test("the interruption of a lifted run reaches the observer before the side effects above")
  func interruptionOfLifted() {
    let log = Log<String>()
    SignalProducer<Int, Never>.never.on(interrupted: { log.append("above") })
      .lift { $0.map { $0 } }
      .on(interrupted: { log.append("below") })
      .start().dispose()
    #expect(log.entries == ["below", "above"])
  }

  @Test("a source that releases its input is interrupted, behind any operator")
  func lostInput() {
    let source = Source { observer, _ in observer.send(value: 1) }
    let chains = [
      source, source.map { $0 }, source.map { $0 }.observe(on: ImmediateScheduler()),
      source.flatMap(.concat) { Source(value: $0) }, source.lift { $0.map { $0 } },
      source.lift { $0.map { $0 } }.map { $0 }, source.observe(on: ImmediateScheduler()).map { $0 },
    ]
    for chain in chains {
      let (run, signal) = (Log<String>(), Log<String>())
      chain.record(in: run)
      chain.startWithSignal { produced, _ in _ = produced.record(in: signal) }
      #expect(run.entries == ["VALUE 1", "INTERRUPTED"])
      #expect(signal.entries == ["VALUE 1", "INTERRUPTED"])
    }
  }

  @Test("the life of a run ends after its last event has been delivered")
  func lifeEndsLast() {
    let log = Log<String>()
    let source = Source { observer, lifetime in
      lifetime.observeEnded { log.append("ended") }
      observer.send(value: 1)
      observer.sendCompleted()
      log.append("returned")
    }
    source.record(in: log)
    #expect(log.entries == ["VALUE 1", "COMPLETED", "ended", "returned"])
  }

  @Test("a member added to the lifetime of a run that has ended is disposed of at once")
  func lateAddition() {
    let disposable = AnyDisposable()
    Source { observer, lifetime in
      observer.sendCompleted()
      lifetime += disposable
    }.start()
    #expect(disposable.isDisposed)
  }

  @Test("a producer of a signal that has ended interrupts")
  func endedSignal() {
    #expect(SignalProducer(Signal<Int, Never>.empty).recorded == ["INTERRUPTED"])
  }

  @Test("repetition and retries stop at the other kinds of end")
  func repetition() {
    let starts = Counter()
    let ends = [Signal<Int, TestError>.Event.completed, .failed(.one), .interrupted]
    for end in ends {
      let source = Source { observer, _ in
        starts.increment()
        observer.send(end)
      }
      let before = starts.value
      #expect(source.repeat(3).recorded == ["\(end)"])
      #expect(starts.value - before == (end == .completed ? 3 : 1))
      let between = starts.value
      #expect(source.retry(upTo: 2).recorded == ["\(end)"])
      #expect(starts.value - between == (end == .failed(.one) ? 3 : 1))
    }
    #expect(Source([1]).repeat(0).recorded == ["COMPLETED"])
  }

  @Test("the operator then passes a failure and an interruption on, and starts nothing")
  func thenAfterOtherEnds() {
    let starts = Counter()
    let next = SignalProducer<String, TestError> { observer, _ in
      starts.increment()
      observer.sendCompleted()
    }
    #expect(Source(error: .one).then(next).recorded == ["FAILED one"])
    #expect(
      Source { observer, _ in observer.sendInterrupted() }.then(next).recorded == ["INTERRUPTED"])
    #expect(starts.value == 0)
    #expect(Source([1, 2]).then(next).recorded == ["COMPLETED"])
    #expect(starts.value == 1)
  }

  @Test("taking values during a lifetime that has ended interrupts the start")
  func takeDuringThePast() {
    let starts = Counter()
    let source = Source.never.on(starting: { starts.increment() })
    #expect(source.take(during: .empty).recorded == ["INTERRUPTED"])
    #expect(starts.value == 0)
    let (lifetime, token) = Lifetime.make()
    let log = Log<String>()
    Source.never.take(during: lifetime).record(in: log)
    token.dispose()
    #expect(log.entries == ["COMPLETED"])
  }

  @Test("a trigger that fires while it is started leaves nothing to take")
  func synchronousTrigger() {
    let trigger = SignalProducer<(), Never>(value: ())
    #expect(Source([1, 2]).take(until: trigger).recorded.last != "VALUE 2")
    #expect(Source([1, 2]).take(until: trigger).recorded.count == 1)
    #expect(Source([1, 2]).skip(until: trigger).recorded == ["VALUE 1", "VALUE 2", "COMPLETED"])
    #expect(Source([1, 2]).take(until: .empty).recorded.count == 1)
  }

  @Test("a replacement that never sends leaves the values, and holds completion back")
  func replacement() {
    let log = Log<String>()
    let run = Source([1, 2]).take(untilReplacement: .never).record(in: log)
    #expect(log.entries == ["VALUE 1", "VALUE 2"])
    run.dispose()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "INTERRUPTED"])
  }

  @Test("a sampler that sends while it is started finds the value of a synchronous source")
  func synchronousSampler() {
    let sampler = SignalProducer<String, Never>(["a", "b"])
    #expect(
      Source([1, 2]).sample(with: sampler).map { "\($0)\($1)" }.recorded
        == ["VALUE 2a", "VALUE 2b", "COMPLETED"])
    #expect(
      Source([1, 2]).withLatest(from: sampler).map { "\($0)\($1)" }.recorded
        == ["VALUE 1b", "VALUE 2b", "COMPLETED"])
  }

  @Test("combining none completes, or sends the sentinel")
  func none() {
    let none: [Source] = []
    #expect(Source.combineLatest(none).recorded == ["COMPLETED"])
    #expect(Source.zip(none).recorded == ["COMPLETED"])
    #expect(Source.merge(none).recorded == ["COMPLETED"])
    #expect(Source.combineLatest(none, emptySentinel: [7]).recorded == ["VALUE [7]", "COMPLETED"])
    #expect(Source.zip(none, emptySentinel: [7]).recorded == ["VALUE [7]", "COMPLETED"])
  }

  @Test("an interruption of one is that of all combined, and the end of none merged")
  func interruptions() {
    let interrupted = Source { observer, _ in observer.sendInterrupted() }
    #expect(Source([1]).combineLatest(with: interrupted).map { $0.0 }.recorded == ["INTERRUPTED"])
    #expect(Source([1]).zip(with: interrupted).map { $0.0 }.recorded == ["INTERRUPTED"])
    #expect(Source([1]).merge(with: interrupted).recorded == ["VALUE 1", "COMPLETED"])
    #expect(interrupted.concat(Source([1])).recorded == ["VALUE 1", "COMPLETED"])
    #expect(
      interrupted.flatMapError { _ in Source([1]) }.recorded == ["INTERRUPTED"])
  }

  @Test("with room for several, one that fails disposes of those that run")
  func failureAmongSeveral() {
    let (first, ended) = (Counter(), Counter())
    let running = Source { _, lifetime in
      first.increment()
      lifetime.observeEnded { ended.increment() }
    }
    let all = SignalProducer<Source, TestError>([running, running, running, Source(error: .one)])
    let log = Log<String>()
    all.flatten(.concurrent(limit: 2)).record(in: log).dispose()
    #expect((first.value, ended.value) == (2, 2))
    #expect(log.entries == ["INTERRUPTED"])
    #expect(all.flatten(.merge).recorded == ["FAILED one"])
    #expect((first.value, ended.value) == (5, 5))
  }

  @Test(
    "waiting streams start when there is room, whichever event made it", arguments: [true, false])
  func roomAfterTheEnd(byInterruption: Bool) {
    let (a, inA) = Signal<Int, TestError>.pipe()
    let (b, inB) = Signal<Int, TestError>.pipe()
    let log = Log<String>()
    SignalProducer<Source, TestError>([a.producer, b.producer, Source([3])])
      .flatten(.concurrent(limit: 2)).record(in: log)
    inA.send(value: 1)
    inB.send(value: 2)
    if byInterruption { inA.sendInterrupted() } else { inA.sendCompleted() }
    inB.sendCompleted()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "VALUE 3", "COMPLETED"])
  }

  @Test("latest passes all synchronous inner streams, race the first")
  func synchronousInner() {
    let inner = SignalProducer<Source, TestError>([Source([1, 2]), Source([3]), Source([4, 5])])
    #expect(
      inner.flatten(.latest).recorded
        == (1...5).map { "VALUE \($0)" } + ["COMPLETED"])
    #expect(inner.flatten(.race).recorded == ["VALUE 1", "VALUE 2", "COMPLETED"])
    #expect(
      inner.flatten(.throttle).recorded == (1...5).map { "VALUE \($0)" } + ["COMPLETED"])
    #expect(
      SignalProducer<Source, TestError>.empty.flatten(.race).recorded == ["COMPLETED"])
  }

  @Test("a materialized interruption is a value and an interruption")
  func materialized() {
    let interrupted = Source { observer, _ in observer.sendInterrupted() }
    #expect(interrupted.materialize().recorded == ["VALUE INTERRUPTED", "INTERRUPTED"])
    #expect(Source(error: .one).materialize().recorded == ["VALUE FAILED one", "COMPLETED"])
    #expect(
      Source(error: .one).materializeResults().map { "\($0)" }.recorded.last == "COMPLETED")
  }

  @Test("an attempt that fails ends the stream, and its source")
  func attempts() {
    let log = Log<Int>()
    let source = Source([1, 2, 3]).on(value: { log.append($0) })
    #expect(
      source.attempt { $0 == 2 ? .failure(.two) : .success(()) }.recorded
        == ["VALUE 1", "FAILED two"])
    #expect(log.entries == [1, 2])
    #expect(
      source.attemptMap { $0 == 2 ? .failure(.two) : .success($0 * 10) }.recorded
        == ["VALUE 10", "FAILED two"])
  }

  @Test("a replay without memory sends the end, and later events while it runs")
  func replayWithoutMemory() {
    let (signal, input) = Signal<Int, TestError>.pipe()
    let replayed = signal.producer.replayLazily(upTo: 0)
    let (early, late, last) = (Log<String>(), Log<String>(), Log<String>())
    replayed.record(in: early)
    input.send(value: 1)
    replayed.record(in: late)
    input.send(value: 2)
    input.send(error: .one)
    replayed.record(in: last)
    #expect(early.entries == ["VALUE 1", "VALUE 2", "FAILED one"])
    #expect(late.entries == ["VALUE 2", "FAILED one"])
    #expect(last.entries == ["FAILED one"])
  }

  @Test("a replay goes on when one of its starts is disposed of, and ends with the last holder")
  func replayLife() {
    let (starts, ended) = (Counter(), Counter())
    let (signal, input) = Signal<Int, TestError>.pipe()
    let source = Source { observer, lifetime in
      starts.increment()
      lifetime += signal.observe(observer)
      lifetime.observeEnded { ended.increment() }
    }
    var replayed: Source? = source.replayLazily(upTo: 1)
    let (first, second) = (Log<String>(), Log<String>())
    let one = replayed?.record(in: first)
    let other = replayed?.record(in: second)
    input.send(value: 1)
    one?.dispose()
    input.send(value: 2)
    #expect((starts.value, ended.value) == (1, 0))
    #expect(first.entries == ["VALUE 1", "INTERRUPTED"])
    #expect(second.entries == ["VALUE 1", "VALUE 2"])
    replayed = nil
    #expect(ended.value == 0)
    other?.dispose()
    #expect(ended.value == 1)
  }
}
