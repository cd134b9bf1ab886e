import Essentials
import Glibc

/// Lines that a person types, with a line editor where standard input and standard error are a terminal. What the
/// program prints meanwhile goes above the line.
package final class TypedLines: Sendable {
  private let terminal: LineTerminal?
  private let reader: LineReader

  /// - Parameter characterCountMax: What a line has room for. Without the editor it has no bound.
  package init(characterCountMax: Int) {
    let isTerminal = [STDIN_FILENO, STDERR_FILENO].allSatisfy { Terminal.isTerminal($0) }
    let terminal =
      isTerminal
      ? LineTerminal(
        prompt: "> ", promptWidth: 2, history: [], characterCountMax: characterCountMax
      ) { _ in LineEditor.Completion() } : nil
    self.terminal = terminal
    reader = LineReader { terminal.map { $0.readLine() } ?? Swift.readLine() }
    guard let terminal else { return }
    Output.print { body in terminal.above(body) }
    Interrupts.shared.onRedraw { terminal.redraw() }
  }

  /// The next line; nil at the end of the input.
  package func next() async -> String? {
    let line = await reader.next()
    if let line, !line.isEmpty { terminal?.remember(line) }
    return line
  }

  /// Gives the terminal back.
  package func finish() {
    guard let terminal else { return }
    Interrupts.shared.onRedraw {}
    Output.print(above: nil)
    terminal.finish()
  }
}
