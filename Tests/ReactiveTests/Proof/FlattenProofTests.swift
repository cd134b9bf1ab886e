import FoundationEssentials
import Reactive
import Testing

/// Flattening and the operators that hold values back, against plain models, over all sequences.
@Suite("Every sequence of events, flattened and timed")
struct FlattenProofTests {
  enum Step: Sendable { case next, end, value0, completed0, value1, completed1, failed1 }

  enum Strategy: Sendable, CaseIterable {
    case merge, concat, latest, race, throttle

    var actual: FlattenStrategy {
      switch self {
      case .merge: .merge
      case .concat: .concat
      case .latest: .latest
      case .race: .race
      case .throttle: .throttle
      }
    }
  }

  /// Two inner streams, the first of which comes first, then the second, and no more.
  struct Model {
    let strategy: Strategy
    var log: [String] = []
    var hasEnded = false
    var arrived = 0
    var outerIsDone = false
    var running: [Int] = []
    var waiting: [Int] = []
    /// How an inner stream, which is hot, has ended.
    var ends: [Int: Bool] = [:]
    var hasWinner = false

    mutating func end(_ name: String) {
      if !hasEnded { log.append(name) }
      hasEnded = true
    }

    mutating func apply(_ step: Step, _ value: Int) {
      guard !hasEnded else {
        // After the end, no step has an effect.
        return
      }
      switch step {
      case .next: arrive()
      case .end: outerIsDone = true
      case .value0: send(value, from: 0)
      case .value1: send(value, from: 1)
      case .completed0: finish(0, failing: false)
      case .completed1: finish(1, failing: false)
      case .failed1: finish(1, failing: true)
      }
      if outerIsDone, running.isEmpty, waiting.isEmpty { end("COMPLETED") }
    }

    private mutating func arrive() {
      guard !outerIsDone, arrived < 2 else { return }
      let inner = arrived
      arrived += 1
      switch strategy {
      case .merge: start(inner)
      case .concat: if running.isEmpty { start(inner) } else { waiting.append(inner) }
      case .latest:
        running = []
        start(inner)
      case .race: if !hasWinner { start(inner) }
      case .throttle: if running.isEmpty { start(inner) }
      }
    }

    private mutating func start(_ inner: Int) {
      guard ends[inner] != nil else { return running.append(inner) }
      // An observer of an ended inner stream is interrupted: it sends no more. In a race, it wins.
      if strategy == .race { end("INTERRUPTED") }
    }

    private mutating func send(_ value: Int, from inner: Int) {
      guard ends[inner] == nil, running.contains(inner) else { return }
      decide(for: inner)
      log.append("VALUE \(value)")
    }

    private mutating func decide(for inner: Int) {
      guard strategy == .race else { return }
      hasWinner = true
      running = [inner]
    }

    private mutating func finish(_ inner: Int, failing: Bool) {
      guard ends[inner] == nil else { return }
      ends[inner] = failing
      guard running.contains(inner) else { return }
      decide(for: inner)
      if failing { return end("FAILED one") }
      running.removeAll { $0 == inner }
      while running.isEmpty, !waiting.isEmpty { start(waiting.removeFirst()) }
    }
  }

  @Test(
    "every flattening strategy agrees with its model for all sequences of events",
    arguments: Strategy.allCases)
  func flatten(_ strategy: Strategy) {
    let alphabet: [Step] = [
      .next, .end, .value0, .completed0, .value1, .completed1, .failed1,
    ]
    ExhaustiveTests.sequences(of: alphabet, upTo: 5) { steps in
      let (outer, input) = Signal<Signal<Int, TestError>, TestError>.pipe()
      let inner = [Signal<Int, TestError>.pipe(), Signal<Int, TestError>.pipe()]
      let log = Log<String>()
      outer.flatten(strategy.actual).record(in: log)
      var model = Model(strategy: strategy)
      var arrived = 0
      for (index, step) in steps.enumerated() {
        switch step {
        case .next where arrived < 2:
          input.send(value: inner[arrived].output)
          arrived += 1
        case .next: break
        case .end: input.sendCompleted()
        case .value0: inner[0].input.send(value: index)
        case .completed0: inner[0].input.sendCompleted()
        case .value1: inner[1].input.send(value: index)
        case .completed1: inner[1].input.sendCompleted()
        case .failed1: inner[1].input.send(error: .one)
        }
        model.apply(step, index)
      }
      if log.entries != model.log {
        Issue.record("\(steps): expected \(model.log), was \(log.entries)")
      }
      withExtendedLifetime((input, inner)) {}
    }
  }

  // MARK: Time

  enum Tick: Sendable { case value, second, completed, failed }

  private func play(
    _ steps: [Tick],
    through operation: (Signal<Int, TestError>, TestScheduler) -> Signal<Int, TestError>
  ) -> [String] {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, TestError>.pipe()
    let log = Log<String>()
    operation(signal, scheduler).observe { event in
      log.append("\(event) at \(Int(scheduler.currentDate.timeIntervalSinceReferenceDate))")
    }
    for (index, step) in steps.enumerated() {
      switch step {
      case .value: input.send(value: index)
      case .second: scheduler.advance(by: 1.0)
      case .completed: input.sendCompleted()
      case .failed: input.send(error: .one)
      }
    }
    withExtendedLifetime(input) { scheduler.advance(by: 10.0) }
    return log.entries
  }

  private static let ticks: [Tick] = [.value, .second, .completed, .failed]

  /// The values with their seconds, and the end.
  private func timeline(_ steps: [Tick]) -> (values: [(Int, Int)], end: (Tick, Int)?) {
    var values: [(Int, Int)] = []
    var now = 0
    for (index, step) in steps.enumerated() {
      switch step {
      case .value: values.append((index, now))
      case .second: now += 1
      case .completed, .failed: return (values, (step, now))
      }
    }
    return (values, nil)
  }

  @Test("debounce agrees with its model for all sequences of events", arguments: [true, false])
  func debounce(discardsWhenCompleted discards: Bool) {
    ExhaustiveTests.sequences(of: Self.ticks, upTo: 6) { steps in
      let actual = play(steps) { $0.debounce(2, on: $1, discardWhenCompleted: discards) }
      let (values, end) = timeline(steps)
      var expected: [String] = []
      var endTime = end?.1 ?? 0
      for (index, (value, time)) in values.enumerated() {
        let isLast = index == values.count - 1
        // Work due at an instant is done before the events sent at that instant.
        if !isLast, values[index + 1].1 < time + 2 { continue }
        if let (kind, endsAt) = end, endsAt < time + 2 {
          guard kind == .completed, !discards else { continue }
          endTime = time + 2
        }
        expected.append("VALUE \(value) at \(time + 2)")
      }
      if let (kind, _) = end {
        expected.append(kind == .failed ? "FAILED one at \(endTime)" : "COMPLETED at \(endTime)")
      }
      if actual != expected {
        Issue.record("\(steps): expected \(expected), was \(actual)")
      }
    }
  }

  @Test("delay agrees with its model for all sequences of events")
  func delay() {
    ExhaustiveTests.sequences(of: Self.ticks, upTo: 6) { steps in
      let actual = play(steps) { $0.delay(2, on: $1) }
      let (values, end) = timeline(steps)
      var expected: [String] = []
      for (value, time) in values {
        if let (kind, endsAt) = end, kind == .failed, endsAt < time + 2 { continue }
        expected.append("VALUE \(value) at \(time + 2)")
      }
      switch end {
      case (.failed, let time)?: expected.append("FAILED one at \(time)")
      case (_, let time)?: expected.append("COMPLETED at \(time + 2)")
      case nil: break
      }
      if actual != expected {
        Issue.record("\(steps): expected \(expected), was \(actual)")
      }
    }
  }

  @Test("throttle agrees with its model for all sequences of events")
  func throttle() {
    ExhaustiveTests.sequences(of: Self.ticks, upTo: 6) { steps in
      let actual = play(steps) { $0.throttle(2, on: $1) }
      let expected = throttled(steps, by: 2)
      if actual != expected {
        Issue.record("\(steps): expected \(expected), was \(actual)")
      }
    }
  }

  /// The latest value is delivered an interval after the one before, or at once.
  private func throttled(_ steps: [Tick], by interval: Int) -> [String] {
    var expected: [String] = []
    var (now, latest) = (0, 0)
    var previous: Int?
    var due: Int?
    func pass(to time: Int) {
      if let date = due, date <= time {
        expected.append("VALUE \(latest) at \(date)")
        (previous, due) = (date, nil)
      }
      now = time
    }
    for (index, step) in steps.enumerated() {
      switch step {
      case .value:
        latest = index
        due = due ?? max(now, previous.map { $0 + interval } ?? now)
      case .second: pass(to: now + 1)
      // A value that is due comes before the end; others are dropped.
      case .completed, .failed:
        pass(to: now)
        return expected + [step == .completed ? "COMPLETED at \(now)" : "FAILED one at \(now)"]
      }
    }
    pass(to: now + 10)
    return expected
  }
}
