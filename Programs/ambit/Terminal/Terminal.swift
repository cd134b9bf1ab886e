import Essentials
import Foundation
import Glibc
package import JSONWire
import Synchronization

/// The terminal that the program runs in, if it runs in one.
enum Terminal {
  /// Whether a file descriptor is a terminal.
  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// How large the terminal is now.
  static var size: NearbyScreen.Size {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return .unknown }
    return NearbyScreen.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  private enum Mode {
    /// Lines, as for any program.
    case lines
    case fullScreen
    /// The screen was given back while the program is stopped.
    case suspended
  }

  private struct Saved {
    var mode = Mode.lines
    /// The settings before the screen was taken.
    var settings: termios?
    /// The lines that are on the screen.
    var drawn: [String] = []
  }

  private static let saved = Mutex(Saved())

  /// Takes the whole screen, without cursor, and single key strokes without echo. Ctrl-C still
  /// interrupts, Ctrl-Z still stops.
  static func enterFullScreen() {
    saved.withLock { saved in
      guard saved.mode == .lines else { return }
      var settings = termios()
      if isTerminal(STDIN_FILENO), tcgetattr(STDIN_FILENO, &settings) == 0 {
        saved.settings = settings
      }
      take(&saved)
    }
  }

  /// Gives the screen back as it was. Does nothing if it was never taken.
  static func restore() {
    saved.withLock { saved in
      if saved.mode == .fullScreen { give(saved) }
      saved.mode = .lines
      saved.settings = nil
    }
  }

  /// Gives the screen back until `resume`; meanwhile nothing is drawn. Does nothing if it was never
  /// taken.
  static func suspend() {
    saved.withLock { saved in
      guard saved.mode == .fullScreen else { return }
      saved.mode = .suspended
      // In the background the terminal is the shell's already.
      if !isInBackground { give(saved) }
    }
  }

  /// Whether the screen was given back for a while.
  static var isSuspended: Bool { saved.withLock { $0.mode == .suspended } }

  /// Takes the screen again after another program used it; the caller has to draw all of it. Does
  /// nothing if it was never taken.
  static func resume() {
    saved.withLock { saved in
      if saved.mode != .lines { take(&saved) }
    }
  }

  /// Whether the terminal is another job's: then it must be left as it is.
  static var isInBackground: Bool {
    let foreground = tcgetpgrp(isTerminal(STDIN_FILENO) ? STDIN_FILENO : STDOUT_FILENO)
    return foreground >= 0 && foreground != getpgrp()
  }

  private static func take(_ saved: inout Saved) {
    if var settings = saved.settings {
      settings.c_lflag &= ~tcflag_t(ECHO | ICANON)
      tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
    // Entering the alternate screen twice would overwrite the saved cursor.
    let entering = saved.mode == .fullScreen ? "" : "\u{1B}[?1049h"
    Output.write(entering + "\u{1B}[?25l\u{1B}[2J", to: STDOUT_FILENO)
    saved.mode = .fullScreen
  }

  private static func give(_ saved: Saved) {
    Output.write("\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO)
    if var settings = saved.settings { tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
  }

  /// Draws lines from the top left corner on, without flicker: only those that changed since the
  /// last time, in one piece where the terminal can.
  /// Draws nothing while the screen is not taken.
  static func draw(_ lines: [String], isAnew: Bool) {
    // Written under the lock, so that nothing comes onto a screen that was just given back.
    saved.withLock { saved in
      guard saved.mode == .fullScreen else { return }
      let known = isAnew ? [] : saved.drawn
      saved.drawn = lines
      var body = ""
      for (index, line) in lines.enumerated() where known[safe: index] != line {
        body += "\u{1B}[\(index + 1);1H\(line)\u{1B}[K"
      }
      let rest = known.count == lines.count ? "" : "\u{1B}[\(lines.count + 1);1H\u{1B}[J"
      let clearing = isAnew ? "\u{1B}[2J" : rest
      guard !body.isEmpty || !clearing.isEmpty else { return }
      Output.write("\u{1B}[?2026h\(clearing)\(body)\u{1B}[?2026l", to: STDOUT_FILENO)
    }
  }
}

/// Where results, progress and complaints go.
package struct Output: Sendable {
  var style: Style
  var errorStyle: Style
  /// One JSON object per line instead of text.
  package var isJSON: Bool
  /// How much of a long value is shown beside others: all of it where no person reads.
  let valueByteCountMax: Int
  /// Whether progress is shown on standard error.
  var showsProgress: Bool
  private static let progressIsShown = Mutex(false)

  init(isJSON: Bool) {
    let environment = ProcessInfo.processInfo.environment
    style =
      isJSON
      ? .plain
      : Style(isTerminal: Terminal.isTerminal(STDOUT_FILENO), environment: environment)
    valueByteCountMax = Terminal.isTerminal(STDOUT_FILENO) ? 24 : .max
    let errorsOnTerminal = Terminal.isTerminal(STDERR_FILENO)
    errorStyle = Style(isTerminal: errorsOnTerminal, environment: environment)
    showsProgress = errorsOnTerminal && environment["TERM"] != "dumb"
    self.isJSON = isJSON
  }

  /// A line of the result.
  package func line(_ text: String) {
    clearProgress()
    Self.write(text + "\n", to: STDOUT_FILENO)
  }

  /// An object of the result, on its line.
  package func object(_ object: JSON) { line(object.line) }

  /// The receiver of remarks while a view owns the screen.
  private static let screen = Mutex<(@Sendable (String) -> Void)?>(nil)

  /// Sets the receiver of remarks while a view owns the screen; nil for standard error.
  package static func handNotes(to show: (@Sendable (String) -> Void)?) {
    screen.withLock { $0 = show }
  }

  /// Prints a remark on standard error, or passes it to the view that owns the screen.
  /// - Parameters:
  ///   - text: The text for standard error.
  ///   - plain: The text for a screen, if it is different.
  package func note(_ text: String, plain: String? = nil) {
    if let show = Self.screen.withLock({ $0 }) { return show(plain ?? text) }
    remark(text)
  }

  /// Prints a remark on standard error, also while a view owns the screen.
  package func remark(_ text: String) {
    clearProgress()
    Self.write(text + "\n", to: STDERR_FILENO)
  }

  /// Shows the current step, which replaces the previous one. Only on a terminal.
  func progress(_ text: String) {
    guard showsProgress else { return }
    Self.progressIsShown.withLock { isShown in
      isShown = true
      Self.write("\r\(errorStyle.dim(Fit.safe(text)))\u{1B}[K", to: STDERR_FILENO)
    }
  }

  /// Takes the progress line away.
  func clearProgress() {
    guard showsProgress else { return }
    Self.progressIsShown.withLock { isShown in
      if isShown { Self.write("\r\u{1B}[K", to: STDERR_FILENO) }
      isShown = false
    }
  }

  /// Writes everything. If the reader is gone (`ambit scan | head`), the program ends silently, as
  /// is usual; if standard output cannot be written, it prints an error and ends.
  static func write(_ text: String, to descriptor: Int32) {
    write(Array(text.utf8), to: descriptor)
  }

  /// Writes all bytes; see `write(_:to:)`.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count > 0 {
        written += count
      } else if errno == EAGAIN {
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = Glibc.poll(&poll, 1, 1000)
      } else if errno != EINTR {
        if descriptor == STDOUT_FILENO { quit(errno) }
        return
      }
    }
  }

  private static func quit(_ code: Int32) -> Never {
    // A terminal that is gone, or a pipe without a reader.
    guard code != EPIPE, code != EIO else { exit(ExitStatus.success.rawValue) }
    let reason = String(cString: strerror(code))
    write("ambit: standard output cannot be written: \(reason).\n", to: STDERR_FILENO)
    exit(ExitStatus.cannotCreate.rawValue)
  }
}
