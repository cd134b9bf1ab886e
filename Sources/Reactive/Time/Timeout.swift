public import FoundationEssentials

// Producers: by hand, because the time is counted from the start of the run.
extension Signal {
  /// Fails with `error` if the stream hasn't ended after `interval` seconds, counted from now.
  ///
  /// `interval` must not be negative.
  public func timeout(
    after interval: TimeInterval, raising error: Error, on scheduler: any DateScheduler
  ) -> Signal<Value, Error> {
    precondition(interval >= 0, "a stream can't time out after \(interval) seconds")
    return Signal { observer, lifetime in
      let input = UncheckedTransfer(observer)
      let date = scheduler.currentDate.addingTimeInterval(interval)
      lifetime += scheduler.schedule(after: date) { input.value.send(error: error) }
      lifetime += observe(observer)
    }
  }
}

// Producers: by hand, because the time is counted from the start of the run.
extension Signal where Error == Never {
  /// Fails with `error` if the stream hasn't ended after `interval` seconds, counted from now.
  ///
  /// `interval` must not be negative.
  public func timeout<NewError: Swift.Error>(
    after interval: TimeInterval, raising error: NewError, on scheduler: any DateScheduler
  ) -> Signal<Value, NewError> {
    promoteError(NewError.self).timeout(after: interval, raising: error, on: scheduler)
  }
}

extension SignalProducer {
  /// Fails with `error` if the run hasn't ended after `interval` seconds, counted from its start.
  ///
  /// `interval` must not be negative.
  public func timeout(
    after interval: TimeInterval, raising error: Error, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    precondition(interval >= 0, "a stream can't time out after \(interval) seconds")
    return SignalProducer(
      core: JoinedCore { [core] root, connection in
        let date = scheduler.currentDate.addingTimeInterval(interval)
        connection.add(scheduler.schedule(after: date) { root.terminate(.failed(error)) })
        return core.start(into: root, connection)
      })
  }
}

extension SignalProducer where Error == Never {
  /// Fails with `error` if the run hasn't ended after `interval` seconds, counted from its start.
  ///
  /// `interval` must not be negative.
  public func timeout<NewError: Swift.Error>(
    after interval: TimeInterval, raising error: NewError, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, NewError> {
    promoteError(NewError.self).timeout(after: interval, raising: error, on: scheduler)
  }
}
