import Essentials
import JSONWire

/// The text format of a value, on the command line and in a peripheral file.
public enum ValueFormat: String, CaseIterable, Sendable {
  /// Bytes in hexadecimal.
  case hex
  /// UTF-8.
  case text
  /// One byte.
  case uint8
  /// Two bytes, little-endian.
  case uint16
  /// Four bytes, little-endian.
  case uint32
  /// One byte, two's complement.
  case int8
  /// Two bytes, little-endian, two's complement.
  case int16
  /// Four bytes, little-endian, two's complement.
  case int32

  /// The bytes of a number; nil if it is out of range or the format isn't numeric.
  public func bytes(_ number: Int64) -> [UInt8]? {
    guard byteCount > 0, range.contains(number) else { return nil }
    var writer = ByteWriter(capacity: 4)
    writer.littleEndian(UInt64(bitPattern: number), count: byteCount)
    return writer.bytes
  }

  /// The range of valid numbers.
  public var range: ClosedRange<Int64> {
    switch self {
    case .hex, .text: 0...0
    case .uint8: 0...0xFF
    case .uint16: 0...0xFFFF
    case .uint32: 0...0xFFFF_FFFF
    case .int8: -0x80...0x7F
    case .int16: -0x8000...0x7FFF
    case .int32: -0x8000_0000...0x7FFF_FFFF
    }
  }

  private var byteCount: Int {
    switch self {
    case .hex, .text: 0
    case .uint8, .int8: 1
    case .uint16, .int16: 2
    case .uint32, .int32: 4
    }
  }
}

extension JSONField {
  /// `{"uint8": 87}`, `{"hex": "01ff"}`, `{"text": "hello"}`, or an array of these, joined.
  func valueBytes() throws(FileFault) -> [UInt8] {
    var bytes: [UInt8] = []
    if isArray {
      let parts = try array(max: PeripheralFile.Limits.valueByteCount, of: "parts of a value")
      for part in parts { bytes += try part.singleValueBytes() }
    } else {
      bytes = try singleValueBytes()
    }
    guard bytes.count <= PeripheralFile.Limits.valueByteCount else {
      throw fault("a value has at most \(PeripheralFile.Limits.valueByteCount) bytes")
    }
    return bytes
  }

  private func singleValueBytes() throws(FileFault) -> [UInt8] {
    let names = ValueFormat.allCases.map(\.rawValue)
    let object = try object(keys: names)
    guard object.members.count == 1, let key = object.members.first?.key,
      let format = ValueFormat(rawValue: key), let field = object[key]
    else {
      throw fault("expected one of the keys \(names.joined(separator: ", "))")
    }
    switch format {
    case .text: return Array(try field.string().utf8)
    case .hex: return try field.hexadecimal(byteCountMax: PeripheralFile.Limits.valueByteCount)
    case .uint8, .uint16, .uint32, .int8, .int16, .int32:
      guard let number = Int64(exactly: try field.number()), let bytes = format.bytes(number)
      else {
        throw field.fault(
          "expected a whole number from \(format.range.lowerBound) to \(format.range.upperBound)")
      }
      return bytes
    }
  }
}
