import Dispatch
import Reactive
import Testing

/// Disposal stops a stream: every operator, with its source live or ended in each way, disposed of
/// at every moment, by all that disposes.
@Suite("Disposal")
struct CancellationTests {
  typealias Source = SignalProducer<Int, TestError>
  typealias Event = Signal<Int, TestError>.Event

  /// What happens to a source, and to the time.
  enum Step: Sendable { case send(Event), wait(Double) }

  /// How the source of a run comes about.
  enum Origin: CaseIterable, Sendable { case pipe, handler, sequence }

  /// What disposes of the run.
  enum Canceller: CaseIterable, Sendable { case disposable, token, lostToken, serial, takeDuring }

  static let ends: [Event?] = [nil, .completed, .failed(.one), .interrupted]

  private static func script(_ end: Event?) -> [Step] {
    let values: [Step] = [.send(.value(1)), .wait(0), .send(.value(2)), .wait(0.5)]
    return values + (end.map { [.send($0)] } ?? []) + [.wait(0), .wait(0.75), .wait(500)]
  }

  /// Operators for which it matters that they are disposed of themselves: they go on when their
  /// source has ended.
  private static let lasting: [OperatorCase] = {
    let both = OperatorCase.init(producer:_:)
    @Sendable func late(_ t: TestScheduler) -> Source { Source(value: 7).delay(1, on: t) }
    return [
      both("delay, map, filter") { $0.delay(1, on: $1).map { $0 + 1 }.filter { _ in true } },
      both("delay twice") { $0.delay(1, on: $1).delay(1, on: $1) },
      both("observe(on:), delay") { $0.observe(on: $1).delay(1, on: $1) },
      both("debounce, discarding") { $0.debounce(1, on: $1) },
      both("collect(every:), waiting") {
        $0.collect(every: .seconds(1), on: $1, discardWhenCompleted: false).map(\.count)
      },
      both("throttle(while: true)") { $0.throttle(while: Property(value: true), on: $1) },
      both("lift of delay") { p, t in p.lift { $0.delay(1, on: t) } },
      both("flatMap(.merge) to delay") { p, t in p.flatMap(.merge) { _ in late(t) } },
      both("flatMap(.concat) to delay") { p, t in p.flatMap(.concat) { _ in late(t) } },
      both("flatMap(.latest) to delay") { p, t in p.flatMap(.latest) { _ in late(t) } },
      both("flatMap(.race) to delay") { p, t in p.flatMap(.race) { _ in late(t) } },
      both("flatMapError to delay") { p, t in p.flatMapError { _ in late(t) } },
      both("flatMapError to never") { p, _ in p.flatMapError { _ in Source.never } },
      both("then delay") { p, t in p.then(late(t)) },
      both("then never") { p, _ in p.then(Source.never) },
      both("concat delay") { p, t in p.concat(late(t)) },
      both("retry at intervals") { p, t in p.retry(upTo: 3, interval: 1, on: t) },
      both("delay, retry") { p, t in p.delay(1, on: t).retry(upTo: 3) },
      both("repeat of delay") { p, t in p.delay(1, on: t).repeat(3) },
      both("zip with delay, delay") { p, t in p.zip(with: late(t)).map(\.0).delay(1, on: t) },
      both("merge with delay") { p, t in p.merge(with: late(t)) },
      both("combineLatest with delay") { p, t in p.combineLatest(with: late(t)).map(\.1) },
      both("delay, timeout") { p, t in
        p.delay(5, on: t).timeout(after: 1, raising: .two, on: t)
      },
      both("delay, replayLazily") { p, t in p.delay(1, on: t).replayLazily(upTo: 1) },
      both("start(on:), delay") { p, t in p.start(on: t).delay(1, on: t) },
      both("delay, take(first:)") { p, t in p.delay(1, on: t).take(first: 1) },
      both("property, delay") { p, t in
        p.flatMapError { _ in .empty }.flatMap(.latest) { Property(value: $0).producer }
          .promoteError(TestError.self).delay(1, on: t)
      },
      both("action, delayed") { p, t in
        let action = Action<Int, Int, TestError> { Source(value: $0).delay(1, on: t) }
        return p.flatMap(.merge) { action.apply($0).flatMapError { _ in Source.never } }
      },
    ]
  }()

  static let operators = OperatorCase.all + lasting

  @Test("cancellation is tested for every operator")
  func complete() throws {
    let operators = try Function.all(inFolder: "")
      .filter { !$0.signature.contains("static ") }
      .filter { $0.result.contains("-> SignalProducer<") }
      .compactMap { function -> String? in
        guard function.name.hasPrefix("callAsFunction") else {
          return function.owner == "SignalProducer" ? function.name : nil
        }
        let base = function.owner.dropLast("Operator".count)
        return base.prefix(1).lowercased() + base.dropFirst() + function.name.dropFirst(14)
      }
    #expect(Set(operators).count > 60)
    let tested = OperatorCase.all.map(\.name)
    for name in Set(operators) {
      #expect(tested.contains { $0.contains(name) }, "\(name)")
    }
  }

  final class Witness: Sendable {}

  private struct Witnesses {
    weak var upstream: Witness?
    weak var downstream: Witness?
  }

  /// A run, and what its source and its observer have seen.
  private final class Trial {
    let scheduler = TestScheduler()
    let log = Log<String>()
    /// Values that left the source, and lives of its runs that go on.
    let (sent, begun, ended) = (Counter(), Counter(), Counter())
    private(set) var witnesses = Witnesses()
    private var token: Lifetime.Token?
    private var serial: SerialDisposable?
    private var disposable: (any Disposable)?
    private let canceller: Canceller
    private var input: Signal<Int, TestError>.Observer?

    init(_ operation: OperatorCase, _ origin: Origin, _ canceller: Canceller, _ steps: [Step]) {
      self.canceller = canceller
      let (above, below) = (Witness(), Witness())
      witnesses = Witnesses(upstream: above, downstream: below)
      let (sent, begun, ended, log) = (sent, begun, ended, log)
      let source = makeSource(origin, steps)
      let watched = Source { observer, lifetime in
        begun.increment()
        lifetime.observeEnded { ended.increment() }
        lifetime += source.start(observer)
      }.map { (value: Int) -> Int in
        sent.increment()
        return withExtendedLifetime(above) { value }
      }
      var producer = operation.onProducer(watched, scheduler)
      let (lifetime, token) = Lifetime.make()
      if canceller == .takeDuring { producer = producer.take(during: lifetime) }
      let run = producer.start { event in
        withExtendedLifetime(below) { log.append("\(event)") }
      }
      switch canceller {
      case .disposable: disposable = run
      case .serial: serial = SerialDisposable(run)
      case .token, .lostToken:
        lifetime += run
        self.token = token
      case .takeDuring: self.token = token
      }
    }

    private func makeSource(_ origin: Origin, _ steps: [Step]) -> Source {
      if origin == .sequence {
        let events = steps.compactMap { if case .send(let event) = $0 { event } else { nil } }
        return SignalProducer<Event, Never>(events).concat(.never).dematerialize()
      }
      let (signal, input) = Signal<Int, TestError>.pipe()
      self.input = input
      if origin == .pipe { return signal.producer }
      return Source { observer, lifetime in lifetime += signal.observe(observer) }
    }

    func play(_ step: Step) {
      switch step {
      case .send(let event): input?.send(event)
      case .wait(let seconds): scheduler.advance(by: seconds + 1e-6)
      }
    }

    func cancel() {
      switch canceller {
      case .disposable: disposable?.dispose()
      case .token, .takeDuring: token?.dispose()
      case .lostToken: token = nil
      case .serial: serial?.inner = nil
      }
    }

    var hasEnded: Bool { log.entries.last.map { !$0.hasPrefix("VALUE") } ?? false }
  }

  @Test("cancellation stops every operator, and releases all that it held", arguments: operators)
  func producers(_ operation: OperatorCase) {
    for end in Self.ends {
      let steps = Self.script(end)
      for moment in 0...steps.count {
        for (origin, canceller) in Origin.allCases.flatMap({ origin in
          Canceller.allCases.map { (origin, $0) }
        }) {
          let problem = problem(operation, origin, canceller, steps, disposedBefore: moment)
          if let problem {
            Issue.record("\(origin) \(steps), by \(canceller) before step \(moment): \(problem)")
          }
        }
      }
    }
  }

  private func problem(
    _ operation: OperatorCase, _ origin: Origin, _ canceller: Canceller, _ steps: [Step],
    disposedBefore moment: Int
  ) -> String? {
    let trial = Trial(operation, origin, canceller, steps)
    for step in steps[..<moment] { trial.play(step) }
    let hadEnded = trial.hasEnded
    let (before, sent) = (trial.log.entries.count, trial.sent.value)
    trial.cancel()
    // A scheduled run's interruption comes at the scheduler's next turn.
    trial.scheduler.advance()
    let witnesses = trial.witnesses
    if witnesses.upstream != nil { return "the source's closures are alive" }
    if witnesses.downstream != nil { return "the observer's closures are alive" }
    if trial.begun.value != trial.ended.value { return "a run of the source goes on" }
    for step in steps[moment...] { trial.play(step) }
    trial.scheduler.run()
    let after = trial.log.entries.dropFirst(before)
    let end = canceller == .takeDuring ? "COMPLETED" : "INTERRUPTED"
    if Array(after) != (hadEnded ? [] : [end]) { return "delivered \(after)" }
    if trial.sent.value != sent { return "the source sent \(trial.sent.value - sent) values" }
    return nil
  }

  @Test("cancellation of an observation stops every operator", arguments: operators)
  func signals(_ operation: OperatorCase) {
    for end in Self.ends {
      let steps = Self.script(end)
      for moment in 0...steps.count {
        let scheduler = TestScheduler()
        let (signal, input) = Signal<Int, TestError>.pipe()
        let log = Log<String>()
        var witness: Witness? = Witness()
        weak let weakWitness = witness
        let observation = operation.onSignal(signal, scheduler).observe {
          [witness] event in withExtendedLifetime(witness) { log.append("\(event)") }
        }
        witness = nil
        func play(_ step: Step) {
          switch step {
          case .send(let event): input.send(event)
          case .wait(let seconds): scheduler.advance(by: seconds + 1e-6)
          }
        }
        for step in steps[..<moment] { play(step) }
        let count = log.entries.count
        observation?.dispose()
        #expect(weakWitness == nil, "\(steps) before step \(moment)")
        for step in steps[moment...] { play(step) }
        scheduler.run()
        #expect(log.entries.count == count, "\(steps) before step \(moment): \(log.entries)")
      }
    }
  }

  typealias Waiting =
    @Sendable (SignalProducer<Witness, Never>, TestScheduler) -> SignalProducer<Witness, Never>

  /// Operators in which values wait.
  static let waiting: [(String, Waiting)] = [
    ("observe(on:)", { $0.observe(on: $1) }),
    ("delay", { $0.delay(9, on: $1) }),
    ("debounce", { $0.debounce(9, on: $1) }),
    ("throttle", { $0.throttle(9, on: $1) }),
    ("throttle(while:)", { $0.throttle(while: Property(value: true), on: $1) }),
    ("lazyMap", { $0.lazyMap(on: $1) { $0 } }),
    ("collect(every:)", { $0.collect(every: .seconds(9), on: $1).flatten() }),
  ]

  @Test("cancellation releases waiting values at once, though the scheduler doesn't move")
  func values() {
    for (name, apply) in Self.waiting {
      for completes in [false, true] {
        let scheduler = TestScheduler()
        let (signal, input) = Signal<Witness, Never>.pipe()
        weak var waiting: Witness?
        let run = apply(signal.producer, scheduler).start()
        do {
          let witness = Witness()
          waiting = witness
          input.send(value: witness)
          if completes { input.sendCompleted() }
        }
        if !completes { #expect(waiting != nil, "\(name) must keep its value") }
        run.dispose()
        #expect(waiting == nil, "\(name)")
      }
    }
  }
}
