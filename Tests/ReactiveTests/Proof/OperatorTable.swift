import Dispatch
import Reactive
import Testing

/// An operator in both its forms, applied to integers. What it makes of them doesn't matter where
/// the table is used, only when it does.
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

  static let all =
    mapping + choosing + folding + errors + joining + flattening + timed
}

extension Signal {
  /// Whatever it was, an integer now.
  fileprivate var plain: Signal<Int, Error> { map { _ in 1 } }
}

extension SignalProducer {
  fileprivate var plain: SignalProducer<Int, Error> { map { _ in 1 } }
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

extension OperatorCase {
  fileprivate static let mapping: [OperatorCase] = [
    .init("map", { s, _ in s.map { $0 + 1 } }, { p, _ in p.map { $0 + 1 } }),
    .init("map(value:)", { s, _ in s.map(value: 2) }, { p, _ in p.map(value: 2) }),
    .init("map(keyPath)", { s, _ in s.map(\.bitWidth) }, { p, _ in p.map(\.bitWidth) }),
    .init("mapError", { s, _ in s.mapError { $0 } }, { p, _ in p.mapError { $0 } }),
    .init("compactMap", { s, _ in s.compactMap { $0 } }, { p, _ in p.compactMap { $0 } }),
    .init(
      "materialize, dematerialize", { s, _ in s.materialize().dematerialize() },
      { p, _ in p.materialize().dematerialize() }),
    .init(
      "materializeResults, dematerializeResults",
      { s, _ in s.materializeResults().dematerializeResults() },
      { p, _ in p.materializeResults().dematerializeResults() }),
    .init(
      "on", { s, _ in s.on(value: { _ in }) }, { p, _ in p.on(value: { _ in }) }),
    .init(
      "group(by:), merged",
      { s, _ in s.group(by: { $0 % 2 }).flatMap(.merge) { $0.signal } },
      { p, _ in p.group(by: { $0 % 2 }).flatMap(.merge) { $0.signal } }),
    .init(
      "group(by:)", { s, _ in s.group(by: { $0 % 2 }).plain },
      { p, _ in p.group(by: { $0 % 2 }).plain }),
    .init("named", { s, _ in s.named("it") }, { p, _ in p.named("it") }),
    .init(
      "lazyMap", { s, t in s.lazyMap(on: t) { $0 } }, { p, t in p.lazyMap(on: t) { $0 } }),
  ]

  fileprivate static let choosing: [OperatorCase] = [
    .init("filter", { s, _ in s.filter { $0 > 0 } }, { p, _ in p.filter { $0 > 0 } }),
    .init("take(first:)", { s, _ in s.take(first: 9) }, { p, _ in p.take(first: 9) }),
    .init("take(last:)", { s, _ in s.take(last: 9) }, { p, _ in p.take(last: 9) }),
    .init(
      "take(while:)", { s, _ in s.take(while: { $0 < 99 }) },
      { p, _ in p.take(while: { $0 < 99 }) }),
    .init(
      "take(until: predicate)", { s, _ in s.take(until: { $0 < 99 }) },
      { p, _ in p.take(until: { $0 < 99 }) }),
    .init(
      "take(until:)", { s, _ in s.take(until: .never) }, { p, _ in p.take(until: nothing) }),
    .init(
      "take(untilReplacement:)", { s, _ in s.take(untilReplacement: s.filter { $0 > 99 }) },
      { p, _ in p.take(untilReplacement: p.filter { $0 > 99 }) }),
    .init("skip(first:)", { s, _ in s.skip(first: 0) }, { p, _ in p.skip(first: 0) }),
    .init(
      "skip(while:)", { s, _ in s.skip(while: { $0 > 99 }) },
      { p, _ in p.skip(while: { $0 > 99 }) }),
    .init("skipRepeats", { s, _ in s.skipRepeats() }, { p, _ in p.skipRepeats() }),
    .init("uniqueValues", { s, _ in s.uniqueValues() }, { p, _ in p.uniqueValues() }),
    .init(
      "skipNil", { s, _ in s.map(Optional.some).skipNil() },
      { p, _ in p.map(Optional.some).skipNil() }),
  ]

  fileprivate static let folding: [OperatorCase] = [
    .init("scan", { s, _ in s.scan(0, +) }, { p, _ in p.scan(0, +) }),
    .init("scan(into:)", { s, _ in s.scan(into: 0, +=) }, { p, _ in p.scan(into: 0, +=) }),
    .init(
      "scanMap", { s, _ in s.scanMap(0) { ($0, $1) } }, { p, _ in p.scanMap(0) { ($0, $1) } }),
    .init("reduce", { s, _ in s.reduce(0, +) }, { p, _ in p.reduce(0, +) }),
    .init("collect", { s, _ in s.collect().plain }, { p, _ in p.collect().plain }),
    .init(
      "collect(count:)", { s, _ in s.collect(count: 2).plain },
      { p, _ in p.collect(count: 2).plain }),
    .init(
      "combinePrevious", { s, _ in s.combinePrevious(0).plain },
      { p, _ in p.combinePrevious(0).plain }),
    .init("flatten()", { s, _ in s.map { [$0] }.flatten() }, { p, _ in p.map { [$0] }.flatten() }),
  ]

  fileprivate static let errors: [OperatorCase] = [
    .init(
      "flatMapError", { s, _ in s.flatMapError { SignalProducer(error: $0) } },
      { p, _ in p.flatMapError { SignalProducer(error: $0) } }),
    .init(
      "attempt", { s, _ in s.attempt { _ in .success(()) } },
      { p, _ in p.attempt { _ in .success(()) } }),
    .init(
      "attemptMap", { s, _ in s.attemptMap { .success($0) } },
      { p, _ in p.attemptMap { .success($0) } }),
    .init("retry", { s, _ in s.producer.retry(upTo: 1).held }, { p, _ in p.retry(upTo: 0) }),
    .init("repeat", { s, _ in s.producer.repeat(1).held }, { p, _ in p.repeat(1) }),
  ]

  fileprivate static let joining: [OperatorCase] = [
    .init(
      "combineLatest", { s, _ in s.combineLatest(with: s).plain },
      { p, _ in p.combineLatest(with: Source(value: 1)).plain }),
    .init(
      "zip", { s, _ in s.zip(with: s).plain },
      { p, _ in p.zip(with: Source([1, 2, 3])).plain }),
    .init("merge", { s, _ in s.merge(with: .empty) }, { p, _ in p.merge(with: .empty) }),
    .init("concat", { s, _ in s.producer.concat(.empty).held }, { p, _ in p.concat(.empty) }),
    .init("prefix", { s, _ in s.producer.prefix(value: 0).held }, { p, _ in p.prefix(value: 0) }),
    .init(
      "then", { s, _ in s.producer.then(Source(value: 1)).held },
      { p, _ in p.then(Source(value: 1)) }),
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
    .init(
      "replayPipe", { s, _ in s.producer.throughReplayPipe.held },
      { p, _ in p.throughReplayPipe }),
    .init(
      "replayLazily", { s, _ in s.producer.replayLazily(upTo: 1).held },
      { p, _ in p.replayLazily(upTo: 1) }),
  ]

  fileprivate static let flattening: [OperatorCase] = [
    ("merge", FlattenStrategy.merge), ("concat", .concat), ("latest", .latest), ("race", .race),
    ("concurrent(limit: 2)", .concurrent(limit: 2)), ("throttle", .throttle),
  ].map { name, strategy in
    .init(
      "flatMap(.\(name))", { s, _ in s.flatMap(strategy) { Source(value: $0) } },
      { p, _ in p.flatMap(strategy) { Source(value: $0) } })
  }

  fileprivate static let timed: [OperatorCase] = [
    .init("observe(on:)", { s, t in s.observe(on: t) }, { p, t in p.observe(on: t) }),
    .init("start(on:)", { s, t in s.producer.start(on: t).held }, { p, t in p.start(on: t) }),
    .init("delay", { s, t in s.delay(1, on: t) }, { p, t in p.delay(1, on: t) }),
    .init(
      "debounce", { s, t in s.debounce(1, on: t, discardWhenCompleted: false) },
      { p, t in p.debounce(1, on: t, discardWhenCompleted: false) }),
    .init("throttle", { s, t in s.throttle(1, on: t) }, { p, t in p.throttle(1, on: t) }),
    .init(
      "throttle(while:)",
      { s, t in s.throttle(while: Property(value: false), on: t) },
      { p, t in p.throttle(while: Property(value: false), on: t) }),
    .init(
      "timeout", { s, t in s.timeout(after: 99, raising: .two, on: t) },
      { p, t in p.timeout(after: 99, raising: .two, on: t) }),
    .init(
      "collect(every:)", { s, t in s.collect(every: .seconds(1), on: t).plain },
      { p, t in p.collect(every: .seconds(1), on: t).plain }),
  ]
}

extension SignalProducer {
  /// The signal of a run that lasts as long as somebody observes the signal.
  fileprivate var held: Signal<Value, Error> {
    startWithSignal { signal, _ in signal }
  }
}
