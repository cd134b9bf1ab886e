import Essentials

/// A format of text files: a line with its name and version, lines of content, and a line with the
/// checksum (CRC-32) of all bytes before it.
///
///     ambit bonds 1
///     …
///     end 5a17c0de
package struct ChecksummedText: Sendable {
  /// The maximum size of a file in bytes.
  package let byteCountMax: Int
  /// What the first line begins with, and a number follows.
  private let prefix: [UInt8]
  private let header: [UInt8]

  private static let end = Array("end ".utf8)
  private static let lineFeed = UInt8(ascii: "\n")

  /// - Parameters:
  ///   - name: The name in the first line, without the version.
  ///   - version: The version after the name.
  package init(name: String, version: Int, byteCountMax: Int) {
    prefix = Array("\(name) ".utf8)
    header = Array("\(name) \(version)\n".utf8)
    self.byteCountMax = byteCountMax
  }

  /// The file with these lines, each of which includes its end of line.
  package func file(of lines: [UInt8]) -> [UInt8] {
    let file = header + lines
    return file + Self.end + Array(Self.checksum(file[...]).utf8) + [Self.lineFeed]
  }

  /// The lines of a file, without their ends of line.
  package func lines(of bytes: [UInt8]) throws(StateFileDecodingError) -> [ArraySlice<UInt8>] {
    try checkFirstLine(bytes)
    guard bytes.count <= byteCountMax else { throw .damaged("it is too large") }
    guard bytes.last == Self.lineFeed else { throw .damaged("its last line is truncated") }
    let lastLine = bytes.dropLast().lastIndex(of: Self.lineFeed).map { $0 + 1 } ?? 0
    let file = bytes[..<lastLine]
    guard bytes[lastLine...].starts(with: Self.end) else { throw .damaged("its end is missing") }
    let found = bytes[(lastLine + Self.end.count)...].dropLast()
    guard found.elementsEqual(Self.checksum(file).utf8) else {
      throw .damaged("its checksum is wrong")
    }
    guard file.count > header.count else { return [] }
    return file.dropFirst(header.count).dropLast()
      .split(separator: Self.lineFeed, omittingEmptySubsequences: false)
  }

  private func checkFirstLine(_ bytes: [UInt8]) throws(StateFileDecodingError) {
    if bytes.starts(with: header) { return }
    guard !header.starts(with: bytes) else { throw .damaged("its first line is truncated") }
    guard bytes.starts(with: prefix) else { throw .foreign }
    let number = bytes.dropFirst(prefix.count).prefix(10).prefix { $0 != Self.lineFeed }
    let isNumber = number.allSatisfy { (0x30...0x39).contains($0) }
    if isNumber, (1...9).contains(number.count), number.first != 0x30 { throw .laterForm }
    throw .damaged("its first line is wrong")
  }

  /// The checksum CRC-32 in hexadecimal.
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
    var value = UInt32.max
    for byte in bytes { value = value >> 8 ^ table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] }
    value = ~value
    return Hexadecimal.string((0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) })
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in
      value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320
    }
  }
}
