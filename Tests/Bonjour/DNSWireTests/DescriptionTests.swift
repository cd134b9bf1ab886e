import DNSWire
import Essentials
import Testing

@Suite("Records as text")
struct DescriptionTests {
  @Test(
    "a record reads as in a zone file",
    arguments: [
      (DNSRecordData.a(Inet4Address(192, 0, 2, 1)), "A 192.0.2.1"),
      (.aaaa(Inet6Address(high: 0xFE80 << 48, low: 1)), "AAAA fe80::1"),
      (.ptr("b.c."), "PTR b.c."),
      (.srv(DNSService(priority: 1, weight: 2, port: 3, target: "h.")), "SRV 1 2 3 h."),
      (.txt(Samples.text("k=\"\\", "\u{7}ü")), "TXT \"k=\\\"\\\\\" \"\\007\\195\\188\""),
      (.hinfo(processor: Array("ARM".utf8), system: []), "HINFO \"ARM\" \"\""),
      (.nsec(next: "a.", types: [.srv, .txt]), "NSEC a. TXT SRV"),
      (.opaque(DNSType(rawValue: 999), [1, 255]), "TYPE999 \\# 2 01ff"),
    ])
  func records(data: DNSRecordData, text: String) {
    let record = DNSRecord(name: "a.", flushesCache: true, ttlSeconds: 120, data: data)
    #expect(record.description == "a. 120 flush " + text)
  }

  @Test("a question reads as name and type")
  func questions() {
    let question = DNSQuestion(name: "a.local.", type: .any, wantsUnicastResponse: true)
    #expect(question.description == "a.local. ANY QU")
    #expect(DNSType(rawValue: 999).description == "TYPE999")
  }
}
