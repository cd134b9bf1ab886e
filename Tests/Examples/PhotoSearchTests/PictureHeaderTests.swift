import Testing

@testable import photo_search

@Suite("The header of a picture")
struct PictureHeaderTests {
  private static func header(_ bytes: [UInt8]) -> PictureHeader? {
    PictureHeader { Array(bytes.dropFirst($0).prefix($1)) }
  }

  private static let jpegStart: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2]
  private static let jpegFrame: [UInt8] = [
    0xFF, 0xC2, 0, 17, 8, 0x01, 0x2C, 0x02, 0x58, 3, 1, 0x22, 0,
  ]

  @Test("a picture's header has the format and the size")
  func sizes() {
    let png = TestPicture.header(width: 70_000, height: 3)
    #expect(Self.header(png)?.format == .png)
    #expect(Self.header(png)?.width == 70_000 && Self.header(png)?.height == 3)
    let gif = Self.header(Array("GIF89a".utf8) + [0x40, 0x01, 0xF0, 0x00, 0])
    #expect(gif?.format == .gif && gif?.width == 320 && gif?.height == 240)
    let riff = Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8)
    let extended = Self.header(
      riff + Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, 0x7F, 0x07, 0, 0x37, 0x04, 0])
    #expect(extended?.format == .webp && extended?.width == 1_920 && extended?.height == 1_080)
    let lossless = Self.header(
      riff + Array("VP8L".utf8) + [9, 0, 0, 0, 0x2F, 0x3F, 0xC1, 0x3B, 0x00, 0, 0, 0, 0, 0])
    #expect(lossless?.width == 320 && lossless?.height == 240)
    let lossy = Self.header(
      riff + Array("VP8 ".utf8)
        + [9, 0, 0, 0, 0, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x00])
    #expect(lossy?.width == 320 && lossy?.height == 240)
    let jpeg = Self.header(Self.jpegStart + [0xFF, 0xFF, 0xE1, 0, 3, 9] + Self.jpegFrame)
    #expect(jpeg?.format == .jpeg && jpeg?.width == 600 && jpeg?.height == 300)
  }

  @Test("a file that is no picture has no header")
  func none() {
    for bytes: [UInt8] in [
      [], [0], Array("<svg xmlns='x'></svg>".utf8), Array("GIF89a".utf8),
      TestPicture.header(width: 0, height: 8), [0xFF, 0xD8, 0xFF, 0xD9],
      // A segment that is shorter than its own length.
      [0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 0xFF, 0xC0, 0, 9, 9, 9, 9, 9, 9],
      [0xFF, 0xD8, 0xFF, 0xDA, 0, 8, 0, 0, 0, 0, 0, 0],
    ] {
      #expect(Self.header(bytes) == nil)
    }
    // Without end, and without a frame.
    var reads = 0
    let endless = PictureHeader { offset, count in
      reads += 1
      return offset == 0
        ? Array(Self.jpegStart.prefix(count))
        : Array([0xFF, 0xE0, 0, 2, 0, 0, 0, 0, 0].prefix(count))
    }
    #expect(endless == nil && reads < 1_100)
  }

  @Test("a header that is cut off or damaged anywhere is read without harm")
  func damaged() {
    var generator = Seeded(state: UInt64.random(in: 1 ... .max))
    print("seed \(generator.state)")
    let whole = [
      TestPicture.png(), Self.jpegStart + Self.jpegFrame,
      Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBPVP8X".utf8) + Array(repeating: 3, count: 14),
    ]
    for bytes in whole {
      for count in 0...min(40, bytes.count) { _ = Self.header(Array(bytes.prefix(count))) }
      for _ in 0..<2_000 {
        var damaged = bytes
        for _ in 0..<3 {
          damaged[Int.random(in: 0..<damaged.count, using: &generator)] =
            UInt8.random(in: 0...255, using: &generator)
        }
        if let header = Self.header(damaged) { #expect(header.width > 0 && header.height > 0) }
      }
    }
  }

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return state
    }
  }
}
