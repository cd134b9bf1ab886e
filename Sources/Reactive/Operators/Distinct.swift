final class SkipRepeats<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  private let isEquivalent: (Value, Value) -> Bool
  // Values come one by one. Checking that takes a third of the time of `skipRepeats` and `scan`.
  @exclusivity(unchecked)
  private var previous: Value?

  init(_ isEquivalent: @escaping (Value, Value) -> Bool) {
    self.isEquivalent = isEquivalent
  }

  override func receive(_ value: Value) {
    if let previous, isEquivalent(previous, value) { return }
    previous = value
    emit(value)
  }
}

final class UniqueValues<Value, Identity: Hashable, Error: Swift.Error>:
  ValueStage<Value, Value, Error>
{
  private let identity: (Value) -> Identity
  private var seen: Set<Identity> = []

  init(_ identity: @escaping (Value) -> Identity) {
    self.identity = identity
  }

  override func receive(_ value: Value) {
    if seen.insert(identity(value)).inserted { emit(value) }
  }
}

final class CombinePrevious<Value, Error: Swift.Error>:
  ValueStage<Value, (Value, Value), Error>
{
  private var previous: Value?

  init(_ initial: Value?) {
    previous = initial
  }

  override func receive(_ value: Value) {
    let last = previous
    previous = value
    if let last { emit((last, value)) }
  }
}

extension Signal {
  /// Drops a value that is equivalent to the last that was passed.
  ///
  /// The first value is passed. The end is passed on as it is.
  ///
  /// - Parameter isEquivalent: Called with the value that was passed last and the new one, on the
  ///   thread that sends the value, one call at a time.
  /// - Returns: A signal that sends what differs from the value before.
  @available(swift 6)
  public func skipRepeats(
    _ isEquivalent: @escaping @Sendable (Value, Value) -> Bool
  ) -> Signal<Value, Error> {
    through(SkipRepeats(isEquivalent))
  }

  /// Drops a value that equals the last that was passed.
  ///
  /// The first value is passed. The end is passed on as it is.
  ///
  /// - Returns: A signal that sends what differs from the value before.
  public func skipRepeats() -> Signal<Value, Error> where Value: Equatable {
    through(SkipRepeats(==))
  }

  /// Passes the first value of each identity.
  ///
  /// Every identity is remembered to the end: memory grows with their number. The end is passed on
  /// as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time. What it returns is the value's identity.
  /// - Returns: A signal that sends one value of each identity.
  @available(swift 6)
  public func uniqueValues<Identity: Hashable>(
    _ transform: @escaping @Sendable (Value) -> Identity
  ) -> Signal<Value, Error> {
    through(UniqueValues(transform))
  }

  /// Passes every value the first time.
  ///
  /// Every value is remembered to the end: memory grows with their number. The end is passed on as
  /// it is.
  ///
  /// - Returns: A signal that sends no value twice.
  public func uniqueValues() -> Signal<Value, Error> where Value: Hashable {
    through(UniqueValues { $0 })
  }

  /// Pairs every value with the one before.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter initial: The value before the first.
  /// - Returns: A signal that sends a pair for every value: the one before, and the value.
  public func combinePrevious(_ initial: Value) -> Signal<(Value, Value), Error> {
    through(CombinePrevious(initial))
  }

  /// Pairs every value from the second on with the one before.
  ///
  /// The end is passed on as it is.
  ///
  /// - Returns: A signal that sends a pair for every value but the first: the one before, and the
  ///   value.
  public func combinePrevious() -> Signal<(Value, Value), Error> {
    through(CombinePrevious(nil))
  }
}
