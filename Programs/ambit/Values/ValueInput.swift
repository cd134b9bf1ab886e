import BluetoothWire
import Essentials
import PeripheralFiles

/// A value as people type it.
struct ValueInput: Hashable, Sendable {
  var text: String
  /// How it is written; nil for as the standard says.
  var format: ValueFormat?

  /// What is typed where there are no options: hexadecimal after `0x`, unless a format was chosen.
  init(typed text: String, format: ValueFormat? = nil) {
    self.init(text: text, format: format ?? (text.hasPrefix("0x") ? .hex : nil))
  }

  init(text: String, format: ValueFormat?) {
    self.text = text
    self.format = format
  }

  /// The bytes for a characteristic.
  /// - Parameter choice: What people choose a format with, by default an option of the command line;
  ///   nil where they can't.
  /// - Throws: `CommandFailure` with one sentence about what was expected.
  func bytes(
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
      choice.map { "say it with one of \(ValueFormat.allCases.map($0).joined(separator: ", "))" }
      ?? "\(hex) takes bytes"
    throw CommandFailure(
      .badData,
      "how values of \(name) are written is not known, and \"\(quoted)\" is not hexadecimal; "
        + way)
  }
}
