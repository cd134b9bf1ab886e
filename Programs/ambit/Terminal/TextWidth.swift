/// Text from outside, made fit for a terminal and a column.
package enum Fit {
  /// The text without anything that a terminal would obey: controls, escapes, direction overrides
  /// become `�`.
  package static func safe(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { !isShown($0) }) else { return text }
    var safe = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { safe.append(isShown(scalar) ? scalar : "\u{FFFD}") }
    return String(safe)
  }

  /// How many columns the text takes on a terminal.
  static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// The text in exactly `columns` columns: padded, or cut with an ellipsis.
  static func column(_ text: String, _ columns: Int, alignedRight: Bool = false) -> String {
    let cut = truncated(text, columns)
    let padding = String(repeating: " ", count: max(0, columns - width(cut)))
    return alignedRight ? padding + cut : cut + padding
  }

  /// The text in at most `columns` columns; an ellipsis replaces the rest.
  static func truncated(_ text: String, _ columns: Int) -> String {
    guard width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    var result = ""
    var used = 0
    for character in text {
      let next = width(character)
      if used + next > columns - 1 { break }
      result.append(character)
      used += next
    }
    return result + "…"
  }

  /// The text in at most `columns` columns; an ellipsis replaces its middle.
  static func shortened(_ text: String, _ columns: Int) -> String {
    guard width(text) > columns else { return text }
    let head = truncated(text, columns / 2)
    var tail: [Character] = []
    var used = width(head)
    for character in text.reversed() {
      used += width(character)
      if used > columns { break }
      tail.append(character)
    }
    return head + String(tail.reversed())
  }

  /// The text in lines of at most `columns` columns, broken between words. A longer word is cut.
  static func wrapped(_ text: String, _ columns: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, width(last) < columns,
        width(last) + 1 + width(String(word)) <= columns
      {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(truncated(String(word), columns))
      }
    }
    return lines
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .surrogate, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
    case .format: scalar == "\u{200D}"  // Joins emoji; the other format characters are invisible.
    default: true
    }
  }

  private static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if first.properties.isEmojiPresentation { return 2 }
    if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.value {
    case 0x20..<0x7F: return 1
    case 0x0300...0x036F, 0x200B...0x200F, 0xFE00...0xFE0F: return 0
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE4F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
      0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
