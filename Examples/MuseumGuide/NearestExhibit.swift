/// Decides at which exhibit a visitor is, from the ranging reports of each second.
///
/// A beacon's signal strength changes with each step and each passer-by, so one report is
/// unreliable: an exhibit is entered when several reports in a row have it near and before all
/// others, and left when several in a row don't have it near. So the exhibit doesn't alternate
/// between two places.
struct NearestExhibit: Equatable, Sendable {
  /// An exhibit is entered after this many reports in a row.
  static let enterCount = 3
  /// An exhibit is left after this many reports in a row without it.
  static let leaveCount = 6

  /// The exhibit at which the visitor is.
  private(set) var exhibit: Exhibit.ID?
  private var candidate: Exhibit.ID?
  private var candidateCount = 0
  private var missCount = 0

  /// Takes a report.
  ///
  /// - Parameter near: The exhibits in reach of a few steps, the nearest first.
  mutating func update(near: [Exhibit.ID]) {
    candidateCount = near.first == candidate ? candidateCount + 1 : 1
    candidate = near.first
    if let exhibit { missCount = near.contains(exhibit) ? 0 : missCount + 1 }
    if candidate != nil, candidateCount >= Self.enterCount {
      exhibit = candidate
      missCount = 0
    } else if missCount >= Self.leaveCount {
      exhibit = nil
      missCount = 0
    }
  }
}
