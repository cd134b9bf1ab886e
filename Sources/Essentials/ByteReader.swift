/// The bytes ended before a value did.
public struct Truncated: Error, Equatable, Sendable {
  /// The number of bytes that the value needs.
  public var needed: Int
  /// The number of remaining bytes.
  public var available: Int

  /// Creates the error for a value that needs more bytes than remain.
  public init(needed: Int, available: Int) {
    self.needed = needed
    self.available = available
  }
}

/// Reads integers and slices off the front of received bytes; never reads past the end.
///
/// A slice shares its storage with the packet it came from, so reading allocates nothing.
@frozen
public struct ByteReader: Sendable {
  /// The bytes that are not read yet.
  public var remaining: ArraySlice<UInt8>

  /// Creates a reader at the first of `bytes`.
  @inlinable
  public init(_ bytes: ArraySlice<UInt8>) {
    remaining = bytes
  }

  /// Creates a reader at the first of `bytes`.
  @inlinable
  public init(_ bytes: [UInt8]) {
    remaining = bytes[...]
  }

  /// The number of remaining bytes.
  @inlinable
  public var count: Int { remaining.count }

  /// Whether all bytes were read.
  @inlinable
  public var isAtEnd: Bool { remaining.isEmpty }

  /// Reads `count` bytes.
  @inlinable
  public mutating func slice(_ count: Int) throws(Truncated) -> ArraySlice<UInt8> {
    guard count >= 0, remaining.count >= count else {
      throw Truncated(needed: count, available: remaining.count)
    }
    let middle = remaining.startIndex + count
    let head = remaining[remaining.startIndex..<middle]
    remaining = remaining[middle...]
    return head
  }

  /// Reads all remaining bytes.
  @inlinable
  public mutating func rest() -> ArraySlice<UInt8> {
    let all = remaining
    remaining = remaining[remaining.endIndex...]
    return all
  }

  /// Reads one byte.
  @inlinable
  public mutating func uint8() throws(Truncated) -> UInt8 {
    guard let byte = remaining.first else { throw Truncated(needed: 1, available: 0) }
    remaining = remaining[(remaining.startIndex + 1)...]
    return byte
  }

  /// Reads one byte as a two's complement number.
  @inlinable
  public mutating func int8() throws(Truncated) -> Int8 {
    Int8(bitPattern: try uint8())
  }

  /// Reads two bytes, least significant first.
  @inlinable
  public mutating func uint16() throws(Truncated) -> UInt16 {
    UInt16(truncatingIfNeeded: try littleEndian(2))
  }

  /// Reads three bytes, least significant first.
  @inlinable
  public mutating func uint24() throws(Truncated) -> UInt32 {
    UInt32(truncatingIfNeeded: try littleEndian(3))
  }

  /// Reads four bytes, least significant first.
  @inlinable
  public mutating func uint32() throws(Truncated) -> UInt32 {
    UInt32(truncatingIfNeeded: try littleEndian(4))
  }

  /// Reads eight bytes, least significant first.
  @inlinable
  public mutating func uint64() throws(Truncated) -> UInt64 {
    try littleEndian(8)
  }

  /// Reads `count` (at most 8) bytes, least significant first.
  @inlinable
  public mutating func littleEndian(_ count: Int) throws(Truncated) -> UInt64 {
    precondition(count <= 8, "a UInt64 has room for eight bytes")
    let bytes = try slice(count)
    var value: UInt64 = 0
    for byte in bytes.reversed() { value = value << 8 | UInt64(byte) }
    return value
  }

  /// Reads `count` (at most 8) bytes, most significant first.
  @inlinable
  public mutating func bigEndian(_ count: Int) throws(Truncated) -> UInt64 {
    precondition(count <= 8, "a UInt64 has room for eight bytes")
    let bytes = try slice(count)
    var value: UInt64 = 0
    for byte in bytes { value = value << 8 | UInt64(byte) }
    return value
  }
}
