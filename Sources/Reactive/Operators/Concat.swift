extension SignalProducer {
  /// Starts `next` when this has ended, unless it failed.
  ///
  /// A failure of either is passed on; an interruption of this is treated as its completion.
  /// Disposal disposes of the current run.
  ///
  /// - Parameter next: The producer that is started on the thread on which this ends.
  /// - Returns: A producer that sends the values of this, and then those of `next`.
  public func concat(_ next: SignalProducer<Value, Error>) -> SignalProducer<Value, Error> {
    SignalProducer(core: ConcatCore(core, next.core))
  }

  /// Sends `value` after all others, unless this fails.
  ///
  /// - Parameter value: The last value.
  /// - Returns: A producer that sends the values of this and `value`, and completes.
  public func concat(value: Value) -> SignalProducer<Value, Error> {
    concat(SignalProducer(value: value))
  }

  /// Fails with `error` instead of completing.
  ///
  /// - Parameter error: The error to fail with.
  /// - Returns: A producer that sends the values of this and fails.
  public func concat(error: Error) -> SignalProducer<Value, Error> {
    concat(SignalProducer(error: error))
  }

  /// Starts when `previous` has ended, unless that failed.
  ///
  /// A failure of either is passed on; an interruption of `previous` is treated as its completion.
  /// Disposal disposes of the current run.
  ///
  /// - Parameter previous: The producer that is started first.
  /// - Returns: A producer that sends the values of `previous`, and then those of this.
  public func prefix(_ previous: SignalProducer<Value, Error>) -> SignalProducer<Value, Error> {
    previous.concat(self)
  }

  /// Sends `value` before all others.
  ///
  /// - Parameter value: The first value, sent at the start.
  /// - Returns: A producer that sends `value` and the values of this, and ends as this does.
  public func prefix(value: Value) -> SignalProducer<Value, Error> {
    prefix(SignalProducer(value: value))
  }
}
