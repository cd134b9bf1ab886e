import Essentials

/// Values of standard characteristics and descriptors as text for people.
package enum StandardValue {
  /// Describes `bytes` as a value of the characteristic `uuid`: `142 bpm, contact`.
  ///
  /// Returns nil if the characteristic is not a standard one, or if the bytes don't fit its format
  /// (GATT Specification Supplement).
  package static func text(_ bytes: ArraySlice<UInt8>, of uuid: BluetoothUUID) -> String? {
    guard let number = uuid.short else { return nil }
    if let quantity = Quantity.byCharacteristic[number] { return quantity.text(bytes) }
    if texts.contains(number) { return printable(bytes) }
    if let words = words(number) {
      guard bytes.count == 1, let code = bytes.first else { return nil }
      return Int(code) < words.count ? words[Int(code)] : "reserved (\(code))"
    }
    return structure(bytes, number)
  }

  /// Describes `bytes` as a value of the descriptor `uuid`: `notifications on`.
  package static func text(_ bytes: ArraySlice<UInt8>, ofDescriptor uuid: BluetoothUUID) -> String?
  {
    guard let number = uuid.short else { return nil }
    var reader = ByteReader(bytes)
    switch number {
    case 0x2900: return decode(&reader) { r throws(Truncated) in extended(try r.uint16()) }
    case 0x2901: return printable(bytes)
    case 0x2902: return decode(&reader) { r throws(Truncated) in client(try r.uint16()) }
    case 0x2903:
      return decode(&reader) { r throws(Truncated) in
        try r.uint16() & 1 == 0 ? "broadcast off" : "broadcast on"
      }
    case 0x2904: return decode(&reader, presentationFormat)
    default: return nil
    }
  }

  /// The bytes as UTF-8 without control characters, trailing zeros cut; nil where they are none, or
  /// none at all.
  package static func printable(_ bytes: ArraySlice<UInt8>) -> String? {
    let end = bytes.lastIndex { $0 != 0 }.map { bytes.index(after: $0) } ?? bytes.startIndex
    guard end > bytes.startIndex,
      let text = String(validating: bytes[bytes.startIndex..<end], as: UTF8.self),
      text.unicodeScalars.allSatisfy(isPrintable)
    else { return nil }
    return text
  }

  /// Whether a scalar can be shown on a terminal as it is: no control, no direction override.
  static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
      .paragraphSeparator:
      false
    default: true
    }
  }

  /// Runs a decoder; nil where the bytes end too early or some are left over.
  static func decode(
    _ reader: inout ByteReader, _ body: (inout ByteReader) throws(Truncated) -> String?
  ) -> String? {
    guard let text = try? body(&reader), reader.isAtEnd else { return nil }
    return text
  }

  /// Characteristics whose value is text.
  private static let texts: Set<UInt16> = [
    0x2A00, 0x2A24, 0x2A25, 0x2A26, 0x2A27, 0x2A28, 0x2A29, 0x2A3D, 0x2A87, 0x2A8A, 0x2A90,
    0x2AA2, 0x2AB5, 0x2AB6, 0x2ABE, 0x2B2E, 0x2B48, 0x2B93, 0x2B97, 0x2BB3, 0x2BC2,
  ]

  /// Whether a characteristic's value is text.
  static func isText(_ number: UInt16) -> Bool { texts.contains(number) }

  /// Characteristics whose value is one of a few words.
  static func words(_ number: UInt16) -> [String]? {
    switch number {
    case 0x2A06: ["no alert", "mild alert", "high alert"]
    case 0x2A09:
      [
        "unknown", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
      ]
    case 0x2A1D:
      [
        "reserved (0)", "armpit", "body", "ear", "finger", "gastro-intestinal tract", "mouth",
        "rectum", "toe", "tympanum",
      ]
    case 0x2A38: ["other", "chest", "wrist", "finger", "hand", "ear lobe", "foot"]
    case 0x2A39: ["reserved (0)", "reset energy expended"]
    case 0x2A4E: ["boot protocol", "report protocol"]
    case 0x2A5D:
      [
        "other", "top of shoe", "in shoe", "hip", "front wheel", "left crank", "right crank",
        "left pedal", "right pedal", "front hub", "rear dropout", "chainstay", "rear wheel",
        "rear hub", "chest", "spider", "chain ring",
      ]
    case 0x2A8C: ["male", "female", "unspecified"]
    case 0x2AA3:
      [
        "unknown", "continuously falling", "continuously rising", "falling, then steady",
        "rising, then steady", "falling before a lesser rise", "falling before a greater rise",
        "rising before a greater fall", "rising before a lesser fall", "steady",
      ]
    case 0x2AA6: ["address resolution not supported", "address resolution supported"]
    case 0x2AE2: ["false", "true"]
    default: nil
    }
  }

  private static func extended(_ bits: UInt16) -> String {
    let names = (bits & 1 != 0 ? ["reliable write"] : []) + (bits & 2 != 0 ? ["writable aux"] : [])
    return names.isEmpty ? "none" : names.joined(separator: ", ")
  }

  private static func client(_ bits: UInt16) -> String {
    switch bits & 3 {
    case 1: "notifications on"
    case 2: "indications on"
    case 3: "notifications and indications on"
    default: "off"
    }
  }

  /// Format, exponent and unit of a characteristic (Core 5.4, Vol 3, Part G, §3.3.3.5).
  private static func presentationFormat(_ reader: inout ByteReader) throws(Truncated) -> String? {
    let format = try reader.uint8()
    let exponent = try reader.int8()
    let unit = try reader.uint16()
    _ = try reader.slice(3)
    return "format \(format), exponent \(exponent), unit 0x\(BluetoothUUID(unit))"
  }
}
