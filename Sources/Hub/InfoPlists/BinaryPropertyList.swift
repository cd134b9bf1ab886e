/// The structure of a binary property list, before Foundation reads it: an object may be shared, and the shared ones
/// of shared ones multiply when they are copied. Some kinds of objects, such as sets, make Foundation trap.
enum BinaryPropertyList {
  static let depthMax = 64
  static let elementCountMax = 1 << 16

  /// Whether it has only objects that XML has, too, and at most `elementCountMax` elements when all shared objects are copied, `depthMax` deep.
  static func isBounded(_ bytes: [UInt8]) -> Bool {
    guard var reader = Reader(bytes) else { return false }
    return reader.count(reader.top, depth: 0).map { $0 <= elementCountMax } ?? false
  }

  private struct Reader {
    let bytes: [UInt8]
    let offsetSize: Int
    let referenceSize: Int
    let objectCount: Int
    let top: Int
    let table: Int
    /// Elements of each object that was counted.
    var counts: [Int: Int] = [:]

    init?(_ bytes: [UInt8]) {
      guard bytes.count >= 40 else { return nil }
      self.bytes = bytes
      let trailer = bytes.count - 32
      offsetSize = Int(bytes[trailer + 6])
      referenceSize = Int(bytes[trailer + 7])
      guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
        let objectCount = Self.number(bytes, at: trailer + 8, size: 8),
        let top = Self.number(bytes, at: trailer + 16, size: 8),
        let table = Self.number(bytes, at: trailer + 24, size: 8)
      else { return nil }
      (self.objectCount, self.top, self.table) = (objectCount, top, table)
    }

    /// A big-endian number that is less than the number of bytes; nil if it is larger, or not there.
    static func number(_ bytes: [UInt8], at offset: Int, size: Int) -> Int? {
      guard offset >= 0, size > 0, size <= 8, offset <= bytes.count - size else { return nil }
      var value: UInt64 = 0
      for byte in bytes[offset..<(offset + size)] { value = value << 8 | UInt64(byte) }
      return value < UInt64(bytes.count) ? Int(value) : nil
    }

    /// The elements of an object and all inside it; nil if it is malformed, too deep, or has too many.
    mutating func count(_ object: Int, depth: Int) -> Int? {
      if let known = counts[object] { return known }
      guard depth < depthMax, let offset = offset(of: object) else { return nil }
      let sum: Int?
      switch bytes[offset] {
      // Booleans, integers, reals, a date, data, ASCII, UTF-16.
      case 0x08, 0x09, 0x10...0x14, 0x22, 0x23, 0x33, 0x40...0x6F: sum = 1
      case 0xA0...0xAF: sum = count(containerAt: offset, keyCount: 0, depth: depth)
      case 0xD0...0xDF:
        let keyCount = length(at: offset)?.count
        sum = keyCount.flatMap { count(containerAt: offset, keyCount: $0, depth: depth) }
      default: sum = nil
      }
      counts[object] = sum
      return sum
    }

    /// The elements of an array, or of a dictionary, whose keys are strings.
    private mutating func count(containerAt offset: Int, keyCount: Int, depth: Int) -> Int? {
      guard let (length, first) = length(at: offset), length <= elementCountMax else { return nil }
      var sum = 1
      for index in 0..<(length + keyCount) {
        let place = first + index * referenceSize
        guard let reference = Self.number(bytes, at: place, size: referenceSize),
          index >= keyCount || isString(reference),
          let inside = count(reference, depth: depth + 1)
        else { return nil }
        sum += inside
        guard sum <= elementCountMax else { return nil }
      }
      return sum
    }

    private func offset(of object: Int) -> Int? {
      guard object < objectCount,
        let offset = Self.number(bytes, at: table + object * offsetSize, size: offsetSize),
        bytes.indices.contains(offset)
      else { return nil }
      return offset
    }

    private func isString(_ object: Int) -> Bool {
      offset(of: object).map { (0x50...0x6F).contains(bytes[$0]) } ?? false
    }

    /// The length of a container, and where its references begin.
    private func length(at offset: Int) -> (count: Int, first: Int)? {
      let short = Int(bytes[offset] & 0xF)
      guard short == 0xF else { return (short, offset + 1) }
      guard bytes.indices.contains(offset + 1), (0x10...0x13).contains(bytes[offset + 1]) else {
        return nil
      }
      let size = 1 << Int(bytes[offset + 1] & 0xF)
      guard let length = Self.number(bytes, at: offset + 2, size: size) else { return nil }
      return (length, offset + 2 + size)
    }
  }
}
