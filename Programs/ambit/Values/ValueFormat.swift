public import ArgumentParser
import Essentials
public import PeripheralFiles

extension ValueFormat: EnumerableFlag {
  /// The help text of each format.
  public static func help(for value: ValueFormat) -> ArgumentHelp? {
    switch value {
    case .hex: "The value is bytes in hexadecimal."
    case .text: "The value is UTF-8 text."
    case .uint8, .uint16, .uint32: "The value is a whole number, sent little-endian."
    case .int8, .int16, .int32: "The value is a signed whole number, sent little-endian."
    }
  }

  /// The bytes of `text` in this format.
  /// - Parameter choice: Returns the option for a format, to mention in an error, by default one of
  ///   the command line; nil if there are no options.
  /// - Throws: `CommandFailure` with one sentence about the expected input.
  func bytes(
    _ text: String, choice: ((ValueFormat) -> String)? = { "--\($0.rawValue)" }
  ) throws -> [UInt8] {
    let quoted = Fit.truncated(text, 40)
    switch self {
    case .text: return Array(text.utf8)
    case .hex:
      guard let bytes = Hexadecimal.bytes(text) else {
        throw CommandFailure(
          .badData,
          "\"\(quoted)\" is not hexadecimal; digits come in pairs, as in 01ff"
            + (choice.map { ", and \($0(.text)) sends text" } ?? ""))
      }
      return bytes
    case .uint8, .uint16, .uint32, .int8, .int16, .int32:
      guard let number = Self.number(text), let bytes = bytes(number) else {
        throw CommandFailure(
          .badData,
          "\"\(quoted)\" is not a whole number from \(range.lowerBound) to "
            + "\(range.upperBound), which \(choice?(self) ?? rawValue) takes")
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
