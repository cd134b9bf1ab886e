public import FoundationEssentials

// Producers: by hand, because the time is counted from the start of the run.
extension Signal {
  /// Fails with `error` if the stream hasn't ended after `interval` seconds, counted from now.
  ///
  /// The failure is delivered on `scheduler`, everything else where it is sent. An earlier end is
  /// passed on as it is.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - error: The error to fail with.
  ///   - scheduler: Where the time is waited for.
  /// - Returns: A signal that ends within `interval`.
  public func timeout(
    after interval: TimeInterval, raising error: Error, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> {
    precondition(interval >= 0, "a stream can't time out after \(interval) seconds")
    return Signal { observer, lifetime in
      let send = observer.sender
      let date = scheduler.currentDate.addingTimeInterval(interval)
      lifetime += scheduler.schedule(after: date) { send(.failed(error)) }
      lifetime += observe(observer)
    }
  }
}

// Producers: by hand, because the time is counted from the start of the run.
extension Signal where Error == Never {
  /// Fails with `error` if the stream hasn't ended after `interval` seconds, counted from now.
  ///
  /// The failure is delivered on `scheduler`, everything else where it is sent. An earlier end is
  /// passed on as it is.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - error: The error to fail with.
  ///   - scheduler: Where the time is waited for.
  /// - Returns: A signal that ends within `interval`.
  public func timeout<NewError: Swift.Error>(
    after interval: TimeInterval, raising error: NewError, on scheduler: any DateScheduler
  ) -> Signal<Value, NewError> {
    promoteError(NewError.self).timeout(after: interval, raising: error, on: scheduler)
  }
}

extension SignalProducer {
  /// Fails with `error` if a run hasn't ended after `interval` seconds, counted from the start of
  /// the run.
  ///
  /// The failure is delivered on `scheduler`, everything else where it is sent. The run above is
  /// disposed of. An earlier end is passed on as it is.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - error: The error to fail with.
  ///   - scheduler: Where the time is waited for.
  /// - Returns: A producer that ends within `interval`.
  public func timeout(
    after interval: TimeInterval, raising error: Error, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    precondition(interval >= 0, "a stream can't time out after \(interval) seconds")
    return SignalProducer(
      core: RootedCore { [core] root, connection in
        let date = scheduler.currentDate.addingTimeInterval(interval)
        connection.add(scheduler.schedule(after: date) { root.terminate(.failed(error)) })
        return core.start(into: root, connection)
      })
  }
}

extension SignalProducer where Error == Never {
  /// Fails with `error` if a run hasn't ended after `interval` seconds, counted from the start of
  /// the run.
  ///
  /// The failure is delivered on `scheduler`, everything else where it is sent. The run above is
  /// disposed of. An earlier end is passed on as it is.
  ///
  /// - Parameters:
  ///   - interval: The time in seconds; traps if it is negative.
  ///   - error: The error to fail with.
  ///   - scheduler: Where the time is waited for.
  /// - Returns: A producer that ends within `interval`.
  public func timeout<NewError: Swift.Error>(
    after interval: TimeInterval, raising error: NewError, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, NewError> {
    promoteError(NewError.self).timeout(after: interval, raising: error, on: scheduler)
  }
}
