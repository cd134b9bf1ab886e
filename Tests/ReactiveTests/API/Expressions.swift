// Table of expressions that users of ReactiveSwift write, by families of overloads. ExpressionTests
// compiles them in both language modes: each has exactly one meaning.
import Foundation
import Reactive

struct E: Error {}
struct F: Error { init() {}; init(_ error: E) {} }
func search(_ text: String) -> SignalProducer<[Int], E> { SignalProducer(value: [1]) }
func suggest(_ text: String) -> SignalProducer<[Int], Never> { SignalProducer(value: [1]) }
func load(_ text: String) async throws -> Int { 1 }

func flatteningOfProducersThatFail(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>
) {
  _ = p.flatMap(.latest) { t in
    search(t).map { Result<[Int], E>.success($0) }.flatMapError {
      SignalProducer(value: .failure($0))
    }
  }
  _ = p.flatMap(.latest) { _ in SignalProducer(value: 0) }
  _ = p.flatMap(.merge) { $0.isEmpty ? SignalProducer(value: 1) : SignalProducer(value: 2) }
  _ = p.flatMap(.merge) { $0.isEmpty ? .empty : SignalProducer(value: $0.count) }
  _ = p.flatMap(.merge) {
    $0.isEmpty ? SignalProducer(error: E()) : SignalProducer(value: $0.count)
  }
  _ = p.flatMap(.latest) { _ in SignalProducer<Int, Never>(value: 0) }
  _ = p.flatMap(.latest) { _ in SignalProducer<Int, E>(value: 0) }
  _ = p.flatMap(.latest) { _ in SignalProducer<Int, Never>.never }
  _ = p.flatMap(.latest) { _ in SignalProducer([1, 2, 3]) }
  _ = p.flatMap(.latest) { _ in SignalProducer(values: 1, 2, 3) }
  _ = p.flatMap(.concat) { SignalProducer($0) }
  _ = p.flatMap(.latest, search)
  _ = p.flatMap(.latest, suggest)
  _ = p.flatMap(.latest) { search($0) }
  _ = p.flatMap(.latest) { suggest($0) }
  _ = p.flatMap(.latest) { suggest($0).map { $0.count } }
  _ = p.flatMap(.latest) { search($0).map(\.count) }
  _ = p.flatMap(.latest) { search($0).flatMapError { _ in .empty } }
  _ = p.flatMap(.latest) { search($0).flatMapError { _ in SignalProducer(value: []) } }
  _ = p.flatMap(.latest) { search($0).flatMapError { _ in SignalProducer<[Int], Never>.empty } }
  _ = p.flatMap(.latest) { search($0).materialize() }
  _ = p.flatMap(.latest) { search($0).materializeResults() }
  _ = p.flatMap(.latest) { search($0).retry(upTo: 2) }
  _ = p.flatMap(.latest) { search($0).delay(1, on: QueueScheduler.main) }
  _ = p.flatMap(.latest) { suggest($0).promoteError(E.self) }
  _ = p.flatMap(.latest) { suggest($0).promoteError() }
  _ = p.flatMap(.race) { search($0) }
  _ = p.flatMap(.concurrent(limit: 3)) { search($0) }
  _ = p.flatMap(.throttle) { search($0) }
  _ = p.flatMap(.latest) { text -> SignalProducer<Int, E> in
    guard !text.isEmpty else { return SignalProducer(value: 0) }
    return search(text).map { $0.count }
  }
  _ = p.flatMap(.latest) { text -> SignalProducer<Int, Never> in
    guard !text.isEmpty else { return .empty }
    return SignalProducer(value: 1)
  }
  _ = p.flatMap(.latest) { text in
    if text.isEmpty { return SignalProducer<Int, E>.empty }
    return search(text).map { $0.count }
  }
}

func flatteningOfProducersThatFail2(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>
) {
  _ = p.flatMap(.merge) { _ in
    SignalProducer { observer, _ in
      observer.send(value: 1); observer.sendCompleted()
    }
  }
  _ = p.flatMap(.merge) { _ in SignalProducer<Int, E> { observer, _ in observer.send(error: E()) } }
  _ = p.flatMap(.merge) { _ in SignalProducer { 1 } }
  _ = p.flatMap(.merge) { text in SignalProducer(result: Result<Int, E>.success(text.count)) }
  _ = p.map { _ in SignalProducer(value: 1) }.flatten(.latest)
  _ = p.map { _ in SignalProducer<Int, E>(value: 1) }.flatten(.latest)
  _ = p.map { _ in SignalProducer<Int, Never>(value: 1) }.flatten(.latest)
  _ = p.map(search).flatten(.latest)
  _ = p.map { search($0) }.flatten(.merge)
  _ = p.map(suggest).flatten(.concat)
  _ = p.flatMapError { _ in SignalProducer(value: "") }
  _ = p.flatMapError { _ in SignalProducer<String, Never>.empty }
  _ = p.flatMapError { _ in SignalProducer(error: F()) }
  _ = p.flatMapError { SignalProducer(error: F($0)) }
  _ = p.flatMapError { _ in n }
  _ = p.flatMapError { _ in p }
  _ = p.flatMap(.latest) { _ in n }.flatMap(.merge) { _ in p }
  _ = SignalProducer([p, p]).flatten(.concat)
  _ = SignalProducer([n, n]).flatten(.concat)
  _ = SignalProducer([n, n]).flatten(.merge)
  _ = SignalProducer(value: p).flatten(.latest)
  _ = SignalProducer(values: p, p).flatten(.race)
  _ = SignalProducer<SignalProducer<String, E>, Never>([p, p]).flatten(.concat)
  _ = SignalProducer<SignalProducer<String, E>, E>([p, p]).flatten(.concat)
  _ = SignalProducer<SignalProducer<String, Never>, E>([n, n]).flatten(.concat)
  _ = SignalProducer([[1], [2]]).flatten()
  _ = SignalProducer.merge(p, p)
  _ = SignalProducer.merge([p, p])
  _ = SignalProducer.merge([n, n])
  _ = SignalProducer<Int, E>.merge(SignalProducer(value: 1), SignalProducer(value: 2))
}

func flatteningOfProducers(_ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>) {
  _ = n.flatMap(.latest) { t in
    search(t).map { Result<[Int], E>.success($0) }.flatMapError {
      SignalProducer(value: .failure($0))
    }
  }
  _ = n.flatMap(.latest) { _ in SignalProducer(value: 0) }
  _ = n.flatMap(.merge) { $0.isEmpty ? SignalProducer(value: 1) : SignalProducer(value: 2) }
  _ = n.flatMap(.merge) { $0.isEmpty ? .empty : SignalProducer(value: $0.count) }
  _ = n.flatMap(.merge) {
    $0.isEmpty ? SignalProducer(error: E()) : SignalProducer(value: $0.count)
  }
  _ = n.flatMap(.merge) { _ in SignalProducer<Int, E>(error: E()) }
  _ = n.flatMap(.merge) { _ in SignalProducer(error: E()) as SignalProducer<Int, E> }
  _ = n.flatMap(.latest) { _ in SignalProducer([1, 2, 3]) }
  _ = n.flatMap(.latest) { _ in SignalProducer<Int, Never>.empty }
  _ = n.flatMap(.latest, search)
  _ = n.flatMap(.latest, suggest)
  _ = n.flatMap(.latest) { search($0) }
  _ = n.flatMap(.latest) { suggest($0) }
  _ = n.flatMap(.latest) { search($0).map { $0.count } }
  _ = n.flatMap(.latest) { search($0).flatMapError { _ in .empty } }
  _ = n.flatMap(.latest) { search($0).flatMapError { _ in SignalProducer(value: [0]) } }
  _ = n.flatMap(.latest) { search($0).materialize() }
  _ = n.flatMap(.latest) { search($0).materializeResults() }
  _ = n.flatMap(.latest) { search($0).mapError { F($0) } }
  _ = n.flatMap(.latest) { search($0).mapError(F.init) }
  _ = n.flatMap(.latest) { suggest($0).promoteError(F.self) }
  _ = n.flatMap(.latest) { text -> SignalProducer<Int, Never> in
    guard !text.isEmpty else { return SignalProducer(value: 0) }
    return suggest(text).map { $0.count }
  }
  _ = n.flatMap(.latest) { text -> SignalProducer<Int, E> in
    text.isEmpty ? SignalProducer(value: 0) : search(text).map { $0.count }
  }
  _ = n.flatMap(.latest) { text in
    if text.isEmpty { return SignalProducer<Int, Never>.empty }
    return suggest(text).map { $0.count }
  }
  _ = n.flatMap(.merge) { _ in SignalProducer { observer, _ in observer.send(value: 1) } }
  _ = n.flatMap(.merge) { _ in SignalProducer { 1 } }
  _ = n.map { _ in SignalProducer(value: 1) }.flatten(.latest)
  _ = n.map { _ in SignalProducer<Int, E>(value: 1) }.flatten(.latest)
  _ = n.map { _ in SignalProducer<Int, Never>(value: 1) }.flatten(.latest)
  _ = n.map(search).flatten(.latest)
  _ = n.map(suggest).flatten(.latest)
}

func flatteningOfProducers2(_ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>) {
  _ = n.promoteError(E.self).flatMap(.latest) { search($0) }
  _ = n.promoteError(E.self).flatMap(.latest) { _ in SignalProducer(value: 1) }
  _ = n.flatMap(.latest) { _ in p }.flatMapError { _ in n }
}

func flatteningOfSignals(
  _ s: Signal<String, E>, _ q: Signal<String, Never>, _ p: SignalProducer<String, E>,
  _ n: SignalProducer<String, Never>, _ signals: Signal<Signal<Int, E>, E>
) {
  _ = s.flatMap(.latest) { _ in SignalProducer(value: 0) }
  _ = s.flatMap(.merge) { $0.isEmpty ? SignalProducer(value: 1) : SignalProducer(value: 2) }
  _ = s.flatMap(.latest, search)
  _ = s.flatMap(.latest, suggest)
  _ = s.flatMap(.latest) { search($0) }
  _ = s.flatMap(.latest) { suggest($0).map { $0.count } }
  _ = s.flatMap(.latest) { search($0).flatMapError { _ in .empty } }
  _ = s.flatMap(.latest) { search($0).flatMapError { _ in SignalProducer(value: []) } }
  _ = s.flatMap(.latest) { search($0).materializeResults() }
  _ = s.flatMap(.latest) { _ in s }
  _ = s.flatMap(.latest) { _ in q }
  _ = s.flatMap(.latest) { _ in p }
  _ = s.flatMap(.latest) { _ in n }
  _ = s.flatMapError { _ in SignalProducer(value: "") }
  _ = s.flatMapError { _ in n }
  _ = s.flatMapError { _ in q }
  _ = s.map { _ in SignalProducer(value: 1) }.flatten(.latest)
  _ = s.map(search).flatten(.merge)
  _ = s.map(suggest).flatten(.merge)
  _ = signals.flatten(.merge)
  _ = q.flatMap(.latest) { _ in SignalProducer(value: 0) }
  _ = q.flatMap(.merge) { $0.isEmpty ? SignalProducer(value: 1) : SignalProducer(value: 2) }
  _ = q.flatMap(.latest, search)
  _ = q.flatMap(.latest, suggest)
  _ = q.flatMap(.latest) { search($0) }
  _ = q.flatMap(.latest) { suggest($0).map { $0.count } }
  _ = q.flatMap(.latest) { search($0).flatMapError { _ in .empty } }
  _ = q.flatMap(.latest) { search($0).flatMapError { _ in SignalProducer(value: []) } }
  _ = q.flatMap(.latest) { search($0).materializeResults() }
  _ = q.flatMap(.latest) { _ in s }
  _ = q.flatMap(.latest) { _ in q }
  _ = q.flatMap(.latest) { _ in p }
  _ = q.flatMap(.latest) { _ in n }
  _ = q.map { _ in SignalProducer(value: 1) }.flatten(.latest)
  _ = q.map(search).flatten(.merge)
  _ = Signal.merge(s, s)
  _ = Signal.merge([q, q])
}

func combining(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ i: SignalProducer<Int, Never>, _ j: SignalProducer<Int, E>,
  _ property: Property<Int>, _ mutable: MutableProperty<String>
) {
  _ = SignalProducer.combineLatest(n, i)
  _ = SignalProducer.combineLatest(p, j)
  _ = SignalProducer.combineLatest(n, i, i)
  _ = SignalProducer.combineLatest([n, n])
  _ = SignalProducer.combineLatest(n, i).map { $0 + String($1) }
  _ = SignalProducer.combineLatest(n, i).map { text, number in text.count + number }
  _ = SignalProducer.zip(n, i)
  _ = SignalProducer.zip(p, j).map { $0.count + $1 }
  _ = SignalProducer.zip([n, n])
  _ = Signal.combineLatest(q, q)
  _ = Signal.combineLatest([q, q])
  _ = Signal.zip(s, s)
  _ = Property.combineLatest(property, mutable)
  _ = Property.combineLatest(property, property).map { $0 + $1 }
  _ = Property.zip(property, mutable)
  _ = n.combineLatest(with: i)
  _ = p.combineLatest(with: j)
  _ = p.combineLatest(with: i.promoteError(E.self))
  _ = n.zip(with: i)
  _ = n.combineLatest(with: i).map { $0.0 + String($0.1) }
  _ = n.sample(on: i.map { _ in () })
  _ = n.sample(on: q.map { _ in })
  _ = n.sample(with: i)
  _ = n.withLatest(from: i)
  _ = n.withLatest(from: q)
  _ = n.withLatest(from: property)
  _ = q.withLatest(from: i)
  _ = q.withLatest(from: q)
  _ = q.withLatest(from: property)
  _ = p.withLatest(from: i)
  _ = n.withLatest(from: i).map { $0.0 }
  _ = n.take(until: i.map { _ in })
  _ = n.take(until: q.map { _ in () })
  _ = q.take(until: q.map { _ in () })
  _ = n.take(untilReplacement: n)
  _ = n.skip(until: i.map { _ in })
  _ = n.take(during: Lifetime.make().lifetime)
  _ = n.concat(n)
  _ = n.concat(value: "")
  _ = n.prefix(value: "")
  _ = p.prefix(n.promoteError())
  _ = p.concat(error: E())
  _ = n.merge(with: n)
  _ = p.merge(with: p)
  _ = i.map { $0 > 0 }.and(i.map { $0 < 9 })
}

func combining2(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ i: SignalProducer<Int, Never>, _ j: SignalProducer<Int, E>,
  _ property: Property<Int>, _ mutable: MutableProperty<String>
) {
  _ = property.map { $0 > 0 }.and(property.map { $0 < 9 })
  _ = property.map { $0 > 0 }.negate()
  _ = i.map { $0 > 0 }.or(property.map { $0 > 0 })
  _ = n.then(i)
  _ = p.then(j)
  _ = p.then(i)
  _ = n.then(j)
  _ = p.then(SignalProducer(value: 1))
  _ = p.then(SignalProducer<Int, E>(value: 1))
  _ = n.then(SignalProducer(value: 1))
  _ = n.then(SignalProducer<Int, Never>(value: 1))
  _ = property.flatMap(.latest) { _ in mutable }
  _ = property.flatMap(.latest) { Property(value: $0) }
  _ = property.producer.flatMap(.latest) { _ in SignalProducer(value: 1) }
  _ = property.signal.flatMap(.latest) { search(String($0)) }
  _ = mutable.producer.flatMap(.latest, search)
  _ = mutable.producer.skipRepeats().throttle(0.3, on: QueueScheduler.main).flatMap(.latest, search)
  _ = mutable.producer.flatMap(.latest) {
    search($0).flatMapError { _ in SignalProducer(value: []) }
  }
  _ = property.map(String.init)
  _ = property.map(\.description)
  _ = property.map { "\($0)" }
  _ = property.skipRepeats()
  _ = property.combinePrevious(0)
  _ = Property(initial: 0, then: i)
  _ = Property(initial: 0, then: i.map { $0 + 1 })
  _ = Property(initial: nil, then: i.map { Optional($0) })
  _ = Property<Int?>(initial: nil, then: i.map { $0 })
  _ = Property(capturing: mutable)
}

func producing(_ q: Signal<Int, Never>) {
  _ = SignalProducer { 1 }
  _ = SignalProducer<Int, Never> { 1 }
  _ = SignalProducer<Int, E> { 1 }
  _ = SignalProducer<Int, E> { .success(1) }
  _ = SignalProducer<Int, E> { .failure(E()) }
  _ = SignalProducer<Int, E> { Result<Int, E>.failure(E()) }
  _ = SignalProducer { Result<Int, E>.success(1) }
  _ = SignalProducer<Int, any Error> { throw E() }
  _ = SignalProducer<Int, any Error> {
    try Int(String(contentsOfFile: "/etc/hostname", encoding: .utf8)) ?? 0
  }
  let explicit: SignalProducer<Int, E> = SignalProducer { 1 }
  let value: SignalProducer<Int, E> = SignalProducer(value: 1)
  let values: SignalProducer<Int, E> = SignalProducer([1, 2])
  let none: SignalProducer<Int, E> = .empty
  let silent: SignalProducer<Int, Never> = .never
  let failing: SignalProducer<Int, E> = SignalProducer(error: E())
  _ = (explicit, value, values, none, silent, failing)
}

func transforming(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ i: SignalProducer<Int, Never>, _ j: SignalProducer<Int, E>,
  _ optional: SignalProducer<Int?, Never>
) {
  _ = n.map { $0.count }
  _ = n.map(\.count)
  _ = n.map(value: 1)
  _ = n.map { $0 }.filter { !$0.isEmpty }
  _ = n.filter { !$0.isEmpty }.map { Int($0) }.skipNil()
  _ = n.compactMap { Int($0) }
  _ = optional.skipNil()
  _ = optional.map { $0 ?? 0 }
  _ = i.filter { $0.isMultiple(of: 2) }
  _ = i.reduce(0) { $0 + $1 }
  _ = i.reduce(0, +)
  _ = i.reduce(into: 0) { $0 += $1 }
  _ = i.scan(0, +)
  _ = i.scan(0) { $0 + $1 }
  _ = i.scan(into: [Int]()) { $0.append($1) }
  _ = i.scanMap(0) { ($0 + $1, $1) }
  _ = i.collect()
  _ = i.collect(count: 2)
  _ = i.collect { $0.count == 3 }
  _ = i.collect { values, next in values.reduce(0, +) + next > 10 }
  _ = i.take(first: 1)
  _ = i.take(last: 1)
  _ = i.take(while: { $0 < 3 })
  _ = i.skip(first: 1)
  _ = i.skip(while: { $0 < 3 })
  _ = i.skip { $0 < 3 }
  _ = i.skipRepeats()
  _ = i.skipRepeats(==)
  _ = i.skipRepeats { $0 == $1 }
  _ = n.skipRepeats { $0.count == $1.count }
  _ = n.uniqueValues()
  _ = n.uniqueValues { $0.count }
  _ = i.combinePrevious()
  _ = i.combinePrevious(0)
  _ = j.attempt { _ in Result<(), E>.success(()) }
  _ = j.attempt { $0 > 0 ? .success(()) : .failure(E()) }
  _ = j.attemptMap { Result<Int, E>.success($0) }
  _ = j.attemptMap { $0 > 0 ? .success($0) : .failure(E()) }
  _ = i.attemptMap { $0 > 0 ? Result<Int, E>.success($0) : .failure(E()) }
  _ = i.attempt { if $0 > 3 { throw E() } }
  _ = i.attemptMap { (value: Int) throws -> Int in value }
  _ = p.mapError { F($0) }
  _ = p.mapError(F.init)
  _ = p.mapError { _ in F() }
  _ = p.map { $0.count }.mapError { _ in F() }
}

func transforming2(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ i: SignalProducer<Int, Never>, _ j: SignalProducer<Int, E>,
  _ optional: SignalProducer<Int?, Never>
) {
  _ = n.promoteError(E.self)
  _ = n.promoteError() as SignalProducer<String, E>
  _ = p.materialize().dematerialize()
  _ = p.materializeResults().dematerializeResults()
  _ = p.retry(upTo: 3)
  _ = p.retry(upTo: 3, interval: 1, on: QueueScheduler.main)
  _ = n.repeat(2)
  _ = n.delay(1, on: QueueScheduler.main)
  _ = n.debounce(0.3, on: QueueScheduler.main)
  _ = n.throttle(0.3, on: QueueScheduler.main)
  _ = n.throttle(while: Property(value: true), on: UIScheduler())
  _ = n.observe(on: UIScheduler())
  _ = n.observe(on: QueueScheduler.main).map { $0 }
  _ = n.start(on: QueueScheduler(name: "x"))
  _ = p.timeout(after: 1, raising: E(), on: QueueScheduler.main)
  _ = n.timeout(after: 1, raising: E(), on: QueueScheduler.main)
  _ = n.lazyMap(on: QueueScheduler.main) { $0.count }
  _ = n.collect(every: .seconds(1), on: QueueScheduler.main)
  _ = n.on(value: { print($0) })
  _ = n.on(starting: { print("starting") }, completed: { print("completed") })
  _ = p.on(failed: { print($0) }, value: { print($0) })
  _ = q.on(value: { print($0) })
  _ = s.on(failed: { print($0) })
  _ = n.logEvents(identifier: "n")
  _ = q.reduce("") { $0 + $1 }
  _ = q.collect()
  _ = n.replayLazily(upTo: 1)
  _ = n.first()
  _ = p.single()
  _ = p.last()
  _ = p.wait()
  _ = try? p.first()?.get()
  _ = SignalProducer.timer(interval: .seconds(1), on: QueueScheduler.main)
  _ = SignalProducer<Int, Never>.empty
  _ = SignalProducer<Int, E>(error: E())
  _ = SignalProducer<Int, E>(result: .success(1))
  _ = SignalProducer<Int, E> { observer, lifetime in
    lifetime.observeEnded {}
    observer.send(value: 1)
  }
  _ = SignalProducer(0..<3)
  _ = SignalProducer(q)
  _ = SignalProducer(s)
}

func observing(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ mutable: MutableProperty<String>, _ property: Property<String>,
  _ action: Action<String, Int, E>
) {
  n.startWithValues { print($0) }
  n.startWithCompleted { print("completed") }
  p.startWithResult { print($0) }
  p.startWithResult { result in
    switch result {
    case .success(let value): print(value)
    case .failure(let error): print(error)
    }
  }
  p.startWithFailed { print($0) }
  p.start { event in
    switch event {
    case .value(let value): print(value)
    case .failed(let error): print(error)
    case .completed, .interrupted: break
    }
  }
  p.start(Signal.Observer(value: { print($0) }, failed: { print($0) }))
  n.start()
  q.observeValues { print($0) }
  q.observeCompleted { print("completed") }
  s.observeResult { print($0) }
  s.observeFailed { print($0) }
  s.observe { print($0) }
  s.observe(Signal.Observer(completed: { print("completed") }))
  mutable <~ n
  mutable <~ q
  mutable <~ property
  mutable <~ n.map { $0.uppercased() }
  mutable <~ p.flatMapError { _ in .empty }
  mutable <~ p.flatMapError { _ in SignalProducer(value: "") }
  mutable <~ action.values.map(String.init)
  mutable <~ action.errors.map { "\($0)" }
  mutable <~ SignalProducer(value: "a")
  _ = action.apply("a")
  _ = action.apply("a").map { $0 + 1 }
  _ = n.flatMap(.latest) { action.apply($0) }
  _ = n.flatMap(.latest) { action.apply($0).flatMapError { _ in .empty } }
  _ = action.isExecuting.producer.map { !$0 }
  action.bindingTarget <~ n
  _ = Action<String, Int, E> { text in SignalProducer(value: text.count) }
  _ = Action<String, Int, Never> { text in SignalProducer(value: text.count) }
  _ = Action { (text: String) in search(text) }
  _ = Action { (text: String) in suggest(text) }
  _ = Action(enabledIf: property.map { !$0.isEmpty }) { (text: String) in search(text) }
}

func observing2(
  _ p: SignalProducer<String, E>, _ n: SignalProducer<String, Never>, _ s: Signal<String, E>,
  _ q: Signal<String, Never>, _ mutable: MutableProperty<String>, _ property: Property<String>,
  _ action: Action<String, Int, E>
) {
  _ = Action(state: property) { state, _ in search(state) } as Action<(), [Int], E>
  _ = Action(unwrapping: property.map { Optional($0) }) { search($0) }
  let (signal, observer) = Signal<Int, Never>.pipe()
  observer.send(value: 1)
  _ = signal.map { $0 }
  _ = Signal<Int, E> { observer, lifetime in
    lifetime.observeEnded {}; observer.send(value: 1)
  }
}
func inferring() {
  let one = SignalProducer(value: 1)
  one.startWithValues { print($0) }
  let some = SignalProducer([1, 2])
  some.startWithValues { print($0) }
  SignalProducer(value: 1).startWithValues { print($0) }
  let several = SignalProducer(values: 1, 2)
  several.startWithValues { print($0) }
}
