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

  /// The width to which tables are fitted: that of the terminal on standard output; unlimited elsewhere.
  static var tableWidth: Int {
    isTerminal(STDOUT_FILENO) ? size.columns : .max
  }

  /// The number of columns of the terminal on which the program comments what it does.
  static var errorColumns: Int {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  private enum Mode {
    /// Lines, as for any program.
    case lines
    /// A line that the program edits, below earlier output.
    case editing
    case fullScreen
  }

  private struct Saved {
    var mode = Mode.lines
    /// Whether the program reads keys. Otherwise Ctrl-C and Ctrl-Z are signals.
    var readsKeys = false
    /// Whether the terminal was given back while the program is stopped.
    var isSuspended = false
    /// The settings before the terminal was taken.
    var settings: termios?
    /// The lines that are on the screen.
    var drawn: [String] = []
  }

  private static let saved = Mutex(Saved())

  /// Takes the whole screen, without cursor, and single key strokes without echo. If the program reads them, Ctrl-C
  /// and Ctrl-Z are keys, too, so that they come in order.
  static func enterFullScreen(readsKeys: Bool) { enter(.fullScreen, readsKeys: readsKeys) }

  /// Takes single key strokes without echo, on the screen as it is. Ctrl-C and Ctrl-Z are keys, too.
  static func beginEditing() { enter(.editing, readsKeys: true) }

  private static func enter(_ mode: Mode, readsKeys: Bool) {
    saved.withLock { saved in
      guard saved.mode == .lines else { return }
      var settings = termios()
      if isTerminal(STDIN_FILENO), tcgetattr(STDIN_FILENO, &settings) == 0 {
        saved.settings = settings
      }
      saved.mode = mode
      saved.readsKeys = readsKeys
      take(saved, isNew: true)
    }
  }

  /// How often `restore` tries to take the lock, and the microseconds between: half a second.
  private static let restoreTries = 100
  private static let restorePause: UInt32 = 5_000

  /// Gives the terminal back as it was. Does nothing if it was never taken, or if another thread is
  /// stuck writing to it.
  static func restore() {
    for _ in 0..<restoreTries {
      let isDone: Void? = saved.withLockIfAvailable { saved in
        if saved.mode != .lines, !saved.isSuspended { give(saved) }
        saved.mode = .lines
        saved.isSuspended = false
        saved.settings = nil
      }
      if isDone != nil { return }
      usleep(restorePause)
    }
  }

  /// Gives the terminal back until `resume`; meanwhile nothing is drawn. Does nothing if it was never
  /// taken.
  static func suspend() {
    saved.withLock { saved in
      guard saved.mode != .lines, !saved.isSuspended else { return }
      saved.isSuspended = true
      // In the background the terminal is the shell's already.
      if !isInBackground { give(saved) }
    }
  }

  /// Whether the terminal was given back for a while.
  static var isSuspended: Bool { saved.withLock { $0.isSuspended } }

  /// Takes the terminal again after another program used it; the caller has to draw all of it. Does
  /// nothing if it was never taken.
  static func resume() {
    saved.withLock { saved in
      if saved.mode != .lines { take(saved, isNew: saved.isSuspended) }
      saved.isSuspended = false
    }
  }

  /// Whether the terminal is another job's: then it must be left as it is.
  static var isInBackground: Bool {
    let foreground = tcgetpgrp(isTerminal(STDIN_FILENO) ? STDIN_FILENO : STDOUT_FILENO)
    return foreground >= 0 && foreground != getpgrp()
  }

  private static func take(_ saved: Saved, isNew: Bool) {
    if var settings = saved.settings {
      settings.c_lflag &= ~tcflag_t(saved.mode == .editing ? ECHO | ICANON | IEXTEN : ECHO | ICANON)
      if saved.readsKeys {
        // Signals would come beside the keys, and so before or after others than they were typed.
        let disabled = cc_t(0)  // _POSIX_VDISABLE
        withUnsafeMutableBytes(of: &settings.c_cc) { keys in
          keys[Int(VINTR)] = disabled
          keys[Int(VSUSP)] = disabled
        }
      }
      tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
    guard saved.mode == .fullScreen else { return }
    // Entering the alternate screen twice would overwrite the saved cursor.
    let entering = isNew ? "\u{1B}[?1049h" : ""
    Output.write(entering + "\u{1B}[?25l\u{1B}[2J", to: STDOUT_FILENO)
  }

  private static func give(_ saved: Saved) {
    if saved.mode == .fullScreen { Output.write("\u{1B}[?25h\u{1B}[?1049l", to: STDOUT_FILENO) }
    if var settings = saved.settings { tcsetattr(STDIN_FILENO, TCSANOW, &settings) }
  }

  /// Draws lines from the top left corner on, without flicker: only those that changed since the
  /// last time, in one piece where the terminal can.
  /// Draws nothing while the screen is not taken.
  static func draw(_ lines: [String], isAnew: Bool) {
    // Written under the lock, so that nothing comes onto a screen that was just given back.
    saved.withLock { saved in
      guard saved.mode == .fullScreen, !saved.isSuspended else { return }
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

  package init(isJSON: Bool) {
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
    if Terminal.isTerminal(STDOUT_FILENO), let above = Self.place.withLock({ $0 }) {
      return above { Self.write(text + "\n", to: STDOUT_FILENO) }
    }
    Self.write(text + "\n", to: STDOUT_FILENO)
  }

  /// Whether what is heard over the radio is simulated although no radio was named, or by a hub; then each
  /// object has `simulated`.
  static let isSimulated = Guarded(false)

  /// An object of the result, on its line.
  /// - Parameter isOfRadio: Whether it depends on the radio; false for what is on the network.
  package func object(_ object: JSON, isOfRadio: Bool = true) {
    let isMarked = isOfRadio && Self.isSimulated.value
    let mark = JSON.Member(key: "simulated", value: .bool(true))
    line((isMarked ? object.adding([mark]) : object).line)
  }

  /// Makes place for lines of the result while a line is typed.
  private static let place = Mutex<(@Sendable (() -> Void) -> Void)?>(nil)

  /// Prints all that follows above a line that is being typed; nil for where the cursor is.
  package static func print(above place: (@Sendable (() -> Void) -> Void)?) {
    Self.place.withLock { $0 = place }
    guard let place else { return handNotes(to: nil) }
    handNotes { text in place { write(text + "\n", to: STDERR_FILENO) } }
  }

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

  /// Writes an object about the command itself on standard error, on its line, so that standard
  /// output has the result only.
  func event(_ object: JSON) { remark(object.line) }

  /// Shows the current step, which replaces the previous one, on a terminal only. With `--verbose`, each step
  /// is a line with its time.
  func progress(_ text: String) {
    if LogLevel.isVerbose { return remark(Fit.safe(LogLevel.line(text))) }
    guard showsProgress else { return }
    Self.progressIsShown.withLock { isShown in
      isShown = true
      // Of a wrapped line, only the last row could be taken away.
      let fitted = Fit.truncated(Fit.safe(text), max(1, Terminal.errorColumns - 1))
      Self.write("\r\(errorStyle.dim(fitted))\u{1B}[K", to: STDERR_FILENO)
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
  /// is usual; if standard output cannot be written, it prints an error and ends (but see `outliveReaders`). A reader that takes
  /// nothing is waited for until a signal or the time limit ends the program, and then for a second; in a
  /// command that must go on, it is not waited for (`goOnWithoutReaders`).
  static func write(_ text: String, to descriptor: Int32) {
    write(Array(text.utf8), to: descriptor)
  }

  /// Writes all bytes; see `write(_:to:)`.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    if let backlog = backlogs.withLock({ $0[descriptor] }) { return backlog.add(bytes) }
    writeWaiting(bytes, to: descriptor)
  }

  private static func writeWaiting(_ bytes: [UInt8], to descriptor: Int32) {
    // Two writers could each find room for the same piece.
    let turn = descriptor == STDERR_FILENO ? errorTurn : outputTurn
    let code = turn.update { _ in writeAll(bytes[...], to: descriptor) }
    if code != 0, descriptor == STDOUT_FILENO, !outlivesReaders.value { quit(code) }
  }

  private static let outlivesReaders = Guarded(false)

  /// From now on the command goes on, too, where its reader is gone or its output can't be written.
  package static func outliveReaders() { outlivesReaders.update { $0 = true } }

  private static let outputTurn = Guarded(())
  private static let errorTurn = Guarded(())

  /// What a pipe with room takes at once (pipe(7), `PIPE_BUF`), so that no write blocks.
  private static let pieceByteCount = 4_096
  /// How often a writer that waits looks whether it still may, in milliseconds.
  private static let waitTime: Int32 = 50
  /// How long readers are waited for after a signal.
  private static let lastTime = Duration.seconds(1)

  /// Until when readers are waited for; nil: without a limit.
  private static let waitEnd = Mutex<ContinuousClock.Instant?>(nil)

  /// Waits for readers for a second from now on, all writers together.
  static func limitWaiting() {
    waitEnd.withLock { $0 = ContinuousClock.now + lastTime }
  }

  private static let limitTimer = Guarded<WakeTimer?>(nil)

  /// Calls `limitWaiting` when the time of `--timeout` is over, if there is one: a writer that waits can't be
  /// cancelled, and so would go on for ever. Only the first call counts.
  static func limitWaiting(after limit: Duration?) {
    guard let limit else { return }
    limitTimer.update { timer in
      guard timer == nil else { return }
      let new = WakeTimer()
      new.start { limitWaiting() }
      new.set(after: limit)
      timer = new
    }
  }

  private static let lost = Guarded(false)

  /// Whether a part of standard output was not written, because its reader was not waited for any more.
  package static var hasLostText: Bool { lost.value }

  private static let backlogs = Mutex<[Int32: OutputBacklog]>([:])

  /// From now on no writer waits for a reader: text that it doesn't take is kept for it, up to a bound.
  func goOnWithoutReaders() {
    let isJSON = isJSON
    let (output, errors) = (STDOUT_FILENO, STDERR_FILENO)
    let made = [
      output: OutputBacklog(write: { Self.writeWaiting($0, to: output) }) { count in
        guard isJSON else { return "… dropped lines: \(count)\n" }
        let object = JSON.object([
          "event": .string("dropped"), "time": .time(Date()), "count": .integer(Int64(count)),
        ])
        return object.line + "\n"
      },
      errors: OutputBacklog(write: { Self.writeWaiting($0, to: errors) }) { count in
        "… dropped lines: \(count)\n"
      },
    ]
    Self.backlogs.withLock { $0 = made }
  }

  /// Writes the text that was kept for readers; waits a second for those that take nothing.
  static func finishBacklogs() {
    let waiting = backlogs.withLock { Array($0.values) }
    guard !waiting.isEmpty else { return }
    if waitEnd.withLock({ $0 == nil }) { limitWaiting() }
    for backlog in waiting { backlog.finish() }
  }

  /// Waits for no reader any more.
  static func waitNoMore() {
    waitEnd.withLock { $0 = ContinuousClock.now }
  }

  private static var mayWait: Bool {
    waitEnd.withLock { end in end.map { ContinuousClock.now < $0 } ?? true }
  }

  /// The error code of write(2), 0 for none or where the reader is not waited for.
  private static func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int32 {
    var rest = bytes
    while !rest.isEmpty {
      var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard Glibc.poll(&poll, 1, mayWait ? waitTime : 0) > 0 else {
        if mayWait { continue }
        if descriptor == STDOUT_FILENO { lost.update { $0 = true } }
        return 0
      }
      let count = rest.prefix(pieceByteCount).withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR, errno != EAGAIN {
        return errno
      }
    }
    return 0
  }

  private static func quit(_ code: Int32) -> Never {
    // A terminal that is gone, or a pipe without a reader.
    guard code != EPIPE, code != EIO else { exit(ExitStatus.success.rawValue) }
    let reason = String(cString: strerror(code))
    write("ambit: standard output cannot be written: \(reason).\n", to: STDERR_FILENO)
    exit(ExitStatus.cannotCreate.rawValue)
  }
}
