import CDNSServiceDiscovery
import DNSWire
import Testing

@testable import dns_sd

@Suite("Types from C callers")
struct TypeArgumentTests {
  @Test(
    "a type may have any name that a label can carry",
    arguments: [
      "_androidtvremote2._tcp", "_zigate-zigbee-gateway._tcp.", "_dyson_mqtt._tcp",
      "_barrierServerZeroconf._tcp", "_a b._udp", #"_a\.b._tcp"#,
    ])
  func anyName(text: String) throws {
    #expect(try Arguments.type(text).type == ServiceType(text: text))
    #expect(try Arguments.type(text + ",_x").subtypes == ["_x"])
  }

  @Test("a type and its subtypes need not be UTF-8")
  func anyBytes() throws {
    let bytes: [UInt8] = [0x5F, 0xFF] + Array("._tcp,".utf8) + [0xFE, 0x5C, 0x2C]
    let (type, subtypes) = try (bytes + [0]).map(CChar.init(bitPattern:)).withUnsafeBufferPointer {
      try Arguments.type($0.baseAddress)
    }
    #expect(type.name == [0xFF] && subtypes.map(\.bytes) == [[0xFE, 0x2C]])
  }

  @Test(
    "what no label can carry is a bad parameter",
    arguments: [
      "", "_http", "http._tcp", "_._tcp", "_http._tcp,", "_http._tcp,,a", "_http._sctp",
      "_http._tcp.local", "_\(String(repeating: "a", count: 63))._tcp",
      "_http._tcp,\(String(repeating: "a", count: 64))", "_http._tcp,a\\",
    ])
  func refused(text: String) {
    #expect(throws: ServiceError.badParameter) { try Arguments.type(text) }
  }
}
