public import Dispatch
public import FoundationEssentials

extension SignalProducer where Error == Never {
  /// Sends the values of a sequence, one every `interval`, the first after one interval; completes
  /// an interval after the last.
  public static func interval<S: Sequence>(
    _ values: S, interval: DispatchTimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<S.Element, Error> where S.Element == Value {
    // Every run has an iterator of its own, which only its timer uses, and that is serial.
    let begin = UncheckedTransfer {
      var iterator = values.makeIterator()
      return { iterator.next() }
    }
    return SignalProducer { observer, lifetime in
      let next = UncheckedTransfer(begin.value())
      let input = UncheckedTransfer(observer)
      lifetime += scheduler.schedule(after: interval, interval: interval) {
        if let value = next.value() {
          input.value.send(value: value)
        } else {
          input.value.sendCompleted()
        }
      }
    }
  }
}

extension SignalProducer where Value == Int, Error == Never {
  /// Sends 0, 1, 2 … one every `interval`, the first after one interval.
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
  /// `interval` must not be negative.
  public static func timer(
    interval: DispatchTimeInterval, on scheduler: any DateScheduler
  ) -> SignalProducer<Value, Error> {
    timer(interval: interval, on: scheduler, leeway: interval.tenth)
  }

  /// Sends the scheduler's date every `interval`, the first time after one interval.
  ///
  /// To save power a date may be sent up to `leeway` later than due. Neither `interval` nor `leeway`
  /// may be negative.
  public static func timer(
    interval: DispatchTimeInterval, on scheduler: any DateScheduler,
    leeway: DispatchTimeInterval
  ) -> SignalProducer<Value, Error> {
    precondition(interval.timeInterval >= 0, "a timer can't repeat every \(interval)")
    precondition(leeway.timeInterval >= 0, "a timer can't have a leeway of \(leeway)")
    return SignalProducer { observer, lifetime in
      let input = UncheckedTransfer(observer)
      lifetime += scheduler.schedule(after: interval, interval: interval, leeway: leeway) {
        input.value.send(value: scheduler.currentDate)
      }
    }
  }
}
