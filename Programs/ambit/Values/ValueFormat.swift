public import ArgumentParser
import Essentials
public import PeripheralFiles

extension ValueFormat: EnumerableFlag {
  /// What the help says of each.
  public static func help(for value: ValueFormat) -> ArgumentHelp? {
    switch value {
    case .hex: "The value is bytes in hexadecimal."
    case .text: "The value is UTF-8 text."
    case .uint8, .uint16, .uint32: "The value is a whole number, sent little-endian."
    case .int8, .int16, .int32: "The value is a signed whole number, sent little-endian."
    }
  }

  /// The bytes that `text` stands for.
  /// - Throws: `CommandFailure` with one sentence about what was expected.
  func bytes(_ text: String) throws -> [UInt8] {
    switch self {
    case .text: return Array(text.utf8)
    case .hex:
      guard let bytes = Hexadecimal.bytes(text) else {
        throw CommandFailure(
          .badData,
          "\"\(text)\" is not hexadecimal; digits come in pairs, as in 01ff, "
            + "and --text sends text")
      }
      return bytes
    case .uint8, .uint16, .uint32, .int8, .int16, .int32:
      guard let number = Self.number(text), let bytes = bytes(number) else {
        throw CommandFailure(
          .badData,
          "\"\(text)\" is not a whole number from \(range.lowerBound) to "
            + "\(range.upperBound), which --\(rawValue) takes")
      }
      return bytes
    }
  }

  /// Decimal, or hexadecimal after `0x`.
  private static func number(_ text: String) -> Int64? {
    if text.lowercased().hasPrefix("0x") { return Int64(text.dropFirst(2), radix: 16) }
    return Int64(text)
  }
}
