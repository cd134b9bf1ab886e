/// The reason why bytes are not a message, or why a value can't be sent as one.
package enum HubWireError: Error, Equatable, Sendable {
  /// The bytes end before a value does.
  case truncated(needed: Int, available: Int)
  /// A message has no kind, or is longer than the maximum.
  case invalidLength(Int)
  /// A list has more elements than the maximum, or a value or a name more bytes.
  case tooMany(count: UInt64, max: Int)
  /// No value of this type has this number.
  case invalidValue(of: String, number: UInt64)
  /// A number is not written in the fewest bytes, or has more than 64 bits.
  case invalidNumber
  /// A text is not UTF-8.
  case notUTF8
  /// This version doesn't know a value of this type with this number. What contains the value is skipped.
  case unknownNumber(of: String, number: UInt8)
  /// This version doesn't know a number that it must understand.
  case notUnderstood(of: String, number: UInt8)
}

extension HubWireError: CustomStringConvertible {
  /// The mistake of a message, for people: a part of a sentence.
  package var description: String {
    switch self {
    case .truncated: "it ends too early"
    case .invalidLength(let count): "its length is given as \(count) bytes"
    case .tooMany(let count, let max):
      "it has a list or a text of \(count), where \(max) is the maximum"
    case .invalidValue(_, let number): "it has a number without a meaning, \(number)"
    case .invalidNumber: "it has a number that is not written as numbers are"
    case .notUTF8: "it has a text that is not UTF-8"
    case .unknownNumber(_, let number), .notUnderstood(_, let number):
      "it has a number that this version doesn't know, \(number)"
    }
  }
}
