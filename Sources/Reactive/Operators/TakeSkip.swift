final class TakeFirst<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private var remaining: Int

  init(_ count: Int) {
    remaining = count
  }

  override func stageWillStart() {
    if remaining == 0 { complete() }
  }

  override func receive(_ value: Value) {
    guard remaining > 0 else { return }
    remaining -= 1
    let isLast = remaining == 0
    emit(value)
    if isLast { complete() }
  }
}

final class TakeLast<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private let count: Int
  private var ring: [Value] = []
  private var oldest = 0

  init(_ count: Int) {
    self.count = count
  }

  override func receive(_ value: Value) {
    if ring.count < count {
      ring.append(value)
    } else if count > 0 {
      ring[oldest] = value
      oldest = (oldest + 1) % count
    }
  }

  override func terminate(_ termination: Termination<Error>) {
    if case .completed = termination {
      for value in ring[oldest...] { emit(value) }
      for value in ring[..<oldest] { emit(value) }
    }
    finish(termination)
  }
}

final class TakeWhile<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private let shouldContinue: (Value) -> Bool
  private let takesLast: Bool

  init(_ shouldContinue: @escaping (Value) -> Bool, takesLast: Bool) {
    self.shouldContinue = shouldContinue
    self.takesLast = takesLast
  }

  override func receive(_ value: Value) {
    guard !isFinished else { return }
    if shouldContinue(value) {
      emit(value)
    } else {
      if takesLast { emit(value) }
      complete()
    }
  }
}

final class SkipFirst<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private var remaining: Int

  init(_ count: Int) {
    remaining = count
  }

  override func receive(_ value: Value) {
    if remaining > 0 { remaining -= 1 } else { emit(value) }
  }
}

final class SkipWhile<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private let shouldContinue: (Value) -> Bool
  private var isSkipping = true

  init(_ shouldContinue: @escaping (Value) -> Bool) {
    self.shouldContinue = shouldContinue
  }

  override func receive(_ value: Value) {
    if isSkipping { isSkipping = shouldContinue(value) }
    if !isSkipping { emit(value) }
  }
}

extension Signal {
  // Producers: by hand, because a run of which nothing is taken isn't begun.
  /// Passes the first `count` values and completes with the last of them.
  ///
  /// With none, it completes at once, so that observers are interrupted. An earlier end is passed
  /// on as it is.
  ///
  /// - Parameter count: The number of values; traps if it is negative.
  /// - Returns: A signal that sends at most `count` values.
  public func take(first count: Int) -> Signal<Value, Error> {
    precondition(count >= 0, "take(first:) takes no negative number of values, got \(count)")
    return through(TakeFirst(count))
  }

  /// Passes the last `count` values, at completion.
  ///
  /// As many are kept until then. A failure or an interruption is passed on, and drops them.
  ///
  /// - Parameter count: The number of values; traps if it is negative.
  /// - Returns: A signal that sends at most `count` values, and completes.
  public func take(last count: Int) -> Signal<Value, Error> {
    precondition(count >= 0, "take(last:) takes no negative number of values, got \(count)")
    return through(TakeLast(count))
  }

  /// Passes values until one is not to be passed, and completes instead.
  ///
  /// An earlier end is passed on as it is.
  ///
  /// - Parameter shouldContinue: Called with every value, on the thread that sends the value, one
  ///   call at a time, until it returns false.
  /// - Returns: A signal that sends the values before the first for which `shouldContinue` returns
  ///   false.
  @available(swift 6)
  public func take(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    through(TakeWhile(shouldContinue, takesLast: false))
  }

  /// Passes values while `shouldContinue` returns true, and also the first for which it returns
  /// false; then completes.
  ///
  /// It differs from `take(while:)` in that last value. As in ReactiveSwift, which has the same
  /// name for it, the predicate decides when to continue, not when to end. An earlier end is passed
  /// on as it is.
  ///
  /// - Parameter shouldContinue: Called with every value, on the thread that sends the value, one
  ///   call at a time, until it returns false.
  /// - Returns: A signal that sends the values up to the first for which `shouldContinue` returns
  ///   false.
  @available(swift 6)
  public func take(
    until shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    through(TakeWhile(shouldContinue, takesLast: true))
  }

  /// Drops the first `count` values.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter count: The number of values; traps if it is negative.
  /// - Returns: A signal that sends the values from the one after those on.
  public func skip(first count: Int) -> Signal<Value, Error> {
    precondition(count >= 0, "skip(first:) skips no negative number of values, got \(count)")
    return through(SkipFirst(count))
  }

  /// Drops values until one is not to be dropped; that, and all after it, are passed.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter shouldContinue: Called with every value, on the thread that sends the value, one
  ///   call at a time, until it returns false.
  /// - Returns: A signal that sends the values from the first for which `shouldContinue` returns
  ///   false.
  @available(swift 6)
  public func skip(
    while shouldContinue: @escaping @Sendable (Value) -> Bool
  ) -> Signal<Value, Error> {
    through(SkipWhile(shouldContinue))
  }
}

extension SignalProducer {
  /// Passes the first `count` values and completes with the last of them, upon which the run is
  /// disposed of.
  ///
  /// A run of which nothing is taken isn't begun: it is interrupted. An earlier end is passed on as
  /// it is.
  ///
  /// - Parameter count: The number of values; traps if it is negative.
  /// - Returns: A producer that sends at most `count` values.
  public func take(first count: Int) -> SignalProducer<Value, Error> {
    precondition(count >= 0, "take(first:) takes no negative number of values, got \(count)")
    guard count > 0 else {
      return SignalProducer(core: GeneratorCore { sink, _ in sink.terminate(.interrupted) })
    }
    return through { TakeFirst(count) }
  }
}
