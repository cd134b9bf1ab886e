#if Messaging
  import Essentials
  import Testing

  @testable import XMPPWire

  @Suite("Headers of media files")
  struct MediaHeaderTests {
    private static func read(_ file: [UInt8], byteCount: Int64? = nil) -> MediaHeader {
      var header = MediaHeader(byteCount: byteCount ?? Int64(file.count))
      var count = 0
      while let part = header.request, count < 200 {
        count += 1
        header.take(Array(file.dropFirst(Int(clamping: part.offset)).prefix(part.count)))
      }
      #expect(header.request == nil)
      return header
    }

    private static func box(_ kind: String, _ content: [UInt8]) -> [UInt8] {
      number(content.count + 8, 4) + Array(kind.utf8) + content
    }

    private static func number(_ value: Int, _ count: Int) -> [UInt8] {
      (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static let png =
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
      + box("IHDR", number(640, 4) + number(480, 4))

    private static let jpeg: [UInt8] =
      [0xFF, 0xD8, 0xFF, 0xE0] + number(16, 2) + [UInt8](repeating: 0, count: 14)
      + [0xFF, 0xFF, 0xE1] + number(40_000, 2) + [UInt8](repeating: 0xFF, count: 39_998)
      + [0xFF, 0xC2] + number(17, 2) + [8] + number(300, 2) + number(400, 2)

    private static let m4a: [UInt8] =
      box("ftyp", Array("M4A \u{0}\u{0}\u{0}\u{0}".utf8))
      + box("mdat", [UInt8](repeating: 1, count: 1_000))
      + box(
        "moov",
        box("free", [])
          + box(
            "mvhd", number(0, 4) + number(1, 4) + number(2, 4) + number(600, 4) + number(900, 4)))

    private static func oggPage(granule: Int, serial: Int, _ content: [UInt8]) -> [UInt8] {
      Array("OggS".utf8) + [0, 0] + Array(number(granule, 8).reversed())
        + Array(number(serial, 4).reversed()) + number(0, 8) + [1, UInt8(content.count)] + content
    }

    private static let opus: [UInt8] =
      oggPage(
        granule: 0, serial: 7,
        Array("OpusHead".utf8) + [1, 1] + Array(number(312, 2).reversed()) + number(0, 7))
      + oggPage(granule: 48_000, serial: 7, [UInt8](repeating: 5, count: 200))
      + oggPage(granule: 48_312 + 24_000, serial: 7, [1, 2])
      + oggPage(granule: 9_999_999, serial: 8, [1, 2])

    @Test func `A picture has its size`() {
      #expect(Self.read(Self.png).width == 640 && Self.read(Self.png).height == 480)
      let gif = Self.read(Array("GIF89a".utf8) + [0x40, 0x01, 0xF0, 0x00])
      #expect(gif.width == 320 && gif.height == 240)
      #expect(Self.read(Self.jpeg).width == 400 && Self.read(Self.jpeg).height == 300)
    }

    @Test func `A recording has its duration`() {
      #expect(Self.read(Self.m4a).duration == 1_500)
      #expect(Self.read(Self.opus).duration == 1_500)
      let long: [UInt8] =
        Self.box("ftyp", [])
        + Self.box(
          "moov",
          Self.box(
            "mvhd",
            [1, 0, 0, 0] + Self.number(0, 16) + Self.number(1_000, 4)
              + Self.number(7_000, 8)))
      #expect(Self.read(long).duration == 7_000)
    }

    @Test func `A file without a known header has neither`() {
      for file in [[], [0], Array("text".utf8), Array("OggS".utf8)] as [[UInt8]] {
        let header = Self.read(file)
        #expect(header.width == nil && header.duration == nil)
      }
    }

    @Test(arguments: [png, jpeg, m4a, opus])
    func `A file that is cut or changed anywhere ends in bounded steps`(file: [UInt8]) {
      let seed = UInt64.random(in: 0...UInt64.max)
      var chance = SeededGenerator(seed: seed)
      for _ in 0..<300 {
        var changed = file
        for _ in 0..<Int.random(in: 0..<4, using: &chance) {
          guard let place = changed.indices.randomElement(using: &chance) else { break }
          changed[place] = [0, 1, 0x7F, 0xFF].randomElement(using: &chance) ?? 0
        }
        changed.removeLast(Int.random(in: 0..<changed.count, using: &chance))
        let size = Bool.random(using: &chance) ? Int64(changed.count) : .max
        let header = Self.read(changed, byteCount: size)
        #expect((header.duration ?? 0) >= 0 && (header.width ?? 1) > 0, "seed \(seed)")
      }
    }
  }
#endif
