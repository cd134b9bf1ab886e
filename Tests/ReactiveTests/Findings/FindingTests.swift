import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// The defects that were found in the libraries that this one comes after, one test each.
@Suite("Defects of others", .ownThread)
struct FindingTests {
  @Test("1: a main-actor closure that would be called off the main thread is refused")
  func mainActorClosures() throws {
    let source = { (closure: String) in
      """
      import Reactive
      @MainActor final class Screen {
        var text = ""
        func show(_ texts: Signal<String, Never>) { texts\(closure) }
      }
      """
    }
    for closure in [
      ".map { self.text + $0 }.observeValues { _ in }", ".observeValues { self.text = $0 }",
    ] {
      let diagnostics = try Compiler.diagnostics(of: source(closure), in: .swift6)
      let isRefused = diagnostics.contains { Compiler.says("main actor-isolated", in: $0) }
      #expect(isRefused, "\(diagnostics)")
    }
    #expect(
      try Compiler.diagnostics(
        of: source(".observeValues(on: UIScheduler()) { self.text = $0 }"), in: .swift6) == [])
  }

  @Test("2: no lock is held while zip, merge or a replay call out", .timeLimit(.minutes(5)))
  func callingOut() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let replay = signal.producer.replayLazily(upTo: 1)
    let streams = [
      Signal.zip([signal, signal]).map { $0[0] }.producer, Signal.merge([signal, signal]).producer,
      replay,
    ]
    for stream in streams {
      let calls = Counter()
      let run = stream.startWithValues { _ in
        calls.increment()
        guard calls.value == 1 else { return }
        let done = DispatchSemaphore(value: 0)
        detach {
          // Each would wait for the lock, if there were one.
          input.send(value: 2)
          stream.start().dispose()
          done.signal()
        }
        done.wait()
      }
      input.send(value: 1)
      #expect(calls.value >= 2)
      run.dispose()
    }
  }

  @Test("3: a recursive send is delivered after, in order, however deep")
  func recursiveSend() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (first, second) = (Log<Int>(), Log<Int>())
    signal.observeValues { value in
      first.append(value)
      if value < 50_000 { input.send(value: value + 1) }
    }
    signal.observeValues { second.append($0) }
    input.send(value: 1)
    #expect(first.entries == Array(1...50_000))
    #expect(second.entries == first.entries)
  }

  @Test("4: after a recursive set every observer has seen every value, and last the last")
  func recursiveSet() {
    let property = MutableProperty(0)
    let (first, second) = (Log<Int>(), Log<Int>())
    property.producer.startWithValues { value in
      first.append(value)
      if value < 3 { property.value = value + 1 }
    }
    property.producer.startWithValues { second.append($0) }
    property.value = 1
    #expect(first.entries == [0, 1, 2, 3, 1, 2, 3])
    #expect(second.entries.last == property.value && first.entries.last == property.value)
  }

  @Test("5: events sent by two threads are delivered one at a time")
  func overlap() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let (inside, overlaps, all) = (Atomic(0), Counter(), Counter())
    signal.observeValues { _ in
      if inside.modify({
        $0 += 1; return $0
      }) > 1 {
        overlaps.increment()
      }
      all.increment()
      inside.modify { $0 -= 1 }
    }
    let work: @Sendable () -> Void = { for value in 0..<5_000 { input.send(value: value) } }
    race(work, work)
    #expect((overlaps.value, all.value) == (0, 10_000))
  }

  @Test("6: a member added to a composite that is disposed of meanwhile is disposed of")
  func lostDisposables() {
    for _ in 0..<500 {
      let composite = CompositeDisposable()
      let added = (0..<10).map { _ in AnyDisposable() }
      race({ for disposable in added { composite.add(disposable) } }, { composite.dispose() })
      #expect(added.allSatisfy { $0.isDisposed })
    }
  }

  @Test("7: taking out of an empty bag finds nothing, and traps nothing")
  func emptyBag() {
    var bag = Bag<Int>()
    let token = bag.insert(1)
    #expect(bag.remove(using: token) == 1)
    #expect(bag.remove(using: token) == nil)
    #expect(bag.isEmpty)
  }

  @Test("8: observers are called in the order in which they subscribed")
  func order() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<Int>()
    let observations = (0..<100).map { index in signal.observeValues { _ in log.append(index) } }
    for index in stride(from: 0, to: 100, by: 3) { observations[index]?.dispose() }
    input.send(value: 1)
    #expect(log.entries == (0..<100).filter { $0 % 3 != 0 })
  }

  @Test("9: an observer that is disposed of during a delivery gets nothing more of it")
  func disposalDuringDelivery() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let later = SerialDisposable()
    let log = Log<Int>()
    signal.observeValues { _ in later.dispose() }
    later.inner = signal.observeValues { log.append($0) }
    input.send(value: 1)
    #expect(log.entries.isEmpty)
  }

  @Test(
    "10: long chains are type-checked within a second", arguments: Compiler.LanguageMode.allCases)
  func longChains(_ mode: Compiler.LanguageMode) throws {
    // Each expression that takes longer is an error. Chains of closures with much arithmetic on
    // literals take long with arrays, too: that is the compiler's.
    let source = """
      import Reactive
      struct City { var name = ""; var size = 1 }
      struct Person { var city = City(); var age = 1 }
      func chains(_ n: Signal<Int, Never>, _ p: SignalProducer<Person, Never>) {
        n.producer.map { $0 + 1 }.map { $0 * 2 }.map { $0 - 3 }.filter { $0 > 0 }
          .reduce(0) { $0 + $1 }.startWithValues { print($0) }
        n.map { $0 + 1 }.map { "\\($0)" }.map { $0.count }.filter { $0 % 2 == 0 }
          .scan(0) { $0 + $1 }.skipRepeats().take(first: 3).observeValues { print($0) }
        p.map(\\.city).map(\\.name).map(\\.count).filter { $0 > 1 }.map { $0 * 2 }
          .reduce(1) { $0 * $1 }.map(value: 1).startWithValues { print($0 + 1) }
        p.map(\\.city.name.count).combineLatest(with: p.map(\\.age)).map { $0 + $1 }
          .skipRepeats().filter { $0 > 1 }.startWithValues { print($0) }
        n.flatMap(.latest) { n in p.map { $0.age + n } }.map { ($0, $0) }.map { $0 + $1 }
          .collect(count: 2).observeValues { print($0) }
        SignalProducer.zip(p.map(\\.age), p.map(\\.city.size)).map { $0 * $1 }.filter { $0 > 1 }
          .then(p.map(\\.age)).concat(value: 3).startWithValues { print($0) }
      }
      """
    #expect(try Compiler.diagnostics(of: source, in: mode) == [])
  }

  @Test("11: an observer that was removed is let go")
  func retention() {
    let (signal, input) = Signal<Int, Never>.pipe()
    final class Witness: Sendable {}
    weak var observer: Witness?
    let observation: (any Disposable)?
    do {
      let witness = Witness()
      observer = witness
      observation = signal.observeValues { _ in withExtendedLifetime(witness) {} }
    }
    #expect(observer != nil)
    observation?.dispose()
    #expect(observer == nil)
    withExtendedLifetime((input, observation)) {}
  }

  @Test("12: debounce passes an error on at once, though a value waits")
  func debouncedError() {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, TestError>.pipe()
    let log = Log<String>()
    signal.debounce(1, on: scheduler).record(in: log)
    input.send(value: 1)
    input.send(error: .one)
    scheduler.advance()
    #expect(log.entries == ["FAILED one"])
  }

  @Test("13: a diamond of properties can be observed without mixtures")
  func diamond() {
    let source = MutableProperty(1)
    let log = Log<Bool>()
    let agree = source.map { $0 * 2 }.combineLatest(with: source.map { $0 + $0 }).map { $0 == $1 }
    agree.settled(after: source).producer.startWithValues { log.append($0) }
    for value in 2...10 { source.value = value }
    #expect(log.entries == Array(repeating: true, count: 10))
  }

  @Test("14: live streams can be drawn, with the names and places that were given")
  func names() {
    let (signal, input) = Signal<Int, Never>.pipe()
    let log = Log<String>()
    let place = #line + 1
    signal.map { $0 }.named("doubled").observeValues { _ in }
    signal.dumpGraph { log.append($0) }
    #expect(
      log.entries.first?.contains("\"doubled\" (ReactiveTests/FindingTests.swift:\(place))") == true
    )
    withExtendedLifetime(input) {}
  }
}
