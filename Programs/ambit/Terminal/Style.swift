/// Colours and weights, or none.
struct Style: Hashable, Sendable {
  /// Whether escapes are written at all.
  var isEnabled: Bool

  static let plain = Style(isEnabled: false)

  /// Colour only on a terminal that can, and not where `NO_COLOR` is set (no-color.org).
  init(isTerminal: Bool, environment: [String: String]) {
    let isRefused = !(environment["NO_COLOR"] ?? "").isEmpty
    isEnabled = isTerminal && !isRefused && environment["TERM"] != "dumb"
  }

  init(isEnabled: Bool) { self.isEnabled = isEnabled }

  func bold(_ text: String) -> String { wrap(text, "1") }
  func dim(_ text: String) -> String { wrap(text, "2") }
  func red(_ text: String) -> String { wrap(text, "31") }
  func green(_ text: String) -> String { wrap(text, "32") }
  func yellow(_ text: String) -> String { wrap(text, "33") }
  func cyan(_ text: String) -> String { wrap(text, "36") }

  private func wrap(_ text: String, _ code: String) -> String {
    isEnabled && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
