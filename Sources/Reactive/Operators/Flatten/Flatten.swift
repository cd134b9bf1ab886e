// Of the overloads of one name, that of producers with the receiver's own error is preferred, and the
// others are disfavored: a closure whose error is inferred then has one meaning
// (Tests/ReactiveTests/API/Expressions.swift).

extension Signal {
  func flattening<Inner>(
    _ strategy: FlattenStrategy, _ transform: @escaping (Value) -> SignalProducer<Inner, Error>
  ) -> Signal<Inner, Error> {
    let flattener = Flattener<Inner, Error>(strategy)
    let signal = Signal<Inner, Error>(core: flattener)
    let outer = OuterStream(flattener, transform)
    flattener.setOuter(attach(outer))
    return signal
  }

  /// Makes a producer of every value and flattens these producers with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Error>
  ) -> Signal<U, Error> {
    flattening(strategy, transform)
  }

  /// Makes a stream of every value and flattens these streams with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Error> where Inner.Error == Error {
    flattening(strategy) { transform($0).producer }
  }

  /// Makes a producer of every value and flattens these producers with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> Signal<U, Error> {
    flattening(strategy) { transform($0).promoteError() }
  }

  /// Makes a stream of every value and flattens these streams with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Error> where Inner.Error == Never {
    flattening(strategy) { transform($0).producer.promoteError() }
  }
}

extension Signal where Error == Never {
  /// Makes a producer of every value and flattens these producers with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<U, F>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, F>
  ) -> Signal<U, F> {
    promoteError(F.self).flattening(strategy, transform)
  }

  /// Makes a stream of every value and flattens these streams with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Inner.Error> {
    promoteError(Inner.Error.self).flattening(strategy) { transform($0).producer }
  }

  /// Makes a producer of every value and flattens these producers with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @available(swift 6)
  public func flatMap<U>(
    _ strategy: FlattenStrategy,
    _ transform: @escaping @Sendable (Value) -> SignalProducer<U, Never>
  ) -> Signal<U, Never> {
    flattening(strategy, transform)
  }

  /// Makes a stream of every value and flattens these streams with `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameters:
  ///   - strategy: Determines which inner streams run, and when.
  ///   - transform: Called with every value, on the thread that sends the value, one call at a
  ///     time. The returned stream is started there, unless it has to wait for another to end.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  @available(swift 6)
  public func flatMap<Inner: SignalProducerConvertible>(
    _ strategy: FlattenStrategy, _ transform: @escaping @Sendable (Value) -> Inner
  ) -> Signal<Inner.Value, Never> where Inner.Error == Never {
    flattening(strategy) { transform($0).producer }
  }
}

extension Signal where Value: SignalProducerConvertible, Error == Value.Error {
  /// Sends the values of the inner streams, which run according to `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameter strategy: Determines which inner streams run, and when.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  public func flatten(_ strategy: FlattenStrategy) -> Signal<Value.Value, Error> {
    flattening(strategy) { $0.producer }
  }
}

extension Signal where Value: SignalProducerConvertible, Error == Never {
  /// Sends the values of the inner streams, which run according to `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameter strategy: Determines which inner streams run, and when.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  public func flatten(_ strategy: FlattenStrategy) -> Signal<Value.Value, Value.Error> {
    promoteError(Value.Error.self).flattening(strategy) { $0.producer }
  }
}

extension Signal where Value: SignalProducerConvertible, Error == Never, Value.Error == Never {
  /// Sends the values of the inner streams, which run according to `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameter strategy: Determines which inner streams run, and when.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  public func flatten(_ strategy: FlattenStrategy) -> Signal<Value.Value, Value.Error> {
    flattening(strategy) { $0.producer }
  }
}

extension Signal where Value: SignalProducerConvertible, Value.Error == Never {
  /// Sends the values of the inner streams, which run according to `strategy`.
  ///
  /// It fails when the outer stream or an inner one fails, completes when the outer stream and all
  /// inner streams to run have ended, and is interrupted when the outer stream is. An interrupted
  /// inner stream counts as completed, except with `.race`. At the end, running inner streams are
  /// disposed of.
  ///
  /// - Parameter strategy: Determines which inner streams run, and when.
  /// - Returns: A signal that sends the values of the inner streams, each on the thread on which
  ///   the inner stream sends it.
  @_disfavoredOverload
  public func flatten(_ strategy: FlattenStrategy) -> Signal<Value.Value, Error> {
    flattening(strategy) { $0.producer.promoteError() }
  }
}

extension Signal where Value: Sequence {
  /// Passes the elements of every value, in order.
  ///
  /// The end is passed on as it is.
  ///
  /// - Returns: A signal that sends the elements, on the thread that sends the value.
  public func flatten() -> Signal<Value.Element, Error> {
    through(FlattenSequence())
  }
}

/// Emits the elements of every value.
final class FlattenSequence<Values: Sequence, Error: Swift.Error>:
  ValueStage<Values, Values.Element, Error>
{
  override func receive(_ values: Values) {
    for value in values { emit(value) }
  }
}

extension SignalProducer {
  func flattening<Inner>(
    _ strategy: FlattenStrategy, _ transform: @escaping (Value) -> SignalProducer<Inner, Error>
  ) -> SignalProducer<Inner, Error> {
    SignalProducer<Inner, Error>(
      core: core.sendsOneValue || core.isChain
        ? ChainedFlatMapCore(core, strategy, transform) : FlatMapCore(core, strategy, transform))
  }
}
