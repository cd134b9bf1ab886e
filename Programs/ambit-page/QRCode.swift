/// A QR code of a text (ISO/IEC 18004:2015), in byte mode and of error correction level L, of versions 1
/// to 10: up to 271 bytes.
struct QRCode {
  /// The number of modules of a side, without the quiet zone.
  let size: Int
  private let version: Int
  private var dark: [Bool]
  /// Whether a module belongs to a function pattern, and not to the data.
  private var isFunction: [Bool]

  /// The codewords of error correction for each block, and the blocks, by version (table 9).
  private static let correctionCounts = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18]
  private static let blockCounts = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4]
  /// All codewords by version (table 1).
  private static let codewordCounts = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346]
  /// The middles of alignment patterns by version, besides 6 (annex E).
  private static let alignments = [
    [], [18], [22], [26], [30], [34], [22, 38], [24, 42], [26, 46], [28, 50],
  ]

  /// Nil if the text is longer than a code of version 10 takes.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let version = (1...10).first(where: { bytes.count <= Self.byteCountMax($0) }) else {
      return nil
    }
    self.version = version
    size = 17 + 4 * version
    dark = Array(repeating: false, count: size * size)
    isFunction = dark
    drawFunctionPatterns()
    draw(Self.withCorrection(Self.codewords(of: bytes, version: version), version: version))
    applyBestMask()
  }

  /// Whether a module is dark; none is outside.
  func isDark(x: Int, y: Int) -> Bool {
    (0..<size).contains(x) && (0..<size).contains(y) && dark[y * size + x]
  }

  /// The width of ``lines``.
  var columnCount: Int { size + 8 }

  /// The code as lines for a dark terminal or a light one: two modules in each character, with the quiet
  /// zone of four modules. The colours are set, since a scanner needs dark on light.
  var lines: [String] {
    stride(from: -4, to: size + 4, by: 2).map { y in
      let row = (-4..<size + 4).map { x in
        switch (isDark(x: x, y: y), isDark(x: x, y: y + 1)) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      return "\u{1B}[30;107m\(row.joined())\u{1B}[0m"
    }
  }

  // MARK: Data

  private static func dataCount(_ version: Int) -> Int {
    codewordCounts[version - 1] - correctionCounts[version - 1] * blockCounts[version - 1]
  }

  /// The bits beside the mode and the count.
  private static func byteCountMax(_ version: Int) -> Int {
    dataCount(version) - (version < 10 ? 2 : 3)
  }

  private static func codewords(of bytes: [UInt8], version: Int) -> [UInt8] {
    var bits: [Bool] = []
    func append(_ value: Int, bitCount: Int) {
      for bit in (0..<bitCount).reversed() { bits.append(value >> bit & 1 == 1) }
    }
    append(0b0100, bitCount: 4)
    append(bytes.count, bitCount: version < 10 ? 8 : 16)
    for byte in bytes { append(Int(byte), bitCount: 8) }
    // The terminator, which also fills the last byte: mode and count leave half of it.
    append(0, bitCount: 4)
    var codewords = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
    }
    for index in 0..<max(0, dataCount(version) - codewords.count) {
      codewords.append(index.isMultiple(of: 2) ? 0xEC : 0x11)
    }
    return codewords
  }

  /// The codewords in blocks, each with its error correction, interleaved.
  private static func withCorrection(_ data: [UInt8], version: Int) -> [UInt8] {
    let (blockCount, correctionCount) = (blockCounts[version - 1], correctionCounts[version - 1])
    let generator = generator(degree: correctionCount)
    let shortCount = data.count / blockCount
    let longBlockCount = data.count % blockCount
    var blocks: [[UInt8]] = []
    var rest = data[...]
    for index in 0..<blockCount {
      let count = shortCount + (index < blockCount - longBlockCount ? 0 : 1)
      blocks.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    let corrections = blocks.map { remainder(of: $0, by: generator) }
    func interleaved(_ blocks: [[UInt8]]) -> [UInt8] {
      (0..<(blocks.map(\.count).max() ?? 0)).flatMap { index in
        blocks.compactMap { $0.indices.contains(index) ? $0[index] : nil }
      }
    }
    return interleaved(blocks) + interleaved(corrections)
  }

  // MARK: Reed-Solomon, in the field of x⁸ + x⁴ + x³ + x² + 1

  private static func product(_ a: UInt8, _ b: UInt8) -> UInt8 {
    var result = 0
    for bit in (0..<8).reversed() {
      result = result << 1 ^ (result >> 7) * 0x11D
      if b >> UInt8(bit) & 1 == 1 { result ^= Int(a) }
    }
    return UInt8(truncatingIfNeeded: result)
  }

  /// The product of x − 2ⁱ for each i below the degree, without the leading coefficient.
  private static func generator(degree: Int) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: degree - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<degree {
      for index in 0..<degree {
        result[index] = product(result[index], root)
        if index + 1 < degree { result[index] ^= result[index + 1] }
      }
      root = product(root, 2)
    }
    return result
  }

  private static func remainder(of data: [UInt8], by generator: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: generator.count)
    for byte in data {
      let factor = byte ^ result.removeFirst()
      result.append(0)
      for index in result.indices { result[index] ^= product(generator[index], factor) }
    }
    return result
  }

  // MARK: Modules

  private mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
    guard (0..<size).contains(x), (0..<size).contains(y) else { return }
    dark[y * size + x] = isDark
    isFunction[y * size + x] = true
  }

  private mutating func drawFunctionPatterns() {
    for index in 0..<size {
      set(6, index, index.isMultiple(of: 2))
      set(index, 6, index.isMultiple(of: 2))
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
      drawRings(x, y, radius: 4) { $0 != 2 && $0 != 4 }
    }
    let places = Self.alignments[version - 1].isEmpty ? [] : [6] + Self.alignments[version - 1]
    let last = places.last ?? 0
    for x in places {
      for y in places where ![(6, 6), (6, last), (last, 6)].contains(where: { $0 == (x, y) }) {
        drawRings(x, y, radius: 2) { $0 != 1 }
      }
    }
    drawFormat(mask: 0)
    drawVersion()
  }

  private mutating func drawRings(
    _ x: Int, _ y: Int, radius: Int, _ isDark: (_ distance: Int) -> Bool
  ) {
    for dy in -radius...radius {
      for dx in -radius...radius { set(x + dx, y + dy, isDark(max(abs(dx), abs(dy)))) }
    }
  }

  /// A value with its check bits of a BCH code.
  private static func checked(_ value: Int, _ generator: Int, bitCount: Int) -> Int {
    var rest = value
    for _ in 0..<bitCount { rest = rest << 1 ^ (rest >> (bitCount - 1)) * generator }
    return value << bitCount | rest
  }

  /// The level and the mask, twice, and the module that is always dark (§7.9).
  private mutating func drawFormat(mask: Int) {
    let bits = Self.checked(0b01 << 3 | mask, 0x537, bitCount: 10) ^ 0x5412
    func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
    for index in 0..<6 { set(8, index, bit(index)) }
    set(8, 7, bit(6))
    set(8, 8, bit(7))
    set(7, 8, bit(8))
    for index in 9..<15 { set(14 - index, 8, bit(index)) }
    for index in 0..<8 { set(size - 1 - index, 8, bit(index)) }
    for index in 8..<15 { set(8, size - 15 + index, bit(index)) }
    set(8, size - 8, true)
  }

  /// The version, twice, from version 7 on (§7.10).
  private mutating func drawVersion() {
    guard version >= 7 else { return }
    let bits = Self.checked(version, 0x1F25, bitCount: 12)
    for index in 0..<18 {
      let (a, b) = (size - 11 + index % 3, index / 3)
      set(a, b, bits >> index & 1 == 1)
      set(b, a, bits >> index & 1 == 1)
    }
  }

  /// The codewords from the lower right corner on, in columns of two modules, up and down by turns.
  private mutating func draw(_ codewords: [UInt8]) {
    var index = 0
    for column in stride(from: size - 1, to: 0, by: -2) {
      // The column of the vertical timing pattern is left out.
      let right = column <= 6 ? column - 1 : column
      let isUpward = (right + 1) & 2 == 0
      for step in 0..<size {
        let y = isUpward ? size - 1 - step : step
        for x in [right, right - 1] where !isFunction[y * size + x] && index < codewords.count * 8 {
          dark[y * size + x] = codewords[index / 8] >> UInt8(7 - index % 8) & 1 == 1
          index += 1
        }
      }
    }
  }

  // MARK: Masks

  private static func isInverted(_ mask: Int, _ x: Int, _ y: Int) -> Bool {
    switch mask {
    case 0: (x + y) % 2 == 0
    case 1: y % 2 == 0
    case 2: x % 3 == 0
    case 3: (x + y) % 3 == 0
    case 4: (x / 3 + y / 2) % 2 == 0
    case 5: x * y % 2 + x * y % 3 == 0
    case 6: (x * y % 2 + x * y % 3) % 2 == 0
    default: ((x + y) % 2 + x * y % 3) % 2 == 0
    }
  }

  private mutating func applyBestMask() {
    let masked = (0..<8).map { mask in
      var copy = self
      for y in 0..<size {
        for x in 0..<size where !isFunction[y * size + x] && Self.isInverted(mask, x, y) {
          copy.dark[y * size + x].toggle()
        }
      }
      copy.drawFormat(mask: mask)
      return copy
    }
    if let best = masked.min(by: { $0.penalty < $1.penalty }) { self = best }
  }

  /// How badly scanners may read it (§7.8.3.1).
  private var penalty: Int {
    var result = 0
    for index in 0..<size {
      result += Self.penalty(ofLine: (0..<size).map { dark[index * size + $0] })
      result += Self.penalty(ofLine: (0..<size).map { dark[$0 * size + index] })
    }
    for y in 0..<size - 1 {
      for x in 0..<size - 1 {
        let first = dark[y * size + x]
        let others = [(1, 0), (0, 1), (1, 1)].map { dark[(y + $0.1) * size + x + $0.0] }
        if others.allSatisfy({ $0 == first }) { result += 3 }
      }
    }
    let percent = dark.count(where: { $0 }) * 100 / dark.count
    return result + abs(percent - 50) / 5 * 10
  }

  /// The part of one row or column: long runs, and what looks like a finder pattern.
  private static func penalty(ofLine line: [Bool]) -> Int {
    var result = 0
    var runCount = 0
    for (index, module) in line.enumerated() {
      runCount = index > 0 && line[index - 1] == module ? runCount + 1 : 1
      if runCount == 5 { result += 3 }
      if runCount > 5 { result += 1 }
    }
    let finder = [true, false, true, true, true, false, true]
    let light = [Bool](repeating: false, count: 4)
    for pattern in [finder + light, light + finder] where line.count >= pattern.count {
      for start in 0...line.count - pattern.count
      where line[start..<start + pattern.count].elementsEqual(pattern) { result += 40 }
    }
    return result
  }
}
