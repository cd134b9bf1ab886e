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
