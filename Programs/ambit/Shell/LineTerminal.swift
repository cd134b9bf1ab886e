import Essentials
import Glibc

/// Reads lines from the terminal, with a line editor. What the program prints meanwhile goes above the line, which
/// stays as it is typed.
final class LineTerminal: Sendable {
  private struct State {
    var editor = LineEditor()
    var decoder = KeyDecoder()
    /// The keys behind the end of a line, of text that was pasted.
    var keys: [Key] = []
    var prompt = ""
    var isReading = false
    /// Whether the line was left where it is, because the program stops: it is drawn anew below.
    var isLeft = false
    /// Whether a line was read.
    var hasRead = false
    /// The row of the cursor within the drawn lines.
    var cursorRow = 0
  }

  /// The bytes of a key's sequence follow each other faster, over slow lines too.
  private static let escapeMilliseconds: Int32 = 60

  private let state = Guarded(State())
  private let promptWidth: Int

  /// - Parameters:
  ///   - prompt: The text before each line, with its style.
  ///   - promptWidth: The number of columns of the prompt.
  ///   - history: The earlier lines, the newest last.
  ///   - complete: The words that fit; called while a line is edited.
  init(
    prompt: String, promptWidth: Int, history: [String],
    characterCountMax: Int = LineEditor.characterCountMax,
    complete: @escaping @Sendable (String) -> LineEditor.Completion
  ) {
    self.promptWidth = promptWidth
    state.update { state in
      state.prompt = prompt
      state.decoder.hasAlt = true
      state.editor.history = history
      state.editor.characterCountMax = characterCountMax
      state.editor.complete = complete
    }
  }

  /// Reads a line; nil at the end of the input. Waits; one caller at a time.
  func readLine() -> String? {
    Terminal.beginEditing()
    state.update { state in
      state.isReading = true
      draw(&state)
    }
    while true {
      let outcome: LineEditor.Outcome? = state.update { state in
        let outcome = handleKeys(&state)
        switch outcome {
        case .line, .end: (state.isReading, state.hasRead) = (false, true)
        default: break
        }
        return outcome
      }
      switch outcome {
      case .line(let line):
        Terminal.restore()
        return line
      case .end:
        Terminal.restore()
        return nil
      case .stop:
        Interrupts.shared.stopByKey()
        continue
      case .interrupt: Interrupts.shared.interruptByKey()
      case .candidates, .clearScreen, nil: break
      }
      switch readBytes() {
      case .some(let bytes):
        state.update { state in
          state.keys += bytes.isEmpty ? state.decoder.flush() : state.decoder.decode(bytes)
        }
      case nil:
        state.update { $0.isReading = false }
        Terminal.restore()
        return nil
      }
    }
  }

  /// Runs a body that prints; the line moves below what it prints. Not from within such a body.
  func above(_ body: () -> Void) {
    state.update { state in
      guard state.isReading, !state.isLeft else { return body() }
      erase(&state)
      body()
      draw(&state)
    }
  }

  /// Draws the line again, on a terminal that changed its size or was used by another program.
  func redraw() {
    state.update { state in
      guard state.isReading, !Terminal.isInBackground else { return }
      if state.isLeft {
        state.isLeft = false
        return draw(&state)
      }
      // Most terminals break long lines anew when they get narrower or wider.
      state.cursorRow = drawing(state.editor, state).cursorRow
      erase(&state)
      draw(&state)
    }
  }

  /// Takes an interrupt that is no key, while no command runs: empties the line.
  /// - Returns: Whether it is done. Between two lines it was for a command that has just ended.
  func interrupt() -> Bool {
    state.update { state in
      guard state.isReading else { return state.hasRead }
      erase(&state)
      defer { draw(&state) }
      return state.editor.clear()
    }
  }

  /// Whether a Ctrl-C came with the end of the last line, which is for its command. As everywhere in terminals, it takes
  /// away the keys ahead of it.
  func takeInterrupt() -> Bool {
    state.update { state in
      guard let last = state.keys.lastIndex(of: .control("c")) else { return false }
      state.keys.removeFirst(last + 1)
      return true
    }
  }

  /// Adds a line to those that the arrow keys bring back.
  func remember(_ line: String) {
    state.update { state in
      if state.editor.history.last != line { state.editor.history.append(line) }
    }
  }

  /// Takes the line away, and gives the terminal back. Its text is lost.
  func finish() {
    state.update { state in
      guard state.isReading else { return }
      state.isReading = false
      erase(&state)
    }
    Terminal.restore()
  }

  /// Waits for bytes of the terminal; none after a pause in which a key's sequence may have gone on, nil at the end.
  private func readBytes() -> [UInt8]? {
    while true {
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      let isPending = state.value.decoder.isPending
      switch poll(&input, 1, isPending ? Self.escapeMilliseconds : -1) {
      case 0: return []
      case ..<0:
        guard errno == EINTR else { return nil }
        continue
      default: break
      }
      var bytes = [UInt8](repeating: 0, count: 1_024)
      let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
      if count > 0 { return Array(bytes.prefix(count)) }
      guard count < 0, errno == EINTR || errno == EAGAIN else { return nil }
    }
  }

  /// Handles keys up to one that the reader has to handle: the end of a line or of the input, an interrupt or a stop.
  private func handleKeys(_ state: inout State) -> LineEditor.Outcome? {
    guard !state.keys.isEmpty else { return nil }
    var rest = state.keys[...]
    defer { state.keys = Array(rest) }
    erase(&state)
    while let key = rest.popFirst() {
      let before = state.editor
      let outcome = state.editor.press(key)
      switch outcome {
      case nil: break
      case .line, .end:
        // The line stays on the screen.
        finish(before, &state)
        return outcome
      case .stop:
        finish(before, &state)
        state.isLeft = true
        return outcome
      case .interrupt:
        // The session ends: nothing behind it is for this program.
        rest = []
        draw(&state)
        return outcome
      case .clearScreen: Output.write("\u{1B}[H\u{1B}[2J", to: STDERR_FILENO)
      case .candidates(let words): list(words)
      }
    }
    draw(&state)
    return nil
  }

  private func finish(_ editor: LineEditor, _ state: inout State) {
    var editor = editor
    _ = editor.press(.end)
    Output.write(drawing(editor, state).output + "\r\n", to: STDERR_FILENO)
    state.cursorRow = 0
  }

  /// The longest list that Tab shows.
  private static let listedCountMax = 100

  private func list(_ words: [String]) {
    let columns = Terminal.errorColumns
    let shown = words.prefix(Self.listedCountMax).map(Fit.safe)
    let width = min(columns, (shown.map(Fit.width).max() ?? 0) + 2)
    let perRow = max(1, columns / max(1, width))
    for start in stride(from: 0, to: shown.count, by: perRow) {
      let row = shown[start..<min(shown.count, start + perRow)]
      let text = perRow == 1 ? row.joined() : row.map { Fit.column($0, width) }.joined()
      Output.write(text + "\r\n", to: STDERR_FILENO)
    }
    let rest = words.count - shown.count
    if rest > 0 { Output.write("and \(rest) more\r\n", to: STDERR_FILENO) }
  }

  // MARK: Drawing

  private func drawing(_ editor: LineEditor, _ state: State) -> LineEditor.Drawing {
    editor.drawing(
      prompt: state.prompt, promptWidth: promptWidth, columns: Terminal.errorColumns)
  }

  private func draw(_ state: inout State) {
    let drawing = drawing(state.editor, state)
    Output.write(drawing.output, to: STDERR_FILENO)
    state.cursorRow = drawing.cursorRow
  }

  /// Takes the drawn lines away; the cursor is where it began.
  private func erase(_ state: inout State) {
    let up = state.cursorRow > 0 ? "\u{1B}[\(state.cursorRow)A" : ""
    Output.write("\r\(up)\u{1B}[J", to: STDERR_FILENO)
    state.cursorRow = 0
  }
}
