/// The exponential function and its inverse with the precision of `Double` and the same results on
/// every machine. Those of the C library differ between machines, and are missing in a browser.
package enum Exponential {
  /// The natural logarithm of 2 in two parts, the first with few enough digits that its products with
  /// exponents are exact.
  private static let ln2High = 0x1.62E42FEFA0000p-1
  private static let ln2Low = 0x1.CF79ABC9E3B3Ap-40
  /// The natural logarithm of 10.
  package static let ln10 = 2.302585092994045684

  /// e to the power of `x`; 0 or infinity if the result is out of range.
  package static func exp(_ x: Double) -> Double {
    guard !x.isNaN else { return x }
    guard x > -745 else { return 0 }
    guard x < 709.7 else { return .infinity }
    let quotient = x / (ln2High + ln2Low)
    // The nearest whole number, which `rounded` has from the C library where code isn't optimized.
    let exponent = Int(quotient < 0 ? quotient - 0.5 : quotient + 0.5)
    let count = Double(exponent)
    let rest = x - count * ln2High - count * ln2Low
    // The series for |rest| ≤ 0.35, from its last term.
    var sum = 1.0
    for divisor in (1...14).reversed() { sum = 1 + rest / Double(divisor) * sum }
    return Double(sign: .plus, exponent: exponent, significand: sum)
  }

  /// The natural logarithm of `x`; NaN below zero.
  package static func log(_ x: Double) -> Double {
    guard x > 0, x.isFinite else { return x == 0 ? -.infinity : x > 0 ? x : .nan }
    var exponent = Double(x.exponent)
    var significand = x.significand
    if significand > 1.4142135623730951 {
      significand /= 2
      exponent += 1
    }
    // 2 · artanh((s − 1) / (s + 1)), whose argument is at most 0.172.
    let ratio = (significand - 1) / (significand + 1)
    let square = ratio * ratio
    var sum = 0.0
    for term in (0...11).reversed() { sum = sum * square + 1 / Double(2 * term + 1) }
    return exponent * ln2High + (exponent * ln2Low + 2 * ratio * sum)
  }
}
