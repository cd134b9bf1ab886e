/// An operator that may change values, and lets failures pass.
@usableFromInline
class ValueStage<Input, Output, Error: Swift.Error>: Stage<Input, Error, Output, Error> {
  @inlinable
  override init() {}

  @usableFromInline
  override func terminate(_ termination: Termination<Error>) {
    finish(termination)
  }
}

/// An operator that looks at one value at a time and remembers nothing.
///
/// What it does with a value is a closure that is written where the operator is made, and compiled
/// for the types that are known there: this class, like every generic class, is compiled for all
/// types at once.
@usableFromInline
class StepStage<Input, Output, Error: Swift.Error>: ValueStage<Input, Output, Error> {
  // Takes an address, which is passed in the same way for values of any type: a closure that takes
  // a value would be called through another one that fetches it.
  @usableFromInline
  typealias Step = (Input, StepStage<Input, Output, Error>) -> Void

  @usableFromInline let step: Step

  /// - Parameter step: Emits what becomes of a value.
  @inlinable
  init(_ step: @escaping Step) {
    self.step = step
  }

  @usableFromInline
  final override func receive(_ value: Input) {
    step(value, self)
  }
}

@usableFromInline
final class Map<Input, Output, Error: Swift.Error>: StepStage<Input, Output, Error> {
  @inlinable
  init(_ transform: @escaping (Input) -> Output) {
    super.init { value, stage in stage.emit(transform(value)) }
  }
}

@usableFromInline
final class CompactMap<Input, Output, Error: Swift.Error>: StepStage<Input, Output, Error> {
  @inlinable
  init(_ transform: @escaping (Input) -> Output?) {
    super.init { value, stage in
      if let value = transform(value) { stage.emit(value) }
    }
  }
}

@usableFromInline
final class Filter<Value, Error: Swift.Error>: StepStage<Value, Value, Error> {
  @inlinable
  init(_ isIncluded: @escaping (Value) -> Bool) {
    super.init { value, stage in
      if isIncluded(value) { stage.emit(value) }
    }
  }
}

extension Signal {
  /// Transforms every value.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends what `transform` returns.
  @available(swift 6)
  @inlinable
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> Signal<U, Error> {
    through(Map(transform))
  }

  /// Replaces every value with `value`.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter value: The value that is sent for every value.
  /// - Returns: A signal that sends `value` as often as this one sends.
  @_disfavoredOverload
  @inlinable
  public func map<U>(value: U) -> Signal<U, Error> {
    through(Map { _ in value })
  }

  /// Takes a property of every value.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter keyPath: Which property; read on the thread that sends the value, one call at a
  ///   time.
  /// - Returns: A signal that sends the values of the property.
  @_disfavoredOverload
  @available(swift 6)
  @inlinable
  public func map<U>(_ keyPath: any KeyPath<Value, U> & Sendable) -> Signal<U, Error> {
    through(Map { $0[keyPath: keyPath] })
  }

  /// Transforms every value, and drops those that become nil.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends what `transform` returns, where that isn't nil.
  @available(swift 6)
  @inlinable
  public func compactMap<U>(_ transform: @escaping @Sendable (Value) -> U?) -> Signal<U, Error> {
    through(CompactMap(transform))
  }

  /// Passes the values for which `isIncluded` returns true.
  ///
  /// The end is passed on as it is.
  ///
  /// - Parameter isIncluded: Called with every value, on the thread that sends the value, one call
  ///   at a time. A value for which it returns false is dropped.
  /// - Returns: A signal that sends the values that are included.
  @available(swift 6)
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value, Error> {
    through(Filter(isIncluded))
  }

  /// Unwraps the values, and drops nil.
  ///
  /// The end is passed on as it is.
  ///
  /// - Returns: A signal that sends the values that aren't nil.
  @inlinable
  public func skipNil() -> Signal<Value.Wrapped, Error> where Value: OptionalProtocol {
    through(CompactMap { $0.optional })
  }
}
