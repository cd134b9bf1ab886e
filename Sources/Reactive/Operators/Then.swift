/// What a run does when the producer that it began with has ended.
enum Continuation<Value, Error: Swift.Error> {
  case next(ProducerCore<Value, Error>)
  case end(Termination<Error>)
}

extension ProducerCore {
  /// A run of this, and then of another producer, or the end.
  ///
  /// - Parameters:
  ///   - pass: What becomes of a value of this.
  ///   - follow: What comes after its end.
  func followed<U, F>(
    passing pass: @escaping (Root<U, F>, Value) -> Void,
    by follow: @escaping (Termination<Error>) -> Continuation<U, F>
  ) -> ProducerCore<U, F> {
    RootedCore { root, connection in
      let demand = Demand.current
      let first = ClosureObserver<Value, Error>(
        value: { pass(root, $0) },
        termination: { termination in
          guard !root.isClosing else { return }
          switch follow(termination) {
          case .next(let core):
            connection.hold(Demand.with(demand) { core.start(into: root, connection) })
          case .end(let end): root.terminate(end)
          }
        })
      connection.hold(self.start(first, below: connection))
      return nil
    }
  }

  fileprivate func then<U>(_ second: ProducerCore<U, Error>) -> ProducerCore<U, Error> {
    followed(passing: { _, _ in }) { termination in
      if case .completed = termination { .next(second) } else { .end(termination) }
    }
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
