/// The line that is being typed: keys change it, bring earlier lines back, and complete words.
///
/// The keys are those of GNU Readline's default (Emacs) mode.
struct LineEditor: Sendable {
  /// What a key ended or requested.
  enum Outcome: Hashable, Sendable {
    /// Enter was pressed.
    case line(String)
    /// Ctrl-D on an empty line.
    case end
    /// The words that complete the line, to be listed above it.
    case candidates([String])
    case clearScreen
    /// Ctrl-C on an empty line.
    case interrupt
    /// Ctrl-Z.
    case stop
  }

  /// What a line of commands has room for.
  static let characterCountMax = 4_096

  /// What the line has room for; further characters are ignored.
  var characterCountMax = LineEditor.characterCountMax

  /// The characters of the line.
  private(set) var text: [Character] = []
  /// The number of characters before the cursor.
  private(set) var cursor = 0
  /// The earlier lines, the newest last.
  var history: [String] = []
  /// The words that fit the start of a line, which ends with the word to complete.
  var complete: @Sendable (_ start: String) -> Completion = { _ in Completion() }

  /// The place in the history that is shown; its end is the line that was typed.
  private var place: Int?
  private var typed: [Character] = []
  private var removed: [Character] = []
  private var listsCandidates = false

  /// How a word may go on.
  struct Completion: Hashable, Sendable {
    /// The number of characters of the word to complete, at the end of the line's start.
    var wordCharacterCount = 0
    /// Whole words to take its place.
    var candidates: [String] = []
  }

  /// Takes a key.
  mutating func press(_ key: Key) -> Outcome? {
    let isSecondTab = listsCandidates
    listsCandidates = false
    switch key {
    case .enter: return .line(takeLine())
    case .control("i"): return completeWord(lists: isSecondTab)
    case .control("l"): return .clearScreen
    case .control("c"): return clear() ? nil : .interrupt
    case .control("z"): return .stop
    // Linux hands out a Ctrl-D as NUL that came while a command ran, when the terminal edited lines itself.
    case .control("d") where text.isEmpty, .control("`") where text.isEmpty: return .end
    case .up: recall(-1)
    case .down: recall(1)
    default: edit(key)
    }
    return nil
  }

  /// Empties the line; returns whether it had text.
  mutating func clear() -> Bool {
    defer { (text, cursor, place, typed) = ([], 0, nil, []) }
    return !text.isEmpty
  }

  private mutating func takeLine() -> String {
    defer { _ = clear() }
    return String(text)
  }

  private mutating func edit(_ key: Key) {
    switch key {
    case .left, .control("b"): cursor = max(0, cursor - 1)
    case .right, .control("f"): cursor = min(text.count, cursor + 1)
    case .home, .control("a"): cursor = 0
    case .end, .control("e"): cursor = text.count
    case .wordLeft, .alt("b"): cursor = startOfWord()
    case .wordRight, .alt("f"): cursor = endOfWord()
    case .backspace: remove(max(0, cursor - 1)..<cursor, keeps: false)
    case .delete, .control("d"): remove(cursor..<min(text.count, cursor + 1), keeps: false)
    case .control("w"): remove(startOfWord()..<cursor)
    case .control("u"): remove(0..<cursor)
    case .control("k"): remove(cursor..<text.count)
    case .alt("d"): remove(cursor..<endOfWord())
    case .control("y"): insert(removed)
    case .control("t"): transpose()
    case .character(let character): insert([character])
    default: break
    }
  }

  private mutating func insert(_ characters: [Character]) {
    for character in characters {
      // A mark that combines with the character before it, as in decomposed text.
      if cursor > 0, case let both = String([text[cursor - 1], character]), both.count == 1 {
        text[cursor - 1] = Character(both)
      } else if text.count < characterCountMax {
        text.insert(character, at: cursor)
        cursor += 1
      }
    }
  }

  private mutating func remove(_ range: Range<Int>, keeps: Bool = true) {
    guard !range.isEmpty else { return }
    if keeps { removed = Array(text[range]) }
    text.removeSubrange(range)
    cursor = range.lowerBound
  }

  /// Exchanges the characters around the cursor, at the end of the line the last two.
  private mutating func transpose() {
    guard cursor > 0, text.count > 1 else { return }
    cursor = min(text.count, cursor + 1)
    text.swapAt(cursor - 2, cursor - 1)
  }

  private func startOfWord() -> Int {
    var index = cursor
    while index > 0, text[index - 1].isWhitespace { index -= 1 }
    while index > 0, !text[index - 1].isWhitespace { index -= 1 }
    return index
  }

  private func endOfWord() -> Int {
    var index = cursor
    while index < text.count, text[index].isWhitespace { index += 1 }
    while index < text.count, !text[index].isWhitespace { index += 1 }
    return index
  }

  /// Shows an earlier line, or a later one; the typed line comes after the newest.
  private mutating func recall(_ step: Int) {
    let now = place ?? history.count
    let next = now + step
    guard (0...history.count).contains(next) else { return }
    if now == history.count { typed = text }
    place = next
    text = next == history.count ? typed : Array(history[next])
    cursor = text.count
  }

  /// Completes the word before the cursor as far as all candidates agree.
  private mutating func completeWord(lists: Bool) -> Outcome? {
    let completion = complete(String(text[..<cursor]))
    let start = max(0, cursor - completion.wordCharacterCount)
    guard let first = completion.candidates.first else { return nil }
    if completion.candidates.count == 1 {
      replace(start, with: first + (cursor == text.count ? " " : ""))
      return nil
    }
    let common = completion.candidates.dropFirst().reduce(first, Self.commonStart)
    if common.count > cursor - start {
      replace(start, with: common)
      return nil
    }
    listsCandidates = true
    return lists ? .candidates(completion.candidates) : nil
  }

  private mutating func replace(_ start: Int, with word: String) {
    remove(start..<cursor, keeps: false)
    insert(Array(word))
  }

  /// What two words begin with, whatever their case, as the first one has it.
  private static func commonStart(_ first: String, _ second: String) -> String {
    String(
      zip(first, second).prefix { $0.lowercased() == $1.lowercased() }.map(\.0))
  }
}

// MARK: - On the terminal

extension LineEditor {
  /// The line as it is drawn at the left edge of the terminal.
  struct Drawing: Hashable, Sendable {
    /// The text, and the sequences that put the cursor into its place.
    var output: String
    /// The row of the cursor; the first is 0.
    var cursorRow: Int
  }

  /// Draws the line.
  ///
  /// - Parameters:
  ///   - prompt: The text before the line, with its style.
  ///   - promptWidth: The number of columns of the prompt.
  ///   - columns: The number of columns of the terminal.
  func drawing(prompt: String, promptWidth: Int, columns: Int) -> Drawing {
    var position = Position(columns: max(2, columns))
    for _ in 0..<promptWidth { position.advance(1) }
    let shown = text.map { Fit.safe(String($0)) }
    var place = position
    for (index, character) in shown.enumerated() {
      if index == cursor { place = position }
      position.advance(Fit.width(character))
    }
    if cursor == shown.count { place = position }
    var output = prompt + shown.joined()
    // A terminal stays in the last column until another character comes.
    if position.wrap() { output += " \r" }
    _ = place.wrap()
    let rows = position.row - place.row
    if rows > 0 { output += "\u{1B}[\(rows)A" }
    output += "\r" + (place.column > 0 ? "\u{1B}[\(place.column)C" : "")
    return Drawing(output: output, cursorRow: place.row)
  }

  private struct Position {
    var row = 0
    var column = 0
    let columns: Int

    init(columns: Int) { self.columns = columns }

    /// A character that doesn't fit in its row begins the next one.
    mutating func advance(_ width: Int) {
      if column + width > columns { (row, column) = (row + 1, 0) }
      column += width
    }

    /// Goes to the next row if this one is full; returns whether it is.
    mutating func wrap() -> Bool {
      guard column == columns else { return false }
      (row, column) = (row + 1, 0)
      return true
    }
  }
}
