import ArgumentParser
import Essentials

/// How a value is written on the command line and in a peripheral file.
enum ValueFormat: String, EnumerableFlag, Sendable {
  case hex
  case text
  case uint8
  case uint16
  case uint32
  case int8
  case int16
  case int32

  static func help(for value: ValueFormat) -> ArgumentHelp? {
    switch value {
    case .hex: "The value is bytes in hexadecimal (the default)."
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

  /// The bytes of a number; nil where it doesn't fit, or the format isn't numeric.
  func bytes(_ number: Int64) -> [UInt8]? {
    guard byteCount > 0, range.contains(number) else { return nil }
    var writer = ByteWriter(capacity: 4)
    writer.littleEndian(UInt64(bitPattern: number), count: byteCount)
    return writer.bytes
  }

  /// The numbers that fit.
  var range: ClosedRange<Int64> {
    switch self {
    case .hex, .text: 0...0
    case .uint8: 0...0xFF
    case .uint16: 0...0xFFFF
    case .uint32: 0...0xFFFF_FFFF
    case .int8: -0x80...0x7F
    case .int16: -0x8000...0x7FFF
    case .int32: -0x8000_0000...0x7FFF_FFFF
    }
  }

  private var byteCount: Int {
    switch self {
    case .hex, .text: 0
    case .uint8, .int8: 1
    case .uint16, .int16: 2
    case .uint32, .int32: 4
    }
  }

  /// Decimal, or hexadecimal after `0x`.
  private static func number(_ text: String) -> Int64? {
    if text.lowercased().hasPrefix("0x") { return Int64(text.dropFirst(2), radix: 16) }
    return Int64(text)
  }
}
