/// The first bytes of a picture: enough to know its format, and how much memory it takes to show
/// it.
struct PictureHeader: Equatable, Sendable {
  enum Format: String, Sendable {
    case png, jpeg, gif, webp

    var mediaType: String { "image/" + rawValue }
  }

  var format: Format
  var width: Int
  var height: Int

  /// How many segments of a JPEG file are looked at for its size: there are some dozens.
  private static let segmentCountMax = 1_000

  /// Reads the header of a picture; nil for other files and formats.
  ///
  /// - Parameter read: Reads `count` bytes of the file from an offset on, fewer at its end.
  init?(_ read: (_ offset: Int, _ count: Int) -> [UInt8]) {
    let start = read(0, 30)
    if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      // PNG, §11.2.2: IHDR is the first chunk.
      guard start.text(at: 12, 4) == "IHDR", let width = start.bigEndian(at: 16, 4),
        let height = start.bigEndian(at: 20, 4)
      else { return nil }
      self.init(.png, width, height)
    } else if ["GIF87a", "GIF89a"].contains(start.text(at: 0, 6)) {
      guard let width = start.littleEndian(at: 6, 2), let height = start.littleEndian(at: 8, 2)
      else { return nil }
      self.init(.gif, width, height)
    } else if start.text(at: 0, 4) == "RIFF", start.text(at: 8, 4) == "WEBP" {
      self.init(webP: start)
    } else if start.starts(with: [0xFF, 0xD8, 0xFF]) {
      self.init(jpeg: read)
    } else {
      return nil
    }
  }

  private init?(_ format: Format, _ width: Int, _ height: Int) {
    guard width > 0, height > 0 else { return nil }
    self.format = format
    self.width = width
    self.height = height
  }

  /// RFC 9649, §2: the size is in the first chunk, in each kind elsewhere.
  private init?(webP start: [UInt8]) {
    switch start.text(at: 12, 4) {
    case "VP8X":
      guard let width = start.littleEndian(at: 24, 3), let height = start.littleEndian(at: 27, 3)
      else { return nil }
      self.init(.webp, width + 1, height + 1)
    case "VP8L":
      guard let bits = start.littleEndian(at: 21, 4) else { return nil }
      self.init(.webp, bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
    case "VP8 ":
      guard let width = start.littleEndian(at: 26, 2), let height = start.littleEndian(at: 28, 2)
      else { return nil }
      self.init(.webp, width & 0x3FFF, height & 0x3FFF)
    default: return nil
    }
  }

  /// ITU-T T.81, §B.2: segments follow each other, and a frame header has the size.
  private init?(jpeg read: (Int, Int) -> [UInt8]) {
    var offset = 2
    for _ in 0..<Self.segmentCountMax {
      let bytes = read(offset, 9)
      guard bytes.first == 0xFF, let marker = bytes.bigEndian(at: 1, 1) else { return nil }
      switch marker {
      case 0xFF: offset += 1  // Bytes to fill up.
      case 0x01, 0xD0...0xD7: offset += 2  // They stand by themselves.
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        guard let height = bytes.bigEndian(at: 5, 2), let width = bytes.bigEndian(at: 7, 2)
        else { return nil }
        self.init(.jpeg, width, height)
        return
      case 0xD8...0xDA: return nil  // The picture begins, and no size was said.
      default:
        guard let length = bytes.bigEndian(at: 2, 2), length >= 2 else { return nil }
        offset += 2 + length
      }
    }
    return nil
  }
}

extension [UInt8] {
  fileprivate func bigEndian(at offset: Int, _ count: Int) -> Int? {
    guard offset + count <= self.count else { return nil }
    return self[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
  }

  fileprivate func littleEndian(at offset: Int, _ count: Int) -> Int? {
    guard offset + count <= self.count else { return nil }
    return self[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  fileprivate func text(at offset: Int, _ count: Int) -> String? {
    guard offset + count <= self.count else { return nil }
    return String(decoding: self[offset..<offset + count], as: UTF8.self)
  }
}
