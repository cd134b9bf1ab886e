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

  /// In the finest unit in which the product can be counted; `never` beyond all of them.
  static func * (interval: DispatchTimeInterval, factor: Double) -> DispatchTimeInterval {
    let seconds = interval.timeInterval * factor
    func count(perSecond: Double) -> Int? { Int(exactly: (seconds * perSecond).rounded()) }
    return count(perSecond: 1e9).map(DispatchTimeInterval.nanoseconds)
      ?? count(perSecond: 1e6).map(DispatchTimeInterval.microseconds)
      ?? count(perSecond: 1e3).map(DispatchTimeInterval.milliseconds)
      ?? count(perSecond: 1).map(DispatchTimeInterval.seconds) ?? .never
  }

  static prefix func - (interval: DispatchTimeInterval) -> DispatchTimeInterval {
    interval * -1
  }
}

extension Date {
  /// The date after (or, if negative, before) this one by the given interval.
  func addingTimeInterval(_ interval: DispatchTimeInterval) -> Date {
    addingTimeInterval(interval.timeInterval)
  }
}
