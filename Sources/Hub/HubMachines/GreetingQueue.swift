import Essentials

/// Connections without a greeting, with the times by which it has to arrive.
///
/// All have the same time for it, so the times are in the order of arrival, and the next one costs no search.
struct GreetingQueue: Sendable {
  private struct Entry: Sendable {
    var id: HubConnectionID
    var deadline: Instant
  }

  private(set) var deadlines: [HubConnectionID: Instant] = [:]
  /// In the order of arrival, with connections that have greeted or gone since. The first one, at `first`, has
  /// not.
  private var order: [Entry] = []
  private var first = 0

  /// The earliest time; nil if no greeting is expected.
  var next: Instant? { first < order.count ? order[first].deadline : nil }

  /// The number of entries in memory.
  var storedCount: Int { order.count }

  /// The time of a connection; nil if no greeting is expected on it.
  subscript(id: HubConnectionID) -> Instant? {
    get { deadlines[id] }
    set {
      guard newValue != deadlines[id] else { return }
      deadlines[id] = newValue
      if let newValue {
        precondition(order.last.map { $0.deadline <= newValue } ?? true, "times go back")
        order.append(Entry(id: id, deadline: newValue))
      }
      removeStale()
    }
  }

  /// The connections whose time has come, in the order of arrival.
  func due(at now: Instant) -> [HubConnectionID] {
    order[first...].prefix { $0.deadline <= now }.filter(isExpected).map(\.id)
  }

  private func isExpected(_ entry: Entry) -> Bool { deadlines[entry.id] == entry.deadline }

  private mutating func removeStale() {
    while first < order.count, !isExpected(order[first]) { first += 1 }
    // A connection without a greeting keeps those behind it; they are removed together, once they are most.
    if order.count > 2 * deadlines.count + 16 {
      order = order[first...].filter(isExpected)
      first = 0
    }
  }
}
