extension Signal {
  // Producers: by hand, because a run is not begun when the end of the lifetime is past.
  /// Completes at the end of `lifetime`.
  public func take(during lifetime: Lifetime) -> Signal<Value, Error> {
    .joining { junction in
      junction.observe(self, value: { junction.emit($0) }, end: { junction.finish($0) })
      let root = junction.root
      junction.lifetime += lifetime.observeEnded { root.terminate(.completed) }
    }
  }

  // Producers: the argument starts first.
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

  // Producers: the argument starts first.
  /// Passes the events of `replacement` once it sends one, and nothing of this any more.
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

  // Producers: the argument starts first.
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
}
