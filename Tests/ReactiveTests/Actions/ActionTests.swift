import Reactive
import Testing

@Suite("Action", .ownThread)
struct ActionTests {
  private struct Failure: Error, Equatable {}

  /// An action whose execution is in the test's hands.
  private final class Bench: Sendable {
    let enabled = MutableProperty(true)
    let executions = Counter()
    let action: Action<Int, String, Failure>
    let input: Signal<String, Failure>.Observer

    init() {
      let (output, input) = Signal<String, Failure>.pipe()
      let executions = executions
      self.input = input
      action = Action(enabledIf: enabled) { number in
        SignalProducer { observer, lifetime in
          executions.increment()
          observer.send(value: "\(number)")
          lifetime += output.observe(observer)
        }
      }
    }
  }

  @Test("an execution begins when the applied producer is started, and sends its events")
  func execution() {
    let bench = Bench()
    let log = Log<String>()
    bench.action.events.observeValues { log.append("event \($0)") }
    bench.action.values.observeValues { log.append("value \($0)") }
    bench.action.completed.observeValues { log.append("completed") }
    let execution = bench.action.apply(7)
    #expect(bench.executions.value == 0)
    execution.start { log.append("own \($0)") }
    bench.input.sendCompleted()
    #expect(bench.executions.value == 1)
    #expect(
      log.entries == [
        "own VALUE 7", "value 7", "event VALUE 7", "own COMPLETED", "completed",
        "event COMPLETED",
      ])
  }

  @Test("an action is executing and disabled while an execution runs")
  func executing() {
    let bench = Bench()
    let log = Log<String>()
    bench.action.isEnabled.producer.startWithValues { log.append("enabled \($0)") }
    bench.action.isExecuting.producer.startWithValues { log.append("executing \($0)") }
    bench.action.apply(1).start()
    #expect(bench.action.isExecuting.value && !bench.action.isEnabled.value)
    bench.input.sendCompleted()
    #expect(!bench.action.isExecuting.value && bench.action.isEnabled.value)
    #expect(
      log.entries == [
        "enabled true", "executing false", "enabled false", "executing true", "enabled true",
        "executing false",
      ])
  }

  @Test("an attempt while the action is disabled fails, and is reported")
  func disabled() {
    let bench = Bench()
    let log = Log<String>()
    bench.action.disabledErrors.observeValues { log.append("disabled") }
    bench.enabled.value = false
    #expect(!bench.action.isEnabled.value)
    bench.action.apply(1).startWithFailed { log.append("\($0)") }
    #expect(log.entries == ["disabled", "disabled"])
    bench.enabled.value = true
    bench.action.apply(1).start()
    bench.action.apply(2).startWithFailed { log.append("\($0)") }
    #expect(bench.executions.value == 1 && log.entries.count == 4)
  }

  @Test("a failure reaches the execution wrapped, and the errors bare")
  func failure() {
    let bench = Bench()
    let own = Log<ActionError<Failure>>()
    let errors = Log<Failure>()
    bench.action.errors.observeValues { errors.append($0) }
    bench.action.apply(1).startWithFailed { own.append($0) }
    bench.input.send(error: Failure())
    #expect(own.entries == [.producerFailed(Failure())])
    #expect(errors.entries == [Failure()])
    #expect(bench.action.isEnabled.value)
  }

  @Test("interrupting an execution ends it, and the action is enabled again")
  func interruption() {
    let bench = Bench()
    bench.action.apply(1).start().dispose()
    #expect(!bench.action.isExecuting.value && bench.action.isEnabled.value)
  }

  @Test("an execution that is begun in answer to the end of another is begun")
  func executionFromInside() {
    let bench = Bench()
    bench.action.isExecuting.signal.filter { !$0 }.take(first: 1).observeValues { _ in
      bench.action.apply(2).start()
    }
    bench.action.apply(1).start().dispose()
    #expect(bench.executions.value == 2)
    #expect(bench.action.isExecuting.value)
  }

  @Test("an action is executed by one thread at a time")
  func contention() {
    for _ in 0..<200 {
      let running = Atomic(0)
      let overlaps = Counter()
      let action = Action<Void, Never, Never> {
        SignalProducer { observer, _ in
          if running.modify({ count -> Int in
            count += 1; return count
          }) > 1 {
            overlaps.increment()
          }
          running.modify { $0 -= 1 }
          observer.sendCompleted()
        }
      }
      race({ action.apply().start() }, { action.apply().start() })
      #expect(overlaps.value == 0 && action.isEnabled.value)
    }
  }

  @Test("a state decides and is handed to the execution")
  func state() {
    let state = MutableProperty<String?>(nil)
    let unwrapping = Action<Void, String, Never>(unwrapping: state) { SignalProducer(value: $0) }
    let plain = Action<Int, String, Never>(state: state) { state, input in
      SignalProducer(value: "\(state ?? "nil") \(input)")
    }
    let log = Log<String>()
    unwrapping.values.observeValues { log.append($0) }
    plain.values.observeValues { log.append($0) }
    #expect(!unwrapping.isEnabled.value && plain.isEnabled.value)
    plain.apply(1).start()
    state.value = "there"
    unwrapping.apply().start()
    plain.apply(2).start()
    #expect(log.entries == ["nil 1", "there", "there 2"])
  }

  @Test("a validated state enables the action while it is valid")
  func validated() {
    let state = ValidatingProperty<Int, Failure>(-1) { $0 >= 0 ? .valid : .invalid(Failure()) }
    let action = Action<Void, Int, Never>(validated: state) { SignalProducer(value: $0) }
    #expect(!action.isEnabled.value)
    state.value = 5
    #expect(action.isEnabled.value)
    state.value = -2
    #expect(!action.isEnabled.value)
  }

  @Test("an action that is released completes its signals and ends bindings with it")
  func release() {
    var bench: Bench? = Bench()
    let log = Log<String>()
    bench?.action.events.observeCompleted { log.append("events") }
    bench?.action.values.observeCompleted { log.append("values") }
    bench?.action.disabledErrors.observeCompleted { log.append("disabledErrors") }
    bench?.action.lifetime.observeEnded { log.append("lifetime") }
    let source = MutableProperty(1)
    if let bench { bench.action <~ source }
    weak let released = bench?.action
    #expect(bench?.executions.value == 1)
    bench?.input.sendCompleted()
    bench = nil
    #expect(released == nil)
    #expect(Set(log.entries) == ["events", "values", "disabledErrors", "lifetime"])
  }
}
