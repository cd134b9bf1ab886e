internal import Dispatch
internal import FoundationEssentials

extension DispatchTimeInterval {
  /// The interval in seconds; infinite for `never`.
  var timeInterval: TimeInterval {
    switch self {
    case .seconds(let count): TimeInterval(count)
    case .milliseconds(let count): TimeInterval(count) / 1e3
    case .microseconds(let count): TimeInterval(count) / 1e6
    case .nanoseconds(let count): TimeInterval(count) / 1e9
    case .never: .infinity
    @unknown default: .infinity
    }
  }

  /// A tenth of the interval, in whole nanoseconds.
  var tenth: DispatchTimeInterval {
    let nanoseconds = timeInterval * 1e8
    // Beyond 584 years there is nothing left to save by waiting a little longer.
    return nanoseconds < TimeInterval(Int.max) ? .nanoseconds(Int(nanoseconds)) : .never
  }
}

extension Date {
  /// The date after (or, if negative, before) this one by the given interval.
  func addingTimeInterval(_ interval: DispatchTimeInterval) -> Date {
    addingTimeInterval(interval.timeInterval)
  }
}
