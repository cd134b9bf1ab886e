extension Signal {
  // Producers: by hand, because a run is not begun when the end of the lifetime is past.
  /// Completes at the end of `lifetime`, on the thread on which that ends.
  ///
  /// If `lifetime` has already ended, it completes at once, so that observers are interrupted. An
  /// earlier end is passed on as it is.
  ///
  /// - Parameter lifetime: How long to pass events.
  /// - Returns: A signal that ends with `lifetime` at the latest.
  public func take(during lifetime: Lifetime) -> Signal<Value, Error> {
    .joining { junction in
      junction.observe(self, value: { junction.emit($0) }, end: { junction.finish($0) })
      let root = junction.root
      junction.lifetime += lifetime.observeEnded { root.terminate(.completed) }
    }
  }

  // Producers: the trigger starts first.
  /// Completes when `trigger` sends a value or completes.
  ///
  /// An interruption of `trigger` is ignored. An earlier end is passed on as it is.
  ///
  /// - Parameter trigger: When to complete.
  /// - Returns: A signal that ends with `trigger` at the latest.
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

  // Producers: the argument starts first.
  /// Passes events until `replacement` sends one, and from then on those of `replacement`.
  ///
  /// The result ends with `replacement`; if this completes before, it waits for `replacement`. A
  /// failure or an interruption of this, before it is replaced, is passed on.
  ///
  /// - Parameter replacement: The stream that replaces this one.
  /// - Returns: A signal that sends the values of this, and then those of `replacement`.
  public func take(
    untilReplacement replacement: Signal<Value, Error>
  ) -> Signal<Value, Error> {
    .joining { junction in
      let replaced = junction.observe(
        self, value: { junction.emit($0) },
        end: { termination in
          if case .completed = termination { return }
          junction.finish(termination)
        })
      junction.observe(
        replacement,
        value: { value in
          replaced?.dispose()
          junction.emit(value)
        },
        end: { junction.finish($0) })
    }
  }

  // Producers: the trigger starts first.
  /// Drops values until `trigger` sends a value or completes.
  ///
  /// Before that, the end is held back, too: if this ends first, observers are interrupted when
  /// `trigger` sends. If `trigger` is interrupted, nothing is ever sent. Afterwards, the end is
  /// passed on as it is.
  ///
  /// - Parameter trigger: When to begin.
  /// - Returns: A signal that sends the values that come after `trigger` has sent.
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
  /// Completes every run at the end of `lifetime`, on the thread on which that ends; the run is
  /// disposed of.
  ///
  /// If `lifetime` has already ended, runs aren't begun: they are interrupted. An earlier end is
  /// passed on as it is.
  ///
  /// - Parameter lifetime: How long to pass events.
  /// - Returns: A producer whose runs end with `lifetime` at the latest.
  public func take(during lifetime: Lifetime) -> SignalProducer<Value, Error> {
    SignalProducer(
      core: RootedCore { [core] root, connection in
        // There is no run to complete when the end is past.
        if lifetime.hasEnded { root.terminate(.interrupted) }
        connection.add(lifetime.observeEnded { root.terminate(.completed) })
        return core.start(into: root, connection)
      })
  }
}
