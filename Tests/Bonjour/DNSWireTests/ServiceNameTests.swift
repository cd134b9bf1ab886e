import DNSWire
import Testing

@Suite("Names of services")
struct ServiceNameTests {
  @Test(
    "E4: a service type has a name as RFC 6335 allows it, and a transport",
    arguments: [
      ("_http._tcp", true), ("_http._tcp.", true), ("_HTTP._UDP", true), ("_a._tcp", true),
      ("_abcdefghijklmno._tcp", true), ("_abcdefghijklmnop._tcp", false), ("_._tcp", false),
      ("http._tcp", false), ("_http.tcp", false), ("_http._sctp", false), ("_http", false),
      ("_http._tcp.local", false), ("_-a._tcp", false), ("_a-._tcp", false), ("_a--b._tcp", false),
      ("_a-b._tcp", true), ("_123._tcp", false), ("_1a2._tcp", true), ("_a_b._tcp", false),
      ("_a b._tcp", false), ("_é._tcp", false), ("", false), ("_http.._tcp", false),
    ])
  func serviceTypes(text: String, isValid: Bool) {
    #expect(((try? ServiceType(text: text)) != nil) == isValid)
  }

  @Test("service types differ by name and transport, not by case")
  func typeEquality() throws {
    let type = try ServiceType(text: "_Http._tcp")
    #expect(type == (try ServiceType(name: "http", transport: .tcp)))
    #expect(type.hashValue == (try ServiceType(text: "_hTTP._TCP")).hashValue)
    #expect(type != (try ServiceType(text: "_http._udp")))
    #expect(type.description == "_Http._tcp")
    #expect(try type.name(in: .local) == "_http._tcp.local.")
    #expect(try type.name(ofSubtype: "_printer", in: .local) == "_printer._sub._http._tcp.local.")
  }

  @Test("an instance's name keeps its dots and spaces in one label")
  func instance() throws {
    let type = try ServiceType(text: "_ipp._tcp")
    let service = try ServiceName(instance: "Mr. Ames' Desk", type: type)
    #expect(service.description == "Mr\\.\\032Ames'\\032Desk._ipp._tcp.local.")
    let again = try #require(ServiceName(service.name))
    #expect(again == service)
    #expect(again.instanceText == "Mr. Ames' Desk")
    #expect(again.type == type)
    #expect(again.domain == .local)
  }

  @Test("a name that is no instance of a service is not taken apart")
  func noInstance() {
    for name: DNSName in ["host.local.", "_http._tcp.local.", ".", "a._http.local."] {
      #expect(ServiceName(name) == nil)
    }
  }

  @Test("A24: an instance's name is precomposed UTF-8")
  func precomposed() throws {
    #expect(try DNSName.instanceLabel("Zoe\u{308} 你好") == Array("Zoë 你好".utf8))
    #expect(try DNSName.instanceLabel("\u{1112}\u{1161}\u{11AB}") == Array("한".utf8))
    // U+212B is the Å of a unit, whose composed form is the letter; U+FEFF stays.
    #expect(try DNSName.instanceLabel("\u{212B}\u{FEFF}") == [0xC3, 0x85, 0xEF, 0xBB, 0xBF])
  }

  @Test("E1: an instance's name has 1 to 63 bytes and no control characters")
  func instanceLimits() throws {
    let long = String(repeating: "é", count: 31)
    #expect(try DNSName.instanceLabel(long + "a").count == 63)
    #expect(throws: DNSWireError.labelTooLong(byteCount: 64)) {
      try DNSName.instanceLabel(long + "é")
    }
    #expect(throws: DNSWireError.emptyLabel) { try DNSName.instanceLabel("") }
    #expect(throws: DNSWireError.controlCharacter(7)) { try DNSName.instanceLabel("bell\u{7}") }
    #expect(throws: DNSWireError.controlCharacter(127)) { try DNSName.instanceLabel("\u{7F}") }
  }
}
