/// The help of a session: one row for each command, or for a few that belong together.
enum ShellHelp {
  struct Row: Hashable, Sendable {
    /// The names that find the row.
    var names: [String]
    /// The command with its arguments.
    var syntax: String
    var text: String
  }

  static let rows: [Row] = [
    Row(names: ["services"], syntax: "services", text: "services and characteristics"),
    Row(names: ["inspect"], syntax: "inspect", text: "the same with descriptors and values"),
    Row(names: ["read"], syntax: "read CHARACTERISTIC…", text: "read values"),
    Row(
      names: ["write"], syntax: "write CHARACTERISTIC VALUE",
      text: "write as read prints it; --hex, --text, --uint8 …; --without-response"),
    Row(
      names: ["subscribe"], syntax: "subscribe CHARACTERISTIC…", text: "print values as they come"),
    Row(
      names: ["unsubscribe"], syntax: "unsubscribe [CHARACTERISTIC…]", text: "stop; all without one"
    ),
    Row(
      names: ["rssi", "mtu"], syntax: "rssi, mtu",
      text: "the link's strength; the largest attribute PDU"),
    Row(
      names: ["status"], syntax: "status", text: "the radio, links, queues, counters of drops"),
    Row(
      names: ["disconnect", "reconnect", "connect"], syntax: "disconnect, reconnect",
      text: "end the link; make it again"),
    Row(names: ["wait"], syntax: "wait TIME", text: "let time pass: 5, 500ms, 2m"),
    Row(
      names: ["help", "?", "quit", "exit"], syntax: "help [COMMAND], quit",
      text: "this, or that of one command; the end (also Ctrl-D)"),
  ]

  /// The columns of the commands, beside which their texts are.
  private static let syntaxWidth = 30
  /// Where a text begins that has lines of its own.
  private static let indent = 4
  /// Narrower texts have lines of their own.
  private static let textWidthMin = 24

  /// The lines of help, broken between words.
  /// - Parameters:
  ///   - name: The command; nil for all.
  ///   - columns: The width of the terminal.
  /// - Returns: Nil if there is no such command.
  static func lines(of name: String?, columns: Int) -> [String]? {
    let shown = name.map { name in rows.filter { $0.names.contains(name) } } ?? rows
    guard !shown.isEmpty else { return nil }
    return shown.flatMap { row in
      guard columns >= syntaxWidth + textWidthMin else {
        return [row.syntax]
          + Fit.wrapped(row.text, max(1, columns - indent)).map {
            String(repeating: " ", count: indent) + $0
          }
      }
      return Fit.wrapped(row.text, columns - syntaxWidth).enumerated().map { index, text in
        Fit.column(index == 0 ? row.syntax : "", syntaxWidth) + text
      }
    }
  }
}
