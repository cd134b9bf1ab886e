import Essentials

/// The reason why a text is not a valid value of a characteristic.
package struct ValueTextError: Error, Hashable, Sendable {
  /// The expected format: `a number with up to 2 decimals, in °C`.
  package var expected: String
}

extension StandardValue {
  /// Encodes the value of a standard characteristic from the text that `text(_:of:)` returns, or
  /// from the number alone: `25.5` or `25.50 °C`.
  ///
  /// - Returns: The bytes; nil if the characteristic is not a standard one, or can't be encoded
  ///   from text.
  /// - Throws: `ValueTextError` if the text is not valid for the characteristic.
  package static func bytes(
    _ text: String, of uuid: BluetoothUUID
  ) throws(ValueTextError) -> [UInt8]? {
    guard let number = uuid.short else { return nil }
    if let quantity = Quantity.byCharacteristic[number] { return try quantity.bytes(text) }
    if isText(number) { return Array(text.utf8) }
    if let words = words(number) { return [try code(text, among: words)] }
    if number == 0x2A37 { return try heartRate(text) }
    return nil
  }

  /// The number of a word, which may be given by its beginning, or as the number itself.
  private static func code(
    _ text: String, among words: [String]
  ) throws(ValueTextError) -> UInt8 {
    let wanted = text.lowercased()
    if let code = UInt8(text) { return code }
    let fitting = words.indices.filter { words[$0].lowercased().hasPrefix(wanted) }
    if let exact = fitting.first(where: { words[$0].lowercased() == wanted }) {
      return UInt8(exact)
    }
    guard fitting.count == 1, let only = fitting.first, !wanted.isEmpty else {
      throw ValueTextError(expected: "one of " + words.joined(separator: ", "))
    }
    return UInt8(only)
  }

  /// Flags and the rate, in as many bytes as it takes (Heart Rate Service 1.0, §3.1).
  private static func heartRate(_ text: String) throws(ValueTextError) -> [UInt8] {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let rest = text.dropFirst(digits.count).filter { $0 != " " }
    guard let rate = UInt16(digits), rest.isEmpty || rest == "bpm" else {
      throw ValueTextError(expected: "beats per minute, a whole number from 0 to 65535")
    }
    if let short = UInt8(exactly: rate) { return [0, short] }
    return [1, UInt8(truncatingIfNeeded: rate), UInt8(truncatingIfNeeded: rate >> 8)]
  }
}

extension Quantity {
  /// The bytes of a number, with or without its unit.
  /// - Throws: `ValueTextError` where the text is no number, too fine, or out of range.
  func bytes(_ text: String) throws(ValueTextError) -> [UInt8] {
    var digits = text[...]
    while digits.last == " " { digits = digits.dropLast() }
    if let unknown, digits == "not known" { return encoded(unknown) }
    if !unit.isEmpty, digits.hasSuffix(unit) { digits = digits.dropLast(unit.count) }
    while digits.last == " " { digits = digits.dropLast() }
    guard let steps = steps(digits), range.contains(steps) else {
      throw ValueTextError(expected: expected)
    }
    return encoded(steps)
  }

  /// How many steps of this quantity a decimal number is; nil unless it is a whole number of them.
  private func steps(_ digits: Substring) -> Int64? {
    let isNegative = digits.hasPrefix("-")
    let parts = digits.drop { $0 == "-" || $0 == "+" }
      .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard digits.count(where: { $0 == "-" || $0 == "+" }) <= 1, let whole = parts.first,
      parts.allSatisfy({ $0.allSatisfy { "0"..."9" ~= $0 } }), !whole.isEmpty
    else { return nil }
    var fraction = parts.count == 2 ? parts[1] : ""
    while fraction.last == "0" { fraction = fraction.dropLast() }
    // In units of ten to the power of the exponent; none of ours is positive.
    guard fraction.count <= -exponent,
      let scaled = Int64(
        whole + fraction + String(repeating: "0", count: -exponent - fraction.count)),
      scaled.isMultiple(of: factor)
    else { return nil }
    return (isNegative ? -scaled : scaled) / factor
  }

  private var range: ClosedRange<Int64> {
    let bits = Int64(byteCount * 8)
    return isSigned
      ? -(1 << (bits - 1))...(1 << (bits - 1)) - 1 : 0...(1 << bits) - 1
  }

  private func encoded(_ steps: Int64) -> [UInt8] {
    var writer = ByteWriter(capacity: 4)
    writer.littleEndian(UInt64(bitPattern: steps), count: byteCount)
    return writer.bytes
  }

  private var expected: String {
    let least = DecimalText.string(range.lowerBound * factor, exponent: exponent)
    let most = DecimalText.string(range.upperBound * factor, exponent: exponent)
    let step = DecimalText.string(factor, exponent: exponent)
    let unit = unit.isEmpty ? "" : " " + unit
    return "a number from \(least) to \(most)\(unit), in steps of \(step)"
  }
}
