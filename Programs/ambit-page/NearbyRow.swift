import AmbitCLI
import Essentials

/// A thing as a row of the page's table, and as a cover.
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

  init(_ thing: NearbyThing, _ marks: NearbyMarks, isOpen: Bool, isConnected: Bool, now: Instant) {
    id = thing.id
    title = thing.title
    kind = thing.kind.rawValue
    summary = [thing.distance ?? "", thing.summary].filter { !$0.isEmpty }.joined(separator: " · ")
    strength = thing.strength.map { Self.text(dBm: $0) } ?? ""
    points = thing.levels.points
    let isHere = isConnected || thing.kind == .service && thing.presence == .here
    seen = isHere ? "now" : Age.text(now - thing.lastSeen)
    isFading = thing.presence != .here
    isStarred = marks.starred.contains(thing.id)
    isHidden = marks.hidden.contains(thing.id)
    isNew = marks.isNew(thing)
    self.isConnected = isConnected
    self.isOpen = isOpen
    isConnectable = thing.sighting.map { $0.isConnectable != false } ?? false
    picture = CoverPicture.path(of: thing)
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

  /// The choices that some things have, in alphabetical order; the one that is chosen stays.
  static func all(of names: [String], with chosen: String) -> [NearbyChoice] {
    var counts = Dictionary(grouping: names) { $0 }.mapValues(\.count)
    if !chosen.isEmpty { counts[chosen, default: 0] += 0 }
    let choices = counts.map { Self(id: $0, text: "\($0) (\($1))") }
      .sorted { ($0.id.lowercased(), $0.id) < ($1.id.lowercased(), $1.id) }
    return choices.prefix(countMax) + choices.dropFirst(countMax).filter { $0.id == chosen }
  }
}
