import BluetoothWire
import Essentials
import PeripheralFiles

/// A value as people type it.
struct ValueInput: Hashable, Sendable {
  var text: String
  /// How it is written; nil for as the standard says.
  var format: ValueFormat?

  /// The bytes for a characteristic.
  /// - Throws: `CommandFailure` with one sentence about what was expected.
  func bytes(for uuid: BluetoothUUID) throws -> [UInt8] {
    if let format { return try format.bytes(text) }
    let name = AssignedNumbers.characteristicName(uuid) ?? uuid.description
    do throws(ValueTextError) {
      if let bytes = try StandardValue.bytes(text, of: uuid) { return bytes }
    } catch {
      throw CommandFailure(
        .badData, "\"\(text)\" is no \(name): expected \(error.expected); --hex takes bytes")
    }
    if let bytes = Hexadecimal.bytes(text), !bytes.isEmpty { return bytes }
    let formats = ValueFormat.allCases.map { "--\($0.rawValue)" }.joined(separator: ", ")
    throw CommandFailure(
      .badData,
      "how values of \(name) are written is not known, and \"\(text)\" is not hexadecimal; "
        + "say it with one of \(formats)")
  }
}
