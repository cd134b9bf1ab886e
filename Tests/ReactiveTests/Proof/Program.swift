import FoundationEssentials
import Reactive

/// A producer as data: it can be run, and interpreted by a model.
indirect enum Program: Sendable {
  enum Each: Equatable, Sendable {
    case map, filter, scan, skip(Int), skipRepeats, uniqueValues, take(Int), takeLast(Int), reduce
    case takeWhile
  }
  enum Timed: Sendable {
    case observe, delay(Int), debounce(Int, discards: Bool), throttle(Int), timeout(Int)
  }
  enum Next: CaseIterable, Sendable { case then, recover, concat }
  enum Join: CaseIterable, Sendable { case merge, zip, combineLatest }
  enum Strategy: CaseIterable, Sendable { case merge, concat, latest, two }

  case source(Trace)
  case each(Program, Each)
  case timed(Program, Timed)
  /// Started again, so often at most, when it has ended so.
  case again(Program, after: Trace.End, Int)
  case next(Program, Next, Program)
  case join(Program, Program, Join)
  case flatMap(Program, Strategy, [Program])

  /// The programs that it is made of.
  var parts: [Program] {
    switch self {
    case .source: []
    case .each(let source, _), .timed(let source, _), .again(let source, _, _): [source]
    case .next(let a, _, let b), .join(let a, let b, _): [a, b]
    case .flatMap(let outer, _, let inner): [outer] + inner
    }
  }
}

// MARK: Chance

extension Program {
  static func random(depth: Int, using numbers: inout some RandomNumberGenerator) -> Program {
    func part(_ numbers: inout some RandomNumberGenerator) -> Program {
      random(depth: depth - Int.random(in: 1...2, using: &numbers), using: &numbers)
    }
    guard depth > 0 else { return .source(randomTrace(using: &numbers)) }
    let ticks = Int.random(in: 1...2_000, using: &numbers)
    let count = Int.random(in: 1...3, using: &numbers)
    switch Int.random(in: 0..<12, using: &numbers) {
    case 0..<4:
      let operations: [Each] = [
        .map, .filter, .scan, .skip(count), .skipRepeats, .uniqueValues, .take(count),
        .takeLast(count), .reduce, .takeWhile,
      ]
      return .each(part(&numbers), operations[Int.random(in: 0..<10, using: &numbers)])
    case 4..<7:
      let operations: [Timed] = [
        .observe, .delay(ticks), .debounce(ticks, discards: true),
        .debounce(ticks, discards: false), .throttle(ticks), .timeout(ticks * 3),
      ]
      return .timed(part(&numbers), operations[Int.random(in: 0..<6, using: &numbers)])
    case 7:
      let reason: Trace.End = Bool.random(using: &numbers) ? .failed : .completed
      return .again(part(&numbers), after: reason, count)
    case 8:
      let kind = Next.allCases[Int.random(in: 0..<3, using: &numbers)]
      return .next(part(&numbers), kind, part(&numbers))
    case 9:
      let kind = Join.allCases[Int.random(in: 0..<3, using: &numbers)]
      return .join(part(&numbers), part(&numbers), kind)
    default:
      let strategy = Strategy.allCases[Int.random(in: 0..<4, using: &numbers)]
      return .flatMap(part(&numbers), strategy, (0..<count).map { _ in part(&numbers) })
    }
  }

  private static func randomTrace(using numbers: inout some RandomNumberGenerator) -> Trace {
    var (trace, time) = (Trace(), 0)
    for _ in 0..<Int.random(in: 0...4, using: &numbers) {
      time += Int.random(in: 1...1_500, using: &numbers)
      trace.send(Int.random(in: 0..<10, using: &numbers), at: time)
    }
    time += Int.random(in: 1...1_500, using: &numbers)
    switch Int.random(in: 0..<20, using: &numbers) {
    case 0..<13: trace.finish(.completed, at: time)
    case 13..<17: trace.finish(.failed, at: time)
    case 17: trace.finish(.interrupted, at: time)
    default: break
    }
    return trace
  }
}

// MARK: The real thing

extension Program {
  /// A tick is a fraction of a second that dates can tell exactly.
  static let ticksPerSecond = 1_024.0

  func producer(on scheduler: TestScheduler) -> SignalProducer<Int, TestError> {
    switch self {
    case .source(let trace): Self.producer(of: trace, on: scheduler)
    case .each(let source, let operation):
      Self.apply(operation, to: source.producer(on: scheduler))
    case .timed(let source, let operation):
      Self.apply(operation, to: source.producer(on: scheduler), scheduler)
    case .again(let source, let reason, let count):
      reason == .failed
        ? source.producer(on: scheduler).retry(upTo: count)
        : source.producer(on: scheduler).repeat(count + 1)
    case .next(let source, let kind, let next):
      Self.apply(kind, to: source.producer(on: scheduler), next.producer(on: scheduler))
    case .join(let a, let b, let kind):
      Self.apply(kind, to: a.producer(on: scheduler), b.producer(on: scheduler))
    case .flatMap(let outer, let strategy, let inner):
      Self.flatMap(
        outer.producer(on: scheduler), strategy, inner.map { $0.producer(on: scheduler) })
    }
  }

  private static func producer(
    of trace: Trace, on scheduler: TestScheduler
  ) -> SignalProducer<Int, TestError> {
    SignalProducer { observer, lifetime in
      let start = scheduler.currentDate
      for entry in trace.entries {
        let date = start.addingTimeInterval(Double(entry.time) / ticksPerSecond)
        lifetime += scheduler.schedule(after: date) {
          switch entry.event {
          case .value(let value): observer.send(value: value)
          case .end(.completed): observer.sendCompleted()
          case .end(.failed): observer.send(error: .one)
          case .end(.interrupted): observer.sendInterrupted()
          }
        }
      }
    }
  }

  private static func apply(
    _ operation: Each, to source: SignalProducer<Int, TestError>
  ) -> SignalProducer<Int, TestError> {
    switch operation {
    case .map: source.map { $0 &* 3 }
    case .filter: source.filter { $0 % 2 == 0 }
    case .scan: source.scan(0) { $0 &+ $1 }
    case .skip(let count): source.skip(first: count)
    case .skipRepeats: source.skipRepeats()
    case .uniqueValues: source.uniqueValues()
    case .take(let count): source.take(first: count)
    case .takeLast(let count): source.take(last: count)
    case .reduce: source.reduce(0) { $0 &+ $1 }
    case .takeWhile: source.take(while: { $0 < 6 })
    }
  }

  private static func apply(
    _ operation: Timed, to source: SignalProducer<Int, TestError>, _ scheduler: TestScheduler
  ) -> SignalProducer<Int, TestError> {
    func seconds(_ ticks: Int) -> Double { Double(ticks) / ticksPerSecond }
    return switch operation {
    case .observe: source.observe(on: scheduler)
    case .delay(let ticks): source.delay(seconds(ticks), on: scheduler)
    case .debounce(let ticks, let discards):
      source.debounce(seconds(ticks), on: scheduler, discardWhenCompleted: discards)
    case .throttle(let ticks): source.throttle(seconds(ticks), on: scheduler)
    case .timeout(let ticks): source.timeout(after: seconds(ticks), raising: .one, on: scheduler)
    }
  }

  private static func apply(
    _ kind: Next, to source: SignalProducer<Int, TestError>,
    _ next: SignalProducer<Int, TestError>
  ) -> SignalProducer<Int, TestError> {
    switch kind {
    case .then: source.then(next)
    case .recover: source.flatMapError { _ in next }
    case .concat: source.concat(next)
    }
  }

  private static func apply(
    _ kind: Join, to a: SignalProducer<Int, TestError>, _ b: SignalProducer<Int, TestError>
  ) -> SignalProducer<Int, TestError> {
    switch kind {
    case .merge: a.merge(with: b)
    case .zip: a.zip(with: b).map { $0 &* 5 &+ $1 }
    case .combineLatest: a.combineLatest(with: b).map { $0 &* 5 &+ $1 }
    }
  }

  private static func flatMap(
    _ outer: SignalProducer<Int, TestError>, _ strategy: Strategy,
    _ inner: [SignalProducer<Int, TestError>]
  ) -> SignalProducer<Int, TestError> {
    let actual: FlattenStrategy =
      switch strategy {
      case .merge: .merge
      case .concat: .concat
      case .latest: .latest
      case .two: .concurrent(limit: 2)
      }
    return outer.flatMap(actual) { inner[Int($0.magnitude % UInt(inner.count))] }
  }
}
