import Essentials

/// Appends values to bytes, each with one copy.
struct HubEncoder: HubCoder {
  private var writer: ByteWriter

  init(capacity: Int) { writer = ByteWriter(capacity: capacity) }

  /// The bytes written so far.
  var bytes: [UInt8] { writer.bytes }
  /// The number of them.
  var count: Int { writer.count }

  /// A value that is written; without one, the caller has confused the directions, or two cases.
  private func unwrap<Value>(_ value: Value?) -> Value {
    guard let value else { preconditionFailure("an encoder gets every value that it writes") }
    return value
  }

  mutating func byte(_ value: UInt8?) -> UInt8 {
    let value = unwrap(value)
    writer.uint8(value)
    return value
  }

  mutating func compact(_ value: UInt64?) -> UInt64 {
    let value = unwrap(value)
    var rest = value
    while rest > 0x7F {
      writer.uint8(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    writer.uint8(UInt8(truncatingIfNeeded: rest))
    return value
  }

  mutating func fixed(_ value: UInt64?, byteCount: Int) -> UInt64 {
    let value = unwrap(value)
    writer.littleEndian(value, count: byteCount)
    return value
  }

  mutating func bytes(
    _ value: ArraySlice<UInt8>?, max: Int
  ) throws(HubWireError) -> ArraySlice<UInt8> {
    let value = unwrap(value)
    guard value.count <= max else { throw .tooMany(count: UInt64(value.count), max: max) }
    _ = compact(UInt64(value.count))
    writer.append(value)
    return value
  }

  mutating func fields<Value, A: HubCodable>(
    _ value: Value?, _ make: (A) -> Value, _ take: (Value) -> A?
  ) throws(HubWireError) -> Value {
    let value = unwrap(value)
    _ = try A.coded(unwrap(take(value)), by: &self)
    return value
  }

  mutating func fields<Value, A: HubCodable, B: HubCodable>(
    _ value: Value?, _ make: (A, B) -> Value, _ take: (Value) -> (A, B)?
  ) throws(HubWireError) -> Value {
    let value = unwrap(value)
    let (first, second) = unwrap(take(value))
    _ = try A.coded(first, by: &self)
    _ = try B.coded(second, by: &self)
    return value
  }

  mutating func fields<Value, A: HubCodable, B: HubCodable, D: HubCodable>(
    _ value: Value?, _ make: (A, B, D) -> Value, _ take: (Value) -> (A, B, D)?
  ) throws(HubWireError) -> Value {
    let value = unwrap(value)
    let (first, second, third) = unwrap(take(value))
    _ = try A.coded(first, by: &self)
    _ = try B.coded(second, by: &self)
    _ = try D.coded(third, by: &self)
    return value
  }

  mutating func enclosed<Value>(
    _ body: (inout HubEncoder) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value {
    let start = count
    writer.uint24(0)
    let value = try body(&self)
    let byteCount = count - start - HubDecoder.enclosedHeadByteCount
    guard byteCount <= HubProtocol.messageByteCountMax else { throw .invalidLength(byteCount) }
    overwrite(at: start, with: byteCount, byteCount: HubDecoder.enclosedHeadByteCount)
    return value
  }

  mutating func rest(_ value: ArraySlice<UInt8>?) -> ArraySlice<UInt8> {
    let value = unwrap(value)
    writer.append(value)
    return value
  }

  mutating func known<Value>(
    _ body: (inout HubEncoder) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value? {
    try body(&self)
  }

  var isAtEnd: Bool { false }

  // MARK: Frames

  /// Removes everything from an index on.
  mutating func truncate(to count: Int) { writer.bytes.removeSubrange(count...) }

  /// Sets a number that was written in advance.
  mutating func overwrite(at index: Int, with number: Int, byteCount: Int) {
    for offset in 0..<byteCount {
      writer.bytes[index + offset] = UInt8(truncatingIfNeeded: number >> (8 * offset))
    }
  }

  /// Takes the bytes, and leaves none.
  mutating func takeBytes() -> [UInt8] {
    let bytes = writer.bytes
    writer = ByteWriter(capacity: 0)
    return bytes
  }
}
