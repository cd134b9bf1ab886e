/// A line of several parts. Where the terminal is narrower, the parts that don't fit go into lines below it.
package struct FittedLine: Sendable {
  package struct Part: Sendable {
    /// The blanks before the part, if it doesn't begin its line.
    var space: String
    /// The text without its style.
    var plain: String
    var styled: String

    package init(_ space: String, _ plain: String, _ styled: String) {
      (self.space, self.plain, self.styled) = (space, plain, styled)
    }

    /// The first part of a line.
    package init(_ plain: String, _ styled: String) { self.init("", plain, styled) }
  }

  /// What the first line begins with.
  var first: String
  /// What each further line begins with; as wide as that of the first, or narrower or wider.
  var next: String
  var parts: [Part]

  package init(first: String, next: String, parts: [Part]) {
    (self.first, self.next, self.parts) = (first, next, parts)
  }

  /// The lines for the terminal on standard output; one elsewhere.
  package var linesOfTerminal: [String] { lines(columns: Terminal.tableWidth) }

  /// The lines, none wider than `columns`. A part is broken between words where it has none of its own width; a
  /// longer word is cut.
  func lines(columns: Int) -> [String] {
    var lines: [String] = []
    // A style takes no columns.
    var line = first
    var used = Fit.width(next)
    var isEmpty = true
    for part in parts {
      let space = isEmpty ? "" : part.space
      let width = Fit.width(space) + Fit.width(part.plain)
      if columns == .max || used + width <= columns {
        line += space + part.styled
        used += width
        isEmpty = false
        continue
      }
      if !isEmpty {
        lines.append(line)
        (line, used) = (next, Fit.width(next))
      }
      let room = max(1, columns - used)
      if Fit.width(part.plain) <= room {
        line += part.styled
        used += Fit.width(part.plain)
      } else {
        let pieces = Fit.wrapped(part.plain, room)
        for piece in pieces.dropLast() {
          lines.append(line + piece)
          line = next
        }
        line += pieces.last ?? ""
        used = Fit.width(next) + Fit.width(pieces.last ?? "")
      }
      isEmpty = false
    }
    return lines + [line]
  }
}
