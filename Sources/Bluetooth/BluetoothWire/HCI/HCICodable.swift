package import Essentials

/// A value that HCI packets carry: a parameter, a group of them, or all those of a packet.
package protocol HCICodable: Hashable, Sendable {
  /// Reads the value off the front of `reader`; throws where the bytes end or make no sense.
  init(decoding reader: inout ByteReader) throws(WireError)

  /// Appends the encoded value.
  func encode(into writer: inout ByteWriter)
}

/// A value that consists of others, one after the other.
///
/// A type names its parameters once, in `layout`; that list serves both directions.
package protocol HCIRecord: HCICodable {
  /// The parameters in wire order.
  static var layout: HCILayout<Self> { get }
}

extension HCIRecord {
  /// Reads the parameters in the order of `layout`.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    self = try Self.layout.decode(&reader)
  }

  /// Writes the parameters in the order of `layout`.
  package func encode(into writer: inout ByteWriter) { Self.layout.encode(self, &writer) }
}

/// Encodes and decodes a record as a sequence of parameters.
package struct HCILayout<Value>: Sendable {
  let decode: @Sendable (inout ByteReader) throws(WireError) -> Value
  let encode: @Sendable (Value, inout ByteWriter) -> Void

  /// A layout from an initializer and the parameters that it takes, both in wire order.
  package init<each Field: HCICodable>(
    _ make: @escaping @Sendable (repeat each Field) -> Value,
    _ take: @escaping @Sendable (Value) -> (repeat each Field)
  ) {
    decode = { reader throws(WireError) in
      try make(repeat (each Field)(decoding: &reader))
    }
    encode = { value, writer in
      let fields = take(value)
      repeat (each fields).encode(into: &writer)
    }
  }
}

/// No parameters at all.
package struct NoParameters: HCICodable {
  /// The only value.
  package init() {}

  /// Reads nothing.
  package init(decoding reader: inout ByteReader) throws(WireError) {}

  /// Writes nothing.
  package func encode(into writer: inout ByteWriter) {}
}

extension ByteReader {
  /// Reads a value of the type that the caller expects.
  mutating func value<Value: HCICodable>() throws(WireError) -> Value {
    try Value(decoding: &self)
  }

  /// Reads a count of one byte, then that number of bytes.
  mutating func counted() throws(WireError) -> ArraySlice<UInt8> {
    do throws(Truncated) { return try slice(Int(try uint8())) } catch { throw WireError(error) }
  }
}
