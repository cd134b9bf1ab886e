public import Essentials

// The single parameters: integers, enumerations, options, addresses.

extension HCICodable where Self: FixedWidthInteger {
  /// Reads a number, least significant byte first.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    let bytes: ArraySlice<UInt8>
    do throws(Truncated) {
      bytes = try reader.slice(Self.bitWidth / 8)
    } catch {
      throw WireError(error)
    }
    var value: Self = 0
    for (index, byte) in bytes.enumerated() {
      value |= Self(truncatingIfNeeded: byte) << (8 * index)
    }
    self = value
  }

  /// Writes a number, least significant byte first.
  package func encode(into writer: inout ByteWriter) {
    for index in 0..<(Self.bitWidth / 8) {
      writer.uint8(UInt8(truncatingIfNeeded: self >> (8 * index)))
    }
  }
}

extension UInt8: HCICodable {}
extension Int8: HCICodable {}
extension UInt16: HCICodable {}
extension Int16: HCICodable {}
extension UInt32: HCICodable {}
extension UInt64: HCICodable {}
extension UInt128: HCICodable {}

extension Bool: HCICodable {
  /// Reads 0 or 1; anything else is reserved.
  public init(decoding reader: inout ByteReader) throws(WireError) {
    let value = try UInt8(decoding: &reader)
    guard value <= 1 else { throw .invalidValue(field: "flag", value: Int(value)) }
    self = value == 1
  }

  /// Writes 0 or 1.
  public func encode(into writer: inout ByteWriter) { writer.uint8(self ? 1 : 0) }
}

extension HCICodable where Self: RawRepresentable, RawValue: HCICodable & BinaryInteger {
  /// Reads the raw value; throws where none of the type's values has it.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    let raw = try RawValue(decoding: &reader)
    guard let value = Self(rawValue: raw) else {
      throw .invalidValue(field: "\(Self.self)", value: Int(truncatingIfNeeded: raw))
    }
    self = value
  }

  /// Writes the raw value.
  package func encode(into writer: inout ByteWriter) { rawValue.encode(into: &writer) }
}

extension HCIOpcode: HCICodable {}
extension HCIStatus: HCICodable {}

/// A parameter with one reserved value that means "none".
package protocol HCIOptionalField: HCICodable {
  /// The first byte of the value that means "none".
  static var absentMark: UInt8 { get }
  /// Number of bytes of the parameter, also of the value that means "none".
  static var byteCount: Int { get }
}

extension Optional: HCICodable where Wrapped: HCIOptionalField {
  /// Reads the value, or nil if its first byte is `absentMark`.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    if reader.remaining.first == Wrapped.absentMark {
      do throws(Truncated) { _ = try reader.slice(Wrapped.byteCount) } catch {
        throw WireError(error)
      }
      self = nil
    } else {
      self = try Wrapped(decoding: &reader)
    }
  }

  /// Writes the value, or the mark for "none" and zeros.
  package func encode(into writer: inout ByteWriter) {
    if let self { return self.encode(into: &writer) }
    writer.uint8(Wrapped.absentMark)
    for _ in 1..<Wrapped.byteCount { writer.uint8(0) }
  }
}

// A power in dBm: 127 means "not known" or "no preference".
extension Int8: HCIOptionalField {
  /// 127.
  public static var absentMark: UInt8 { 0x7F }
  /// The size in bytes: 1.
  public static var byteCount: Int { 1 }
}

extension DeviceAddress: HCIOptionalField {
  /// The type of an address that isn't there: an anonymous advertiser's.
  public static var absentMark: UInt8 { 0xFF }
  /// A byte for the type and six for the address.
  public static var byteCount: Int { 7 }

  /// Reads the type and the address.
  public init(decoding reader: inout ByteReader) throws(WireError) {
    let kind = try UInt8(decoding: &reader)
    guard let kind = Kind(rawValue: kind) else {
      throw .invalidValue(field: "address type", value: Int(kind))
    }
    self.init(bits: try AddressBits(decoding: &reader).bits, kind: kind)
  }

  /// Writes the type and the address.
  public func encode(into writer: inout ByteWriter) {
    writer.uint8(kind.rawValue)
    append(to: &writer)
  }
}

/// An address together with whether it is an identity that the controller found in its resolving
/// list (types 2 and 3) or what went over the air (types 0 and 1).
package struct PeerAddress: HCIOptionalField {
  /// The peer's address.
  package var address: DeviceAddress
  /// Whether the peer used a private address that the controller resolved to this identity.
  package var isIdentity: Bool

  /// A peer by its address.
  package init(_ address: DeviceAddress, isIdentity: Bool = false) {
    self.address = address
    self.isIdentity = isIdentity
  }

  /// The type of an address that isn't there: an anonymous advertiser's.
  package static var absentMark: UInt8 { 0xFF }
  /// A byte for the type and six for the address.
  package static var byteCount: Int { 7 }

  /// Reads the type and the address. Type 0xFE, an unresolvable private address, is a random one.
  package init(decoding reader: inout ByteReader) throws(WireError) {
    let type = try UInt8(decoding: &reader)
    guard type <= 3 || type == 0xFE else {
      throw .invalidValue(field: "address type", value: Int(type))
    }
    let bits = try AddressBits(decoding: &reader).bits
    address = DeviceAddress(bits: bits, kind: type == 0xFE || type & 1 == 1 ? .random : .public)
    isIdentity = type & 0xFE == 2
  }

  /// Writes the type and the address.
  package func encode(into writer: inout ByteWriter) {
    writer.uint8(address.kind.rawValue | (isIdentity ? 2 : 0))
    address.append(to: &writer)
  }
}

/// The 48 bits of an address whose type is known from elsewhere.
struct AddressBits: HCICodable {
  var bits: UInt64

  init(_ address: DeviceAddress) { bits = address.bits }

  init(decoding reader: inout ByteReader) throws(WireError) {
    do throws(Truncated) { bits = try reader.littleEndian(6) } catch { throw WireError(error) }
  }

  func encode(into writer: inout ByteWriter) { writer.littleEndian(bits, count: 6) }

  var asPublic: DeviceAddress { DeviceAddress(bits: bits, kind: .public) }
  var asRandom: DeviceAddress { DeviceAddress(bits: bits, kind: .random) }
}

/// Three bytes.
struct UInt24: HCICodable {
  var value: UInt32

  init(_ value: UInt32) {
    precondition(value < 1 << 24, "the parameter has three bytes")
    self.value = value
  }

  init(decoding reader: inout ByteReader) throws(WireError) {
    do throws(Truncated) { value = try reader.uint24() } catch { throw WireError(error) }
  }

  func encode(into writer: inout ByteWriter) { writer.uint24(value) }
}
