/// The control groups of a process, as the file `cgroup` of its folder in `/proc` has them (cgroups(7)).
package enum ControlGroups {
  /// The maximum size of such a file: a path of each hierarchy, of which there are a dozen.
  package static let byteCountMax = 64 << 10

  /// The unit of systemd to which a process belongs, and the unit within that one for a process of a user's
  /// systemd or of a container; empty for a process of no unit, nil if the text doesn't show it.
  ///
  /// The owner of a unit may make groups of any name within it. So only the first unit of the path has a plain
  /// name: a program of a user can't pass for a service of the system.
  package static func units(of text: [UInt8]) -> [String]? {
    guard let path = path(in: text) else { return nil }
    // By bytes: a name may begin with a combining mark, which makes one character with the "/" before it.
    let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    // A process outside of this namespace of groups, or whose group is gone.
    guard !parts.contains(".."), !path.hasSuffix(" (deleted)") else { return nil }
    var units: [String] = []
    for part in parts where units.count < 2 {
      let name = part.hasPrefix("_") ? part.dropFirst() : part
      if isSlice(name) { continue }
      guard isUnit(name) else { break }
      units.append(units.last.map { "\($0)/\(name)" } ?? String(name))
    }
    return units
  }

  /// Whether a name is one of a unit that may have processes.
  static func isUnit(_ name: Substring) -> Bool {
    [".service", ".scope", ".socket", ".mount", ".swap"].contains { name.hasSuffix($0) }
      && isName(name)
  }

  private static func isSlice(_ name: Substring) -> Bool {
    name.hasSuffix(".slice") && isName(name)
  }

  /// Letters, digits and `:-_.\@`, at most 255 (systemd.unit(5)).
  private static func isName(_ name: Substring) -> Bool {
    name.utf8.count <= 255 && name.utf8.first != UInt8(ascii: ".")
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "@"):
          true
        default: false
        }
      }
  }

  /// The path in systemd's own hierarchy, or else in the only one of newer systems.
  private static func path(in text: [UInt8]) -> String? {
    guard text.count < byteCountMax, let text = String(validating: text, as: UTF8.self) else {
      return nil
    }
    var unified: String?
    for line in text.utf8.split(separator: UInt8(ascii: "\n")).map({ Substring($0) }) {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3, fields[2].hasPrefix("/") else { return nil }
      if fields[1] == "name=systemd" { return String(fields[2]) }
      if fields[0] == "0", fields[1].isEmpty { unified = String(fields[2]) }
    }
    return unified
  }
}
