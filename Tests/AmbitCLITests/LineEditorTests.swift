import Essentials
import Foundation
import Testing

@testable import AmbitCLI

@Suite("The line that is typed in a session")
struct LineEditorTests {
  /// An editor after these bytes of the terminal, and what they ended.
  private static func typed(
    _ text: String, history: [String] = [], words: [String] = []
  ) -> (editor: LineEditor, outcomes: [LineEditor.Outcome]) {
    var editor = LineEditor()
    editor.history = history
    editor.complete = { start in
      let word = start.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
      return LineEditor.Completion(
        wordCharacterCount: word.count, candidates: words.filter { $0.hasPrefix(word) })
    }
    var decoder = KeyDecoder()
    decoder.hasAlt = true
    var outcomes: [LineEditor.Outcome] = []
    for key in decoder.decode(Array(text.utf8)) {
      if let outcome = editor.press(key) { outcomes.append(outcome) }
    }
    return (editor, outcomes)
  }

  @Test(
    "keys change the line where the cursor is",
    arguments: [
      ("read\u{1B}[D\u{1B}[DX", "reXad"), ("abc\u{1}\u{1B}[3~", "bc"), ("abc\u{1}X\u{5}Y", "XabcY"),
      ("abc\u{7F}\u{8}", "a"), ("read 2A19\u{17}2A37", "read 2A37"), ("one two\u{15}x", "x"),
      ("one two\u{1B}[1;5D\u{B}", "one "), ("one two\u{1B}[1;5D\u{1B}[1;5D\u{B}", ""),
      ("one\u{17}\u{19}\u{19}", "oneone"), ("a\u{1B}[D\u{4}b", "b"), ("e\u{301}\u{7F}", ""),
      ("\u{1B}[C\u{1B}[D\u{7F}\u{1B}[3~\u{17}\u{15}\u{B}\u{19}", ""), ("ä€😀\u{1B}[D\u{7F}", "ä😀"),
    ])
  func keys(typed text: String, line: String) {
    #expect(Self.typed(text + "\r").outcomes == [.line(line)])
  }

  @Test(
    "keys with Alt go and delete by words, and one without meaning inserts nothing",
    arguments: [
      ("one two\u{1B}bX", "one Xtwo"), ("one two\u{1}\u{1B}fX", "oneX two"),
      ("one two\u{1}\u{1B}d", " two"), ("one two\u{1B}\u{7F}", "one "), ("a\u{1B}xb", "ab"),
      ("a\u{1B}äb", "ab"), ("ab\u{14}", "ba"), ("abc\u{1B}[D\u{14}d", "acbd"), ("a\u{14}", "a"),
    ])
  func keysWithAlt(typed text: String, line: String) {
    #expect(Self.typed(text + "\r").outcomes == [.line(line)])
  }

  @Test("an escape is a key of its own before a character, where none has Alt")
  func noAlt() {
    var decoder = KeyDecoder()
    #expect(decoder.decode(Array("\u{1B}q".utf8)) == [.escape, .character("q")])
  }

  @Test(
    "Ctrl-C and Ctrl-Z are keys in their order: a line with text is emptied, and what follows stays"
  )
  func interruptAndStop() {
    #expect(Self.typed("read 2A19\u{3}\r").outcomes == [.line("")])
    #expect(Self.typed("abc\u{3}mtu\r").outcomes == [.line("mtu")])
    #expect(String(Self.typed("abc\u{3}mtu").editor.text) == "mtu")
    #expect(Self.typed("a\u{3}\u{3}b").outcomes == [.interrupt])
    let stopped = Self.typed("ab\u{1A}c")
    #expect(stopped.outcomes == [.stop] && String(stopped.editor.text) == "abc")
  }

  @Test("NUL, which Linux makes of a Ctrl-D between two lines, ends an empty line as well")
  func endBetweenLines() {
    #expect(Self.typed("\0").outcomes == [.end])
    #expect(Self.typed("a\0\r").outcomes == [.line("a")])
  }

  @Test("Ctrl-D ends the input on an empty line only")
  func end() {
    #expect(Self.typed("a\u{4}\u{7F}\u{4}").outcomes == [.end])
  }

  @Test("the arrow keys bring earlier lines back, and the typed one after them")
  func history() {
    let lines = ["first", "second"]
    #expect(Self.typed("\u{1B}[A\u{1B}[A\u{1B}[A\r", history: lines).outcomes == [.line("first")])
    #expect(
      Self.typed("typed\u{1B}[A\u{1B}[B!\u{1B}[B\r", history: lines).outcomes == [.line("typed!")])
    let changed = Self.typed("\u{1B}[A!\r\u{1B}[A\r", history: lines)
    #expect(changed.outcomes == [.line("second!"), .line("second")])
  }

  @Test("Tab completes as far as all words agree, and then lists them")
  func completion() {
    let words = ["subscribe", "services", "status"]
    #expect(Self.typed("sub\t2A19\r", words: words).outcomes == [.line("subscribe 2A19")])
    #expect(Self.typed("s\t\r", words: words).outcomes == [.line("s")])
    #expect(Self.typed("s\t\t", words: words).outcomes == [.candidates(words)])
    #expect(Self.typed("s\tt\t\r", words: words).outcomes == [.line("status ")])
    #expect(Self.typed("x\t\t\r", words: words).outcomes == [.line("x")])
    #expect(Self.typed("r\t\t\r", words: ["readA", "readB"]).outcomes == [.line("read")])
  }

  @Test(
    "commands and characteristics are completed, with quotes where they have blanks",
    arguments: [
      ("re", 2, ["read", "reconnect"]),
      ("read Bat", 3, ["\"Battery Level\"", "\"Battery State\""]),
      ("read \"battery l", 10, ["\"Battery Level\""]), ("subscribe x 2a", 2, ["2A19"]),
      ("wait 2", 1, []), ("read ", 0, ["\"Battery Level\"", "\"Battery State\"", "MTU"]),
      ("", 0, ShellCommand.names), ("read M", 1, ["MTU"]),
    ])
  func words(start: String, count: Int, candidates: [String]) {
    let completion = ShellCompletion.complete(
      start, names: ["Battery Level", "Battery State", "MTU"], uuids: ["2A19"])
    #expect(completion.wordCharacterCount == count)
    #expect(completion.candidates == candidates)
  }

  @Test(
    arguments: [
      ("read 180f/", ["180f/2A19", "\"180f/Battery Level\""]), ("read 180F/2", ["180F/2A19"]),
      ("write \"Battery Service/b", ["\"Battery Service/Battery Level\""]), ("read 1800/", []),
      ("read /", []), ("device 180F/", []),
    ])
  func `After a service and a slash, Tab completes the characteristics of that service`(
    start: String, candidates: [String]
  ) {
    let services = [
      ShellCompletion.Service(
        words: ["Battery Service", "180F"], characteristics: ["Battery Level", "2A19"]),
      ShellCompletion.Service(words: ["180D"], characteristics: ["2A37"]),
    ]
    let completion = ShellCompletion.complete(
      start, names: ["Battery Level"], uuids: ["2A19", "2A37"], services: services)
    #expect(completion.candidates == candidates)
  }

  @Test("every command that can be completed is one")
  func names() throws {
    for name in ShellCommand.names {
      do {
        _ = try ShellCommand(name)
      } catch let failure as CommandFailure {
        #expect(!failure.sentence.contains("unknown command"), "\(name)")
      }
    }
  }

  @Test(
    "the cursor is drawn at its place, in rows of wide characters too",
    arguments: [
      ("abc", 80, 0, "\r\u{1B}[5C"), ("abc\u{1B}[D", 80, 0, "\r\u{1B}[4C"),
      // The prompt and eight characters fill a row exactly.
      ("12345678", 10, 1, " \r\r"), ("123456789", 10, 1, "\r\u{1B}[1C"),
      ("12345678901\u{1}", 10, 0, "\u{1B}[1A\r\u{1B}[2C"),
      // A wide character that doesn't fit in the last column is in the next row.
      ("1234567日", 10, 1, "\r\u{1B}[2C"),
    ])
  func drawing(typed text: String, columns: Int, row: Int, end: String) {
    let drawing = Self.typed(text).editor.drawing(prompt: "> ", promptWidth: 2, columns: columns)
    #expect(drawing.cursorRow == row)
    #expect(drawing.output.hasSuffix(end), "\(drawing.output.debugDescription)")
  }

  @Test("any keys leave the cursor within the line, and the line within its bound")
  func noise() {
    var random = SeededGenerator(seed: 5)
    var editor = LineEditor()
    editor.history = ["one", "two words", ""]
    editor.complete = { _ in
      LineEditor.Completion(wordCharacterCount: 90, candidates: ["aé", "aè"])
    }
    let keys: [Key] = [
      .up, .down, .left, .right, .wordLeft, .wordRight, .home, .end, .backspace, .delete, .enter,
      .control("w"), .control("k"), .control("u"), .control("y"), .control("i"), .control("z"),
      .character("a"), .character("\u{301}"), .character(" "), .character("日"), .pageUp, .escape,
    ]
    for _ in 0..<20_000 {
      let key = keys[Int.random(in: 0..<keys.count, using: &random)]
      _ = editor.press(key)
      guard (0...editor.text.count).contains(editor.cursor) else {
        Issue.record("\(key) put the cursor to \(editor.cursor) of \(editor.text.count)")
        return
      }
      _ = editor.drawing(
        prompt: "> ", promptWidth: 2, columns: Int.random(in: 0..<9, using: &random))
    }
    _ = editor.press(.control("u"))
    for _ in 0..<2 * LineEditor.characterCountMax { _ = editor.press(.character("x")) }
    #expect(editor.text.count <= LineEditor.characterCountMax)
  }

  @Test("commands of several sessions are kept, the newest, each once")
  func kept() throws {
    let folder = try TestFolder()
    let path = folder.path + "/new/shell-history"
    try ShellHistory(path: path).add("read 2A19")
    try ShellHistory(path: path).add("subscribe é")
    try ShellHistory(path: path).add("read 2A19")
    #expect(ShellHistory(path: path).load() == ["subscribe é", "read 2A19"])
    let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(permissions as? Int == 0o600)
  }

  @Test("a full history loses its oldest command, and one that is no text begins anew")
  func full() throws {
    let folder = try TestFolder()
    let lines = (0..<ShellHistory.lineCountMax).map { "wait \($0)" }
    let path = try folder.file("shell-history", lines.map { $0 + "\n" }.joined())
    #expect(chmod(path, 0o600) == 0)
    try ShellHistory(path: path).add("quit")
    #expect(ShellHistory(path: path).load() == lines.dropFirst() + ["quit"])
    try Data([0xFF, 0xFE]).write(to: URL(filePath: path))
    #expect(ShellHistory(path: path).load() == [])
    try ShellHistory(path: path).add("rssi")
    #expect(ShellHistory(path: path).load() == ["rssi"])
  }
}
