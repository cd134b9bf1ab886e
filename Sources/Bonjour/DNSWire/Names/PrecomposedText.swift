// The standard library composes text for its own comparisons, with its own tables; this is the only
// way to reach them without Foundation. The name is not public, so it is used in this file only.
@_spi(_Unicode) import Swift

extension StringProtocol {
  /// The text in Unicode's Normalization Form C, in UTF-8: "e" and a combining accent become "é".
  var precomposedUTF8: [UInt8] {
    if utf8.allSatisfy({ $0 < 0x80 }) { return Array(utf8) }
    var scalars = String.UnicodeScalarView()
    for scalar in String(self)._nfc { scalars.append(scalar) }
    return Array(String(scalars).utf8)
  }
}
