import DNSWire
import Essentials
import Testing

@Suite("Hostile DNS messages")
struct HostileMessageTests {
  private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(hex)) }

  private func refusal(_ bytes: [UInt8]) -> DNSWireError? {
    do throws(DNSWireError) {
      _ = try DNSMessage(decoding: bytes[...])
      return nil
    } catch { return error }
  }

  /// The header of a query with one question.
  private let head: [UInt8] = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]

  @Test("G1: a pointer to itself, to its like or forwards is refused")
  func loops() throws {
    #expect(refusal(head + [0xC0, 12, 0, 1, 0, 1]) == .invalidPointer(target: 12))
    #expect(refusal(head + [0xC0, 14, 0xC0, 12, 0, 1, 0, 1]) == .invalidPointer(target: 14))
    #expect(refusal(head + [1, 97, 0xC0, 12, 0, 1, 0, 1]) == .invalidPointer(target: 12))
    #expect(refusal(head + [0xC0, 18, 0, 1, 0, 1, 1, 97, 0]) == .invalidPointer(target: 18))
    #expect(refusal(head + [0xFF, 0xFF, 0, 1, 0, 1]) == .invalidPointer(target: 0x3FFF))
    #expect(refusal(head + [0xC0]) == .truncated(needed: 1, available: 0))
    // A name in the header: its zeros are a root, so that one means nothing, but ends.
    #expect(refusal(head + [0xC0, 0, 0, 1, 0, 1]) == nil)
  }

  @Test("G2: a chain of pointers has an end, and many names at its end cost little")
  func chains() {
    for count in [126, 127, 700, 4_000] {
      // A record of unknown type holds the chain; each of many questions points at its end.
      var chain: [UInt8] = [0]
      let base = 12 + 11
      for index in 0..<count {
        let target = index == 0 ? base : base + 1 + 2 * (index - 1)
        chain += [0xC0 | UInt8(target >> 8), UInt8(target & 0xFF)]
      }
      let last = base + 1 + 2 * (count - 1)
      let length = [UInt8(chain.count >> 8), UInt8(chain.count & 0xFF)]
      let holder = [0, 0, 250, 0, 1, 0, 0, 0, 0] + length + chain
      let pointing =
        [0xC0 | UInt8(last >> 8), UInt8(last & 0xFF)] + [0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
      let many = Array(repeating: pointing, count: 200).flatMap { $0 }
      let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 201, 0, 0, 0, 0]
      // The pointer of the name itself is one more than those of the chain.
      #expect((refusal(header + holder + many) == nil) == (count < 127))
    }
  }

  @Test("G3: a datagram shorter than a header is refused")
  func short() {
    for count in 0..<12 {
      #expect(refusal(Array(repeating: 0, count: count)) != nil)
    }
    #expect(refusal(Array(repeating: 0, count: 12)) == nil)
  }

  @Test("G7: counts and lengths that promise more than there is are refused, without making room")
  func promises() throws {
    for index in [4, 6, 8, 10] {
      var header = Array(repeating: UInt8(0), count: 12)
      header[index] = 0xFF
      header[index + 1] = 0xFF
      #expect(refusal(header) == .truncated(needed: 1, available: 0))
      // As many names as there can be, and then nothing.
      #expect(refusal(header + Array(repeating: 0, count: 9_000)) != nil)
    }
    let record = try bytes("0000 8400 0000 0001 0000 0000 00 0010 0001 00000009")
    #expect(refusal(record + [0, 5, 4, 1, 2, 3]) == .truncated(needed: 5, available: 4))
    #expect(refusal(record + [0xFF, 0xFF]) == .truncated(needed: 65_535, available: 0))
  }

  @Test("G7: a string of a TXT record that reaches past the data does not reach into the next")
  func stringPastData() throws {
    let message = DNSMessage(
      header: .response,
      answers: [
        DNSRecord(name: "a.", ttlSeconds: 1, data: .opaque(.txt, [9, 97])),
        DNSRecord(name: "b.", ttlSeconds: 1, data: .txt(Samples.text("x=123456789"))),
      ])
    let again = try DNSMessage(decoding: try message.encoded()[...])
    #expect(again == message)
    #expect(again.answers.first?.data.isMalformed == true)
  }

  @Test("G9: reserved label types and names that are too long are refused, odd bytes are not")
  func labels() throws {
    #expect(refusal(head + [0x40, 0, 1, 0, 1]) == .reservedLabelType(0x40))
    #expect(refusal(head + [0x80, 0, 1, 0, 1]) == .reservedLabelType(0x80))
    let label = [63] + Array(repeating: UInt8(97), count: 63)
    let long = label + label + label
    let fits = [UInt8(62)] + label[1...62]
    #expect(refusal(head + long + fits + [0, 0, 1, 0, 1]) == nil)
    #expect(refusal(head + long + label + [0, 0, 1, 0, 1]) == .nameTooLong)
    #expect(refusal(head + [3, 0xFF, 0, 0x2E, 0, 0, 1, 0, 1]) == nil)
    // Too long by pointers: the second name ends in the first.
    let two = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0] + long + [0, 0, 1, 0, 1]
    #expect(refusal(two + label + [0xC0, 12, 0, 1, 0, 1]) == .nameTooLong)
  }

  @Test("G10: NSEC with a bad window, or whose next name is a bad pointer, is set aside")
  func nsec() throws {
    let head = try bytes("0000 8400 0000 0002 0000 0000 0161 00 002f 8001 00000078")
    let good = try bytes("c00c 0001 8001 00000078 0004 01020304")
    for data in ["c00c 00ff40", "c00c 000040", "c0ff 000140", "c00c 0001"] {
      let data = try bytes(data)
      let message = try DNSMessage(decoding: (head + [0, UInt8(data.count)] + data + good)[...])
      #expect(message.answers.first?.data == .opaque(.nsec, data))
      #expect(message.answers.last?.data == .a(Inet4Address(1, 2, 3, 4)))
    }
  }

  @Test("a message cut anywhere is refused")
  func cut() throws {
    let whole = try Samples.response.encoded()
    for count in whole.indices {
      #expect(refusal(Array(whole.prefix(count))) != nil)
    }
    #expect(refusal(whole) == nil)
  }

  @Test("a message is read the same wherever in a larger buffer it lies")
  func slices() throws {
    let whole = try Samples.response.encoded()
    let noise = Array(repeating: UInt8(0xC0), count: 37)
    let inside = (noise + whole + noise)[37..<37 + whole.count]
    #expect(try DNSMessage(decoding: inside) == Samples.response)
  }

  @Test("G13: a mutated message is read or refused, and a read one can be written and read again")
  func mutations() throws {
    let seed: UInt64 = 7
    var rng = SeededGenerator(seed: seed)
    let whole = try Samples.response.encoded()
    var readCount = 0
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<rng.next() % 4 + 1 {
        bytes[Int(rng.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: rng.next())
      }
      guard let message = try? DNSMessage(decoding: bytes[...]) else { continue }
      readCount += 1
      let isMalformed = (message.answers + message.additionals).contains(where: \.data.isMalformed)
      guard !isMalformed else { continue }
      let again = try DNSMessage(decoding: try message.encoded()[...])
      #expect(again == message, "seed \(seed)")
    }
    #expect(readCount > 1_000)
  }
}
