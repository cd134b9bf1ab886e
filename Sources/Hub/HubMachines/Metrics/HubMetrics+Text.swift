extension HubMetrics {
  /// The media type of ``text``.
  package static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// The numbers in Prometheus' text-based format, version 0.0.4.
  package var text: String {
    var text = ""
    for family in families {
      text += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
      text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
      for sample in family.samples {
        let label = sample.label.map { "{\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"}" }
        text += "\(family.name)\(label ?? "") \(Self.text(sample.value))\n"
      }
    }
    return text
  }

  /// A whole number without a fraction, as counts are.
  private static func text(_ value: Double) -> String {
    Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
