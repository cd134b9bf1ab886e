import Dispatch
import Foundation
import Reactive
import ReactiveFoundation
import Testing

@testable import ReactiveAppCode

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// This file contains every spelling of the tables in MigratingFromReactiveCocoa.md, character by
// character.

@Suite("The page on migrating from ReactiveCocoa 2: streams", .ownThread)
struct MigratedStreamTests {
  @Test("the page's spellings make and observe streams")
  func streams() {
    let cold = SignalProducer<Int, Never> { observer, lifetime in
      lifetime += AnyDisposable {}
      observer.send(value: 1)
      observer.sendCompleted()
    }
    #expect(cold.recorded == ["VALUE 1", "COMPLETED"])
    #expect(SignalProducer<Int, TestError>(value: 1).recorded == ["VALUE 1", "COMPLETED"])
    #expect(SignalProducer<Int, TestError>(error: .one).recorded == ["FAILED one"])
    #expect(SignalProducer<Int, Never>.empty.recorded == ["COMPLETED"])
    #expect(SignalProducer<Int, Never>.never.recorded == [])
    #expect(SignalProducer<Int, Never>([1, 2]).recorded.count == 3)

    let log = Log<String>()
    let (signal, input) = Signal<Int, Never>.pipe()
    signal.observeValues { log.append("\($0)") }
    input.send(value: 2)
    cold.startWithValues { log.append("\($0)") }
    cold.start { event in log.append("\(event)") }
    #expect(log.entries == ["2", "1", "VALUE 1", "COMPLETED"])
  }

  @Test("the page's spellings share streams and remember values")
  func sharing() {
    let (output, input) = SignalProducer<Int, Never>.replayPipe(upTo: 1)
    input.send(value: 1)
    #expect(output.recorded == ["VALUE 1"])
    #expect(MutableProperty(0).producer.recorded == ["VALUE 0", "COMPLETED"])
    let starts = Counter()
    let shared = SignalProducer<Int, Never>([1, 2]).on(starting: { starts.increment() })
      .replayLazily(upTo: 1)
    #expect(shared.recorded == ["VALUE 1", "VALUE 2", "COMPLETED"])
    #expect(shared.recorded == ["VALUE 2", "COMPLETED"])
    #expect(starts.value == 1)
    let log = Log<Int>()
    SignalProducer<Int, Never>([1]).startWithSignal { signal, interruptHandle in
      for _ in 1...2 { signal.observeValues { log.append($0) } }
    }
    #expect(log.entries == [1, 1])
  }

  @Test("observers, events and tuples have types")
  func types() {
    let log = Log<String>()
    let observer = Signal<Int, Never>.Observer(value: { log.append("\($0)") })
    let event = Signal<Int, Never>.Event.value(3)
    observer.send(event)
    let pairs = SignalProducer<(Int, Int), Never>(value: (1, 2))
    #expect(pairs.map { left, right in left + right }.recorded == ["VALUE 3", "COMPLETED"])
    let all = SignalProducer<Int, Never>([1, 2]).replayLazily(upTo: .max)
    #expect(all.recorded == all.recorded)
    let failing = SignalProducer<Int, TestError>(error: .one)
    failing.startWithFailed { log.append("\($0)") }
    all.startWithCompleted { log.append("completed") }
    #expect(log.entries == ["3", "one", "completed"])
  }

  @Test("RAC 2's throttle is debounce; today's throttle is another")
  func throttleTrap() {
    let marbles = Marbles()
    let scheduler = marbles.scheduler
    marbles.expect(marbles.source("-12-3----|").producer.debounce(2, on: scheduler))
      .toBe("------3--|")
    let others = Marbles()
    let otherScheduler = others.scheduler
    others.expect(others.source("-12-3----|").producer.throttle(2, on: otherScheduler))
      .toBe("-1-2-3---|")
  }

  @Test("the page's spellings delay, collect, time out and change threads")
  func time() {
    let scheduler = TestScheduler()
    let source = SignalProducer<Int, TestError>(value: 1)
    let log = Log<String>()
    source.delay(1, on: scheduler).record(in: log)
    source.concat(.never).collect(every: .seconds(1), on: scheduler).record(in: log)
    SignalProducer<Int, TestError>.never.timeout(after: 1, raising: .two, on: scheduler)
      .record(in: log)
    source.observe(on: scheduler).record(in: log)
    source.start(on: scheduler).record(in: log)
    let ticks = Counter()
    let timer = SignalProducer.timer(interval: .seconds(1), on: scheduler)
      .startWithValues { _ in ticks.increment() }
    scheduler.advance(by: 2.0)
    timer.dispose()
    #expect(ticks.value == 2)
    #expect(log.entries.filter { $0 == "VALUE 1" }.count == 3)
    #expect(log.entries.contains("FAILED two") && log.entries.contains("VALUE [1]"))
  }
}

@Suite("The page on migrating from ReactiveCocoa 2: operators")
struct MigratedOperatorTests {
  private let numbers = SignalProducer<Int, TestError>([1, 1, 2])

  private func values<Value>(_ producer: SignalProducer<Value, TestError>) -> [Value] {
    (try? producer.collect().single()?.get()) ?? []
  }

  @Test("the page's spellings transform one stream")
  func oneStream() throws {
    #expect(values(numbers.map { $0 + 1 }) == [2, 2, 3])
    #expect(values(numbers.map(value: 0)) == [0, 0, 0])
    #expect(values(numbers.filter { $0 != 1 }) == [2])
    #expect(values(numbers.filter { _ in false }) == [])
    #expect(values(numbers.prefix(value: 0)) == [0, 1, 1, 2])
    #expect(values(numbers.take(first: 1)) == [1])
    #expect(values(numbers.skip(first: 1)) == [1, 2])
    #expect(values(numbers.skipRepeats()) == [1, 2])
    #expect(values(numbers.scan(0, +)) == [1, 2, 4])
    #expect(values(numbers.reduce(0, +)) == [4])
    #expect(values(numbers.collect()) == [[1, 1, 2]])
    #expect(values(numbers.materialize().promoteError()).count == 4)
    #expect(values(numbers.group { $0 % 2 }.map(\.key)) == [1, 0])
    #expect(try numbers.first()?.get() == 1)
  }

  @Test("the page's spellings end one stream at a value, and test its values")
  func conditions() throws {
    #expect(values(numbers.take(last: 1)) == [2])
    #expect(values(numbers.take(while: { $0 < 2 })) == [1, 1])
    #expect(values(numbers.skip(while: { $0 < 2 })) == [2])
    #expect(values(numbers.take(while: { !($0 > 1) })) == [1, 1])
    #expect(values(numbers.skip(while: { !($0 > 1) })) == [2])
    #expect(values(numbers.combinePrevious(0).map { $0 + $1 }) == [1, 2, 3])
    #expect(try numbers.collect().single()?.get() == [1, 1, 2])
    let hasMore = numbers.filter { $0 > 1 }.map(value: true).concat(value: false).take(first: 1)
    let hasNoMore = numbers.filter { $0 > 1 }.map(value: false).concat(value: true).take(first: 1)
    #expect(values(hasMore) == [true])
    #expect(values(hasNoMore) == [false])
    #expect(((try? numbers.first()?.get()) ?? 0) == 1)
    #expect(throws: Never.self) { try numbers.wait().get() }
    #expect(values(numbers.repeat(3)).count == 9)
    let events = SignalProducer<Int, Never>(value: 1).materialize()
    #expect(events.dematerialize().recorded == ["VALUE 1", "COMPLETED"])
  }

  @Test("the page's spellings combine several streams")
  func severalStreams() {
    let other = SignalProducer<Int, TestError>([10])
    #expect(values(numbers.then(other)) == [10])
    #expect(values(numbers.concat(other)) == [1, 1, 2, 10])
    #expect(values(SignalProducer.merge(numbers, other)) == [1, 1, 2, 10])
    #expect(values(other.combineLatest(with: numbers).map { $0 + $1 }) == [11, 11, 12])
    #expect(values(numbers.zip(with: other).map { $0 + $1 }) == [11])
    #expect(values(numbers.flatMap(.merge) { _ in other }) == [10, 10, 10])
    let nested = numbers.map { SignalProducer<Int, TestError>(value: $0) }
    #expect(values(nested.flatten(.latest)) == [1, 1, 2])
    #expect(values(nested.flatten(.concat)) == [1, 1, 2])
    #expect(values(nested.flatten(.merge)) == [1, 1, 2])
    #expect(values(nested.flatten(.concurrent(limit: 2))) == [1, 1, 2])
    #expect(values(numbers.merge(with: other)) == [1, 1, 2, 10])
    #expect(values(numbers.concat(.never).take(untilReplacement: other)).last == 10)
    let (trigger, input) = Signal<(), Never>.pipe()
    let signal = SignalProducer<Int, Never>.never
    let log = Log<String>()
    signal.take(until: trigger.producer).record(in: log)
    signal.prefix(value: 1).sample(on: trigger.producer).record(in: log)
    input.send(value: ())
    #expect(log.entries == ["COMPLETED", "VALUE 1"])
  }

  @Test("the page's spellings handle errors")
  func errors() {
    let failing = SignalProducer<Int, TestError>(error: .one)
    #expect(values(failing.flatMapError { _ in SignalProducer(value: 5) }) == [5])
    #expect(failing.retry(upTo: 3).recorded == ["FAILED one"])
    #expect(numbers.attempt { _ in .failure(.two) }.recorded == ["FAILED two"])
    #expect(values(numbers.attemptMap { .success($0 * 2) }) == [2, 2, 4])
  }

  @Test("the page's spellings negate booleans, add side effects, and log")
  func sideEffects() {
    let yes = MutableProperty(true)
    #expect(!yes.negate().value)
    #expect(yes.and(yes).value && yes.or(yes).value)
    let log = Log<String>()
    let one = SignalProducer<Int, Never>(value: 1)
    one.on(value: { log.append("next \($0)") }).start()
    one.on(starting: { log.append("initially") }).start()
    one.on(terminated: { log.append("finally") }).start()
    one.logEvents(
      identifier: "one", events: [.value],
      logger: { name, event, _, _, _ in
        log.append("\(name): \(event)")
      }
    ).start()
    #expect(log.entries == ["next 1", "initially", "finally", "one: value 1"])
  }
}

@Suite("The page on migrating from ReactiveCocoa 2: commands, bindings, threads", .ownThread)
struct MigratedBindingTests {
  @Test("the page's spellings replace commands by actions")
  func commands() {
    let isValid = MutableProperty(true)
    let action = Action<Int, Int, TestError>(enabledIf: isValid) { SignalProducer(value: $0) }
    let log = Log<String>()
    action.executions.observeValues { _ in log.append("execution") }
    action.errors.observeValues { log.append("\($0)") }
    action.apply(1).start()
    #expect(log.entries == ["execution"])
    #expect(action.isEnabled.value && !action.isExecuting.value)
    action.allowsConcurrentExecution = true
  }

  @Test("the page's spellings bind properties and targets")
  func bindings() {
    let (target, source) = (MutableProperty(0), MutableProperty(1))
    target <~ source
    let optional = MutableProperty<Int?>(nil)
    target.replacingNil(with: 9) <~ optional
    #expect(target.value == 9)
    let (left, right) = (MutableProperty(0), MutableProperty(1))
    left <~> right
    #expect(left.value == 1)
    let log = Log<String>()
    SignalProducer.combineLatest(target, source).startWithValues { left, right in
      log.append("\(left + right)")
    }
    #expect(log.entries == ["10"])
    let (lifetime, token) = Lifetime.make()
    source.producer.take(during: lifetime).record(in: log)
    token.dispose()
    #expect(log.entries.last == "COMPLETED")
  }

  @Test("views have reactive members of their own")
  func views() {
    let text = MutableProperty<String?>("typed")
    let label = Label()
    label.reactive.text <~ text
    #expect(label.text == "typed")
  }

  @Test("the page's spellings dispose and schedule")
  func disposables() {
    let bag = CompositeDisposable()
    let exchangeable = SerialDisposable()
    bag += exchangeable
    exchangeable.inner = AnyDisposable {}
    _ = ScopedDisposable(bag)
    #expect(exchangeable.isDisposed)
    let schedulers: [any Scheduler] = [
      UIScheduler(), QueueScheduler.main, QueueScheduler(qos: .utility), ImmediateScheduler(),
      TestScheduler(),
    ]
    #expect(schedulers.count == 5)
    let scheduler = TestScheduler()
    let performed = Counter()
    scheduler.schedule { performed.increment() }
    scheduler.schedule(after: Date()) { performed.increment() }
    scheduler.run()
    #expect(performed.value == 2)
    DispatchQueue(label: "none").sync { #expect(QueueScheduler.current == nil) }
  }

  @Test("the page's spellings observe notifications and wrap callbacks")
  func callbacks() {
    let center = NotificationCenter()
    let name = Notification.Name("doorbell")
    let heard = Counter()
    center.reactive.notifications(forName: name).observeValues { _ in heard.increment() }
    center.post(name: name, object: nil)
    #expect(heard.value == 1)
    let request = URLRequest(url: URL(filePath: "/dev/null"))
    let page = URLSession.shared.reactive.data(with: request)
    page.start().dispose()
    let answer = SignalProducer<Int, TestError>(callback: { done in
      done(.success(1))
      return nil
    })
    let heardOf = SignalProducer<Int, Never>(listener: { listener in
      listener(2)
      return nil
    })
    final class Receiver: Sendable {}
    let attached = Counter()
    let told = SignalProducer<Int, Never>(
      delegate: { observer -> Receiver in
        observer.send(value: 3)
        return Receiver()
      }, attach: { _ in attached.increment() }, detach: { _ in attached.increment() })
    told.start().dispose()
    #expect(attached.value == 2)
    #expect(answer.recorded == ["VALUE 1", "COMPLETED"])
    #expect(heardOf.recorded == ["VALUE 2", "INTERRUPTED"])
  }
}
