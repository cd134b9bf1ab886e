import DNSWire
import Essentials
import Testing

@Suite("DNS messages")
struct DNSMessageTests {
  private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(hex)) }

  @Test("a query for a type of services has the bytes that everybody sends")
  func query() throws {
    let message = DNSMessage(
      header: .query,
      questions: [DNSQuestion(name: "_http._tcp.local.", type: .ptr, wantsUnicastResponse: true)])
    let expected = try bytes(
      "0000 0000 0001 0000 0000 0000 055f68747470 045f746370 056c6f63616c 00 000c 8001")
    #expect(try message.encoded() == expected)
    #expect(try DNSMessage(decoding: expected[...]) == message)
  }

  @Test("A21: a response for a service points at every name that stood before")
  func response() throws {
    let message = Samples.response
    let expected = try bytes(
      "0000 8400 0000 0001 0000 0003"
        + "055f68747470 045f746370 056c6f63616c 00 000c 0001 00001194 0007 0448616c6c c00c"
        + "c028 0021 8001 00000078 000d 0000 0000 1f90 04686f7374 c017"
        + "c028 0010 8001 00001194 0007 06706174683d2f"
        + "c041 0001 8001 00000078 0004 c0000205")
    #expect(Hexadecimal.string(try message.encoded()) == Hexadecimal.string(expected))
    #expect(try DNSMessage(decoding: expected[...]) == message)
  }

  @Test("A23: the target of SRV is not compressed for legacy queriers")
  func legacy() throws {
    let encoded = try Samples.response.encoded(compression: .legacy)
    let target = Array(("host.local." as DNSName).wireBytes)
    let isWrittenOut = encoded.indices.contains { encoded[$0...].starts(with: target) }
    #expect(isWrittenOut)
    #expect(try DNSMessage(decoding: encoded[...]) == Samples.response)
    let plain = try Samples.response.encoded(compression: .none)
    #expect(plain.count > encoded.count)
    #expect(try DNSMessage(decoding: plain[...]) == Samples.response)
  }

  @Test("A25: a name is shortened only where the case of its letters agrees")
  func caseInCompression() throws {
    let questions = ["a.Local.", "b.local.", "c.local."].map {
      DNSQuestion(name: $0, type: .a)
    }
    let message = DNSMessage(header: .query, questions: questions)
    let again = try DNSMessage(decoding: try message.encoded()[...])
    #expect(again.questions.map(\.name.description) == ["a.Local.", "b.local.", "c.local."])
  }

  @Test("A22: compressed names are read in every type of data that may have them")
  func namesInData() throws {
    // A question for "a.local.", so that c00c is it, then records of class IN for it.
    let head = "0000 8400 0001 0001 0000 0000 0161 056c6f63616c 00 0001 0001 c00c"
    let name = "0161056c6f63616c00"
    let table: [(type: Int, data: String, DNSRecordData)] = [
      (2, "c00c", .ns("a.local.")), (5, "c00c", .cname("a.local.")), (12, "c00c", .ptr("a.local.")),
      (33, "000100020003c00c", .srv(Samples.service)),
      (47, "c00c 000140", .nsec(next: "a.local.", types: [.a])),
      (6, "c00cc00c" + String(repeating: "07", count: 20), opaque(6, name + name, 20)),
      (15, "000ac00c", opaque(15, "000a" + name)), (39, "c00c", opaque(39, name)),
      (18, "000ac00c", opaque(18, "000a" + name)), (17, "c00cc00c", opaque(17, name + name)),
      (26, "000ac00cc00c", opaque(26, "000a" + name + name)),
      (36, "000ac00c", opaque(36, "000a" + name)), (21, "000ac00c", opaque(21, "000a" + name)),
      (250, "c00c", opaque(250, "c00c")),
    ]
    for (type, data, expected) in table {
      let data = try bytes(data)
      let head = try bytes(head)
      let fixed = [0, UInt8(type), 0, 1, 0, 0, 0, 9, 0, UInt8(data.count)] + data
      let message = try DNSMessage(decoding: (head + fixed)[...])
      #expect(message.answers.first?.data == expected, "type \(type)")
      #expect(try DNSMessage(decoding: try message.encoded()[...]) == message)
    }
  }

  private func opaque(_ type: UInt16, _ hex: String, _ tail: Int = 0) -> DNSRecordData {
    let bytes = (Hexadecimal.bytes(hex) ?? []) + Array(repeating: 7, count: tail)
    return .opaque(DNSType(rawValue: type), bytes)
  }

  @Test("A28: the top bit of a class is QU in a question and cache-flush in a record")
  func topBits() throws {
    let message = DNSMessage(
      header: .query,
      questions: [
        DNSQuestion(name: "a.", type: .any, questionClass: .any, wantsUnicastResponse: true),
        DNSQuestion(name: "a.", type: .any, questionClass: .any),
      ],
      answers: [
        DNSRecord(name: "a.", flushesCache: true, ttlSeconds: 1, data: .a(Inet4Address(1, 2, 3, 4)))
      ])
    let encoded = try message.encoded()
    #expect(Hexadecimal.string(encoded).contains("016100" + "00ff" + "80ff"))
    #expect(Hexadecimal.string(encoded).contains("c00c" + "0001" + "8001"))
    let again = try DNSMessage(decoding: encoded[...])
    #expect(again == message)
    #expect(again.questions.map(\.questionClass) == [.any, .any])
    #expect(again.answers.map(\.recordClass) == [.in])
  }

  @Test("the class of an OPT record is a size, whatever its top bit")
  func optClass() throws {
    let record = DNSRecord(
      name: .root, recordClass: DNSClass(rawValue: 0x9001), ttlSeconds: 0x1234_5678,
      data: .opt(options: [0, 4, 0, 1, 9]))
    let message = DNSMessage(header: .query, additionals: [record])
    let again = try DNSMessage(decoding: try message.encoded()[...])
    #expect(again == message)
    #expect(again.additionals.first?.flushesCache == false)
  }

  @Test("the header's parts are the bits that RFC 1035 gives them")
  func header() {
    var header = DNSHeader.response
    #expect(header.isResponse && header.isAuthoritative)
    #expect(!header.isTruncated && !header.wantsRecursion)
    #expect(header.operation == 0 && header.responseCode == 0)
    header.isResponse = false
    header.isTruncated = true
    header.operation = 4
    header.responseCode = 3
    #expect(header.flags == 0x2603)
    header.isAuthoritative = false
    header.wantsRecursion = true
    #expect(header.flags == 0x2303)
  }

  @Test("B24: data that doesn't have its type's form leaves the other records readable")
  func malformedData() throws {
    let good = DNSRecord(name: "a.", ttlSeconds: 9, data: .ptr("b."))
    let table: [(DNSType, [UInt8])] = [
      (.a, [1, 2, 3]), (.aaaa, [1, 2, 3, 4]), (.ptr, [1]), (.ptr, [0, 0]), (.ptr, [0xC0, 0xFF]),
      (.srv, [0, 0, 0, 0, 0]), (.txt, [5, 1]), (.hinfo, [1, 65]), (.nsec, [0, 0, 0]),
      (.nsec, [0xFF]), (.nsec, [0, 0, 33]),
    ]
    for (type, data) in table {
      let bad = DNSRecord(name: "a.", ttlSeconds: 9, data: .opaque(type, data))
      let message = DNSMessage(header: .response, answers: [good, bad, good])
      let again = try DNSMessage(decoding: try message.encoded()[...])
      #expect(again.answers == [good, bad, good])
      #expect(again.answers.map(\.data.isMalformed) == [false, true, false])
    }
  }

  @Test("names and data are read by themselves, without compression")
  func partsAlone() throws {
    for record in Samples.response.answers + Samples.response.additionals {
      #expect(DNSRecordData(type: record.type, decoding: record.data.wireBytes) == record.data)
      #expect(try DNSName(decoding: record.name.wireBytes) == record.name)
    }
    #expect(
      DNSRecordData(type: .ptr, decoding: [1, 97, 0xC0, 0]) == .opaque(.ptr, [1, 97, 0xC0, 0]))
    #expect(DNSRecordData(type: .a, decoding: []) == .opaque(.a, []))
    #expect(throws: DNSWireError.invalidPointer(target: 0)) {
      try DNSName(decoding: [1, 97, 0xC0, 0])
    }
    #expect(throws: DNSWireError.invalidLength(4)) { try DNSName(decoding: [1, 97, 0, 0]) }
    #expect(throws: DNSWireError.truncated(needed: 1, available: 0)) {
      try DNSName(decoding: [])
    }
  }

  @Test("bytes behind the last record are ignored")
  func trailingBytes() throws {
    let encoded = try Samples.response.encoded()
    #expect(try DNSMessage(decoding: (encoded + [1, 2, 3])[...]) == Samples.response)
  }

  @Test("the order of probers is by class, type, then bytes of the data without compression")
  func canonicalOrder() {
    func record(_ data: DNSRecordData, class number: UInt16 = 1) -> DNSRecord {
      DNSRecord(
        name: "a.", recordClass: DNSClass(rawValue: number), ttlSeconds: 1, data: data)
    }
    // RFC 6762, §8.2: 169.254.200.50 is later than 169.254.99.200: bytes are unsigned.
    let earlier = record(.a(Inet4Address(169, 254, 99, 200)))
    let later = record(.a(Inet4Address(169, 254, 200, 50)))
    #expect(earlier.isBefore(later) && !later.isBefore(earlier))
    let ascending = [
      earlier, later, record(.ptr("a.b.")), record(.ptr("b.")), record(.ptr("bb.")),
      record(.txt(TXTRecord())), record(.srv(DNSService(port: 1, target: "z."))),
      record(.srv(DNSService(port: 2, target: "a."))),
      record(.a(Inet4Address(0, 0, 0, 0)), class: 2),
    ]
    for (index, record) in ascending.enumerated() {
      for (other, second) in ascending.enumerated() {
        #expect(record.isBefore(second) == (index < other))
      }
    }
  }

  @Test("the first difference decides a tie between probers, then the longer list")
  func tieBreak() {
    let records = (0..<4).map {
      DNSRecord(name: "a.", ttlSeconds: 1, data: .a(Inet4Address(10, 0, 0, $0)))
    }
    #expect(DNSRecord.tieBreak(ours: [records[1]], theirs: [records[0]]) > 0)
    #expect(DNSRecord.tieBreak(ours: [records[0]], theirs: [records[1]]) < 0)
    #expect(
      DNSRecord.tieBreak(ours: [records[0], records[1]], theirs: [records[1], records[0]]) == 0)
    #expect(DNSRecord.tieBreak(ours: [records[0], records[1]], theirs: [records[0]]) > 0)
    #expect(DNSRecord.tieBreak(ours: [records[0], records[3]], theirs: [records[1]]) < 0)
    #expect(DNSRecord.tieBreak(ours: [], theirs: [records[0]]) < 0)
    #expect(DNSRecord.tieBreak(ours: [], theirs: []) == 0)
  }
}

/// Messages that several tests use.
enum Samples {
  static let service = DNSService(priority: 1, weight: 2, port: 3, target: "a.local.")

  /// The response of a web server's host to a query for web servers.
  static let response = DNSMessage(
    header: .response,
    answers: [
      DNSRecord(name: "_http._tcp.local.", ttlSeconds: 4500, data: .ptr("Hall._http._tcp.local."))
    ],
    additionals: [
      DNSRecord(
        name: "Hall._http._tcp.local.", flushesCache: true, ttlSeconds: 120,
        data: .srv(DNSService(port: 8080, target: "host.local."))),
      DNSRecord(
        name: "Hall._http._tcp.local.", flushesCache: true, ttlSeconds: 4500,
        data: .txt(text("path=/"))),
      DNSRecord(
        name: "host.local.", flushesCache: true, ttlSeconds: 120,
        data: .a(Inet4Address(192, 0, 2, 5))),
    ])

  static func text(_ strings: String...) -> TXTRecord {
    (try? TXTRecord(strings: strings.map { Array($0.utf8) })) ?? TXTRecord()
  }
}
