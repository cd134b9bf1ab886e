import DiscoveryMachines
import Essentials

// What must hold of what a host keeps for the next owner whenever it is not at work.

extension PortSharingClient {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Only so
  /// many entries of a table are checked: there may be thousands.
  func assertInvariants() {
    let limit = 16
    assert(
      violations(perTable: limit).isEmpty, violations(perTable: limit).joined(separator: "; "))
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many entries of each table are checked. Sums are where there are no
  ///   more.
  package func violations(perTable limit: Int = .max) -> [String] {
    var found: [String] = []
    for (id, query) in queries.prefix(limit) {
      found += query.violations(perTable: limit).map { "query \(id.rawValue): \($0)" }
    }
    if queries.count <= limit, resultCount != queries.values.reduce(0, { $0 + $1.count }) {
      found.append("there are not \(resultCount) results")
    }
    switch owner {
    case nil:
      if settlesAt != nil { found.append("results are settled without an owner") }
    case .thisProcess:
      if !queries.isEmpty, settlesAt == nil, !mayMove {
        found.append("a query is kept for no other owner")
      }
    case .another: break
    }
    return found
  }
}

extension TrackedQuery {
  /// How the tables contradict each other; a sentence for each contradiction.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if unconfirmed.prefix(limit).contains(where: { reported[$0.key] != nil }) {
      found.append("a result is confirmed and is not")
    }
    if !unconfirmedResolutions.isSubset(of: resolutions.keys) {
      found.append("a resolution that was never reported is to be confirmed")
    }
    if reported.prefix(limit).contains(where: { $0.value > lastNumber }) {
      found.append("a result has a number that was never given")
    }
    return found
  }
}
