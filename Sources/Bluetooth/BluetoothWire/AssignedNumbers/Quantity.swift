import Essentials

/// How a characteristic that holds a single number is written, and in which unit.
struct Quantity: Sendable {
  /// Bytes on the wire.
  let byteCount: Int
  /// Two's complement.
  let isSigned: Bool
  /// Multiplies the number before the exponent applies; 5 for steps of 0.005.
  let factor: Int64
  /// The decimal exponent.
  let exponent: Int
  /// Text that is appended to the number.
  let unit: String
  /// The number that means "not known", where there is one.
  let unknown: Int64?

  init(
    _ bits: Int, signed: Bool = false, factor: Int64 = 1, exponent: Int = 0, _ unit: String,
    unknown: Int64? = nil
  ) {
    byteCount = bits / 8
    isSigned = signed
    self.factor = factor
    self.exponent = exponent
    self.unit = unit
    self.unknown = unknown
  }

  /// The number with its unit; nil unless `bytes` have the right length.
  func text(_ bytes: ArraySlice<UInt8>) -> String? {
    var reader = ByteReader(bytes)
    guard bytes.count == byteCount, let raw = try? reader.littleEndian(byteCount) else {
      return nil
    }
    let unused = 64 - byteCount * 8
    let value = isSigned ? Int64(bitPattern: raw << unused) >> unused : Int64(clamping: raw)
    if value == unknown { return "not known" }
    let number = DecimalText.string(value * factor, exponent: exponent)
    return unit.isEmpty ? number : unit == "%" || unit == "°" ? number + unit : "\(number) \(unit)"
  }

  /// Single numbers among the characteristics (GATT Specification Supplement, §3).
  static let byCharacteristic: [UInt16: Quantity] = [
    0x2A07: Quantity(8, signed: true, "dBm"),
    0x2A19: Quantity(8, "%"),
    0x2A21: Quantity(16, "s"),
    0x2A6C: Quantity(24, signed: true, exponent: -2, "m"),
    0x2A6D: Quantity(32, exponent: -1, "Pa"),
    0x2A6E: Quantity(16, signed: true, exponent: -2, "°C", unknown: -32768),
    0x2A6F: Quantity(16, exponent: -2, "%", unknown: 0xFFFF),
    0x2A70: Quantity(16, exponent: -2, "m/s"),
    0x2A71: Quantity(16, exponent: -2, "°"),
    0x2A72: Quantity(16, exponent: -2, "m/s"),
    0x2A73: Quantity(16, exponent: -2, "°"),
    0x2A74: Quantity(8, exponent: -1, ""),
    0x2A75: Quantity(24, "grains/m³"),
    0x2A76: Quantity(8, ""),
    0x2A77: Quantity(16, exponent: -1, "W/m²"),
    0x2A78: Quantity(16, "mm"),
    0x2A79: Quantity(8, signed: true, "°C"),
    0x2A7A: Quantity(8, signed: true, "°C"),
    0x2A7B: Quantity(8, signed: true, "°C"),
    0x2A7E: Quantity(8, "bpm"),
    0x2A80: Quantity(8, "years"),
    0x2A84: Quantity(8, "bpm"),
    0x2A8D: Quantity(8, "bpm"),
    0x2A8E: Quantity(16, exponent: -2, "m"),
    0x2A91: Quantity(8, "bpm"),
    0x2A92: Quantity(8, "bpm"),
    0x2A98: Quantity(16, factor: 5, exponent: -3, "kg"),
    0x2A99: Quantity(32, ""),
    0x2A9A: Quantity(8, ""),
    0x2AE9: Quantity(16, "K", unknown: 0xFFFF),
    0x2AEA: Quantity(16, "", unknown: 0xFFFF),
    0x2AEB: Quantity(24, "", unknown: 0xFF_FFFF),
    0x2AEE: Quantity(16, exponent: -2, "A", unknown: 0xFFFF),
    0x2AF2: Quantity(24, "kWh", unknown: 0xFF_FFFF),
    0x2AFB: Quantity(24, exponent: -2, "lx", unknown: 0xFF_FFFF),
    0x2AFF: Quantity(16, "lm", unknown: 0xFFFF),
    0x2B04: Quantity(8, factor: 5, exponent: -1, "%", unknown: 0xFF),
    0x2B05: Quantity(24, exponent: -1, "W", unknown: 0xFF_FFFF),
    0x2B0D: Quantity(8, signed: true, factor: 5, exponent: -1, "°C", unknown: 0x7F),
    0x2B18: Quantity(16, factor: 15_625, exponent: -6, "V", unknown: 0xFFFF),
    0x2B8C: Quantity(16, "ppm", unknown: 0xFFFF),
  ]
}
