/// Appends integers and bytes to a growing packet.
@frozen
public struct ByteWriter: Sendable {
  /// The bytes written so far.
  public var bytes: [UInt8]

  /// Creates an empty packet with capacity for `capacity` bytes.
  @inlinable
  public init(capacity: Int = 32) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// The number of written bytes.
  @inlinable
  public var count: Int { bytes.count }

  /// Appends one byte.
  @inlinable
  public mutating func uint8(_ value: UInt8) { bytes.append(value) }

  /// Appends one byte in two's complement.
  @inlinable
  public mutating func int8(_ value: Int8) { bytes.append(UInt8(bitPattern: value)) }

  /// Appends two bytes, least significant first.
  @inlinable
  public mutating func uint16(_ value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value))
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
  }

  /// Appends three bytes, least significant first; the top byte of `value` is ignored.
  @inlinable
  public mutating func uint24(_ value: UInt32) { littleEndian(UInt64(value), count: 3) }

  /// Appends four bytes, least significant first.
  @inlinable
  public mutating func uint32(_ value: UInt32) { littleEndian(UInt64(value), count: 4) }

  /// Appends eight bytes, least significant first.
  @inlinable
  public mutating func uint64(_ value: UInt64) { littleEndian(value, count: 8) }

  /// Appends the low `count` bytes of `value`, least significant first.
  @inlinable
  public mutating func littleEndian(_ value: UInt64, count: Int) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }

  /// Appends the low `count` bytes of `value`, most significant first.
  @inlinable
  public mutating func bigEndian(_ value: UInt64, count: Int) {
    for index in (0..<count).reversed() {
      bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index)))
    }
  }

  /// Appends bytes as they are.
  @inlinable
  public mutating func append(_ more: some Collection<UInt8>) { bytes.append(contentsOf: more) }
}
