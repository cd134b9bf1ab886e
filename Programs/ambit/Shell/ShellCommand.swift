import PeripheralFiles

/// One line of a session, read.
enum ShellCommand: Hashable, Sendable {
  case nothing
  case services
  case inspect
  case read([String])
  case write(String, ValueInput, withoutResponse: Bool)
  case subscribe([String])
  case unsubscribe([String])
  case rssi
  case mtu
  case status
  case disconnect
  case reconnect
  case wait(Seconds)
  /// Of one command, or of all.
  case help(String?)
  case quit

  /// The names of all commands.
  static let names = [
    "connect", "disconnect", "help", "inspect", "mtu", "quit", "read", "reconnect", "rssi",
    "services", "status", "subscribe", "unsubscribe", "wait", "write",
  ]

  /// Parses a line.
  /// - Throws: `CommandFailure` with one sentence about the error.
  init(_ line: String) throws {
    let words = try Self.words(line)
    guard let name = words.first else {
      self = .nothing
      return
    }
    let rest = Array(words.dropFirst())
    let alone: [String: ShellCommand] = [
      "services": .services, "inspect": .inspect, "rssi": .rssi, "mtu": .mtu,
      "status": .status, "disconnect": .disconnect, "reconnect": .reconnect, "connect": .reconnect,
      "quit": .quit, "exit": .quit,
    ]
    if let command = alone[name] {
      guard rest.isEmpty else { throw CommandFailure(.usage, "\(name) takes no arguments") }
      self = command
      return
    }
    switch name {
    case "read", "subscribe":
      guard !rest.isEmpty else {
        throw CommandFailure(.usage, "\(name) takes a characteristic, or several")
      }
      self = name == "read" ? .read(rest) : .subscribe(rest)
    case "help", "?":
      guard rest.count < 2 else { throw CommandFailure(.usage, "help takes one command, or none") }
      self = .help(rest.first)
    case "unsubscribe": self = .unsubscribe(rest)
    case "write": self = try Self.write(rest)
    case "wait":
      guard rest.count == 1, let seconds = Seconds(rest[0]) else {
        throw CommandFailure(.usage, "wait takes a time like 5, 500ms or 2m")
      }
      self = .wait(seconds)
    default: throw CommandFailure(.usage, "unknown command \"\(name)\"; help lists the commands")
    }
  }

  private static func write(_ words: [String]) throws -> ShellCommand {
    var format: ValueFormat?
    var withoutResponse = false
    var values: [String] = []
    for word in words {
      if word == "--without-response" {
        withoutResponse = true
      } else if word.hasPrefix("--"), let named = ValueFormat(rawValue: String(word.dropFirst(2))) {
        format = named
      } else {
        values.append(word)
      }
    }
    guard values.count >= 2 else {
      throw CommandFailure(.usage, "write takes a characteristic and a value")
    }
    // A value of several words needs no quotes: everything behind the characteristic is the value.
    let text = values.dropFirst().joined(separator: " ")
    return .write(
      values[0], ValueInput(text: text, format: format), withoutResponse: withoutResponse)
  }

  /// The words of a line; quotes, single or double, keep blanks. A word that begins with # and all
  /// behind it is a remark.
  static func words(_ line: String) throws -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if character.isWhitespace {
        if let word { words.append(word) }
        word = nil
      } else if character == "#", word == nil {
        break
      } else {
        word = (word ?? "") + String(character)
      }
    }
    guard quote == nil else { throw CommandFailure(.usage, "a quote is not closed") }
    if let word { words.append(word) }
    return words
  }
}
