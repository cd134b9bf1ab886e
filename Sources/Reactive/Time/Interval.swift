public import Dispatch
public import FoundationEssentials

extension SignalProducer where Error == Never {
  /// Sends the values of a sequence, one every `interval`, the first after one interval; completes
  /// an interval after the last.
  ///
  /// Disposing of a run stops its timer.
  ///
  /// - Parameters:
  ///   - values: The values to send. Every run iterates anew, on `scheduler`.
  ///   - interval: The time between two values; not negative.
  ///   - scheduler: The scheduler that sends the values.
  /// - Returns: A producer that never fails.
  public static func interval<S: Sequence>(
    _ values: S, interval: DispatchTimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<S.Element, Error> where S.Element == Value {
    // Every run has an iterator of its own, which only its timer uses, and that is serial.
    SignalProducer(
      core: RootedCore(handler: { observer, lifetime in
        var iterator = values.makeIterator()
        let next = UncheckedTransfer { iterator.next() }
        let send = observer.sender
        lifetime += scheduler.schedule(after: interval, interval: interval) {
          send(next.value().map { .value($0) } ?? .completed)
        }
      }))
  }
}

extension SignalProducer where Value == Int, Error == Never {
  /// Sends 0, 1, 2 … one every `interval`, the first after one interval.
  ///
  /// A run lasts until it is disposed of.
  ///
  /// - Parameters:
  ///   - interval: The time between two values; not negative.
  ///   - scheduler: The scheduler that sends the values.
  /// - Returns: A producer that never ends by itself.
  public static func interval(
    _ interval: DispatchTimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    .interval(0..., interval: interval, on: scheduler)
  }
}

extension SignalProducer where Value == Date, Error == Never {
  /// Sends the scheduler's date every `interval`, the first time after one interval, with a leeway
  /// of a tenth of it.
  ///
  /// A run lasts until it is disposed of.
  ///
  /// - Parameters:
  ///   - interval: The time between two dates; traps if it is negative.
  ///   - scheduler: The scheduler that sends the dates.
  /// - Returns: A producer that never ends by itself.
  public static func timer(
    interval: DispatchTimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    timer(interval: interval, on: scheduler, leeway: interval * 0.1)
  }

  /// Sends the scheduler's date every `interval`, the first time after one interval.
  ///
  /// A run lasts until it is disposed of.
  ///
  /// - Parameters:
  ///   - interval: The time between two dates; traps if it is negative.
  ///   - scheduler: The scheduler that sends the dates.
  ///   - leeway: How much later than due a date may be sent, to save power; not negative, or the
  ///     call traps.
  /// - Returns: A producer that never ends by itself.
  public static func timer(
    interval: DispatchTimeInterval, on scheduler: any DateScheduler,
    leeway: DispatchTimeInterval
  ) -> SignalProducer<Value, Error> {
    precondition(interval.timeInterval >= 0, "a timer can't repeat every \(interval)")
    precondition(leeway.timeInterval >= 0, "a timer can't have a leeway of \(leeway)")
    return SignalProducer { observer, lifetime in
      let send = observer.sender
      lifetime += scheduler.schedule(after: interval, interval: interval, leeway: leeway) {
        send(.value(scheduler.currentDate))
      }
    }
  }
}
