import Dispatch
import Reactive
import Testing

/// What holds for every operator, in both forms.
@Suite("Every operator", .ownThread)
struct OperatorProofTests {
  private static let ends: [Signal<Int, TestError>.Event] = [
    .completed, .failed(.one), .interrupted,
  ]

  /// Sends three values and an end, letting time pass, and more that must not be seen.
  private func play(
    _ end: Signal<Int, TestError>.Event, to input: Signal<Int, TestError>.Observer,
    on scheduler: TestScheduler
  ) {
    scheduler.advance()
    for value in 1...3 {
      input.send(value: value)
      scheduler.advance(by: 2.0)
    }
    for event in [end, .value(4), .completed, .failed(.two), .value(5)] {
      input.send(event)
      scheduler.advance(by: 2.0)
    }
    scheduler.advance(by: 200.0)
  }

  private func expectOneEnd(_ log: Log<String>, _ comment: String) {
    let ends = log.entries.indices.filter { !log.entries[$0].hasPrefix("VALUE") }
    #expect(ends == [log.entries.count - 1], "\(comment): \(log.entries)")
  }

  @Test("an operator ends once, and delivers nothing after", arguments: OperatorCase.all)
  func oneEnd(_ operation: OperatorCase) {
    for end in Self.ends {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, TestError>.pipe()
      let (onSignal, onProducer) = (Log<String>(), Log<String>())
      operation.onSignal(signal, scheduler).record(in: onSignal)
      operation.onProducer(signal.producer, scheduler).record(in: onProducer)
      play(end, to: input, on: scheduler)
      expectOneEnd(onSignal, "signal after \(end)")
      expectOneEnd(onProducer, "producer after \(end)")
    }
  }

  @Test(
    "an operator can be disposed of twice from inside its own delivery", arguments: OperatorCase.all
  )
  func disposalInside(_ operation: OperatorCase) {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, TestError>.pipe()
    for form in 0...1 {
      let log = Log<String>()
      let own = SerialDisposable()
      let observe: @Sendable (Signal<Int, TestError>.Event) -> Void = { event in
        log.append("\(event)")
        own.dispose()
        own.dispose()
      }
      own.inner =
        form == 0
        ? operation.onSignal(signal, scheduler).observe(observe)
        : operation.onProducer(signal.producer, scheduler).start(observe)
      for value in 1...3 {
        input.send(value: value)
        scheduler.advance(by: 2.0)
      }
      let values = log.entries.count { $0.hasPrefix("VALUE") }
      #expect(values <= 1, "\(log.entries)")
    }
    input.sendCompleted()
    scheduler.advance(by: 200.0)
  }

  @Test("an operator can be disposed of while another thread sends", arguments: OperatorCase.all)
  func disposalElsewhere(_ operation: OperatorCase) {
    for _ in 0..<5 {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, TestError>.pipe()
      let counter = Counter()
      let observation = operation.onSignal(signal, scheduler).observe { _ in counter.increment() }
      let run = operation.onProducer(signal.producer, scheduler).start { event in
        if !event.isTerminating { counter.increment() }
      }
      race(
        { for value in 0..<20 { input.send(value: value) } },
        {
          observation?.dispose()
          run.dispose()
          run.dispose()
        })
      scheduler.advance(by: 2.0)
      let count = counter.value
      for value in 0..<3 {
        input.send(value: value)
        scheduler.advance(by: 2.0)
      }
      input.sendCompleted()
      scheduler.advance(by: 200.0)
      #expect(counter.value == count)
    }
  }

  private final class Witness: Sendable {}

  private struct Witnesses {
    weak var upstream: Witness?
    weak var downstream: Witness?
    weak var output: AnyObject?
  }

  enum Ending: CaseIterable { case completion, failure, interruption, disposal, loss }

  private func leave(
    _ ending: Ending, _ pipe: inout Signal<Int, TestError>.Observer?,
    _ disposable: (any Disposable)?
  ) {
    guard let input = pipe else { return }
    switch ending {
    case .completion: input.sendCompleted()
    case .failure: input.send(error: .one)
    case .interruption: input.sendInterrupted()
    case .disposal: disposable?.dispose()
    case .loss: pipe = nil
    }
  }

  @Test(
    "a signal's operator is released at every end", arguments: OperatorCase.all, Ending.allCases)
  func signalRetention(_ operation: OperatorCase, _ ending: Ending) {
    var witnesses = Witnesses()
    do {
      let scheduler = TestScheduler()
      let signal: Signal<Int, TestError>
      var input: Signal<Int, TestError>.Observer?
      do {
        let pipe = Signal<Int, TestError>.pipe()
        (signal, input) = (pipe.output, pipe.input)
      }
      let (above, below) = (Witness(), Witness())
      let watched = signal.map { (value: Int) -> Int in withExtendedLifetime(above) { value } }
      let output = operation.onSignal(watched, scheduler)
      let disposable = output.observe { _ in withExtendedLifetime(below) {} }
      witnesses = Witnesses(upstream: above, downstream: below, output: output)
      scheduler.advance()
      input?.send(value: 1)
      scheduler.advance(by: 2.0)
      leave(ending, &input, disposable)
      scheduler.advance(by: 200.0)
    }
    #expect(witnesses.upstream == nil)
    #expect(witnesses.downstream == nil)
    #expect(witnesses.output == nil)
  }

  @Test(
    "a producer's operator is released at every end", arguments: OperatorCase.all, Ending.allCases)
  func producerRetention(_ operation: OperatorCase, _ ending: Ending) {
    var witnesses = Witnesses()
    let ended = Counter()
    do {
      let scheduler = TestScheduler()
      let signal: Signal<Int, TestError>
      var input: Signal<Int, TestError>.Observer?
      do {
        let pipe = Signal<Int, TestError>.pipe()
        (signal, input) = (pipe.output, pipe.input)
      }
      let (above, below) = (Witness(), Witness())
      let source = SignalProducer<Int, TestError> { observer, lifetime in
        lifetime += signal.observe(observer)
        lifetime.observeEnded { withExtendedLifetime(above) { ended.increment() } }
      }
      let disposable = operation.onProducer(source, scheduler)
        .start { _ in withExtendedLifetime(below) {} }
      witnesses = Witnesses(upstream: above, downstream: below)
      scheduler.advance()
      input?.send(value: 1)
      scheduler.advance(by: 2.0)
      leave(ending, &input, disposable)
      scheduler.advance(by: 200.0)
    }
    #expect(ended.value >= 1)
    #expect(witnesses.upstream == nil)
    #expect(witnesses.downstream == nil)
  }

  @Test("values sent from inside a delivery come in order", arguments: OperatorCase.all)
  func recursion(_ operation: OperatorCase) {
    func run(recursively: Bool) -> [String] {
      let scheduler = TestScheduler()
      let (signal, input) = Signal<Int, TestError>.pipe()
      let log = Log<String>()
      signal.observeResult { result in
        guard recursively, case .success(let value) = result, value < 5 else { return }
        input.send(value: value + 1)
        if value == 4 { input.sendCompleted() }
      }
      operation.onSignal(signal, scheduler).record(in: log)
      operation.onProducer(signal.producer, scheduler).record(in: log)
      scheduler.advance()
      if recursively {
        input.send(value: 1)
      } else {
        for value in 1...5 { input.send(value: value) }
        input.sendCompleted()
      }
      scheduler.advance(by: 200.0)
      return log.entries
    }
    #expect(run(recursively: true) == run(recursively: false))
  }

  @Test("an operator holds no lock while it calls out", arguments: OperatorCase.all)
  func callingOut(_ operation: OperatorCase) {
    let scheduler = TestScheduler()
    let (signal, input) = Signal<Int, TestError>.pipe()
    let output = operation.onSignal(signal, scheduler)
    let producer = operation.onProducer(signal.producer, scheduler)
    let calls = Counter()
    let run = SerialDisposable()
    let meddle: @Sendable (Signal<Int, TestError>.Event) -> Void = { _ in
      calls.increment()
      // Each of the two forms once.
      guard calls.value <= 2 else { return }
      let done = DispatchSemaphore(value: 0)
      detach {
        input.send(value: 7)
        output.observe { _ in }?.dispose()
        producer.start().dispose()
        scheduler.schedule {}
        done.signal()
      }
      #expect(done.wait(timeout: .now() + 20) == .success, "a lock was held")
    }
    output.observe(meddle)
    run.inner = producer.start(meddle)
    scheduler.advance()
    for value in 1...3 {
      input.send(value: value)
      scheduler.advance(by: 2.0)
    }
    input.sendCompleted()
    scheduler.advance(by: 200.0)
    #expect(calls.value >= 2)
  }
}
