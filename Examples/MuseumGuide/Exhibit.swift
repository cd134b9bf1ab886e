/// The exhibit in one place of the museum, and the beacon at that place: the model.
struct Exhibit: Identifiable, Equatable, Sendable {
  /// The numbers of a beacon; all beacons of the museum have one UUID.
  struct Beacon: Hashable, Sendable {
    /// The room.
    let major: UInt16
    /// The exhibit in it.
    let minor: UInt16
  }

  let beacon: Beacon
  let name: String
  /// When and where it is from.
  let origin: String
  /// The name of a file.
  let picture: String
  let text: String

  var id: String { "\(beacon.major)-\(beacon.minor)" }
  /// Where the picture is in the site.
  var picturePath: String { "pictures/\(picture)" }
}

extension Exhibit {
  /// A file has no more exhibits.
  static let countMax = 1_000
  /// Fields are no longer.
  static let characterCountMax = 2_000

  /// Reads exhibits: one in each line, with a tab between major, minor, name, origin, picture and
  /// text. Empty lines, and lines that begin with `#`, are ignored.
  static func list(_ text: String) throws(ExhibitsError) -> [Exhibit] {
    var exhibits: [Exhibit] = []
    var lines: [Beacon: Int] = [:]
    let rows = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, row) in rows.enumerated() where !row.isEmpty && !row.hasPrefix("#") {
      let line = index + 1
      let exhibit = try Exhibit(row, line: line)
      if let other = lines.updateValue(line, forKey: exhibit.beacon) {
        throw ExhibitsError(line: line, reason: "The exhibit of line \(other) has this beacon.")
      }
      guard exhibits.count < countMax else {
        throw ExhibitsError(line: line, reason: "There are more than \(countMax) exhibits.")
      }
      exhibits.append(exhibit)
    }
    return exhibits
  }

  private init(_ row: Substring, line: Int) throws(ExhibitsError) {
    let fields = row.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 6 else {
      throw ExhibitsError(
        line: line,
        reason: "Major, minor, name, origin, picture and text are 6 fields, not \(fields.count).")
    }
    guard let major = UInt16(fields[0]), let minor = UInt16(fields[1]) else {
      throw ExhibitsError(
        line: line, reason: "Major and minor are numbers from 0 to \(UInt16.max).")
    }
    guard !fields[2].isEmpty else {
      throw ExhibitsError(line: line, reason: "The exhibit has no name.")
    }
    guard fields.allSatisfy({ $0.count <= Self.characterCountMax }) else {
      throw ExhibitsError(
        line: line, reason: "A field is longer than \(Self.characterCountMax) characters.")
    }
    // It becomes a part of paths.
    guard fields[4].wholeMatch(of: #/[A-Za-z0-9_-]{1,64}\.(svg|png|jpg)/#) != nil else {
      throw ExhibitsError(
        line: line, reason: "“\(fields[4])” is no name of a picture, such as globe.svg.")
    }
    beacon = Beacon(major: major, minor: minor)
    (name, origin, picture, text) = (fields[2], fields[3], fields[4], fields[5])
  }
}

/// A mistake in a file of exhibits, with its line.
struct ExhibitsError: Error, Equatable, CustomStringConvertible {
  /// From 1 on.
  let line: Int
  let reason: String

  var description: String { "The exhibits, line \(line): \(reason)" }
}
