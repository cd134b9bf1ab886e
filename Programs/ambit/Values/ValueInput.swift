package import BluetoothWire
import Essentials
package import PeripheralFiles

/// A value as people type it.
package struct ValueInput: Hashable, Sendable {
  var text: String
  /// The format of the text; nil for the standard's.
  var format: ValueFormat?

  /// Input without options, unless a format was chosen: hexadecimal after `0x`; text in quotes, as
  /// reads print it, or after the first of them.
  package init(typed text: String, format: ValueFormat? = nil) {
    if format == nil, text.hasPrefix("\"") {
      let rest = text.dropFirst()
      self.init(text: String(rest.hasSuffix("\"") ? rest.dropLast() : rest), format: .text)
    } else {
      self.init(text: text, format: format ?? (text.hasPrefix("0x") ? .hex : nil))
    }
  }

  package init(text: String, format: ValueFormat?) {
    self.text = text
    self.format = format
  }

  /// The bytes for a characteristic.
  /// - Parameter choice: Returns the option for a format, to mention in an error, by default one of
  ///   the command line; nil if there are no options.
  /// - Throws: `CommandFailure` with one sentence about the expected input.
  package func bytes(
    for uuid: BluetoothUUID, choice: ((ValueFormat) -> String)? = { "--\($0.rawValue)" }
  ) throws -> [UInt8] {
    let quoted = Fit.truncated(text, 40)
    if let format { return try format.bytes(text, choice: choice) }
    let hex = choice?(.hex) ?? "0x…"
    let name = AssignedNumbers.characteristicName(uuid) ?? uuid.description
    do throws(ValueTextError) {
      if let bytes = try StandardValue.bytes(text, of: uuid) { return bytes }
    } catch {
      throw CommandFailure(
        .badData,
        "\"\(quoted)\" is no \(name): expected \(error.expected); \(hex) takes bytes")
    }
    if let bytes = Hexadecimal.bytes(text), !bytes.isEmpty { return bytes }
    let way =
      choice.map { "use one of \(ValueFormat.allCases.map($0).joined(separator: ", "))" }
      ?? "\(hex) takes bytes, and \"…\" takes text"
    throw CommandFailure(
      .badData,
      "how values of \(name) are written is not known, and \"\(quoted)\" is not hexadecimal; "
        + way)
  }
}
