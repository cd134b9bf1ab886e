public import Essentials

/// The reason why bytes from a controller or a peer could not be decoded. No decoder traps; all
/// throw this.
public enum WireError: Error, Equatable, Sendable {
  /// The bytes ended before the value did.
  case truncated(needed: Int, available: Int)
  /// Bytes were left over after the value.
  case trailingBytes(count: Int)
  /// A length field contradicts the bytes that follow, or passes a bound.
  case invalidLength(Int)
  /// A field has a value that the specification does not allow.
  case invalidValue(field: String, value: Int)
  /// A code that this decoder does not know.
  case unknownCode(Int)

  /// Turns the reader's error into this one.
  public init(_ truncated: Truncated) {
    self = .truncated(needed: truncated.needed, available: truncated.available)
  }
}

extension ByteReader {
  mutating func byte() throws(WireError) -> UInt8 {
    do { return try uint8() } catch { throw WireError(error) }
  }
}

/// Runs a piece of decoding, turning the reader's error into a `WireError`.
@inlinable
public func decoding<Value>(_ body: () throws(Truncated) -> Value) throws(WireError) -> Value {
  do { return try body() } catch { throw WireError(error) }
}
