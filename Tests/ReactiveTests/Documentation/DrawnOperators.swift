import Reactive

// Everything that the documentation's pages draw, with the code under which they draw it.

extension Stage {
  /// Starts the operators of the drawing.
  func drawAll() {
    drawTransforming()
    drawCollecting()
    drawEvents()
    drawFiltering()
    drawFilteringByOthers()
    drawCombining()
    drawSequencing()
    drawBooleans()
    drawFlattening()
    drawErrors()
    drawTime()
    drawSchedulers()
    drawSideEffects()
    drawSharing()
    drawProperties()
    drawBindings()
    drawActions()
  }

  private func drawTransforming() {
    draw("numbers.map { $0 * 2 }", numbers.map { $0 * 2 })
    draw("numbers.map(value: 7)", numbers.map(value: 7))
    draw("letters.map(\\.count)", letters.map(\.count))
    draw("letters.compactMap { Int($0) }", letters.compactMap { Int($0) })
    draw("maybes.replaceNil(with: 0)", maybes.replaceNil(with: 0))
    draw("numbers.scan(0, +)", numbers.scan(0, +))
    draw("numbers.scan(into: 0, +=)", numbers.scan(into: 0, +=))
    draw("numbers.reduce(0, +)", numbers.reduce(0, +))
    draw("numbers.reduce(into: 0, +=)", numbers.reduce(into: 0, +=))
    draw(
      "numbers.scanMap(0) { count, n in (count + 1, count * n) }",
      numbers.scanMap(0) { count, n in (count + 1, count * n) })
    draw("numbers.combinePrevious(0)", numbers.combinePrevious(0))
    draw("numbers.combinePrevious()", numbers.combinePrevious())
  }

  private func drawCollecting() {
    draw("numbers.collect()", numbers.collect())
    draw("numbers.collect(count: 2)", numbers.collect(count: 2))
    draw("numbers.collect { $0.reduce(0, +) > 4 }", numbers.collect { $0.reduce(0, +) > 4 })
    draw("numbers.collect { $1 == 1 }", numbers.collect { $1 == 1 })
    draw("numbers.collect(count: 2).flatten()", numbers.collect(count: 2).flatten())
    draw("numbers.group { $0 % 2 }.map(\\.key)", numbers.group { $0 % 2 }.map(\.key))
    draw(
      "numbers.group { $0 % 2 }.flatMap(.merge) { $0.signal.scan(0, +) }",
      numbers.group { $0 % 2 }.flatMap(.merge) { $0.signal.scan(0, +) })
  }

  private func drawEvents() {
    draw("numbers.materialize()", numbers.materialize())
    draw("events.dematerialize()", events.dematerialize())
    draw("numbers.materializeResults()", numbers.materializeResults())
    draw("results.dematerializeResults()", results.dematerializeResults())
  }

  private func drawFiltering() {
    draw("numbers.filter { $0 > 2 }", numbers.filter { $0 > 2 })
    draw("maybes.skipNil()", maybes.skipNil())
    draw("numbers.skipRepeats()", numbers.skipRepeats())
    draw("numbers.skipRepeats { $0 % 2 == $1 % 2 }", numbers.skipRepeats { $0 % 2 == $1 % 2 })
    draw("numbers.uniqueValues()", numbers.uniqueValues())
    draw("numbers.uniqueValues { $0 % 3 }", numbers.uniqueValues { $0 % 3 })
    draw("numbers.take(first: 2)", numbers.take(first: 2))
    draw("numbers.take(last: 2)", numbers.take(last: 2))
    draw("numbers.take(while: { $0 < 3 })", numbers.take(while: { $0 < 3 }))
    draw("numbers.take(until: { $0 < 3 })", numbers.take(until: { $0 < 3 }))
    draw("numbers.skip(first: 2)", numbers.skip(first: 2))
    draw("numbers.skip(while: { $0 < 3 })", numbers.skip(while: { $0 < 3 }))
  }

  private func drawFilteringByOthers() {
    draw("numbers.take(until: trigger)", numbers.take(until: trigger))
    draw("numbers.take(during: lifetime)", numbers.take(during: lifetime))
    draw("numbers.take(untilReplacement: others)", numbers.take(untilReplacement: others))
    draw("numbers.skip(until: trigger)", numbers.skip(until: trigger))
  }

  private func drawCombining() {
    draw("numbers.combineLatest(with: letters)", numbers.combineLatest(with: letters))
    draw("numbers.zip(with: letters)", numbers.zip(with: letters))
    draw("numbers.merge(with: others)", numbers.merge(with: others))
    draw("numbers.withLatest(from: settings)", numbers.withLatest(from: settings))
    draw("numbers.sample(with: settings)", numbers.sample(with: settings))
    draw("numbers.sample(on: trigger)", numbers.sample(on: trigger))
    draw(
      "signal.combineLatest(with: signal.map { $0 * 2 })",
      signal.combineLatest(with: signal.map { $0 * 2 }))
  }

  private func drawSequencing() {
    draw("numbers.concat(others)", numbers.concat(others))
    draw("numbers.concat(value: 9)", numbers.concat(value: 9))
    draw("numbers.concat(error: MarbleError())", numbers.concat(error: MarbleError()))
    draw("numbers.prefix(others)", numbers.prefix(others))
    draw("numbers.prefix(value: 0)", numbers.prefix(value: 0))
    draw("numbers.then(letters)", numbers.then(letters))
    draw("numbers.repeat(3)", numbers.repeat(3))
  }

  private func drawBooleans() {
    draw("isNear.negate()", isNear.negate())
    draw("isNear.and(isOpen)", isNear.and(isOpen))
    draw("isNear.or(isOpen)", isNear.or(isOpen))
    draw("SignalProducer.all(isNear, isOpen)", SignalProducer.all(isNear, isOpen))
    draw("SignalProducer.any(isNear, isOpen)", SignalProducer.any(isNear, isOpen))
  }

  private func drawFlattening() {
    draw("streams.flatten(.merge)", streams.flatten(.merge))
    draw("streams.flatten(.concat)", streams.flatten(.concat))
    draw("streams.flatten(.concurrent(limit: 2))", streams.flatten(.concurrent(limit: 2)))
    draw("streams.flatten(.latest)", streams.flatten(.latest))
    draw("streams.flatten(.race)", streams.flatten(.race))
    draw("streams.flatten(.throttle)", streams.flatten(.throttle))
    draw("numbers.flatMap(.latest) { _ in letters }", numbers.flatMap(.latest) { _ in letters })
  }

  private func drawErrors() {
    draw("numbers.mapError { _ in SlipError() }", numbers.mapError { _ in SlipError() })
    draw("numbers.flatMapError { _ in others }", numbers.flatMapError { _ in others })
    draw(
      "numbers.attempt { $0 < 3 ? .success(()) : .failure(MarbleError()) }",
      numbers.attempt { $0 < 3 ? .success(()) : .failure(MarbleError()) })
    draw(
      "numbers.attemptMap { $0 < 3 ? .success($0 * 2) : .failure(MarbleError()) }",
      numbers.attemptMap { $0 < 3 ? .success($0 * 2) : .failure(MarbleError()) })
    draw("numbers.retry(upTo: 2)", numbers.retry(upTo: 2))
    draw(
      "numbers.retry(upTo: 1, interval: 3, on: scheduler)",
      numbers.retry(upTo: 1, interval: 3, on: scheduler))
    draw("settings.promoteError(SlipError.self)", settings.promoteError(SlipError.self))
    draw(
      "trigger.compactMap { _ -> Never? in nil }.promoteValue(Int.self)",
      trigger.compactMap { _ -> Never? in nil }.promoteValue(Int.self))
  }
}

/// Another error than ``MarbleError``.
struct SlipError: Error {}
