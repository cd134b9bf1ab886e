extension SignalProducer {
  /// Starts `next` when this has ended, unless it failed.
  public func concat(_ next: SignalProducer<Value, Error>) -> SignalProducer<Value, Error> {
    SignalProducer<SignalProducer<Value, Error>, Error>([self, next]).flatten(.concat)
  }

  /// Starts `next` when this has ended, unless it failed.
  public func concat<Next: SignalProducerConvertible>(
    _ next: Next
  ) -> SignalProducer<Value, Error> where Next.Value == Value, Next.Error == Error {
    concat(next.producer)
  }

  /// Emits `value` after all others.
  public func concat(value: Value) -> SignalProducer<Value, Error> {
    concat(SignalProducer(value: value))
  }

  /// Fails where it would complete.
  public func concat(error: Error) -> SignalProducer<Value, Error> {
    concat(SignalProducer(error: error))
  }

  /// Starts when `previous` has ended, unless that failed.
  public func prefix(_ previous: SignalProducer<Value, Error>) -> SignalProducer<Value, Error> {
    previous.concat(self)
  }

  /// Starts when `previous` has ended, unless that failed.
  public func prefix<Previous: SignalProducerConvertible>(
    _ previous: Previous
  ) -> SignalProducer<Value, Error> where Previous.Value == Value, Previous.Error == Error {
    previous.producer.concat(self)
  }

  /// Emits `value` before all others.
  public func prefix(value: Value) -> SignalProducer<Value, Error> {
    prefix(SignalProducer(value: value))
  }
}
