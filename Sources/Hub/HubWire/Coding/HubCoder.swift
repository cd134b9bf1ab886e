/// One direction of the coding: ``HubEncoder`` writes the values that it gets, and ``HubDecoder`` gets none
/// and reads them. Both return the values.
///
/// A type lists its fields once, for both directions; since the value is made of what the coder returns, no
/// field can be written that isn't read:
///
///     extension RemoteDescriptor: HubCodable {
///       static func coded<C: HubCoder>(
///         _ value: Self?, by coder: inout C
///       ) throws(HubWireError) -> Self {
///         try RemoteDescriptor(
///           uuid: coder.field(value) { $0.uuid }, handle: coder.field(value) { $0.handle })
///       }
///     }
protocol HubCoder {
  /// One byte.
  mutating func byte(_ value: UInt8?) throws(HubWireError) -> UInt8
  /// A number in as few bytes as it takes: seven bits in each, least significant first; the eighth bit is
  /// set in all but the last.
  mutating func compact(_ value: UInt64?) throws(HubWireError) -> UInt64
  /// A number in this number of bytes, least significant first.
  mutating func fixed(_ value: UInt64?, byteCount: Int) throws(HubWireError) -> UInt64
  /// Bytes, after the number of them. Those that are read share the storage of the message.
  mutating func bytes(
    _ value: ArraySlice<UInt8>?, max: Int
  ) throws(HubWireError) -> ArraySlice<UInt8>

  /// A case with one field: its constructor, and its field if the value is this case.
  mutating func fields<Value, A: HubCodable>(
    _ value: Value?, _ make: (A) -> Value, _ take: (Value) -> A?
  ) throws(HubWireError) -> Value
  /// A case with two fields.
  mutating func fields<Value, A: HubCodable, B: HubCodable>(
    _ value: Value?, _ make: (A, B) -> Value, _ take: (Value) -> (A, B)?
  ) throws(HubWireError) -> Value
  /// A case with three fields.
  mutating func fields<Value, A: HubCodable, B: HubCodable, D: HubCodable>(
    _ value: Value?, _ make: (A, B, D) -> Value, _ take: (Value) -> (A, B, D)?
  ) throws(HubWireError) -> Value

  /// Fields after the number of their bytes, so that a later version may add some behind them.
  mutating func enclosed<Value>(
    _ body: (inout Self) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value
  /// All bytes up to the end of the message, or of the enclosed fields.
  mutating func rest(_ value: ArraySlice<UInt8>?) throws(HubWireError) -> ArraySlice<UInt8>
  /// What `body` returns; nil if it read a number that this version doesn't know, and then nothing is read.
  mutating func known<Value>(
    _ body: (inout Self) throws(HubWireError) -> Value
  ) throws(HubWireError) -> Value?
  /// Whether an older side ends the enclosed fields, or the message, here. Never when writing.
  var isAtEnd: Bool { get }
}

extension HubCoder {
  /// A field of a record: the part that `get` takes of the record that is written.
  mutating func field<Record, Value: HubCodable>(
    _ record: Record?, _ get: (Record) -> Value
  ) throws(HubWireError) -> Value {
    try Value.coded(record.map(get), by: &self)
  }

  /// A field that a later version added: the default if the other side is older and didn't write it.
  mutating func addedField<Record, Value: HubCodable>(
    _ record: Record?, default: Value, _ get: (Record) -> Value
  ) throws(HubWireError) -> Value {
    isAtEnd ? `default` : try field(record, get)
  }

  /// An added field behind which there is no other: its default is not written, so that a record without the
  /// addition keeps its bytes.
  mutating func lastAddedField<Record, Value: HubCodable & Equatable>(
    _ record: Record?, default: Value, _ get: (Record) -> Value
  ) throws(HubWireError) -> Value {
    if let record, get(record) == `default` { return `default` }
    return try addedField(record, default: `default`, get)
  }
}

extension HubCoder {
  /// A field that identifies the record. Unlike other texts it is refused if it is too long: two that are cut
  /// could become one.
  mutating func identity<Record>(
    _ record: Record?, _ get: (Record) -> String
  ) throws(HubWireError) -> String {
    let identity = record.map(get)
    let max = HubProtocol.textByteCountMax
    if let count = identity?.utf8.count, count > max {
      throw .tooMany(count: UInt64(count), max: max)
    }
    return try String.coded(identity, by: &self)
  }
}

/// A value that messages carry.
protocol HubCodable {
  /// Writes or reads the value, with all fields in their order; nil for a value to be read.
  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self
  /// Writes or reads several values after the number of them.
  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self]
}

extension HubCodable {
  static func codedList<C: HubCoder>(
    _ values: [Self]?, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    try codedElements(values, max: HubProtocol.listCountMax, by: &coder)
  }

  /// A list. Room is made as the elements come, since the number of them may lie.
  static func codedElements<C: HubCoder>(
    _ values: [Self]?, max: Int, by coder: inout C
  ) throws(HubWireError) -> [Self] {
    let count = try coder.compact((values?.count).map { UInt64($0) })
    guard count <= UInt64(max) else { throw .tooMany(count: count, max: max) }
    if let values {
      for value in values { _ = try coded(value, by: &coder) }
      return values
    }
    var elements: [Self] = []
    for _ in 0..<count { elements.append(try coded(nil, by: &coder)) }
    return elements
  }
}

/// An enumeration without fields, by the numbers of its cases.
protocol HubNumbered: HubCodable, CaseIterable {
  /// The number of this case, by a switch, so that a new case doesn't compile before it has one. A number
  /// never changes.
  var number: UInt8 { get }
  /// The value in place of one that only a later version knows; nil to skip what contains it.
  static var substitute: Self? { get }
}

extension HubNumbered {
  static var substitute: Self? { nil }

  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let number = try coder.byte(value?.number)
    if let known = allCases.first(where: { $0.number == number }) ?? substitute { return known }
    throw .unknownNumber(of: "\(Self.self)", number: number)
  }
}

/// An enumeration with fields: the number of a case, then its fields.
protocol HubChoice: HubCodable {
  /// The numbers of the cases. A number never changes.
  associatedtype Number: RawRepresentable where Number.RawValue == UInt8

  /// The number of this case.
  var number: Number { get }
  /// Writes or reads the fields of the case with this number.
  static func coded<C: HubCoder>(
    _ value: Self?, _ number: Number, by coder: inout C
  ) throws(HubWireError) -> Self
  /// The value in place of one that only a later version knows; nil to skip what contains it. Only for types
  /// that are last in what contains them in version 1: the fields of the unknown case have no end of their own,
  /// so they are skipped with all that follows, and fields that a later version added have their defaults.
  static func substitute(for number: UInt8) -> Self?
}

extension HubChoice {
  static func substitute(for number: UInt8) -> Self? { nil }

  static func coded<C: HubCoder>(_ value: Self?, by coder: inout C) throws(HubWireError) -> Self {
    let byte = try coder.byte(value?.number.rawValue)
    if let number = Number(rawValue: byte) { return try coded(value, number, by: &coder) }
    if let other = substitute(for: byte) {
      _ = try coder.rest(nil)
      return other
    }
    throw .unknownNumber(of: "\(Self.self)", number: byte)
  }
}
