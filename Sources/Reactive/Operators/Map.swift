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

@usableFromInline
final class Map<Input, Output, Error: Swift.Error>: ValueStage<Input, Output, Error> {
  @usableFromInline let transform: (Input) -> Output

  @inlinable
  init(_ transform: @escaping (Input) -> Output) {
    self.transform = transform
  }

  @usableFromInline
  override func receive(_ value: Input) {
    emit(transform(value))
  }
}

@usableFromInline
final class CompactMap<Input, Output, Error: Swift.Error>:
  ValueStage<Input, Output, Error>
{
  @usableFromInline let transform: (Input) -> Output?

  @inlinable
  init(_ transform: @escaping (Input) -> Output?) {
    self.transform = transform
  }

  @usableFromInline
  override func receive(_ value: Input) {
    if let value = transform(value) { emit(value) }
  }
}

@usableFromInline
final class Filter<Value, Error: Swift.Error>: ValueStage<Value, Value, Error> {
  @usableFromInline let isIncluded: (Value) -> Bool

  @inlinable
  init(_ isIncluded: @escaping (Value) -> Bool) {
    self.isIncluded = isIncluded
  }

  @usableFromInline
  override func receive(_ value: Value) {
    if isIncluded(value) { emit(value) }
  }
}

extension Signal {
  /// Transforms every value.
  @preconcurrency
  @inlinable
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> Signal<U, Error> {
    through(Map(transform))
  }

  /// Puts `value` in the place of every value.
  @_disfavoredOverload
  @inlinable
  public func map<U>(value: U) -> Signal<U, Error> {
    through(Map { _ in value })
  }

  /// Takes a property of every value.
  @_disfavoredOverload
  @inlinable
  public func map<U>(_ keyPath: KeyPath<Value, U>) -> Signal<U, Error> {
    through(Map { $0[keyPath: keyPath] })
  }

  /// Transforms every value, and drops those that become nil.
  @preconcurrency
  @inlinable
  public func compactMap<U>(_ transform: @escaping @Sendable (Value) -> U?) -> Signal<U, Error> {
    through(CompactMap(transform))
  }

  /// Passes the values that `isIncluded` says yes to.
  @preconcurrency
  @inlinable
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value, Error> {
    through(Filter(isIncluded))
  }

  /// Passes what isn't nil, unwrapped.
  @inlinable
  public func skipNil() -> Signal<Value.Wrapped, Error> where Value: OptionalProtocol {
    through(CompactMap { $0.optional })
  }
}

extension SignalProducer {
  /// Transforms every value.
  @preconcurrency
  @inlinable
  public func map<U>(_ transform: @escaping @Sendable (Value) -> U) -> SignalProducer<U, Error> {
    through { Map(transform) }
  }

  /// Puts `value` in the place of every value.
  @_disfavoredOverload
  @inlinable
  public func map<U>(value: U) -> SignalProducer<U, Error> {
    through { Map { _ in value } }
  }

  /// Takes a property of every value.
  @_disfavoredOverload
  @inlinable
  public func map<U>(_ keyPath: KeyPath<Value, U>) -> SignalProducer<U, Error> {
    through { Map { $0[keyPath: keyPath] } }
  }

  /// Transforms every value, and drops those that become nil.
  @preconcurrency
  @inlinable
  public func compactMap<U>(
    _ transform: @escaping @Sendable (Value) -> U?
  ) -> SignalProducer<U, Error> {
    through { CompactMap(transform) }
  }

  /// Passes the values that `isIncluded` says yes to.
  @preconcurrency
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Value) -> Bool
  ) -> SignalProducer<Value, Error> {
    through { Filter(isIncluded) }
  }

  /// Passes what isn't nil, unwrapped.
  @inlinable
  public func skipNil() -> SignalProducer<Value.Wrapped, Error> where Value: OptionalProtocol {
    through { CompactMap { $0.optional } }
  }
}
