/// Suggests the probably intended name for one that doesn't exist.
package enum Spelling {
  /// The candidate that is most similar to a name; nil if none is similar.
  package static func nearest(to name: String, in candidates: [String]) -> String? {
    let letters = Array(name.lowercased())
    let distances = candidates.map { ($0, distance(Array($0.lowercased()), letters)) }
    guard let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(2, letters.count / 2) else {
      return nil
    }
    return best.0
  }

  /// How many letters must be put in, taken away or changed to make one of the other
  /// (Levenshtein).
  private static func distance(_ a: [Character], _ b: [Character]) -> Int {
    var row = Array(0...b.count)
    for (i, x) in a.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for (j, y) in b.enumerated() {
        let change = diagonal + (x == y ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(change, row[j] + 1, diagonal + 1)
      }
    }
    return row[b.count]
  }
}
