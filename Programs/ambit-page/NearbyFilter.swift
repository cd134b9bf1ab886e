import AmbitCLI

/// What of all things is listed. Everything that is asked for has to hold.
struct NearbyFilter: Hashable, Sendable {
  /// The minimum length of a search text.
  static let characterCountMin = 3
  private static let wordCountMax = 8

  /// The text to search for among all things ever seen; empty to list nearby things.
  var text = ""
  /// A kind's name; empty for all.
  var kind = ""
  var company = ""
  var service = ""
  /// In dBm; things without a strength pass only at the lowest value.
  var minimumStrength = LevelHistory.range.lowerBound
  var isStarredOnly = false
  var isNewOnly = false
  var showsHidden = false

  /// The things that are listed.
  func filtered(_ things: [NearbyThing], _ marks: NearbyMarks) -> [NearbyThing] {
    let words = text.lowercased().split(separator: " ").prefix(Self.wordCountMax)
    return things.filter { thing in
      accepts(thing, marks) && words.allSatisfy { thing.searchText.contains($0) }
    }
  }

  private func accepts(_ thing: NearbyThing, _ marks: NearbyMarks) -> Bool {
    if text.isEmpty, thing.presence == .gone { return false }
    if !showsHidden, marks.hidden.contains(thing.id) { return false }
    if isStarredOnly, !marks.starred.contains(thing.id) { return false }
    if isNewOnly, !marks.isNew(thing) { return false }
    if !kind.isEmpty, thing.kind.rawValue != kind { return false }
    if !company.isEmpty, thing.company != company { return false }
    if !service.isEmpty, !thing.services.contains(service) { return false }
    if minimumStrength > LevelHistory.range.lowerBound {
      guard let strength = thing.strength, strength >= minimumStrength else { return false }
    }
    return true
  }

  /// The search text of the input; empty if it is too short.
  static func text(typed: String) -> String {
    let text = typed.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return text.count < characterCountMin ? "" : String(text.prefix(100))
  }
}

/// What people have marked; all tabs have the same.
struct NearbyMarks: Hashable, Sendable {
  var starred: Set<String> = []
  var hidden: Set<String> = []
  /// The number of the last thing when the user marked all as seen; nil before that, and then no
  /// thing is new.
  var lastNumberSeen: Int?

  func isNew(_ thing: NearbyThing) -> Bool { lastNumberSeen.map { thing.number > $0 } ?? false }
}

/// The order of a list. It stays the same, with new things at the end, until it is sorted again: no
/// row moves under the pointer.
struct NearbyOrder: Sendable {
  enum Rule: String, CaseIterable, Sendable {
    case arrival
    case strength
    case name
  }

  private static let placeCountMax = 2 * NearbyHistory.Limits.thingCount

  private var places: [String: Int] = [:]
  private var count = 0

  /// The things in their order. Unknown ones come last, in the given order.
  mutating func ordered(_ things: [NearbyThing]) -> [NearbyThing] {
    // Addresses change, and most never come back.
    if places.count > Self.placeCountMax {
      let known = Set(things.map(\.id))
      places = places.filter { known.contains($0.key) }
    }
    for thing in things where places[thing.id] == nil {
      places[thing.id] = count
      count += 1
    }
    return things.sorted { places[$0.id, default: count] < places[$1.id, default: count] }
  }

  /// Puts all things in the order of a rule, as it is now.
  mutating func sort(_ things: [NearbyThing], by rule: Rule) {
    let sorted = things.sorted { a, b in
      switch rule {
      case .arrival: break
      case .strength:
        let (strengthA, strengthB) = (a.strength ?? .min, b.strength ?? .min)
        if strengthA != strengthB { return strengthA > strengthB }
      case .name:
        // Things with a name come before those without.
        if (a.name == nil) != (b.name == nil) { return b.name == nil }
        let (nameA, nameB) = (a.title.lowercased(), b.title.lowercased())
        if nameA != nameB { return nameA < nameB }
      }
      return a.number < b.number
    }
    places = Dictionary(sorted.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { a, _ in a })
    count = sorted.count
  }
}
