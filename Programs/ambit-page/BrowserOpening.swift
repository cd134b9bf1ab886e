import Foundation
import Synchronization

/// Opens addresses in the browser of the desktop.
final class BrowserOpening: Sendable {
  /// Whether there is a desktop to open anything in.
  static var isPossible: Bool {
    let environment = ProcessInfo.processInfo.environment
    return ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
  }

  private let opener: String
  private let patience: Double
  private let isPossible: Bool
  private let warn: @Sendable (String) -> Void
  /// Whether the opener has ended, or its failure was reported.
  private let isOver = Mutex(false)

  /// - Parameters:
  ///   - opener: The program that opens an address.
  ///   - patience: The seconds after which an opener that hasn't ended is reported. It may be a browser
  ///     itself, and is left alone.
  ///   - warn: Called once at most, on any thread, with a sentence without a full stop.
  init(
    opener: String = "xdg-open", patience: Double = 10,
    isPossible: Bool = BrowserOpening.isPossible,
    warn: @escaping @Sendable (String) -> Void
  ) {
    self.opener = opener
    self.patience = patience
    self.isPossible = isPossible
    self.warn = warn
  }

  /// Opens an address in the browser; warns with another one, which users can open, if that fails.
  ///
  /// - Parameter printed: The other one. Unlike the first it isn't only for this user, and the opener
  ///   hasn't used it up.
  func open(_ address: String, orAsk printed: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [opener, address]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.terminationHandler = { [self] process in
      guard end() else { return }
      switch (process.terminationReason, process.terminationStatus) {
      case (.exit, 0): break
      // The status of `env` where there is no such program.
      case (.exit, 127): warn("\(opener) is not installed: open \(printed) in a browser")
      case (.exit, let status):
        warn("\(opener) has failed with status \(status): open \(printed) in a browser")
      case (_, let signal):
        warn("\(opener) was ended by signal \(signal): open \(printed) in a browser")
      }
    }
    guard isPossible else {
      return warn("there is no desktop session: open \(printed) in a browser")
    }
    guard (try? process.run()) != nil else {
      return warn("\(opener) can't be started: open \(printed) in a browser")
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + patience) { [self] in
      guard end() else { return }
      warn(
        "\(opener) hasn't ended after \(Int(patience)) seconds: if no browser has opened, open "
          + printed)
    }
  }

  /// Whether this is the first end.
  private func end() -> Bool {
    isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
  }
}
