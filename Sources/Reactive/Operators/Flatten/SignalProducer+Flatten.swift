extension SignalProducer {
  func flattening<Inner>(
    _ strategy: FlattenStrategy, _ transform: @escaping (Value) -> SignalProducer<Inner, Error>
  ) -> SignalProducer<Inner, Error> {
    SignalProducer<Inner, Error>(core: FlatMapCore(core, strategy, transform))
  }

  /// Makes a producer of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Error>
  ) -> SignalProducer<U, Error> {
    flattening(strategy, transform)
  }

  /// Makes a stream of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Error> where Inner.Error == Error {
    flattening(strategy) { transform($0).producer }
  }

  /// Makes a producer of every value and passes what these emit, as `strategy` says.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> SignalProducer<U, Error> {
    flattening(strategy) { transform($0).promoteError() }
  }

  /// Makes a stream of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Error> where Inner.Error == Never {
    flattening(strategy) { transform($0).producer.promoteError() }
  }
}

extension SignalProducer where Error == Never {
  /// Makes a producer of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Error>
  ) -> SignalProducer<U, Error> {
    flattening(strategy, transform)
  }

  /// Makes a producer of every value and passes what these emit, as `strategy` says.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<U, F>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, F>
  ) -> SignalProducer<U, F> {
    promoteError(F.self).flattening(strategy, transform)
  }

  /// Makes a stream of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Inner.Error> {
    promoteError(Inner.Error.self).flattening(strategy) { transform($0).producer }
  }

  /// Makes a stream of every value and passes what these emit, as `strategy` says.
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> SignalProducer<Inner.Value, Error> where Inner.Error == Never {
    flattening(strategy) { transform($0).producer }
  }
}

extension SignalProducer where Value: SignalProducerConvertible, Error == Value.Error {
  /// Passes what the inner streams emit, as `strategy` says.
  public func flatten(_ strategy: FlattenStrategy) -> SignalProducer<Value.Value, Error> {
    flattening(strategy) { $0.producer }
  }
}

extension SignalProducer where Value: SignalProducerConvertible, Error == Never {
  /// Passes what the inner streams emit, as `strategy` says.
  public func flatten(_ strategy: FlattenStrategy) -> SignalProducer<Value.Value, Value.Error> {
    promoteError(Value.Error.self).flattening(strategy) { $0.producer }
  }
}

extension SignalProducer
where Value: SignalProducerConvertible, Error == Never, Value.Error == Never {
  /// Passes what the inner streams emit, as `strategy` says.
  public func flatten(_ strategy: FlattenStrategy) -> SignalProducer<Value.Value, Value.Error> {
    flattening(strategy) { $0.producer }
  }
}

extension SignalProducer where Value: SignalProducerConvertible, Value.Error == Never {
  /// Passes what the inner streams emit, as `strategy` says.
  public func flatten(_ strategy: FlattenStrategy) -> SignalProducer<Value.Value, Error> {
    flattening(strategy) { $0.producer.promoteError() }
  }
}

extension SignalProducer where Value: Sequence {
  /// Passes the elements of every value.
  public func flatten() -> SignalProducer<Value.Element, Error> {
    through { FlattenSequence() }
  }
}
