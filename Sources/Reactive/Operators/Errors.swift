final class MapError<Value, Error: Swift.Error, NewError: Swift.Error>:
  Stage<Value, Error, Value, NewError>
{
  private let transform: (Error) -> NewError

  init(_ transform: @escaping (Error) -> NewError) {
    self.transform = transform
  }

  override func receive(_ value: Value) {
    emit(value)
  }

  override func terminate(_ termination: Termination<Error>) {
    guard !isFinished else { return }
    switch termination {
    case .failed(let error): finish(.failed(transform(error)))
    case .completed: finish(.completed)
    case .interrupted: finish(.interrupted)
    }
  }
}

/// A stream that can't fail, as one that could.
final class PromoteError<Value, Error: Swift.Error>: Stage<Value, Never, Value, Error> {
  override func receive(_ value: Value) {
    emit(value)
  }

  override func terminate(_ termination: Termination<Never>) {
    finish(Termination(termination))
  }
}

final class AttemptMap<Input, Output, Error: Swift.Error>:
  ValueStage<Input, Output, Error>
{
  private let transform: (Input) -> Result<Output, Error>

  init(_ transform: @escaping (Input) -> Result<Output, Error>) {
    self.transform = transform
  }

  override func receive(_ value: Input) {
    guard !isFinished else { return }
    switch transform(value) {
    case .success(let value): emit(value)
    case .failure(let error): fail(error)
    }
  }
}

/// A stream of no values, as one of any.
final class PromoteValue<Output, Error: Swift.Error>: ValueStage<Never, Output, Error> {
  override func receive(_ value: Never) {}
}

func catching<Value, U, Failure>(
  _ transform: @escaping (Value) throws(Failure) -> U
) -> (Value) -> Result<U, Failure> {
  { value in Result { () throws(Failure) in try transform(value) } }
}

func passing<Value, Error>(
  _ action: @escaping (Value) -> Result<(), Error>
) -> (Value) -> Result<Value, Error> {
  { value in action(value).map { value } }
}

extension Signal {
  /// Transforms the error of a failure.
  ///
  /// Values and other ends are passed on as they are.
  ///
  /// - Parameter transform: Called with the error, on the thread that sends the failure.
  /// - Returns: A signal that fails with what `transform` returns.
  @available(swift 6)
  public func mapError<F>(_ transform: @escaping @Sendable (Error) -> F) -> Signal<Value, F> {
    through(MapError(transform))
  }

  /// Passes values while `action` succeeds; fails with the error that it returns.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter action: Called with every value, on the thread that sends the value, one call at a
  ///   time.
  /// - Returns: A signal that sends the values and fails with the first error that `action`
  ///   returns.
  @available(swift 6)
  public func attempt(
    _ action: @escaping @Sendable (Value) -> Result<(), Error>
  ) -> Signal<Value, Error> {
    through(AttemptMap(passing(action)))
  }

  /// Transforms every value; fails with the error that `transform` returns.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends the successes and fails with the first error that `transform`
  ///   returns.
  @available(swift 6)
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) -> Result<U, Error>
  ) -> Signal<U, Error> {
    through(AttemptMap(transform))
  }

  /// Passes values while `action` doesn't throw; fails with the error that it throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter action: Called with every value, on the thread that sends the value, one call at a
  ///   time.
  /// - Returns: A signal that sends the values and fails with the first error that `action` throws.
  @_disfavoredOverload
  @available(swift 6)
  public func attempt(
    _ action: @escaping @Sendable (Value) throws(Error) -> Void
  ) -> Signal<Value, Error> {
    through(AttemptMap(passing(catching(action))))
  }

  /// Transforms every value; fails with the error that `transform` throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends what `transform` returns and fails with the first error that it
  ///   throws.
  @_disfavoredOverload
  @available(swift 6)
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws(Error) -> U
  ) -> Signal<U, Error> {
    through(AttemptMap(catching(transform)))
  }

  /// Recovers from a failure with the producer that `transform` makes of the error.
  ///
  /// The values of that producer follow those sent before, and its end is the stream's: its failure
  /// is not recovered from again. It is disposed of when the stream can't be observed any more.
  /// Completion and interruption are passed on as they are.
  ///
  /// - Parameter transform: Called with the error, on the thread that sends the failure. The
  ///   producer that it returns is started there, too.
  /// - Returns: A signal that fails only with an error of a producer that `transform` returns.
  @available(swift 6)
  public func flatMapError<F>(
    _ transform: @escaping @Sendable (Error) -> SignalProducer<Value, F>
  ) -> Signal<Value, F> {
    recovering(transform)
  }

  /// Recovers from a failure with the stream that `transform` makes of the error.
  ///
  /// The values of that stream follow those sent before, and its end is this stream's: its failure
  /// is not recovered from again. It is disposed of when this stream can't be observed any more.
  /// Completion and interruption are passed on as they are.
  ///
  /// - Parameter transform: Called with the error, on the thread that sends the failure. The stream
  ///   that it returns is started there, too.
  /// - Returns: A signal that fails only with the errors of the streams that `transform` returns.
  @available(swift 6)
  public func flatMapError<Inner: SignalProducerConvertible>(
    _ transform: @escaping @Sendable (Error) -> Inner
  ) -> Signal<Value, Inner.Error> where Inner.Value == Value {
    recovering { transform($0).producer }
  }
}

extension Signal where Error == Never {
  /// Converts to a stream with an error type, for code that requires one.
  ///
  /// Values and the end are passed on as they are. The type of the error is inferred where it is
  /// left out.
  ///
  /// - Returns: A signal of that type, which never fails.
  public func promoteError<F: Swift.Error>(_: F.Type = F.self) -> Signal<Value, F> {
    through(PromoteError())
  }

  /// Returns the signal itself, whose error type is already this one.
  ///
  /// - Returns: The signal itself.
  public func promoteError(_: Error.Type = Error.self) -> Signal<Value, Error> {
    self
  }

  /// Passes values while `action` doesn't throw; fails with the error that it throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter action: Called with every value, on the thread that sends the value, one call at a
  ///   time.
  /// - Returns: A signal that sends the values and fails with the first error that `action` throws.
  @available(swift 6)
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> Signal<Value, any Swift.Error> {
    promoteError((any Swift.Error).self).attempt(action)
  }

  /// Transforms every value; fails with the error that `transform` throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends what `transform` returns and fails with the first error that it
  ///   throws.
  @available(swift 6)
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Signal<U, any Swift.Error> {
    promoteError((any Swift.Error).self).attemptMap(transform)
  }
}

extension Signal where Error == any Swift.Error {
  /// Passes values while `action` doesn't throw; fails with the error that it throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter action: Called with every value, on the thread that sends the value, one call at a
  ///   time.
  /// - Returns: A signal that sends the values and fails with the first error that `action` throws.
  @available(swift 6)
  public func attempt(
    _ action: @escaping @Sendable (Value) throws -> Void
  ) -> Signal<Value, Error> {
    through(AttemptMap(passing(catching(action))))
  }

  /// Transforms every value; fails with the error that `transform` throws.
  ///
  /// The first failure is the end. Otherwise, the end is passed on as it is.
  ///
  /// - Parameter transform: Called with every value, on the thread that sends the value, one call
  ///   at a time.
  /// - Returns: A signal that sends what `transform` returns and fails with the first error that it
  ///   throws.
  @available(swift 6)
  public func attemptMap<U>(
    _ transform: @escaping @Sendable (Value) throws -> U
  ) -> Signal<U, Error> {
    through(AttemptMap(catching(transform)))
  }
}

extension Signal where Value == Never {
  /// Converts to a stream with a value type, for code that requires one.
  ///
  /// The end is passed on as it is. The type of the values is inferred if it is left out.
  ///
  /// - Returns: A signal of that type, which never sends a value.
  public func promoteValue<U>(_: U.Type = U.self) -> Signal<U, Error> {
    through(PromoteValue())
  }

  /// The signal itself, which is of that type already.
  ///
  /// - Returns: The signal itself.
  public func promoteValue(_: Value.Type = Value.self) -> Signal<Value, Error> {
    self
  }
}
