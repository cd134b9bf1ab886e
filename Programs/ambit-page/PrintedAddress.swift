import AmbitCLI
import Foundation
import JSONWire

/// Prints addresses of the page.
enum PrintedAddress {
  /// Prints an address that admits a browser.
  ///
  /// - Parameter event: The event of its object, for `--json`.
  static func tell(_ address: String, as event: String = "listening", _ output: Output) {
    if output.isJSON {
      output.object(
        .object(["event": .string(event), "address": .string(address)]),
        isOfRadio: event != "invited")
    } else {
      let columns = isatty(STDOUT_FILENO) == 1 ? terminalColumns : 0
      for line in lines(for: address, columns: columns) { output.line(line) }
    }
  }

  /// The lines that are printed of an address: for other machines also as a QR code, which a phone's camera
  /// reads.
  ///
  /// - Parameter columns: The width of the terminal; 0 without a terminal.
  static func lines(for address: String, columns: Int) -> [String] {
    let line = "Open \(address)"
    let host = URL(string: address)?.host() ?? ""
    guard !["localhost", "::1"].contains(host), !host.hasPrefix("127."),
      let code = QRCode(address), code.columnCount <= columns
    else { return [line] }
    return [line] + code.lines
  }

  private static var terminalColumns: Int {
    var size = winsize()
    return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 ? Int(size.ws_col) : 0
  }
}
