import StateFiles

/// The commands of earlier sessions, in `ambit/shell-history` beside the bonds. Several sessions add to it.
struct ShellHistory: Sendable {
  /// How many commands are kept, the newest.
  static let lineCountMax = 1_000

  private let file: StateFile

  /// The user's history.
  /// - Returns: Nil if neither `XDG_STATE_HOME` nor `HOME` names a folder.
  init?(_ environment: (String) -> String?) {
    guard let path = StateFile.path(of: "shell-history", environment) else { return nil }
    self.init(path: path)
  }

  init(path: String) {
    file = StateFile(
      path: path, byteCountMax: Self.lineCountMax * LineEditor.characterCountMax * 4)
  }

  /// The commands, the oldest first; none if the file can't be read.
  func load() -> [String] { (try? file.read(Self.lines)) ?? [] }

  /// Adds a command. Waits for the disk.
  /// - Throws: What prevents the file from being written.
  func add(_ line: String) throws(StateFileError) {
    try file.change(replacingDamaged: true, Self.lines) { lines in
      let lines = (lines ?? []).filter { $0 != line } + [line]
      return Array(lines.suffix(Self.lineCountMax).map { $0 + "\n" }.joined().utf8)
    }
  }

  private static func lines(_ bytes: [UInt8]) throws(StateFileDecodingError) -> [String] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .damaged("it is not text")
    }
    return text.split(separator: "\n").map(String.init)
  }
}
