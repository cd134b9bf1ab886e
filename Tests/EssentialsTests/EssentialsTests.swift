import Essentials
import Testing

@Suite("Essentials")
struct EssentialsTests {
  @Test("time saturates at both ends instead of overflowing")
  func saturation() {
    #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
    #expect(Instant.zero + .seconds(.max) == .distantFuture)
    #expect(Instant(nanoseconds: .min) + .nanoseconds(-1) == Instant(nanoseconds: .min))
    #expect(Instant.distantFuture - Instant(nanoseconds: -1) == TimeSpan(nanoseconds: .max))
    #expect(TimeSpan.seconds(.min).nanoseconds == .min)
    #expect(TimeSpan.milliseconds(3) * 4 == .milliseconds(12))
    #expect(TimeSpan.seconds(2) + .milliseconds(5) == .milliseconds(2005))
  }

  @Test("a seed gives the same sequence for ever")
  func seeds() {
    // The first outputs of SplitMix64 from seed 1234567, as its author's reference prints them.
    var generator = SeededGenerator(seed: 1_234_567)
    #expect(generator.next() == 6_457_827_717_110_365_317)
    #expect(generator.next() == 3_203_168_211_198_807_973)
    var fork = generator.fork()
    #expect(fork.next() != generator.next())
    for _ in 0..<1_000 {
      let number = generator.unit()
      #expect(number >= 0 && number < 1)
    }
  }

  @Test("a reader takes the available bytes and reports the missing ones")
  func reading() throws {
    var reader = ByteReader([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xFF, 0xFE])
    #expect(try reader.uint8() == 1)
    #expect(try reader.uint16() == 0x0302)
    #expect(try reader.uint24() == 0x060504)
    #expect(try reader.uint32() == 0x0A09_0807)
    #expect(try reader.slice(1) == [11])
    #expect(try reader.bigEndian(2) == 0x0CFF)
    #expect(try reader.int8() == -2)
    #expect(reader.isAtEnd)
    #expect(throws: Truncated(needed: 8, available: 0)) { try reader.uint64() }
    #expect(throws: Truncated(needed: -1, available: 0)) { try reader.slice(-1) }
  }

  @Test("a writer's output is read by a reader")
  func writing() throws {
    var writer = ByteWriter()
    writer.uint8(7)
    writer.int8(-7)
    writer.uint16(0x1234)
    writer.uint24(0x56_789A)
    writer.uint32(0xDEAD_BEEF)
    writer.uint64(0x0102_0304_0506_0708)
    writer.bigEndian(0xCAFE, count: 2)
    writer.append([1, 2])
    var reader = ByteReader(writer.bytes)
    #expect(try reader.uint8() == 7)
    #expect(try reader.int8() == -7)
    #expect(try reader.uint16() == 0x1234)
    #expect(try reader.uint24() == 0x56_789A)
    #expect(try reader.uint32() == 0xDEAD_BEEF)
    #expect(try reader.uint64() == 0x0102_0304_0506_0708)
    #expect(try reader.bigEndian(2) == 0xCAFE)
    #expect(reader.rest() == [1, 2])
  }

  @Test(
    "hexadecimal text is read in the usual ways of writing it, and nothing else",
    arguments: [
      ("0a1B2c", [0x0A, 0x1B, 0x2C]), ("0x0a", [0x0A]), ("0a:1b-2c 3d", [0x0A, 0x1B, 0x2C, 0x3D]),
      ("", []), ("0", nil), ("0g", nil), ("0 a", nil), ("é1", nil),
    ] as [(String, [UInt8]?)])
  func hexadecimal(_ text: String, _ bytes: [UInt8]?) {
    #expect(Hexadecimal.bytes(text) == bytes)
    if let bytes { #expect(Hexadecimal.bytes(Hexadecimal.string(bytes)) == bytes) }
  }
}

@Suite("Cutting text in UTF-8")
struct UTF8PrefixTests {
  @Test("a text that fits is whole, one that does not is cut between characters")
  func cuts() {
    let text = Array("aö€𝄞".utf8)  // 1 + 2 + 3 + 4 bytes
    let lengths = (0...12).map { text.utf8Prefix($0).count }
    #expect(lengths == [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10, 10])
    for length in 0...12 {
      let cut = text.utf8Prefix(length)
      #expect(Array(String(decoding: cut, as: UTF8.self).utf8) == Array(cut))
    }
  }

  @Test("bytes that are not UTF-8 lose three bytes at most, in a slice, too")
  func notText() {
    let bytes = [UInt8](repeating: 0x80, count: 300)
    #expect(bytes.utf8Prefix(248).count == 245)
    #expect(bytes[100...].utf8Prefix(2).isEmpty)
    #expect(bytes[100...].utf8Prefix(200).count == 200)
  }
}
