import DNSWire
import Essentials
import Testing

@Suite("Writing DNS messages")
struct DNSMessageEncoderTests {
  private func pointer(_ number: Int) -> DNSRecord {
    let name: DNSName = "_http._tcp.local."
    let target = (try? name.prepending("Service \(number)".utf8)) ?? name
    return DNSRecord(name: name, ttlSeconds: 4500, data: .ptr(target))
  }

  @Test("A27: records that don't fit into a packet are left over, whole and in order")
  func splitting() throws {
    var rest: DNSMessage? = DNSMessage(
      header: .response, answers: (0..<300).map(pointer), additionals: (300..<310).map(pointer))
    let all = (0..<310).map(pointer)
    var packets: [[UInt8]] = []
    while let message = rest {
      let (bytes, left) = message.encodedPrefix(
        byteCountMax: DNSMessageEncoder.Limits.unfragmentedByteCount)
      #expect(bytes.count <= 1_452)
      packets.append(bytes)
      rest = left
    }
    let messages = try packets.map { try DNSMessage(decoding: $0[...]) }
    #expect(messages.flatMap { $0.answers + $0.additionals } == all)
    // Nothing more would have fitted: a further record takes 12 + 13 bytes at least.
    #expect(packets.dropLast().allSatisfy { $0.count > 1_452 - 28 })
    #expect(messages.allSatisfy { $0.answers.count + $0.additionals.count > 0 })
  }

  @Test("a record that doesn't fit leaves no trace")
  func takingBack() throws {
    let seed: UInt64 = 21
    var rng = SeededGenerator(seed: seed)
    for byteCountMax in stride(from: 12, through: 600, by: 7) {
      var encoder = DNSMessageEncoder(header: .response, byteCountMax: byteCountMax)
      var fitting: [DNSRecord] = []
      // The small ones still fit where large ones no longer did, and must not point into them.
      for _ in 0..<60 {
        let labels = (0..<rng.next() % 4 + 1).map { _ in
          Array("label\(rng.next() % 9)".utf8)
        }
        let name = try DNSName(labels: labels)
        let padding = Array(repeating: UInt8(1), count: Int(rng.next() % 80))
        let record = DNSRecord(
          name: name, ttlSeconds: 1, data: .opaque(DNSType(rawValue: 999), padding))
        if encoder.append(record, to: .answer) { fitting.append(record) }
      }
      let bytes = encoder.bytes
      #expect(bytes.count <= byteCountMax)
      #expect(encoder.isEmpty == fitting.isEmpty)
      #expect(try DNSMessage(decoding: bytes[...]).answers == fitting, "seed \(seed)")
    }
  }

  @Test("a known answer is written with the rest of its time")
  func remainingTime() throws {
    var encoder = DNSMessageEncoder(header: .query)
    let didFit = encoder.append(pointer(1), to: .answer, ttlSeconds: 77)
    #expect(didFit)
    let message = try DNSMessage(decoding: encoder.bytes[...])
    #expect(message.answers.map(\.ttlSeconds) == [77])
  }

  @Test("a message that must be whole and doesn't fit is an error")
  func tooLong() throws {
    let message = DNSMessage(header: .response, answers: (0..<300).map(pointer))
    #expect(throws: DNSWireError.messageTooLong(byteCountMax: 512)) {
      try message.encoded(byteCountMax: 512)
    }
    let long = DNSRecord(
      name: "a.", ttlSeconds: 1,
      data: .opaque(DNSType(rawValue: 999), Array(repeating: 0, count: 70_000)))
    #expect(throws: DNSWireError.messageTooLong(byteCountMax: 65_535)) {
      try DNSMessage(header: .response, answers: [long]).encoded()
    }
  }

  @Test("no pointer exceeds the range of pointers")
  func farNames() throws {
    let filler = DNSRecord(
      name: "filler.", ttlSeconds: 1,
      data: .opaque(DNSType(rawValue: 999), Array(repeating: 0, count: 0x4000)))
    let late = DNSRecord(name: "late.local.", ttlSeconds: 1, data: .ptr("late.local."))
    let message = DNSMessage(header: .response, answers: [filler, late, late])
    #expect(try DNSMessage(decoding: try message.encoded()[...]) == message)
  }

  @Test("random messages come back as they were, under every compression")
  func roundTrip() throws {
    let seed: UInt64 = 99
    var maker = RandomMessages(rng: SeededGenerator(seed: seed))
    for _ in 0..<500 {
      let message = try maker.message()
      for compression in [DNSMessageEncoder.Compression.multicast, .legacy, .none] {
        let bytes = try message.encoded(compression: compression)
        #expect(try DNSMessage(decoding: bytes[...]) == message, "seed \(seed)")
      }
    }
  }
}

/// Draws messages of every kind of record.
struct RandomMessages {
  var rng: SeededGenerator

  mutating func below(_ bound: UInt64) -> Int { Int(rng.next() % bound) }

  mutating func name() throws -> DNSName {
    let words = ["local", "LOCAL", "_tcp", "_http", "host", "é.ü", "\u{0}"]
    return try DNSName(labels: (0..<below(6)).map { _ in Array(words[below(7)].utf8) })
  }

  mutating func bytes(_ bound: UInt64) -> [UInt8] {
    (0..<below(bound)).map { _ in UInt8(truncatingIfNeeded: rng.next()) }
  }

  mutating func data() throws -> DNSRecordData {
    switch below(11) {
    case 0: return .a(Inet4Address(rawValue: UInt32(truncatingIfNeeded: rng.next())))
    case 1: return .aaaa(Inet6Address(high: rng.next(), low: rng.next()))
    case 2: return .ptr(try name())
    case 3: return .cname(try name())
    case 4: return .ns(try name())
    case 5:
      return .srv(
        DNSService(priority: UInt16(below(9)), port: UInt16(below(65_536)), target: try name()))
    case 6: return .txt(try TXTRecord(strings: (0..<below(4)).map { _ in bytes(30) }))
    case 7: return .hinfo(processor: bytes(20), system: bytes(20))
    case 8:
      let types = (0..<below(9)).map { _ in DNSType(rawValue: UInt16(below(600))) }
      return .nsec(next: try name(), types: DNSTypeBitmap(types))
    case 9: return .opt(options: bytes(30))
    default: return .opaque(DNSType(rawValue: UInt16(300 + below(9))), bytes(40))
    }
  }

  mutating func records() throws -> [DNSRecord] {
    try (0..<below(6)).map { _ in
      let data = try data()
      return DNSRecord(
        name: try name(), flushesCache: data.type != .opt && below(2) == 0,
        ttlSeconds: UInt32(truncatingIfNeeded: rng.next()), data: data)
    }
  }

  mutating func message() throws -> DNSMessage {
    DNSMessage(
      header: DNSHeader(
        id: UInt16(truncatingIfNeeded: rng.next()),
        flags: UInt16(truncatingIfNeeded: rng.next())),
      questions: try (0..<below(4)).map { _ in
        DNSQuestion(
          name: try name(), type: DNSType(rawValue: UInt16(below(300))),
          wantsUnicastResponse: below(2) == 0)
      },
      answers: try records(), authorities: try records(), additionals: try records())
  }
}
