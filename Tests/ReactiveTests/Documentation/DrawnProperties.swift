import Dispatch
import FoundationEssentials
import Reactive

extension Stage {
  func drawTime() {
    draw("numbers.delay(2, on: scheduler)", numbers.delay(2, on: scheduler))
    draw("numbers.debounce(2, on: scheduler)", numbers.debounce(2, on: scheduler))
    draw(
      "numbers.debounce(2, on: scheduler, discardWhenCompleted: false)",
      numbers.debounce(2, on: scheduler, discardWhenCompleted: false))
    draw("numbers.throttle(3, on: scheduler)", numbers.throttle(3, on: scheduler))
    draw(
      "numbers.throttle(while: isBusy, on: scheduler)",
      numbers.throttle(while: isBusy, on: scheduler))
    draw(
      "numbers.timeout(after: 5, raising: MarbleError(), on: scheduler)",
      numbers.timeout(after: 5, raising: MarbleError(), on: scheduler))
    draw(
      "numbers.collect(every: .seconds(4), on: scheduler)",
      numbers.collect(every: .seconds(4), on: scheduler))
    draw(
      "numbers.collect(every: .seconds(4), on: scheduler, discardWhenCompleted: false)",
      numbers.collect(every: .seconds(4), on: scheduler, discardWhenCompleted: false))
    draw("numbers.lazyMap(on: scheduler) { $0 * 2 }", numbers.lazyMap(on: scheduler) { $0 * 2 })
    draw(
      "SignalProducer.interval([4, 5, 6], interval: .seconds(2), on: scheduler)",
      SignalProducer.interval([4, 5, 6], interval: .seconds(2), on: scheduler))
    draw(
      "SignalProducer.interval(.seconds(2), on: scheduler).take(first: 4)",
      SignalProducer.interval(.seconds(2), on: scheduler).take(first: 4))
    draw(
      "SignalProducer.timer(interval: .seconds(2), on: scheduler).take(first: 3)",
      SignalProducer.timer(interval: .seconds(2), on: scheduler).take(first: 3))
  }

  func drawSchedulers() {
    draw("numbers.observe(on: scheduler)", numbers.observe(on: scheduler))
    draw("numbers.start(on: scheduler)", numbers.start(on: scheduler))
  }

  func drawSideEffects() {
    let heard = Log<Int>()
    draw("numbers.on(value: { heard.append($0) })", numbers.on(value: { heard.append($0) }))
    let journal: EventLogger = { _, _, _, _, _ in }
    draw("numbers.logEvents(logger: journal)", numbers.logEvents(logger: journal))
  }

  func drawSharing() {
    draw("signal.map { $0 }", signal.map { $0 })
    draw("numbers.map { $0 }", numbers.map { $0 })
    draw("numbers.replayLazily(upTo: 1)", numbers.replayLazily(upTo: 1))
    draw("replayed.map { $0 }", replayed.map { $0 })
    draw(
      "numbers.startWithSignal { s, _ in s.merge(with: s.map { $0 * 2 }) }",
      numbers.startWithSignal { s, _ in s.merge(with: s.map { $0 * 2 }) })
  }

  func drawProperties() {
    draw("first.producer", first.producer)
    draw("first.signal", first.signal)
    draw("first.map { $0 * 2 }", first.map { $0 * 2 })
    draw("first.filter(initial: 0) { $0 > 2 }", first.filter(initial: 0) { $0 > 2 })
    draw("first.skipRepeats()", first.skipRepeats())
    draw("first.uniqueValues()", first.uniqueValues())
    draw("first.combinePrevious(0)", first.combinePrevious(0))
    draw("first.combineLatest(with: second)", first.combineLatest(with: second))
    draw("first.zip(with: second)", first.zip(with: second))
    let joint = first.combineLatest(with: first.map { $0 * 2 })
    draw("joint.map { $0 }", joint.map { $0 })
    draw("joint.settled(after: first)", joint.settled(after: first))
    draw("isBusy.negate()", isBusy.negate())
    draw("isBusy.and(isReady)", isBusy.and(isReady))
    draw("isBusy.or(isReady)", isBusy.or(isReady))
    let properties = [first, second]
    draw(
      "first.flatMap(.latest) { properties[$0] }", first.flatMap(.latest) { properties[$0] })
    draw("Property(initial: 0, then: changes)", Property(initial: 0, then: changes))
    draw("name.producer", name.producer)
    draw("name.result.map(\\.isInvalid)", name.result.map(\.isInvalid))
  }

  func drawBindings() {
    draw("target <~ values", target <~ values, shows: { _ in target })
    draw("target <~ first", target <~ first, shows: { _ in target })
    draw(
      "target.replacingNil(with: 0) <~ optional", target.replacingNil(with: 0) <~ optional,
      shows: { _ in target })
    draw("first <~> second", first <~> second, shows: { _ in first })
    draw(
      "first.link(to: second, reading: { $0 + 1 }, writing: { $0 - 1 })",
      first.link(to: second, reading: { $0 + 1 }, writing: { $0 - 1 }), shows: { _ in first })
  }

  func drawActions() {
    draw("action.values", action.values)
    draw("action.errors", action.errors)
    draw("action.completed", action.completed)
    draw("action.disabledErrors", action.disabledErrors)
    draw("action.isExecuting", action.isExecuting)
    draw("action.isEnabled", action.isEnabled)
    draw("action.executions.flatten(.merge)", action.executions.flatten(.merge))
  }
}
