public import Essentials

/// A UUID of 16, 32 or 128 bits as the attribute protocol and advertising data carry it.
///
/// The short forms abbreviate `0000xxxx-0000-1000-8000-00805F9B34FB` and compare equal to it (Core
/// 5.4, Vol 3, Part B, §2.5.1).
@frozen
public struct BluetoothUUID: Hashable, Sendable {
  /// The width of a UUID's short form.
  public enum Width: UInt8, Sendable {
    /// Two bytes on the wire.
    case bits16 = 2
    /// Four bytes on the wire.
    case bits32 = 4
    /// Sixteen bytes on the wire.
    case bits128 = 16
  }

  /// The first eight bytes of the 128-bit form, as a big-endian number.
  public let high: UInt64
  /// The last eight bytes of the 128-bit form, as a big-endian number.
  public let low: UInt64

  @usableFromInline static var baseHigh: UInt64 { 0x0000_0000_0000_1000 }
  @usableFromInline static var baseLow: UInt64 { 0x8000_0080_5F9B_34FB }

  /// A number that the Bluetooth SIG assigned, such as `0x180D`.
  @inlinable
  public init(_ short: UInt16) { self.init(UInt32(short)) }

  /// A 32-bit UUID.
  @inlinable
  public init(_ short: UInt32) {
    high = UInt64(short) << 32 | Self.baseHigh
    low = Self.baseLow
  }

  /// A UUID from the two halves of its 128 bits, most significant first.
  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Reads 2, 4 or 16 bytes in wire order (least significant first); nil for any other count.
  public init?(littleEndian bytes: ArraySlice<UInt8>) {
    var reader = ByteReader(bytes)
    do throws(Truncated) {
      switch bytes.count {
      case 2: self.init(try reader.uint16())
      case 4: self.init(try reader.uint32())
      case 16:
        let low = try reader.uint64()
        self.init(high: try reader.uint64(), low: low)
      default: return nil
      }
    } catch {
      return nil
    }
  }

  /// Reads `180D`, `0000180D` or `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count)
    guard parts == [8, 4, 4, 4, 12] || parts == [4] || parts == [8],
      let bytes = Hexadecimal.bytes(text.filter { $0 != "-" })
    else { return nil }
    self.init(littleEndian: bytes.reversed()[...])
  }

  /// The shortest form that carries this UUID.
  @inlinable
  public var width: Width {
    guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh else { return .bits128 }
    return high >> 48 == 0 ? .bits16 : .bits32
  }

  /// The assigned number, where the UUID has a 16-bit form.
  @inlinable
  public var short: UInt16? { width == .bits16 ? UInt16(truncatingIfNeeded: high >> 32) : nil }

  /// The bytes in wire order. The attribute protocol knows 2 and 16 bytes only, so a 32-bit UUID is
  /// written in full there (Core 5.4, Vol 3, Part F, §3.2.1).
  public func append(to writer: inout ByteWriter, allowing32Bits: Bool = false) {
    switch width {
    case .bits16: writer.uint16(UInt16(truncatingIfNeeded: high >> 32))
    case .bits32 where allowing32Bits: writer.uint32(UInt32(truncatingIfNeeded: high >> 32))
    case .bits32, .bits128:
      writer.uint64(low)
      writer.uint64(high)
    }
  }

  /// The number of bytes that `append(to:)` writes in an ATT PDU: 2 or 16.
  public var attributeByteCount: Int { width == .bits16 ? 2 : 16 }
}

extension BluetoothUUID: CustomStringConvertible, ExpressibleByIntegerLiteral {
  /// Writes an assigned number as a literal: `let heartRate: BluetoothUUID = 0x180D`.
  public init(integerLiteral value: UInt16) { self.init(value) }

  /// `180D`, `0001180D` or the 36-character form, in capitals as Apple writes them.
  public var description: String {
    let all = Array(fullDescription.utf8)
    switch width {
    case .bits16: return String(decoding: all[4..<8], as: UTF8.self)
    case .bits32: return String(decoding: all[0..<8], as: UTF8.self)
    case .bits128: return String(decoding: all, as: UTF8.self)
    }
  }

  /// The 36-character form, in capitals.
  public var fullDescription: String {
    var writer = ByteWriter(capacity: 16)
    writer.bigEndian(high, count: 8)
    writer.bigEndian(low, count: 8)
    let hex = Array(Hexadecimal.string(writer.bytes).uppercased().utf8)
    let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
    return groups.map { String(decoding: hex[$0], as: UTF8.self) }.joined(separator: "-")
  }
}
