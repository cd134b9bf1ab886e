import DNSWire
import Essentials
import Testing

@Suite("Bitmaps of types")
struct DNSTypeBitmapTests {
  @Test("the set of RFC 4034, §4.3 has the bytes of the RFC")
  func example() throws {
    let types = [DNSType.a, .mx, DNSType(rawValue: 46), .nsec, DNSType(rawValue: 1234)]
    let expected = try #require(
      Hexadecimal.bytes(
        "0006400100000003041b" + String(repeating: "00", count: 26) + "20"))
    let bitmap = DNSTypeBitmap(types.reversed())
    #expect(bitmap.wireBytes == expected)
    #expect(Array(bitmap) == types)
    #expect(try DNSTypeBitmap(decoding: expected[...]) == bitmap)
  }

  @Test("a set holds exactly the types it was made of")
  func membership() {
    let seed: UInt64 = 3
    var rng = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let types = Set(
        (0..<rng.next() % 20).map { _ in DNSType(rawValue: UInt16(rng.next() % 700)) })
      let bitmap = DNSTypeBitmap(types)
      #expect(Array(bitmap) == types.sorted(), "seed \(seed)")
      for number in 0..<800 {
        let type = DNSType(rawValue: UInt16(number))
        #expect(bitmap.contains(type) == types.contains(type), "seed \(seed)")
      }
    }
  }

  @Test(
    "G10: windows that are empty, too long, cut or out of order are refused",
    arguments: [
      ("0000", 0), ("0021" + String(repeating: "ff", count: 33), 33), ("000440", 1), ("00", 0),
      ("010101000101", 1), ("00014000", 0),
    ])
  func malformed(hex: String, leftByteCount: Int) throws {
    let bytes = try #require(Hexadecimal.bytes(hex))
    #expect(throws: DNSWireError.invalidLength(leftByteCount)) {
      try DNSTypeBitmap(decoding: bytes[...])
    }
  }
}
