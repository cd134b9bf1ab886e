extension Signal {
  // Producers: the receiver starts first.
  /// Sends the latest value, with that of the sampler, whenever the sampler sends.
  ///
  /// Before the first value, the sampler's events are dropped. A value may be sent several times.
  /// It completes when both have; it fails, and is interrupted, with this one, and is interrupted
  /// with the sampler. Pairs are sent on the thread on which the sampler sends.
  ///
  /// - Parameter sampler: The signal whose events trigger sending.
  /// - Returns: A signal that sends pairs of the latest value and the sampler's.
  public func sample<T>(with sampler: Signal<T, Never>) -> Signal<(Value, T), Error> {
    .joining { junction in
      var latest: Value?
      var running = 2
      func complete() {
        running -= 1
        if running == 0 { junction.finish(.completed) }
      }
      junction.observe(
        self, value: { latest = $0 },
        end: { termination in
          if case .completed = termination { complete() } else { junction.finish(termination) }
        })
      junction.observe(
        sampler, value: { if let latest { junction.emit((latest, $0)) } },
        end: { termination in
          switch termination {
          case .completed: complete()
          case .interrupted: junction.finish(.interrupted)
          }
        })
    }
  }

  // Producers: the receiver starts first.
  /// Sends the latest value whenever the sampler sends.
  ///
  /// Before the first value, the sampler's events are dropped. A value may be sent several times.
  /// It completes when both have; it fails, and is interrupted, with this one, and is interrupted
  /// with the sampler. Values are sent on the thread on which the sampler sends.
  ///
  /// - Parameter sampler: The signal whose events trigger sending.
  /// - Returns: A signal that sends the latest value as often as the sampler sends.
  public func sample(on sampler: Signal<(), Never>) -> Signal<Value, Error> {
    sample(with: sampler).map(\.0)
  }

  // Producers: the argument starts first.
  /// Pairs every value with the latest one of `samplee`.
  ///
  /// Until `samplee` has sent a value, values are dropped. The end of `samplee` has no effect: its
  /// last value is used from then on. The end of this one is passed on as it is.
  ///
  /// - Parameter samplee: The signal whose values are added.
  /// - Returns: A signal that sends pairs of every value and the latest of `samplee`.
  public func withLatest<U>(from samplee: Signal<U, Never>) -> Signal<(Value, U), Error> {
    .joining { junction in
      var latest: U?
      junction.observe(samplee, value: { latest = $0 }, end: { _ in })
      junction.observe(
        self, value: { if let latest { junction.emit(($0, latest)) } },
        end: { junction.finish($0) })
    }
  }

  // Producers: by hand, because the overload for a signal takes a producer there.
  /// Pairs every value with the latest one of `samplee`, which is started at once.
  ///
  /// Until `samplee` has sent a value, values are dropped. The end of `samplee` has no effect: its
  /// last value is used from then on. The end of this one is passed on as it is. The run of
  /// `samplee` is disposed of then.
  ///
  /// - Parameter samplee: The producer whose values are added; started once, on the calling thread.
  /// - Returns: A signal that sends pairs of every value and the latest of `samplee`.
  public func withLatest<U>(from samplee: SignalProducer<U, Never>) -> Signal<(Value, U), Error> {
    .joining { junction in
      samplee.startWithSignal { samplee, handle in
        junction.lifetime += handle
        let output = withLatest(from: samplee)
        junction.observe(output, value: { junction.emit($0) }, end: { junction.finish($0) })
      }
    }
  }

  // Producers: by hand, because the overload for a signal takes a producer there.
  /// Pairs every value with the latest one of `samplee`, which is started at once.
  ///
  /// Until `samplee` has sent a value, values are dropped. The end of `samplee` has no effect: its
  /// last value is used from then on. The end of this one is passed on as it is. The run of
  /// `samplee` is disposed of then.
  ///
  /// - Parameter samplee: The producer whose values are added; started once, on the calling thread.
  /// - Returns: A signal that sends pairs of every value and the latest of `samplee`.
  public func withLatest<Samplee: SignalProducerConvertible>(
    from samplee: Samplee
  ) -> Signal<(Value, Samplee.Value), Error> where Samplee.Error == Never {
    withLatest(from: samplee.producer)
  }
}
