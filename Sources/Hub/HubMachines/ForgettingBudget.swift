import Essentials

/// How often programs may have kept sessions forgotten, and which sessions were forgotten since the last report.
///
/// A request goes through all kept sessions, so a program that sends thousands would hold up others.
struct ForgettingBudget: Sendable {
  /// When the interval of the counts began.
  private var start: Instant?
  /// The requests in it, by user.
  private(set) var counts: [UInt32: Int] = [:]
  private var lastReport: Instant?
  /// Forgotten sessions that are not reported, with the last process of each user, in the order of user numbers.
  private(set) var unreported: [(peer: HubPeer, count: Int)] = []

  /// Counts a request. Returns false for one beyond the maximum of the interval.
  mutating func requested(by userID: UInt32, at now: Instant, _ limits: HubLimits) -> Bool {
    if start.map({ now >= $0 + limits.reportSpacing }) ?? true {
      start = now
      counts.removeAll(keepingCapacity: true)
    }
    let count = counts[userID] ?? 0
    guard count < limits.forgettingCountPerUserMax else { return false }
    counts[userID] = count + 1
    return true
  }

  /// Sessions were forgotten for a program.
  mutating func forgot(_ count: Int, for peer: HubPeer) {
    guard count > 0 else { return }
    let index = unreported.firstIndex { $0.peer.userID >= peer.userID } ?? unreported.endIndex
    if index < unreported.endIndex, unreported[index].peer.userID == peer.userID {
      unreported[index] = (peer, unreported[index].count + count)
    } else {
      unreported.insert((peer, count), at: index)
    }
  }

  /// When there is something to report; nil for nothing.
  func nextWake(_ limits: HubLimits) -> Instant? {
    unreported.isEmpty ? nil : lastReport.map { $0 + limits.reportSpacing }
  }

  /// What is to be reported now: for each user one report in an interval at most.
  mutating func due(at now: Instant, _ limits: HubLimits) -> [(peer: HubPeer, count: Int)] {
    guard !unreported.isEmpty, lastReport.map({ now >= $0 + limits.reportSpacing }) ?? true else {
      return []
    }
    lastReport = now
    defer { unreported.removeAll() }
    return unreported
  }
}
