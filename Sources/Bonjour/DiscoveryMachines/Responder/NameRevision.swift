internal import Essentials

/// The next name to try after a conflict.
enum NameRevision {
  /// "Name", "Name (2)", "Name (3)", in at most 63 bytes.
  static func instance(after label: some Collection<UInt8>) -> [UInt8] {
    revised(Array(label), opening: Array(" (".utf8), closing: Array(")".utf8))
  }

  /// "host", "host-2", "host-3", in at most 63 bytes.
  static func host(after label: some Collection<UInt8>) -> [UInt8] {
    revised(Array(label), opening: Array("-".utf8), closing: [])
  }

  private static func revised(
    _ label: [UInt8], opening: [UInt8], closing: [UInt8]
  ) -> [UInt8] {
    var stem = label[...]
    var number = 2
    if let (base, last) = parts(label[...], opening: opening, closing: closing) {
      stem = base
      number = last + 1
    }
    let suffix = opening + Array(String(number).utf8) + closing
    assert(suffix.count < 63, "a suffix of \(suffix.count) bytes leaves no room for the name")
    return Array(Array(stem).utf8Prefix(63 - suffix.count)) + suffix
  }

  /// Takes apart a label that was revised before.
  private static func parts(
    _ label: ArraySlice<UInt8>, opening: [UInt8], closing: [UInt8]
  ) -> (base: ArraySlice<UInt8>, number: Int)? {
    guard label.suffix(closing.count).elementsEqual(closing) else { return nil }
    let open = label.dropLast(closing.count)
    let digits = open.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let base = open.dropLast(digits.count)
    guard (1...6).contains(digits.count), digits.last != UInt8(ascii: "0"),
      base.suffix(opening.count).elementsEqual(opening), base.count > opening.count
    else { return nil }
    let number = digits.reversed().reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    return number >= 2 ? (base.dropLast(opening.count), number) : nil
  }
}
