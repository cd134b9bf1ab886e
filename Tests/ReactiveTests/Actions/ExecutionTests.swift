import Reactive
import Testing

@Suite("An action's executions")
struct ExecutionTests {
  /// An action whose executions are the streams that are handed to it.
  private typealias Flatten = Action<SignalProducer<Int, TestError>, Int, TestError>

  @Test("executions are sent one by one, each with all of its events")
  func executions() {
    let action = Action<Int, Int, TestError> { limit in
      limit > 2 ? SignalProducer(error: .one) : SignalProducer(1...limit)
    }
    let log = Log<String>()
    action.executions.observeValues { execution in
      log.append("begins")
      execution.record(in: log)
    }
    for limit in 1...3 { action.apply(limit).start() }
    #expect(
      log.entries == [
        "begins", "VALUE 1", "COMPLETED", "begins", "VALUE 1", "VALUE 2", "COMPLETED",
        "begins", "FAILED one",
      ])
  }

  @Test("an execution can be observed late, without being repeated")
  func late() {
    let runs = Counter()
    let action = Action<Void, Int, Never> {
      SignalProducer { () -> Int in
        runs.increment(); return 7
      }
    }
    let executions = Log<SignalProducer<Int, Never>>()
    action.executions.observeValues { executions.append($0) }
    action.apply().start()
    for _ in 0..<2 { #expect(executions.entries[0].recorded == ["VALUE 7", "COMPLETED"]) }
    #expect(runs.value == 1)
  }

  @Test(
    "an execution is interrupted when it is disposed of, and the stream completes with the action")
  func ends() {
    var action: Action<Void, Int, Never>? = Action { .never }
    let log = Log<String>()
    action?.executions.observe { event in
      event.value?.record(in: log)
      if event.isTerminating { log.append("no more: \(event)") }
    }
    action?.apply().start().dispose()
    action = nil
    #expect(log.entries == ["INTERRUPTED", "no more: COMPLETED"])
  }

  @Test("executions can't overlap unless the action allows it")
  func concurrency() {
    let action = Flatten { $0 }
    let (first, firstInput) = Signal<Int, TestError>.pipe()
    let (second, secondInput) = Signal<Int, TestError>.pipe()
    let enabled = Log<Bool>()
    action.isEnabled.producer.startWithValues { enabled.append($0) }
    action.apply(first.producer).start()
    #expect(action.apply(second.producer).recorded == ["FAILED disabled"])
    action.allowsConcurrentExecution = true
    #expect(action.isEnabled.value && action.isExecuting.value)

    let log = Log<String>()
    action.values.observeValues { log.append("\($0)") }
    action.apply(second.producer).start()
    firstInput.send(value: 1)
    secondInput.send(value: 2)
    firstInput.sendCompleted()
    #expect(action.isExecuting.value)
    secondInput.sendCompleted()
    #expect(!action.isExecuting.value)
    #expect(log.entries == ["1", "2"])
    #expect(enabled.entries == [true, false, true])
  }

  @Test("disallowing overlaps again disables the action until the last execution ends")
  func disallowing() {
    let action = Action<Void, Int, Never> { .never }
    action.allowsConcurrentExecution = true
    let runs = [action.apply().start(), action.apply().start()]
    action.allowsConcurrentExecution = false
    #expect(!action.isEnabled.value)
    runs[0].dispose()
    #expect(!action.isEnabled.value)
    runs[1].dispose()
    #expect(action.isEnabled.value)
  }

  @Test("executions keep neither the action nor its values")
  func release() {
    weak let action: Action<Counter, Counter, Never>?
    weak let value: Counter?
    do {
      let counter = Counter()
      let told = Action<Counter, Counter, Never> { SignalProducer(value: $0) }
      told.executions.observeValues { $0.startWithValues { $0.increment() } }
      told.apply(counter).start()
      #expect(counter.value == 1)
      (action, value) = (told, counter)
    }
    #expect(action == nil)
    #expect(value == nil)
  }
}
