/// Reads values from the body of a message, and nothing past its end. Any bytes are allowed.
struct HubDecoder: HubCoder {
  /// The length of enclosed fields takes this number of bytes.
  static let enclosedHeadByteCount = 3

  private let bytes: ArraySlice<UInt8>
  /// The index of the next byte.
  private var next: Int
  /// The end of what may be read: of the message, or of the enclosed fields.
  private var end: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    next = bytes.startIndex
    end = bytes.endIndex
  }

  var isAtEnd: Bool { next == end }

  /// Passes this number of bytes, and returns their indices.
  private mutating func take(_ count: Int) throws(HubWireError) -> Range<Int> {
    guard count <= end - next else { throw .truncated(needed: count, available: end - next) }
    let start = next
    next += count
    return start..<next
  }

  mutating func byte(_: UInt8? = nil) throws(HubWireError) -> UInt8 {
    bytes[try take(1).lowerBound]
  }

  mutating func compact(_: UInt64? = nil) throws(HubWireError) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while shift <= 63 {
      let byte = try byte()
      // The tenth byte has room for one bit. A last byte of zero would be one too many.
      guard shift < 63 || byte <= 1, byte != 0 || shift == 0 else { throw .invalidNumber }
      number |= UInt64(byte & 0x7F) << shift
      if byte & 0x80 == 0 { return number }
      shift += 7
    }
    throw .invalidNumber
  }

  mutating func fixed(_: UInt64? = nil, byteCount: Int) throws(HubWireError) -> UInt64 {
    var number: UInt64 = 0
    for index in try take(byteCount).reversed() { number = number << 8 | UInt64(bytes[index]) }
    return number
  }

  mutating func bytes(
    _: ArraySlice<UInt8>?, max: Int
  ) throws(HubWireError) -> ArraySlice<UInt8> {
    let count = try compact()
    guard count <= UInt64(max) else { throw .tooMany(count: count, max: max) }
    return bytes[try take(Int(count))]
  }

  mutating func fields<Value, A: HubCodable>(
    _: Value?, _ make: (A) -> Value, _ take: (Value) -> A?
  ) throws(HubWireError) -> Value {
    make(try A.coded(nil, by: &self))
  }

  mutating func fields<Value, A: HubCodable, B: HubCodable>(
    _: Value?, _ make: (A, B) -> Value, _ take: (Value) -> (A, B)?
  ) throws(HubWireError) -> Value {
    make(try A.coded(nil, by: &self), try B.coded(nil, by: &self))
  }

  mutating func fields<Value, A: HubCodable, B: HubCodable, D: HubCodable>(
    _: Value?, _ make: (A, B, D) -> Value, _ take: (Value) -> (A, B, D)?
  ) throws(HubWireError) -> Value {
    make(
      try A.coded(nil, by: &self), try B.coded(nil, by: &self), try D.coded(nil, by: &self))
  }

  mutating func enclosed<Value>(
    _ body: (inout HubDecoder) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value {
    let byteCount = Int(try fixed(byteCount: Self.enclosedHeadByteCount))
    guard byteCount <= end - next else {
      throw .truncated(needed: byteCount, available: end - next)
    }
    let outerEnd = end
    end = next + byteCount
    let value = try body(&self)
    // A later version may have added fields that weren't read.
    (next, end) = (end, outerEnd)
    return value
  }

  mutating func rest(_: ArraySlice<UInt8>?) -> ArraySlice<UInt8> {
    let rest = bytes[next..<end]
    next = end
    return rest
  }

  mutating func known<Value>(
    _ body: (inout HubDecoder) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value? {
    let start = (next: next, end: end)
    do throws(HubWireError) {
      return try body(&self)
    } catch {
      guard case .unknownNumber = error else { throw error }
      (next, end) = start
      return nil
    }
  }
}
