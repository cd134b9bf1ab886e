/// Converts numbers to text exactly, without floating point.
package enum DecimalText {
  /// `value` times ten to the power of `exponent`: `(2150, -2)` is `21.50`.
  ///
  /// Exponents outside -12 ... 12 are written as such: `5e-30`.
  package static func string(_ value: Int64, exponent: Int) -> String {
    if exponent == 0 { return String(value) }
    guard (-12...12).contains(exponent) else { return "\(value)e\(exponent)" }
    if exponent > 0 { return value == 0 ? "0" : String(value) + zeros(exponent) }
    let digits = String(value.magnitude)
    let padded = zeros(max(0, 1 - exponent - digits.utf8.count)) + digits
    let point = padded.utf8.count + exponent
    return (value < 0 ? "-" : "") + padded.prefix(point) + "." + padded.dropFirst(point)
  }

  private static func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
}

/// A decimal floating-point number as medical devices send it (IEEE 11073-20601, §F).
package enum MedicalFloat: Hashable, Sendable, CustomStringConvertible {
  /// Mantissa times ten to the power of the exponent.
  case number(mantissa: Int32, exponent: Int8)
  /// Not a number.
  case notANumber
  /// Not at this resolution.
  case notAtThisResolution
  /// Larger than what can be written.
  case infinity(isNegative: Bool)
  /// Reserved for future use.
  case reserved

  /// The number from the 32-bit form (FLOAT): 8 bits exponent, 24 bits mantissa.
  package init(bits32: UInt32) {
    let mantissa = Int32(bitPattern: bits32 << 8) >> 8
    let exponent = Int8(truncatingIfNeeded: bits32 >> 24)
    self.init(mantissa: mantissa, exponent: exponent, largest: 0x7F_FFFF)
  }

  /// The number from the 16-bit form (SFLOAT): 4 bits exponent, 12 bits mantissa.
  package init(bits16: UInt16) {
    let mantissa = Int32(Int16(bitPattern: bits16 << 4) >> 4)
    let exponent = Int8(truncatingIfNeeded: Int16(bitPattern: bits16) >> 12)
    self.init(mantissa: mantissa, exponent: exponent, largest: 0x7FF)
  }

  /// The five values around the sign change are special: +INF, NaN, NRes, reserved, -INF.
  private init(mantissa: Int32, exponent: Int8, largest: Int32) {
    switch mantissa {
    case largest - 1 where exponent == 0: self = .infinity(isNegative: false)
    case largest where exponent == 0: self = .notANumber
    case -largest - 1 where exponent == 0: self = .notAtThisResolution
    case -largest where exponent == 0: self = .reserved
    case -largest + 1 where exponent == 0: self = .infinity(isNegative: true)
    default: self = .number(mantissa: mantissa, exponent: exponent)
    }
  }

  /// `36.4`, or what the special value means.
  package var description: String {
    switch self {
    case .number(let mantissa, let exponent):
      DecimalText.string(Int64(mantissa), exponent: Int(exponent))
    case .notANumber: "not a number"
    case .notAtThisResolution: "not at this resolution"
    case .infinity(let isNegative): isNegative ? "-infinity" : "infinity"
    case .reserved: "reserved"
    }
  }
}
