import AmbitCLI
import Essentials

/// An item as a row of the page's table, and as a cover.
struct NearbyRow: Identifiable, Hashable, Sendable {
  let id: String
  var title: String
  var kind: String
  var summary: String
  /// `−61 dBm`, or nothing.
  var strength: String
  /// The points of the line of its strength.
  var points: String
  var seen: String
  var isFading: Bool
  var isStarred: Bool
  var isHidden: Bool
  var isNew: Bool
  var isConnected: Bool
  var isOpen: Bool
  var isConnectable: Bool
  /// The path of its picture.
  var picture: String
  /// The accessible name of the row's buttons.
  var starLabel: String { isStarred ? "Unstar \(title)" : "Star \(title)" }
  var hideLabel: String { isHidden ? "Show \(title) again" : "Hide \(title)" }
  /// The text below a cover.
  var caption: String {
    [summary, strength].filter { !$0.isEmpty }.joined(separator: " · ")
  }

  init(_ item: NearbyItem, _ marks: NearbyMarks, isOpen: Bool, isConnected: Bool, now: Instant) {
    id = item.id
    title = item.title
    kind = item.kind.rawValue
    summary = [item.distance ?? "", item.summary].filter { !$0.isEmpty }.joined(separator: " · ")
    strength = item.strength.map { Self.text(dBm: $0) } ?? ""
    points = item.levels.points
    let isHere = isConnected || item.kind == .service && item.presence == .here
    seen = isHere ? "now" : Age.text(now - item.lastSeen)
    isFading = item.presence != .here
    isStarred = marks.starred.contains(item.id)
    isHidden = marks.hidden.contains(item.id)
    isNew = marks.isNew(item)
    self.isConnected = isConnected
    self.isOpen = isOpen
    isConnectable = item.sighting.map { $0.isConnectable != false } ?? false
    picture = CoverPicture.path(of: item)
  }

  /// With the minus sign of mathematics.
  static func text(dBm level: Int) -> String {
    level < 0 ? "\u{2212}\(-level) dBm" : "\(level) dBm"
  }
}

/// One of the choices of a menu.
struct NearbyChoice: Identifiable, Hashable, Sendable {
  let id: String
  /// With how many there are: `Apple, Inc. (3)`.
  var text: String

  /// More than anybody reads.
  private static let countMax = 200

  /// The choices that some items have, in alphabetical order; the one that is chosen stays.
  static func all(of names: [String], with chosen: String) -> [NearbyChoice] {
    var counts = Dictionary(grouping: names) { $0 }.mapValues(\.count)
    if !chosen.isEmpty { counts[chosen, default: 0] += 0 }
    let choices = counts.map { Self(id: $0, text: "\($0) (\($1))") }
      .sorted { ($0.id.lowercased(), $0.id) < ($1.id.lowercased(), $1.id) }
    return choices.prefix(countMax) + choices.dropFirst(countMax).filter { $0.id == chosen }
  }
}
