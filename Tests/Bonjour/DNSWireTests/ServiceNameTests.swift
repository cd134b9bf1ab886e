import DNSWire
import Testing

@Suite("Names of services")
struct ServiceNameTests {
  @Test(
    "E4: a service type has a name that a label can carry, and a transport",
    arguments: [
      ("_http._tcp", true), ("_http._tcp.", true), ("_HTTP._UDP", true), ("_a._tcp", true),
      ("_androidtvremote2._tcp", true), ("_zigate-zigbee-gateway._tcp", true),
      ("_dyson_mqtt._tcp", true), ("_nvstream_dbd._tcp", true),
      ("_barrierServerZeroconf._tcp", true), ("_-a._tcp", true), ("_a--b._tcp", true),
      ("_123._tcp", true), ("_a b._tcp", true), ("_é._tcp", true), ("_a\\.b._tcp", true),
      ("_\\000._tcp", true), ("__._tcp", true),
      ("_\(String(repeating: "a", count: 62))._tcp", true),
      ("_\(String(repeating: "a", count: 63))._tcp", false), ("_._tcp", false),
      ("http._tcp", false), ("_http.tcp", false), ("_http._sctp", false), ("_http", false),
      ("_http._tcp.local", false), ("", false), ("_http.._tcp", false), ("_a\\._tcp", false),
      ("_a\\256._tcp", false),
    ])
  func serviceTypes(text: String, isValid: Bool) {
    #expect(((try? ServiceType(text: text)) != nil) == isValid)
  }

  @Test(
    "a type tells whether RFC 6335 allows its name",
    arguments: [
      ("_http._tcp", true), ("_HTTP._udp", true), ("_abcdefghijklmno._tcp", true),
      ("_a-b._tcp", true), ("_1a2._tcp", true), ("_abcdefghijklmnop._tcp", false),
      ("_-a._tcp", false), ("_a-._tcp", false), ("_a--b._tcp", false), ("_123._tcp", false),
      ("_a_b._tcp", false), ("_a b._tcp", false), ("_é._tcp", false),
    ])
  func conformance(text: String, conforms: Bool) throws {
    #expect(try ServiceType(text: text).conformsToRFC6335 == conforms)
  }

  @Test("a type of any bytes keeps them as a name and as text")
  func typeOfAnyBytes() throws {
    let name = Array(UInt8.min ... .max)
    for start in stride(from: 0, to: 256, by: 62) {
      let bytes = name[start..<min(start + 62, 256)]
      let type = try ServiceType(name: bytes, transport: .udp)
      #expect(type.name == bytes)
      #expect(try ServiceType(text: type.description) == type)
      let labels = Array(try type.name(in: .local).labels.map(Array.init))
      #expect(labels == [[0x5F] + bytes, Array("_udp".utf8), Array("local".utf8)])
      #expect(ServiceType(labelsOf: try type.name(in: .local)) == type)
    }
    #expect(throws: DNSWireError.invalidServiceType) { try ServiceType(name: "", transport: .tcp) }
    #expect(throws: DNSWireError.labelTooLong(byteCount: 64)) {
      try ServiceType(name: name.prefix(63), transport: .tcp)
    }
  }

  @Test("a type with a comma is written so that it is read as it was")
  func typeWithComma() throws {
    let type = try ServiceType.parse(#"_a\,b._tcp"#).type
    #expect(type.description == #"_a\,b._tcp"#)
    #expect(try ServiceType.parse(type.description).type == type)
  }

  @Test("subtypes stand behind a type, with escapes for commas, dots and other bytes")
  func typeWithSubtypes() throws {
    let (type, subtypes) = try ServiceType.parse(#"_http._tcp,_printer,a\,b,c.d\.e,\255,\\,_É"#)
    #expect(type.description == "_http._tcp")
    #expect(
      subtypes.map(\.bytes) == [
        Array("_printer".utf8), Array("a,b".utf8), Array("c.d.e".utf8), [255], [0x5C],
        Array("_É".utf8),
      ])
    for label in subtypes { #expect(try DNSLabel(text: label.description) == label) }
    #expect(
      try ServiceType.parse([0x5F, 0xFF] + Array("._tcp,".utf8) + [0xFE]).subtypes[0].bytes == [
        0xFE
      ])
    for text in ["", ",", "_http._tcp,", "_http._tcp,a,,b", #"_http._tcp,\"#, "_a\\,b"] {
      #expect(throws: DNSWireError.self) { try ServiceType.parse(text) }
    }
    #expect(throws: DNSWireError.labelTooLong(byteCount: 64)) {
      try ServiceType.parse("_http._tcp," + String(repeating: "x", count: 64))
    }
  }

  @Test("labels differ by their bytes, not by the case of ASCII letters")
  func labels() throws {
    let label: DNSLabel = "_Printer"
    #expect(label == "_pRINTER" && label.hashValue == ("_printer" as DNSLabel).hashValue)
    #expect(label != "_printers" && ("é" as DNSLabel) != "É")
    #expect(label.description == "_Printer" && ("a b.c" as DNSLabel).description == #"a\032b\.c"#)
    #expect(throws: DNSWireError.emptyLabel) { try DNSLabel(text: "") }
    #expect(throws: DNSWireError.labelTooLong(byteCount: 64)) {
      try DNSLabel(Array(repeating: 0, count: 64))
    }
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
