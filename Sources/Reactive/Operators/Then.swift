extension ProducerCore {
  fileprivate func then<U>(_ second: ProducerCore<U, Error>) -> ProducerCore<U, Error> {
    ThenCore(self, second)
  }
}

extension SignalProducer {
  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  @_disfavoredOverload
  public func then<U>(
    _ replacement: SignalProducer<U, Never>
  ) -> SignalProducer<U, Error> {
    then(replacement.promoteError(Error.self))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  public func then<U>(
    _ replacement: SignalProducer<U, Error>
  ) -> SignalProducer<U, Error> {
    SignalProducer<U, Error>(core: core.then(replacement.core))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  public func then(
    _ replacement: SignalProducer<Value, Error>
  ) -> SignalProducer<Value, Error> {
    SignalProducer(core: core.then(replacement.core))
  }
}

extension SignalProducer where Error == Never {
  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  public func then<U, F>(
    _ replacement: SignalProducer<U, F>
  ) -> SignalProducer<U, F> {
    promoteError(F.self).then(replacement)
  }

  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  public func then<U>(
    _ replacement: SignalProducer<U, Never>
  ) -> SignalProducer<U, Never> {
    SignalProducer<U, Never>(core: core.then(replacement.core))
  }

  /// Ignores the values, and starts `replacement` when this completes.
  ///
  /// A failure or an interruption of this is passed on, and `replacement` isn't started. Disposal
  /// disposes of the current run.
  ///
  /// - Parameter replacement: The producer to start, on the thread on which this completes.
  /// - Returns: A producer that sends the values of `replacement`, and ends as that does.
  public func then(
    _ replacement: SignalProducer<Value, Never>
  ) -> SignalProducer<Value, Never> {
    SignalProducer(core: core.then(replacement.core))
  }
}
