import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// Behaviour of ReactiveSwift that programs rely on, and that no other suite tests.
@Suite("Signals, at their edges")
struct SignalSemanticsTests {
  private typealias Source = Signal<Int, TestError>

  @Test("a disposable given to a pipe is disposed of after any end", arguments: 0...3)
  func pipeDisposable(_ ending: Int) {
    let disposable = AnyDisposable()
    let log = Log<String>()
    do {
      let (signal, input) = Source.pipe(disposable: disposable)
      signal.observe { _ in log.append("delivered, disposed: \(disposable.isDisposed)") }
      switch ending {
      case 0: input.sendCompleted()
      case 1: input.send(error: .one)
      case 2: input.sendInterrupted()
      default: break
      }
    }
    #expect(disposable.isDisposed)
    #expect(log.entries == ["delivered, disposed: false"])
  }

  @Test("an end that is sent from inside a value comes when all have had the value")
  func recursiveEnd() {
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.observe { event in
      log.append("a \(event)")
      if case .value = event { input.sendCompleted() }
    }
    signal.observe { log.append("b \($0)") }
    input.send(value: 1)
    #expect(log.entries == ["a VALUE 1", "b VALUE 1", "a COMPLETED", "b COMPLETED"])
  }

  @Test("a signal without a handle lives while it is observed and can be sent to")
  func lifeWithoutHandle() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    weak var signal: Source?
    do {
      let made = Source { observer, _ in scheduler.schedule { observer.send(error: .one) } }
      made.record(in: log)
      signal = made
    }
    #expect(signal == nil)
    scheduler.run()
    #expect(log.entries == ["FAILED one"])
  }

  @Test("a derived signal leaves its source when neither held nor observed")
  func derivedLife() {
    let (signal, input) = Source.pipe()
    let calls = Counter()
    var derived: Source? = signal.map { value in
      calls.increment()
      return value
    }
    let observation = derived?.observe { _ in }
    derived = nil
    input.send(value: 1)
    #expect(calls.value == 1)
    observation?.dispose()
    input.send(value: 2)
    #expect(calls.value == 1)
  }

  @Test("skip(until:) that begins late begins with what comes, and sees a past end interrupted")
  func skipUntil() {
    let (signal, input) = Source.pipe()
    let (trigger, fire) = Signal<(), Never>.pipe()
    let log = Log<String>()
    signal.skip(until: trigger).record(in: log)
    input.send(value: 1)
    fire.send(value: ())
    fire.send(value: ())
    input.send(value: 2)
    #expect(log.entries == ["VALUE 2"])
  }

  @Test("two merged signals must both end before the result does")
  func merging() {
    let (a, inA) = Source.pipe()
    let (b, inB) = Source.pipe()
    let log = Log<String>()
    Source.merge(a, b).record(in: log)
    inA.send(value: 1)
    inA.sendCompleted()
    inB.send(value: 2)
    inB.sendCompleted()
    #expect(log.entries == ["VALUE 1", "VALUE 2", "COMPLETED"])
  }

  @Test("the kinds of side effects come in their order")
  func sideEffects() {
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.on(
      event: { log.append("event \($0)") }, failed: { log.append("failed \($0)") },
      completed: { log.append("completed") }, interrupted: { log.append("interrupted") },
      terminated: { log.append("terminated") }, disposed: { log.append("disposed") },
      value: { log.append("value \($0)") }
    ).record(in: log)
    input.send(value: 1)
    input.send(error: .one)
    #expect(
      log.entries == [
        "event VALUE 1", "value 1", "VALUE 1", "event FAILED one", "failed one", "terminated",
        "FAILED one", "disposed",
      ])
  }

  @Test("after the clock was set back, throttled values come again")
  func throttleAndRewind() {
    let scheduler = TestScheduler()
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.throttle(1, on: scheduler).record(in: log)
    input.send(value: 0)
    scheduler.advance()
    input.send(value: 1)
    scheduler.advance()
    #expect(log.entries == ["VALUE 0"])
    scheduler.advance(by: .milliseconds(1500))
    #expect(log.entries == ["VALUE 0", "VALUE 1"])
    scheduler.advance(by: .seconds(3))
    input.send(value: 2)
    scheduler.advance()
    #expect(log.entries.last == "VALUE 2")
    scheduler.rewind(by: .seconds(2))
    input.send(value: 3)
    scheduler.advance()
    #expect(log.entries.last == "VALUE 3")
  }

  @Test("a throttled value that is due comes before the end, one that is not is dropped")
  func throttleAndEnd() {
    let scheduler = TestScheduler()
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.throttle(1, on: scheduler).record(in: log)
    input.send(value: 0)
    scheduler.advance(by: 1)
    input.send(value: 1)
    input.sendCompleted()
    scheduler.run()
    #expect(log.entries == ["VALUE 0", "VALUE 1", "COMPLETED"])
    log.removeAll()
    let (other, otherInput) = Source.pipe()
    other.throttle(1, on: scheduler).record(in: log)
    for value in 0...1 {
      otherInput.send(value: value)
      scheduler.advance()
    }
    otherInput.sendCompleted()
    scheduler.run()
    #expect(log.entries == ["VALUE 0", "COMPLETED"])
  }

  @Test("a timeout and a value for the same moment come in the order of their scheduling")
  func timeoutBoundary() {
    let scheduler = TestScheduler()
    let (signal, input) = Source.pipe()
    let (before, after) = (Log<String>(), Log<String>())
    signal.timeout(after: 2, raising: .one, on: scheduler).record(in: before)
    scheduler.schedule(after: .seconds(2)) { input.sendCompleted() }
    signal.timeout(after: 2, raising: .one, on: scheduler).record(in: after)
    scheduler.advance(by: .seconds(2))
    #expect(before.entries == ["FAILED one"])
    #expect(after.entries == ["COMPLETED"])
  }

  @Test("throttled by a property: the last value kept is delivered, once, when it resumes")
  func throttleWhile() {
    let scheduler = ImmediateScheduler()
    let (signal, input) = Source.pipe()
    let gate = MutableProperty(false)
    let log = Log<String>()
    signal.throttle(while: gate, on: scheduler).record(in: log)
    input.send(value: 1)
    gate.value = true
    gate.value = true
    input.send(value: 2)
    input.send(value: 3)
    #expect(log.entries == ["VALUE 1"])
    gate.value = false
    gate.value = false
    #expect(log.entries == ["VALUE 1", "VALUE 3"])
    gate.value = true
    input.send(value: 4)
    input.sendCompleted()
    gate.value = false
    #expect(log.entries == ["VALUE 1", "VALUE 3", "COMPLETED"])
  }

  @Test("completion waits for the last debounced value only if there is one")
  func debouncedCompletion() {
    let scheduler = TestScheduler()
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.debounce(1, on: scheduler, discardWhenCompleted: false).record(in: log)
    input.send(value: 1)
    scheduler.advance(by: .seconds(2))
    input.sendCompleted()
    scheduler.advance()
    #expect(log.entries == ["VALUE 1", "COMPLETED"])
  }

  @Test("results, failures and the rest go to their observers")
  func observers() {
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.observeResult { log.append("\($0)") }
    signal.observeFailed { log.append("failed \($0)") }
    signal.observeCompleted { log.append("completed") }
    signal.observeInterrupted { log.append("interrupted") }
    input.send(value: 1)
    input.send(error: .two)
    #expect(log.entries.first == "success(1)")
    #expect(log.entries.last == "failed two")
    #expect(log.entries.count == 3)
  }

  @Test("an observer that sends to an ended signal, or observes it, does no harm")
  func afterTheEnd() {
    let (signal, input) = Source.pipe()
    let log = Log<String>()
    signal.observeCompleted {
      input.send(value: 1)
      #expect(signal.observe { log.append($0.description) } == nil)
    }
    signal.record(in: log)
    input.sendCompleted()
    #expect(log.entries == ["INTERRUPTED", "COMPLETED"])
  }
}
