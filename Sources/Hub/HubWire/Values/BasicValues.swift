import Essentials

// Numbers, truths, bytes, texts, and what contains them.

extension UInt8: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.byte(value)
  }

  /// All bytes at once.
  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    if let values {
      _ = try coder.bytes(values[...], max: HubProtocol.messageByteCountMax)
      return values
    }
    return Array(try coder.bytes(nil, max: HubProtocol.messageByteCountMax))
  }
}

extension Int8: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    Int8(bitPattern: try coder.byte(value.map { UInt8(bitPattern: $0) }))
  }
}

/// Attribute handles and the like, of which most need two bytes.
extension UInt16: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    UInt16(truncatingIfNeeded: try coder.fixed(value.map { UInt64($0) }, byteCount: 2))
  }
}

extension UInt32: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.compact(value.map { UInt64($0) })
    guard let value = UInt32(exactly: number) else {
      throw .invalidValue(of: "UInt32", number: number)
    }
    return value
  }
}

/// Identifiers, which count up from a small number.
extension UInt64: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.compact(value)
  }
}

/// A count, an offset or a length: at least 0, and so small that sums of them don't overflow.
extension Int: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let max = UInt64(HubProtocol.countMax)
    let number = try coder.compact(value.map { Swift.min(UInt64(clamping: $0), max) })
    guard number <= max else { throw .invalidValue(of: "count", number: number) }
    return Int(number)
  }
}

extension Bool: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let byte = try coder.byte(value.map { $0 ? 1 : 0 })
    guard byte <= 1 else { throw .invalidValue(of: "Bool", number: UInt64(byte)) }
    return byte == 1
  }
}

/// A text of at most ``HubProtocol/textByteCountMax`` bytes. A longer one is cut between two characters;
/// `identity` of a coder refuses it.
extension String: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let max = HubProtocol.textByteCountMax
    let encoded = value.map { Array($0.utf8) }
    let bytes = try coder.bytes(encoded.map { $0.utf8Prefix(max) }, max: max)
    if let value { return value }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .notUTF8 }
    return text
  }
}

extension Optional: HubCodable where Wrapped: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let isPresent = try Bool.coded(value.map { $0 != nil }, by: &coder)
    guard isPresent else { return nil }
    return try Wrapped.coded(value.flatMap { $0 }, by: &coder)
  }
}

extension Array: HubCodable where Element: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try Element.codedList(value, by: &coder)
  }
}

/// Received bytes, which share the storage of the message.
extension ArraySlice: HubCodable where Element == UInt8 {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    try coder.bytes(value, max: HubProtocol.messageByteCountMax)
  }
}

/// A success with its value after a 0, or a failure with its error after a 1.
extension Result: HubCodable where Success: HubCodable, Failure: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    if try Bool.coded(value.map { $0.isFailure }, by: &coder) {
      return try coder.fields(value, { (error: Failure) in .failure(error) }) {
        if case .failure(let error) = $0 { error } else { nil }
      }
    }
    return try coder.fields(value, { (success: Success) in .success(success) }) {
      if case .success(let success) = $0 { success } else { nil }
    }
  }

  private var isFailure: Bool {
    if case .failure = self { true } else { false }
  }
}

extension ClosedRange: HubCodable where Bound == UInt16 {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let lower = try coder.field(value) { $0.lowerBound }
    let upper = try coder.field(value) { $0.upperBound }
    guard lower <= upper else { throw .invalidValue(of: "ClosedRange", number: UInt64(lower)) }
    return lower...upper
  }
}

/// A time on the clock of the machine, which its processes share, in eight bytes.
extension Instant: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let bits = try coder.fixed(value.map { UInt64(bitPattern: $0.nanoseconds) }, byteCount: 8)
    return Instant(nanoseconds: Int64(bitPattern: bits))
  }
}

/// A span of time in nanoseconds, the sign in the lowest bit, so that short spans take few bytes.
extension TimeSpan: HubCodable {
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.compact(
      value.map { UInt64(bitPattern: $0.nanoseconds << 1 ^ $0.nanoseconds >> 63) })
    return TimeSpan(
      nanoseconds: Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1))
  }
}
