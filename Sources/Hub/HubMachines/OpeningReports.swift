import Essentials

/// Which programs are reported when they come and go: a bounded number in each interval.
///
/// A program that stays is reported later, at last. One that has gone by then is only counted, so that a
/// program that connects again and again fills no log.
struct OpeningReports: Sendable {
  /// Programs that are served and not reported yet.
  private(set) var waiting: Set<HubConnectionID> = []
  /// The number of programs that have gone and were not reported.
  private var unreportedCount = 0
  /// When the interval began, and how many programs were reported in it.
  private var start: Instant?
  private var count = 0

  /// A program is served; returns whether to report it now.
  mutating func opened(_ id: HubConnectionID, at now: Instant, _ limits: HubLimits) -> Bool {
    // While something waits, only its report begins an interval, which new programs can't put off.
    if nextWake(limits) == nil { begin(at: now, limits) }
    guard waiting.isEmpty, count < limits.openingReportCountMax else {
      waiting.insert(id)
      return false
    }
    count += 1
    return true
  }

  /// A program that was served has gone; returns whether its coming was reported.
  mutating func closed(_ id: HubConnectionID) -> Bool {
    guard waiting.remove(id) != nil else { return true }
    unreportedCount += 1
    return false
  }

  /// When there is something to report; nil if there is nothing.
  func nextWake(_ limits: HubLimits) -> Instant? {
    waiting.isEmpty && unreportedCount == 0 ? nil : start.map { $0 + limits.reportSpacing }
  }

  /// The programs to report now, in the order of arrival, and how many have gone without a report.
  mutating func due(
    at now: Instant, _ limits: HubLimits
  ) -> (opened: [HubConnectionID], unreportedCount: Int) {
    guard let due = nextWake(limits), due <= now else { return ([], 0) }
    begin(at: now, limits)
    let opened = Array(waiting.sorted().prefix(limits.openingReportCountMax))
    waiting.subtract(opened)
    count = opened.count
    defer { unreportedCount = 0 }
    return (opened, unreportedCount)
  }

  /// Begins an interval if the last one has ended.
  private mutating func begin(at now: Instant, _ limits: HubLimits) {
    if let start, now < start + limits.reportSpacing { return }
    start = now
    count = 0
  }
}
