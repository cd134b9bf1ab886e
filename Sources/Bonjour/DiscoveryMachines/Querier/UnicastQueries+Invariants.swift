import Essentials

// What must hold of the queries and their look-ups whenever the machine is not at work.

extension UnicastQueries {
  /// Up to this number of queries, each event is checked, the work for which grows with the number.
  private static let checkedCountMax = 32

  /// Stops a debug build whose queries contradict themselves. Release builds check nothing.
  func assertInvariants() {
    assert(
      queries.count > Self.checkedCountMax || violations().isEmpty,
      violations().joined(separator: "; "))
  }

  /// How the queries contradict themselves; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    if underWay.count > Limits.lookUpsInAllMax {
      found.append("\(underWay.count) look-ups are under way")
    }
    let renewalCount = underWay.values.count(where: \.isRenewal)
    if renewalCount > Limits.renewalsMax { found.append("\(renewalCount) renewals are under way") }
    for (id, query) in queries {
      if let end = query.endsAt, !ends.contains(where: { $0 == end && $1 == id }) {
        found.append("query \(id.rawValue) doesn't time out")
      }
      guard let lookUp = query.lookUpAt else { continue }
      if underWay[id] != nil { found.append("query \(id.rawValue) waits for two look-ups") }
      let queue = query.wasAnswered ? renewals : firstLookUps
      if !queue.contains(where: { $0 == lookUp && $1 == id }) {
        found.append("query \(id.rawValue) is not in the queue of its look-up")
      }
    }
    if let (instant, id) = ends.first, queries[id]?.endsAt != instant {
      found.append("the first time-out is outdated")
    }
    for (instant, id) in [firstLookUps.first, renewals.first].compactMap(\.self)
    where queries[id]?.lookUpAt != instant {
      found.append("the first look-up of a queue is outdated")
    }
    return found
  }
}
