import Dispatch
import FoundationEssentials
import Reactive
import Testing

/// Behaviour of ReactiveSwift that programs rely on, and that no other suite tests.
@Suite("Properties, actions and bindings, at their edges")
struct StateSemanticsTests {
  @Test("a property that is fed to its end keeps its value; its signal has ended")
  func fedToTheEnd() {
    let ended = [
      Property(initial: 0, then: SignalProducer<Int, Never>([1, 2])),
      Property(initial: 2, then: SignalProducer<Int, Never>.empty),
      Property(
        initial: 2, then: SignalProducer<Int, Never> { observer, _ in observer.sendInterrupted() }),
      Property(Property(value: 2)),
      Property(capturing: Property(value: 2)),
      Property(value: 1).map { $0 + 1 },
      Property(value: 1).combineLatest(with: Property(value: 1)).map { $0 + $1 },
    ]
    for property in ended {
      let log = Log<String>()
      property.producer.record(in: log)
      property.signal.record(in: log)
      #expect(property.value == 2)
      #expect(log.entries == ["VALUE 2", "COMPLETED", "INTERRUPTED"])
    }
  }

  @Test("a composed property has the value before any observer gets it")
  func valueBeforeEvent() {
    let (a, b) = (MutableProperty(1), MutableProperty(10))
    let sum = a.combineLatest(with: b).map { $0 + $1 }
    let log = Log<Int>()
    sum.producer.startWithValues { [weak sum] value in
      // Also during the delivery of the present value.
      log.append(value)
      if let sum { #expect(sum.value == value) }
    }
    a.value = 2
    b.value = 20
    #expect(log.entries == [11, 12, 22])
  }

  @Test("a property can be read, and modified values computed, during its deliveries")
  func readingWhileTelling() {
    let property = MutableProperty(0)
    let log = Log<Int>()
    property.signal.observeValues { _ in
      log.append(property.value)
      log.append(property.withValue { $0 + 100 })
    }
    property.value = 1
    property.modify { $0 += 1 }
    #expect(log.entries == [1, 101, 2, 102])
  }

  @Test("two properties that set each other come to rest")
  func mutualSetting() {
    let (a, b) = (MutableProperty(0), MutableProperty(0))
    a.signal.observeValues { if b.value != $0 { b.value = $0 } }
    b.signal.observeValues { if a.value != $0 { a.value = $0 } }
    a.value = 1
    #expect(b.value == 1)
    b.value = 2
    #expect(a.value == 2)
  }

  @Test("zipped properties complete when one has no more to give, combined ones with the last")
  func completion() {
    var a: MutableProperty<Int>? = MutableProperty(1)
    var b: MutableProperty<Int>? = MutableProperty(1)
    let (zipped, combined) = (Log<String>(), Log<String>())
    let pairs = a.flatMap { a in b.map { a.zip(with: $0).map { $0 + $1 } } }
    let both = a.flatMap { a in b.map { a.combineLatest(with: $0).map { $0 + $1 } } }
    pairs?.signal.record(in: zipped)
    both?.signal.record(in: combined)
    a?.value = 2
    a = nil
    #expect(combined.entries == ["VALUE 3"])
    b?.value = 3
    b?.value = 4
    b = nil
    #expect(zipped.entries == ["VALUE 5", "COMPLETED"])
    #expect(combined.entries == ["VALUE 3", "VALUE 5", "VALUE 6", "COMPLETED"])
  }

  @Test("flattened properties follow the newest, all, or one after the other")
  func flattening() {
    func run(_ strategy: FlattenStrategy) -> [Int] {
      let inner = [MutableProperty(1), MutableProperty(10)]
      let outer = MutableProperty(inner[0])
      let flat = outer.flatten(strategy)
      let log = Log<Int>()
      flat.producer.startWithValues { log.append($0) }
      outer.value = inner[1]
      inner[0].value = 2
      inner[1].value = 20
      return log.entries
    }
    #expect(run(.latest) == [1, 10, 20])
    #expect(run(.merge) == [1, 10, 2, 20])
    #expect(run(.concat) == [1, 2])
  }

  // MARK: Actions

  @Test("the events of an execution come in one order everywhere")
  func executionOrder() {
    let scheduler = TestScheduler()
    let action = Action<Int, Int, TestError> { value in
      SignalProducer(value: value).delay(1, on: scheduler)
    }
    let log = Log<String>()
    action.isExecuting.signal.observeValues { log.append("executing \($0)") }
    action.isEnabled.signal.observeValues { log.append("enabled \($0)") }
    action.values.observeValues { log.append("values \($0)") }
    action.completed.observeValues { log.append("completed") }
    action.apply(7).start { log.append("own \($0)") }
    #expect(action.isExecuting.value && !action.isEnabled.value)
    scheduler.advance(by: .seconds(1))
    #expect(log.entries.prefix(2).sorted() == ["enabled false", "executing true"])
    #expect(log.entries.dropFirst(2).prefix(3) == ["own VALUE 7", "values 7", "own COMPLETED"])
    // An observer of the completion finds the action enabled.
    #expect(log.entries.dropFirst(5).prefix(2).sorted() == ["enabled true", "executing false"])
    #expect(log.entries.last == "completed")
  }

  @Test("an attempt while disabled fails first and is then reported, and executes nothing")
  func disabled() {
    let executions = Counter()
    let enabled = MutableProperty(false)
    let action = Action<Int, Int, TestError>(enabledIf: enabled) { value in
      executions.increment()
      return SignalProducer(value: value)
    }
    let log = Log<String>()
    action.disabledErrors.observeValues { log.append("told") }
    action.errors.observeValues { log.append("error \($0)") }
    action.events.observeValues { log.append("event \($0)") }
    action.apply(1).startWithFailed { log.append("failed, \($0 == .disabled)") }
    #expect(log.entries == ["failed, true", "told"])
    #expect(executions.value == 0)
    enabled.value = true
    #expect(action.apply(1).recorded == ["VALUE 1", "COMPLETED"])
  }

  @Test("a state that its own action changes neither deadlocks nor loops")
  func stateOfItsOwn() {
    let condition = MutableProperty(1)
    let action = Action<(), Int, Never>(state: condition, enabledIf: { $0 > 0 }) { state, _ in
      SignalProducer(value: state)
    }
    condition <~ action.isExecuting.signal.map { $0 ? 2 : 3 }
    condition <~ action.values.map { _ in 5 }
    let enabled = Log<Bool>()
    action.isEnabled.producer.startWithValues { enabled.append($0) }
    action.apply().start()
    #expect(condition.value == 3)
    #expect(action.isEnabled.value)
    #expect(enabled.entries == [true, false, true])
  }

  @Test("an action that is let go while it executes goes on to the end of the execution")
  func lettingGo() {
    let scheduler = TestScheduler()
    let log = Log<String>()
    var action: Action<Int, Int, Never>? = Action { value in
      SignalProducer(value: value).delay(1, on: scheduler)
    }
    weak let released = action
    action?.events.observe { log.append("\($0)") }
    action?.apply(1).start()
    action = nil
    #expect(released != nil)
    scheduler.advance(by: .seconds(1))
    #expect(released == nil)
    #expect(log.entries == ["VALUE VALUE 1", "VALUE COMPLETED", "COMPLETED"])
  }

  // MARK: Bindings

  @Test("a property that is bound takes the present value of a property and not that of a signal")
  func bindingTakesPresent() {
    let source = MutableProperty(1)
    let (fromProperty, fromSignal) = (MutableProperty(0), MutableProperty(0))
    fromProperty <~ source
    fromSignal <~ source.signal
    #expect((fromProperty.value, fromSignal.value) == (1, 0))
    source.value = 2
    #expect((fromProperty.value, fromSignal.value) == (2, 2))
  }

  @Test("a bound property outlives its source and keeps the value")
  func sourceGone() {
    let target = MutableProperty(0)
    var source: MutableProperty<Int>? = MutableProperty(1)
    weak let released = source
    if let source { target <~ source }
    source = nil
    #expect(released == nil)
    #expect(target.value == 1)
  }

  @Test("binding to a target whose life has ended does nothing")
  func endedTarget() {
    let log = Log<Int>()
    let target = BindingTarget<Int>(lifetime: .empty) { log.append($0) }
    target <~ SignalProducer<Int, Never>([1, 2])
    #expect(log.entries.isEmpty)
  }
}
