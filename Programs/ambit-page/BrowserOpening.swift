import AmbitCLI
import Foundation

/// Opens addresses in the browser of the desktop.
enum BrowserOpening {
  private static let opener = "xdg-open"

  /// Whether there is a desktop to open anything in.
  static var isPossible: Bool {
    let environment = ProcessInfo.processInfo.environment
    return ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
  }

  /// Opens an address in the browser; prints a message if that fails.
  static func open(_ address: String, _ output: Output) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [opener, address]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    process.terminationHandler = { process in
      switch process.terminationStatus {
      case 0: break
      // What `env` ends with where there is no such program.
      case 127: output.warn("\(opener) is not installed, so the page is not opened")
      default:
        output.warn(
          "\(opener) has failed with status \(process.terminationStatus); the printed address opens "
            + "the page")
      }
    }
    guard isPossible, (try? process.run()) != nil else {
      output.warn("no desktop session, so the page is not opened")
      return
    }
  }
}
