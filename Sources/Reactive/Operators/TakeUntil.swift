extension Signal {
  /// Completes at the end of `lifetime`.
  public func take(during lifetime: Lifetime) -> Signal<Value, Error> {
    .joining { junction in
      junction.observe(self, value: { junction.emit($0) }, end: { junction.finish($0) })
      let root = junction.root
      junction.lifetime += lifetime.observeEnded { root.terminate(.completed) }
    }
  }

  /// Completes when `trigger` sends a value or completes.
  public func take(until trigger: Signal<(), Never>) -> Signal<Value, Error> {
    .joining { junction in
      junction.observe(self, value: { junction.emit($0) }, end: { junction.finish($0) })
      junction.observe(
        trigger, value: { junction.finish(.completed) },
        end: { termination in
          if case .completed = termination { junction.finish(.completed) }
        })
    }
  }

  /// Passes the events of `signal` once it sends one, and nothing of this any more.
  public func take(untilReplacement signal: Signal<Value, Error>) -> Signal<Value, Error> {
    .joining { junction in
      let replaced = junction.observe(
        self, value: { junction.emit($0) },
        end: { termination in
          if case .completed = termination { return }
          junction.finish(termination)
        })
      junction.observe(
        signal,
        value: { value in
          replaced?.dispose()
          junction.emit(value)
        },
        end: { junction.finish($0) })
    }
  }

  /// Observes this only once `trigger` has sent a value or completed.
  public func skip(until trigger: Signal<(), Never>) -> Signal<Value, Error> {
    .joining { junction in
      let waiting = SerialDisposable()
      junction.lifetime += waiting
      func begin() {
        guard !waiting.isDisposed else { return }
        waiting.dispose()
        junction.observe(self, value: { junction.emit($0) }, end: { junction.finish($0) })
      }
      waiting.inner = junction.observe(
        trigger, value: { begin() },
        end: { termination in if case .completed = termination { begin() } })
    }
  }
}

extension SignalProducer {
  /// Completes at the end of `lifetime`.
  public func take(during lifetime: Lifetime) -> SignalProducer<Value, Error> {
    SignalProducer(
      core: JoinedCore { [core] root, connection in
        // There is no run to complete when the end is past.
        if lifetime.hasEnded { root.terminate(.interrupted) }
        connection.add(lifetime.observeEnded { root.terminate(.completed) })
        return core.start(into: root, connection)
      })
  }

  /// Completes when `trigger` sends a value or completes.
  public func take(until trigger: SignalProducer<(), Never>) -> SignalProducer<Value, Error> {
    liftArgumentFirst { $0.take(until: $1) }(trigger)
  }

  /// Completes when `trigger` sends a value or completes.
  public func take<Trigger: SignalProducerConvertible>(
    until trigger: Trigger
  ) -> SignalProducer<Value, Error> where Trigger.Error == Never, Trigger.Value == () {
    take(until: trigger.producer)
  }

  /// Passes the events of `replacement` once it sends one, and nothing of this any more.
  public func take(
    untilReplacement replacement: SignalProducer<Value, Error>
  ) -> SignalProducer<Value, Error> {
    liftArgumentFirst { $0.take(untilReplacement: $1) }(replacement)
  }

  /// Passes the events of `replacement` once it sends one, and nothing of this any more.
  public func take<Replacement: SignalProducerConvertible>(
    untilReplacement replacement: Replacement
  ) -> SignalProducer<Value, Error>
  where Replacement.Value == Value, Replacement.Error == Error {
    take(untilReplacement: replacement.producer)
  }

  /// Drops what comes before `trigger` has sent a value or completed.
  public func skip(until trigger: SignalProducer<(), Never>) -> SignalProducer<Value, Error> {
    liftArgumentFirst { $0.skip(until: $1) }(trigger)
  }

  /// Drops what comes before `trigger` has sent a value or completed.
  public func skip<Trigger: SignalProducerConvertible>(
    until trigger: Trigger
  ) -> SignalProducer<Value, Error> where Trigger.Error == Never, Trigger.Value == () {
    skip(until: trigger.producer)
  }
}
