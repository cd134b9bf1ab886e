import Dispatch
import Reactive
import Testing

/// An operator in both its forms, applied to integers. What it makes of them doesn't matter where
/// the table is used, only when it does. Its name has the operator's as it is spelt in the sources.
struct OperatorCase: Sendable, CustomTestStringConvertible {
  typealias OnSignal =
    @Sendable (Signal<Int, TestError>, TestScheduler) -> Signal<Int, TestError>
  typealias OnProducer =
    @Sendable (SignalProducer<Int, TestError>, TestScheduler) -> SignalProducer<Int, TestError>

  let name: String
  let onSignal: OnSignal
  let onProducer: OnProducer

  var testDescription: String { name }

  init(_ name: String, _ onSignal: @escaping OnSignal, _ onProducer: @escaping OnProducer) {
    self.name = name
    self.onSignal = onSignal
    self.onProducer = onProducer
  }

  /// An operator that only producers have: its other form is a run that the signal starts.
  init(producer name: String, _ onProducer: @escaping OnProducer) {
    self.init(
      name, { s, t in onProducer(s.producer, t).startWithSignal { signal, _ in signal } },
      onProducer)
  }

  static let all =
    mapping + choosing + folding + errors + joining + flattening + timed
}

extension Signal {
  /// The signal with every value replaced by an integer.
  fileprivate var plain: Signal<Int, Error> { map { _ in 1 } }
}

extension SignalProducer {
  fileprivate var plain: SignalProducer<Int, Error> { map { _ in 1 } }
}

extension Signal<Int, TestError> {
  fileprivate var signs: Signal<Bool, TestError> { map { $0 > 2 } }
}

extension SignalProducer<Int, TestError> {
  fileprivate var signs: SignalProducer<Bool, TestError> { map { $0 > 2 } }
}

extension SignalProducer where Value: Sendable {
  /// The same, by way of a replay of one value for each run.
  fileprivate var throughReplayPipe: SignalProducer<Value, Error> {
    SignalProducer { observer, lifetime in
      let (output, input) = SignalProducer.replayPipe(upTo: 1)
      lifetime += self.start(input)
      lifetime += output.start(observer)
    }
  }
}

private typealias Source = SignalProducer<Int, TestError>
private let noValues = SignalProducer<Int, Never>.empty
private let nothing = SignalProducer<(), Never>.never
private let life = Lifetime.make()

extension OperatorCase {
  fileprivate static let mapping: [OperatorCase] = [
    .init("map(_:)", { s, _ in s.map { $0 + 1 } }, { p, _ in p.map { $0 + 1 } }),
    .init("map(value:)", { s, _ in s.map(value: 2) }, { p, _ in p.map(value: 2) }),
    .init("map(_:), key path", { s, _ in s.map(\.bitWidth) }, { p, _ in p.map(\.bitWidth) }),
    .init("mapError(_:)", { s, _ in s.mapError { $0 } }, { p, _ in p.mapError { $0 } }),
    .init("compactMap(_:)", { s, _ in s.compactMap { $0 } }, { p, _ in p.compactMap { $0 } }),
    .init(
      "materialize(), dematerialize()", { s, _ in s.materialize().dematerialize() },
      { p, _ in p.materialize().dematerialize() }),
    .init(
      "materializeResults(), dematerializeResults()",
      { s, _ in s.materializeResults().dematerializeResults() },
      { p, _ in p.materializeResults().dematerializeResults() }),
    .init(
      "on(starting:started:event:failed:completed:interrupted:terminated:disposed:value:)",
      { s, _ in s.on(value: { _ in }) }, { p, _ in p.on(started: {}, value: { _ in }) }),
    .init(
      "logEvents(identifier:events:fileName:functionName:lineNumber:logger:)",
      { s, _ in s.logEvents(logger: { _, _, _, _, _ in }) },
      { p, _ in p.logEvents(logger: { _, _, _, _, _ in }) }),
    .init(
      "group(by:), merged",
      { s, _ in s.group(by: { $0 % 2 }).flatMap(.merge) { $0.signal } },
      { p, _ in p.group(by: { $0 % 2 }).flatMap(.merge) { $0.signal } }),
    .init(
      "group(by:)", { s, _ in s.group(by: { $0 % 2 }).plain },
      { p, _ in p.group(by: { $0 % 2 }).plain }),
    .init("named(_:file:line:)", { s, _ in s.named("it") }, { p, _ in p.named("it") }),
    .init(
      "lazyMap(on:transform:)", { s, t in s.lazyMap(on: t) { $0 } },
      { p, t in p.lazyMap(on: t) { $0 } }),
    .init(producer: "lift(_:)") { p, _ in p.lift { $0.map { $0 } } },
    .init(
      "negate(), and(_:), or(_:)",
      { s, _ in s.signs.negate().and(s.signs).or(s.signs).plain },
      { p, _ in p.signs.negate().and(p.signs).or(p.signs).plain }),
  ]

  fileprivate static let choosing: [OperatorCase] = [
    .init("filter(_:)", { s, _ in s.filter { $0 > 0 } }, { p, _ in p.filter { $0 > 0 } }),
    .init("take(first:)", { s, _ in s.take(first: 9) }, { p, _ in p.take(first: 9) }),
    .init("take(last:)", { s, _ in s.take(last: 9) }, { p, _ in p.take(last: 9) }),
    .init(
      "take(while:)", { s, _ in s.take(while: { $0 < 99 }) },
      { p, _ in p.take(while: { $0 < 99 }) }),
    .init(
      "take(until:), predicate", { s, _ in s.take(until: { $0 < 99 }) },
      { p, _ in p.take(until: { $0 < 99 }) }),
    .init(
      "take(until:)", { s, _ in s.take(until: .never) }, { p, _ in p.take(until: nothing) }),
    .init(
      "take(untilReplacement:)", { s, _ in s.take(untilReplacement: s.filter { $0 > 99 }) },
      { p, _ in p.take(untilReplacement: p.filter { $0 > 99 }) }),
    .init(
      "take(during:)", { s, _ in s.take(during: life.lifetime) },
      { p, _ in p.take(during: life.lifetime) }),
    .init("skip(first:)", { s, _ in s.skip(first: 0) }, { p, _ in p.skip(first: 0) }),
    .init(
      "skip(while:)", { s, _ in s.skip(while: { $0 > 99 }) },
      { p, _ in p.skip(while: { $0 > 99 }) }),
    .init("skipRepeats()", { s, _ in s.skipRepeats() }, { p, _ in p.skipRepeats() }),
    .init("skipRepeats(_:)", { s, _ in s.skipRepeats(==) }, { p, _ in p.skipRepeats(==) }),
    .init("uniqueValues()", { s, _ in s.uniqueValues() }, { p, _ in p.uniqueValues() }),
    .init(
      "uniqueValues(_:)", { s, _ in s.uniqueValues { -$0 } }, { p, _ in p.uniqueValues { -$0 } }),
    .init(
      "skipNil()", { s, _ in s.map(Optional.some).skipNil() },
      { p, _ in p.map(Optional.some).skipNil() }),
    .init(
      "replaceNil(with:)", { s, _ in s.map(Optional.some).replaceNil(with: 0) },
      { p, _ in p.map(Optional.some).replaceNil(with: 0) }),
  ]

  fileprivate static let folding: [OperatorCase] = [
    .init("scan(_:_:)", { s, _ in s.scan(0, +) }, { p, _ in p.scan(0, +) }),
    .init("scan(into:_:)", { s, _ in s.scan(into: 0, +=) }, { p, _ in p.scan(into: 0, +=) }),
    .init(
      "scanMap(_:_:)", { s, _ in s.scanMap(0) { ($0, $1) } },
      { p, _ in p.scanMap(0) { ($0, $1) } }),
    .init(
      "scanMap(into:_:)", { s, _ in s.scanMap(into: 0) { $0 + $1 } },
      { p, _ in p.scanMap(into: 0) { $0 + $1 } }),
    .init("reduce(_:_:)", { s, _ in s.reduce(0, +) }, { p, _ in p.reduce(0, +) }),
    .init("reduce(into:_:)", { s, _ in s.reduce(into: 0, +=) }, { p, _ in p.reduce(into: 0, +=) }),
    .init("collect()", { s, _ in s.collect().plain }, { p, _ in p.collect().plain }),
    .init(
      "collect(count:)", { s, _ in s.collect(count: 2).plain },
      { p, _ in p.collect(count: 2).plain }),
    .init(
      "collect(_:), of what there is", { s, _ in s.collect { $0.count == 2 }.plain },
      { p, _ in p.collect { $0.count == 2 }.plain }),
    .init(
      "collect(_:), before what comes", { s, _ in s.collect { $0.first == $1 }.plain },
      { p, _ in p.collect { $0.first == $1 }.plain }),
    .init(
      "combinePrevious(_:)", { s, _ in s.combinePrevious(0).plain },
      { p, _ in p.combinePrevious(0).plain }),
    .init(
      "combinePrevious()", { s, _ in s.combinePrevious().plain },
      { p, _ in p.combinePrevious().plain }),
    .init("flatten()", { s, _ in s.map { [$0] }.flatten() }, { p, _ in p.map { [$0] }.flatten() }),
  ]

  fileprivate static let errors: [OperatorCase] = [
    .init(
      "flatMapError(_:)", { s, _ in s.flatMapError { SignalProducer(error: $0) } },
      { p, _ in p.flatMapError { SignalProducer(error: $0) } }),
    .init(
      "promoteError(_:)",
      { s, _ in s.flatMapError { _ in noValues }.promoteError(TestError.self) },
      { p, _ in p.flatMapError { _ in noValues }.promoteError(TestError.self) }),
    .init(
      "promoteValue(_:)", { s, _ in s.compactMap { _ in Never?.none }.promoteValue(Int.self) },
      { p, _ in p.compactMap { _ in Never?.none }.promoteValue(Int.self) }),
    .init(
      "attempt(_:)", { s, _ in s.attempt { _ in .success(()) } },
      { p, _ in p.attempt { _ in .success(()) } }),
    .init(
      "attemptMap(_:)", { s, _ in s.attemptMap { .success($0) } },
      { p, _ in p.attemptMap { .success($0) } }),
    .init(producer: "retry(upTo:)") { p, _ in p.retry(upTo: 0) },
    .init(producer: "retry(upTo:interval:on:)") { p, t in p.retry(upTo: 1, interval: 1, on: t) },
    .init(producer: "retry(upTo:backoff:on:using:)") { p, t in
      p.retry(
        upTo: 2, backoff: Backoff(initial: 1, maximum: 2), on: t,
        using: SystemRandomNumberGenerator())
    },
    .init(producer: "repeat(_:)") { p, _ in p.repeat(1) },
  ]

  fileprivate static let joining: [OperatorCase] = [
    .init(
      "combineLatest(with:)", { s, _ in s.combineLatest(with: s).plain },
      { p, _ in p.combineLatest(with: Source(value: 1)).plain }),
    .init(
      "zip(with:)", { s, _ in s.zip(with: s).plain },
      { p, _ in p.zip(with: Source([1, 2, 3])).plain }),
    .init("merge(with:)", { s, _ in s.merge(with: .empty) }, { p, _ in p.merge(with: .empty) }),
    .init(producer: "concat(_:)") { p, _ in p.concat(.empty) },
    .init(producer: "concat(value:)") { p, _ in p.concat(value: 0) },
    .init(producer: "concat(error:)") { p, _ in p.concat(error: .two) },
    .init(producer: "prefix(_:)") { p, _ in p.prefix(Source(value: 0)) },
    .init(producer: "prefix(value:)") { p, _ in p.prefix(value: 0) },
    .init(producer: "then(_:)") { p, _ in p.then(Source(value: 1)) },
    .init(
      "sample(on:)", { s, _ in s.sample(on: s.map { _ in }.flatMapError { _ in .empty }) },
      { p, _ in p.sample(on: .empty) }),
    .init(
      "sample(with:)",
      { s, _ in s.sample(with: s.flatMapError { _ in .empty }).plain },
      { p, _ in p.sample(with: noValues).plain }),
    .init(
      "withLatest(from:)",
      { s, _ in s.withLatest(from: SignalProducer<Int, Never>(value: 1)).plain },
      { p, _ in p.withLatest(from: SignalProducer<Int, Never>(value: 1)).plain }),
    .init(
      "skip(until:)", { s, _ in s.skip(until: s.map { _ in }.flatMapError { _ in .empty }) },
      { p, _ in p.skip(until: SignalProducer<(), Never>(value: ())) }),
    .init(producer: "replayPipe") { p, _ in p.throughReplayPipe },
    .init(producer: "replayLazily(upTo:)") { p, _ in p.replayLazily(upTo: 1) },
  ]

  fileprivate static let flattening: [OperatorCase] = [
    ("merge", FlattenStrategy.merge), ("concat", .concat), ("latest", .latest), ("race", .race),
    ("concurrent(limit: 2)", .concurrent(limit: 2)), ("throttle", .throttle),
  ].flatMap { name, strategy -> [OperatorCase] in
    [
      .init(
        "flatMap(_:_:), \(name)", { s, _ in s.flatMap(strategy) { Source(value: $0) } },
        { p, _ in p.flatMap(strategy) { Source(value: $0) } }),
      .init(
        "flatten(_:), \(name)", { s, _ in s.map { Source(value: $0) }.flatten(strategy) },
        { p, _ in p.map { Source(value: $0) }.flatten(strategy) }),
    ]
  }

  fileprivate static let timed: [OperatorCase] = [
    .init("observe(on:)", { s, t in s.observe(on: t) }, { p, t in p.observe(on: t) }),
    .init(producer: "start(on:)") { p, t in p.start(on: t) },
    .init(
      "buffer(_:whenFull:on:dropped:)", { s, t in s.buffer(1, whenFull: .dropOldest, on: t) },
      { p, t in p.buffer(1, whenFull: .dropOldest, on: t) }),
    .init("delay(_:on:)", { s, t in s.delay(1, on: t) }, { p, t in p.delay(1, on: t) }),
    .init(
      "debounce(_:on:discardWhenCompleted:)",
      { s, t in s.debounce(1, on: t, discardWhenCompleted: false) },
      { p, t in p.debounce(1, on: t, discardWhenCompleted: false) }),
    .init("throttle(_:on:)", { s, t in s.throttle(1, on: t) }, { p, t in p.throttle(1, on: t) }),
    .init(
      "throttle(_:on:discardWhenCompleted:)",
      { s, t in s.throttle(1, on: t, discardWhenCompleted: false) },
      { p, t in p.throttle(1, on: t, discardWhenCompleted: false) }),
    .init(
      "throttle(while:on:)",
      { s, t in s.throttle(while: Property(value: false), on: t) },
      { p, t in p.throttle(while: Property(value: false), on: t) }),
    .init(
      "timeout(after:raising:on:)", { s, t in s.timeout(after: 99, raising: .two, on: t) },
      { p, t in p.timeout(after: 99, raising: .two, on: t) }),
    .init(
      "collect(every:on:skipEmpty:discardWhenCompleted:)",
      { s, t in s.collect(every: .seconds(1), on: t).plain },
      { p, t in p.collect(every: .seconds(1), on: t).plain }),
  ]
}
