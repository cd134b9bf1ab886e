import AmbitCLI

/// What of all items is listed. Everything that is asked for has to hold.
struct NearbyFilter: Hashable, Sendable {
  /// The minimum length of a search text.
  static let characterCountMin = 3
  private static let wordCountMax = 8

  /// The text to search for among all items ever seen; empty to list nearby items.
  var text = ""
  /// A kind's name; empty for all.
  var kind = ""
  var company = ""
  var service = ""
  /// In dBm; items without a strength pass only at the lowest value.
  var minimumStrength = LevelHistory.range.lowerBound
  var isStarredOnly = false
  var isNewOnly = false
  var showsHidden = false

  /// The items that are listed.
  func filtered(_ items: [NearbyItem], _ marks: NearbyMarks) -> [NearbyItem] {
    let words = text.lowercased().split(separator: " ").prefix(Self.wordCountMax)
    return items.filter { item in
      accepts(item, marks) && words.allSatisfy { item.searchText.contains($0) }
    }
  }

  private func accepts(_ item: NearbyItem, _ marks: NearbyMarks) -> Bool {
    if text.isEmpty, item.presence == .gone { return false }
    if !showsHidden, marks.hidden.contains(item.id) { return false }
    if isStarredOnly, !marks.starred.contains(item.id) { return false }
    if isNewOnly, !marks.isNew(item) { return false }
    if !kind.isEmpty, item.kind.rawValue != kind { return false }
    if !company.isEmpty, item.company != company { return false }
    if !service.isEmpty, !item.services.contains(service) { return false }
    if minimumStrength > LevelHistory.range.lowerBound {
      guard let strength = item.strength, strength >= minimumStrength else { return false }
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
  /// The number of the last item when the user marked all as seen; nil before that, and then no
  /// item is new.
  var lastNumberSeen: Int?

  func isNew(_ item: NearbyItem) -> Bool { lastNumberSeen.map { item.number > $0 } ?? false }
}

/// The order of a list. It stays the same, with new items at the end, until it is sorted again: no
/// row moves under the pointer.
struct NearbyOrder: Sendable {
  enum Rule: String, CaseIterable, Sendable {
    case arrival
    case strength
    case name
  }

  private static let placeCountMax = 2 * NearbyHistory.Limits.itemCount

  private var places: [String: Int] = [:]
  private var count = 0

  /// The items in their order. Unknown ones come last, in the given order.
  mutating func ordered(_ items: [NearbyItem]) -> [NearbyItem] {
    // Addresses change, and most never come back.
    if places.count > Self.placeCountMax {
      let known = Set(items.map(\.id))
      places = places.filter { known.contains($0.key) }
    }
    for item in items where places[item.id] == nil {
      places[item.id] = count
      count += 1
    }
    return items.sorted { places[$0.id, default: count] < places[$1.id, default: count] }
  }

  /// Puts all items in the order of a rule, as it is now.
  mutating func sort(_ items: [NearbyItem], by rule: Rule) {
    let sorted = items.sorted { a, b in
      switch rule {
      case .arrival: break
      case .strength:
        let (strengthA, strengthB) = (a.strength ?? .min, b.strength ?? .min)
        if strengthA != strengthB { return strengthA > strengthB }
      case .name:
        // Items with a name come before those without.
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
