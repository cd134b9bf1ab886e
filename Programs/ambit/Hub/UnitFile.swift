import Essentials

/// A file of a unit of systemd, with a first line that marks it as written by `ambit hub install` or
/// `ambit apps install`.
struct UnitFile: Hashable, Sendable {
  /// Its name, such as `ambit-hub.service`.
  var name: String
  /// Its content behind the first line.
  var body: String
  /// The command that writes it.
  var author = Command.hub

  enum Command: String, CaseIterable, Hashable, Sendable {
    case hub, apps
  }

  /// Its content.
  var text: String { Self.mark(of: body.utf8, author) + "\n" + body }

  /// The author of a file that exists.
  enum Author: Hashable, Sendable {
    /// One of the commands, and it is unchanged.
    case install
    /// One of the commands, and it was changed since.
    case changed
    /// Another program, or a person.
    case other
  }

  private static func markStart(_ command: Command) -> String {
    "# Written by \"ambit \(command.rawValue) install\". Unchanged, it has the checksum "
  }

  /// Finds the author of a file by its content.
  static func author(of content: [UInt8]) -> Author {
    let first = content.prefix { $0 != UInt8(ascii: "\n") }
    guard let command = Command.allCases.first(where: { first.starts(with: markStart($0).utf8) })
    else { return .other }
    let body = content.dropFirst(first.count + 1)
    return first.elementsEqual(mark(of: body, command).utf8) ? .install : .changed
  }

  /// The checksum detects changes, such as those of an administrator. It protects against none that are meant
  /// to be hidden: a user that may write the file may compute it, too.
  private static func mark(of body: some Sequence<UInt8>, _ command: Command) -> String {
    // FNV-1a of 64 bits.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in body { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    let digits = String(hash, radix: 16)
    return markStart(command) + String(repeating: "0", count: 16 - digits.count) + digits + "."
  }
}

/// Values in unit files of systemd (systemd.syntax(7), systemd.service(5)).
enum UnitText {
  /// An argument of a command line, such that the program gets exactly `text`: on one line, with quotation
  /// marks where it needs them, without variables and specifiers.
  static func argument(_ text: String) -> String { quoted(text, dollar: "$$") }

  /// The program of a command line, in which a dollar sign has no meaning.
  ///
  /// - Returns: Nil for a path that systemd refuses: with quotation marks, backslashes or control
  ///   characters, or not absolute.
  static func program(_ path: String) -> String? {
    let isAllowed = path.unicodeScalars.allSatisfy { scalar in
      scalar.value >= 0x20 && scalar.value != 0x7F && !["\"", "'", "\\"].contains(scalar)
    }
    guard path.hasPrefix("/"), isAllowed else { return nil }
    return quoted(path, dollar: "$")
  }

  private static func quoted(_ text: String, dollar: String) -> String {
    if text.isPlainWord { return text }
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "%": quoted += "%%"
      case "$": quoted += dollar
      default:
        quoted += isInvisible(scalar) ? escape(scalar) : String(scalar)
      }
    }
    return quoted + "\""
  }

  /// Whether a character could end a line, or be missed by a reader.
  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: true
    default: false
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    let count = scalar.value < 0x80 ? 2 : 8
    return (count == 2 ? "\\x" : "\\U") + String(repeating: "0", count: count - digits.count)
      + digits
  }
}

/// Words in the command line of a shell.
enum ShellText {
  /// A command line that a shell splits into exactly these words.
  static func command(_ words: [String]) -> String {
    words.map(word).joined(separator: " ")
  }

  private static func word(_ text: String) -> String {
    if text.isPlainWord { return text }
    return "'" + text.replacing("'", with: #"'\''"#) + "'"
  }
}

extension String {
  /// Whether it is a word without a character that shells or systemd interpret.
  fileprivate var isPlainWord: Bool {
    !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: "/._:=,@+-".utf8.contains(byte)
        }
      }
  }
}
