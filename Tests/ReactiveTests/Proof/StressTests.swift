import Dispatch
import Reactive
import Testing

/// Threads at odds with each other, for the thread sanitizer to watch:
/// `swift test --sanitize=thread --filter StressTests`.
@Suite("Under stress", .ownThread, .timeLimit(.minutes(5)))
struct StressTests {
  private let rounds = 20

  @Test("several threads send, others come and go, one ends it")
  func pipe() {
    for _ in 0..<rounds {
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      let chain = signal.map { $0 + 1 }.filter { $0 > 0 }.scan(0, +).skipRepeats()
      chain.record(in: log)
      race(
        { for value in 1...100 { input.send(value: value) } },
        { for value in 1...100 { input.send(value: value) } },
        { for _ in 0..<50 { chain.take(first: 2).observe { _ in }?.dispose() } },
        {
          for _ in 0..<30 { signal.observe { _ in } }
          input.send(error: .one)
        })
      #expect(log.entries.last == "FAILED one")
      #expect(log.entries.count { $0.hasPrefix("FAILED") } == 1)
    }
  }

  @Test("signals are joined while one of them ends")
  func joiningAtTheEnd() {
    for round in 0..<rounds * 20 {
      let (a, aInput) = Signal<Int, TestError>.pipe()
      let (b, bInput) = Signal<Int, TestError>.pipe()
      let (life, token) = Lifetime.make()
      let log = Log<String>()
      race(
        {
          aInput.send(value: 1)
          if round.isMultiple(of: 2) { aInput.send(error: .one) } else { aInput.sendCompleted() }
        },
        { bInput.send(value: 2) },
        {
          Signal.zip(a, b, a).map { "\($0)" }.record(in: log)
          Signal.combineLatest(a, b).map { "\($0)" }.record(in: log)
          a.take(untilReplacement: b).map { "\($0)" }.record(in: log)
          a.take(during: life).flatMapError { _ in b.producer }.map { "\($0)" }.record(in: log)
        })
      token.dispose()
      bInput.sendCompleted()
      let ends = log.entries.filter { !$0.hasPrefix("VALUE") }
      #expect(ends.count == 4, "\(log.entries)")
    }
  }

  @Test("two threads dispose of one run while a third sends")
  func disposal() {
    for _ in 0..<rounds {
      let (signal, input) = Signal<Int, Never>.pipe()
      let ended = Counter()
      let producer = SignalProducer<Int, Never> { observer, lifetime in
        lifetime += signal.observe(observer)
        lifetime.observeEnded { ended.increment() }
      }
      let run = producer.map { $0 }.flatMap(.merge) { SignalProducer<Int, Never>(value: $0) }
        .start()
      race(
        { run.dispose() }, { run.dispose() },
        { for value in 0..<50 { input.send(value: value) } })
      #expect(ended.value == 1)
    }
  }

  @Test("properties are set, modified, bound and observed from several threads")
  func properties() {
    for _ in 0..<rounds {
      let (a, b) = (MutableProperty(0), MutableProperty(0))
      let sum = a.combineLatest(with: b).map { $0 + $1 }
      let doubled = sum.flatMap(.latest) { Property(value: $0 * 2) }
      let copy = MutableProperty(0)
      copy <~ doubled
      race(
        { for _ in 0..<100 { a.modify { $0 += 1 } } },
        { for _ in 0..<100 { b.modify { $0 += 1 } } },
        { for _ in 0..<50 { sum.producer.startWithValues { _ in }.dispose() } },
        { for _ in 0..<100 { _ = (copy.value, doubled.value) } })
      #expect(sum.value == 200)
      #expect(copy.value == 400)
    }
  }

  @Test("a property that is composed of others while they are set has a value")
  func composition() {
    let (a, b) = (MutableProperty(1), MutableProperty(1))
    let (isDone, wrong) = (Atomic(false), Log<[Int]>())
    let set: @Sendable () -> Void = {
      while !isDone.value {
        a.value = 1
        b.value = 1
      }
    }
    race(
      set, set,
      {
        for _ in 0..<self.rounds * 100 {
          let sum = a.combineLatest(with: b).map { $0 + $1 }
          let product = Property<Int>.zip(a, b).map { $0 * $1 }
          let values = [sum.value, product.value]
          if values != [2, 1] { wrong.append(values) }
        }
        isDone.value = true
      })
    #expect(wrong.entries == [])
  }

  @Test("a member added to a composite that is being disposed of is disposed of")
  func composite() {
    for _ in 0..<rounds * 5 {
      let composite = CompositeDisposable()
      let disposables = (0..<100).map { _ in AnyDisposable() }
      race(
        { for disposable in disposables[..<50] { composite.add(disposable) } },
        { for disposable in disposables[50...] { composite.add(disposable)?.dispose() } },
        { composite.dispose() })
      #expect(disposables[..<50].allSatisfy { $0.isDisposed })
    }
  }

  @Test("a serial disposable that is set by several threads leaves nothing undisposed")
  func serial() {
    for _ in 0..<rounds * 5 {
      let serial = SerialDisposable()
      let disposables = (0..<40).map { _ in AnyDisposable() }
      race(
        { for disposable in disposables[..<20] { serial.inner = disposable } },
        { for disposable in disposables[20...] { serial.inner = disposable } },
        { serial.dispose() })
      #expect(disposables.allSatisfy { $0.isDisposed })
    }
  }

  @Test(
    "inner streams that send at once all come through",
    arguments: [FlattenStrategy.merge, .concat, .concurrent(limit: 2)])
  func flattening(_ strategy: FlattenStrategy) {
    for _ in 0..<rounds {
      let counter = Counter()
      let (outer, input) = Signal<SignalProducer<Int, Never>, Never>.pipe()
      let ends = Counter()
      outer.flatten(strategy).observe { event in
        if event.isTerminating { ends.increment() } else { counter.increment() }
      }
      let scheduler = QueueScheduler()
      let inner = SignalProducer<Int, Never>(0..<10)
      race(
        { for _ in 0..<20 { input.send(value: inner) } },
        { for _ in 0..<20 { input.send(value: inner.start(on: scheduler)) } },
        { for _ in 0..<20 { input.send(value: inner.observe(on: scheduler)) } })
      input.sendCompleted()
      while ends.value == 0 { scheduler.queue.sync {} }
      #expect(counter.value == 600)
    }
  }

  @Test("latest and race switch while their inner streams send")
  func switching() {
    for strategy in [FlattenStrategy.latest, .race, .throttle] {
      for _ in 0..<rounds {
        let (outer, input) = Signal<Signal<Int, Never>, Never>.pipe()
        let pipes = (0..<4).map { _ in Signal<Int, Never>.pipe() }
        let run = outer.flatten(strategy).observe { _ in }
        race(
          { for pipe in pipes { input.send(value: pipe.output) } },
          { for index in 0..<40 { pipes[index % 4].input.send(value: index) } },
          { for pipe in pipes.reversed() { pipe.input.sendCompleted() } },
          { run?.dispose() })
        input.sendCompleted()
      }
    }
  }

  @Test("a replay sends the same to all observers, whenever they come")
  func replay() {
    for _ in 0..<rounds {
      let (signal, input) = Signal<Int, Never>.pipe()
      let replayed = signal.producer.replayLazily(upTo: 1_000)
      let logs = (0..<3).map { _ in Log<Int>() }
      replayed.startWithValues { logs[0].append($0) }
      race(
        {
          for value in 0..<100 { input.send(value: value) }
          input.sendCompleted()
        },
        { replayed.startWithValues { logs[1].append($0) } },
        {
          for _ in 0..<10 { replayed.start().dispose() }
          replayed.startWithValues { logs[2].append($0) }
        })
      for log in logs { #expect(log.entries == Array(0..<100)) }
    }
  }

  @Test("joined streams take what comes from several threads, one at a time")
  func joining() {
    for _ in 0..<rounds {
      let (a, b) = (Signal<Int, Never>.pipe(), Signal<Int, Never>.pipe())
      // Guarded only by the streams' serialisation, which this test checks.
      nonisolated(unsafe) var (latest, pairs, merged) = (0, 0, 0)
      Signal.combineLatest(a.output, b.output).observeValues { _ in latest += 1 }
      Signal.zip(a.output, b.output).observeValues { _ in pairs += 1 }
      Signal.merge(a.output, b.output).observeValues { _ in merged += 1 }
      a.output.take(until: b.output.map { _ in }).observeValues { _ in }
      a.output.sample(on: b.output.map { _ in }).observeValues { _ in }
      a.output.withLatest(from: b.output).observeValues { _ in }
      race(
        { for value in 0..<100 { a.input.send(value: value) } },
        { for value in 0..<100 { b.input.send(value: value) } })
      #expect(pairs == 100)
      #expect(merged == 200)
      #expect((100...199).contains(latest))
    }
  }

  @Test("time operators lose no values on a queue that is busy elsewhere")
  func scheduling() async {
    for _ in 0..<rounds {
      let (signal, input) = Signal<Int, Never>.pipe()
      let scheduler = QueueScheduler()
      let done = Expectation()
      let log = Log<Int>()
      signal.observe(on: scheduler).observe { event in
        if let value = event.value { log.append(value) } else { done.fulfill() }
      }
      signal.throttle(0, on: scheduler).observe { _ in }
      signal.debounce(0, on: scheduler).observe { _ in }
      signal.delay(0, on: scheduler).observe { _ in }
      race(
        { for value in 0..<100 { input.send(value: value) } },
        { for _ in 0..<20 { signal.observe(on: scheduler).observe { _ in }?.dispose() } })
      input.sendCompleted()
      await done.wait()
      #expect(log.entries == Array(0..<100))
    }
  }

  @Test("an action is applied by several threads, and executes once at a time")
  func action() {
    for _ in 0..<rounds {
      let (running, most, completed) = (Counter(), Counter(), Counter())
      let action = Action<Int, Int, TestError> { input in
        SignalProducer { observer, _ in
          running.increment()
          observer.send(value: input)
          observer.sendCompleted()
        }
      }
      action.isExecuting.signal.observeValues { _ in most.increment() }
      let apply: @Sendable () -> Void = {
        for value in 0..<20 { action.apply(value).startWithCompleted { completed.increment() } }
      }
      race(apply, apply, { for _ in 0..<20 { _ = action.isEnabled.value } })
      #expect(completed.value == running.value)
      #expect(!action.isExecuting.value)
      #expect(action.isEnabled.value)
    }
  }
}
