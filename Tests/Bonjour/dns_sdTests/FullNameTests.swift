import CDNSServiceDiscovery
import Testing
import dns_sd

/// What `DNSServiceConstructFullName` makes of three texts; nil where it refuses.
private func fullName(_ service: String?, _ type: String, _ domain: String) -> String? {
  var buffer = [CChar](repeating: 0x55, count: Int(kDNSServiceMaxDomainName))
  let status = DNSServiceConstructFullName(&buffer, service, type, domain)
  guard status == 0, let end = buffer.firstIndex(of: 0) else { return nil }
  return String(decoding: buffer[..<end].map(UInt8.init(bitPattern:)), as: UTF8.self)
}

@Suite("Full names for C callers")
struct FullNameTests {
  @Test(
    "dots and backslashes are escaped by a backslash, spaces and control characters by numbers",
    arguments: [
      ("Lamp", "Lamp"), ("Desk lamp", "Desk\\032lamp"), ("No. 5", "No\\.\\0325"),
      ("a\\b", "a\\\\b"), ("\u{1}\u{1F}", "\\001\\031"), ("Zoë 你好", "Zoë\\032你好"),
    ])
  func escapes(service: String, label: String) {
    #expect(fullName(service, "_http._tcp", "local") == "\(label)._http._tcp.local.")
    #expect(fullName(service, "_http._tcp.", "local.") == "\(label)._http._tcp.local.")
  }

  @Test("there may be no service, and a dot that belongs to a label does not end a domain")
  func edges() {
    #expect(fullName(nil, "_http._udp", "local.") == "_http._udp.local.")
    #expect(fullName("", "_http._udp", "local.") == "_http._udp.local.")
    #expect(fullName("A", "_a._tcp", "my\\.") == "A._a._tcp.my\\..")
  }

  @Test("a full name with an invalid type or domain, or that is too long, is refused")
  func refused() {
    #expect(fullName("A", "_http", "local") == nil)
    #expect(fullName("A", "_tcp", "local") == nil)
    #expect(fullName("A", "_http._sctp", "local") == nil)
    #expect(fullName("A", "_http._tcp", "") == nil)
    #expect(fullName("A", "_http._tcp", String(repeating: "x", count: 1_000)) == nil)
    #expect(fullName(String(repeating: " ", count: 250), "_http._tcp", "local") == nil)
    #expect(
      fullName(String(repeating: " ", count: 247), "_http._tcp", "local")?.utf8.count == 1_006)
    var buffer = [CChar](repeating: 0, count: Int(kDNSServiceMaxDomainName))
    let bad = DNSServiceErrorType(kDNSServiceErr_BadParam)
    #expect(DNSServiceConstructFullName(&buffer, "A", nil, "local") == bad)
    #expect(DNSServiceConstructFullName(&buffer, "A", "_http._tcp", nil) == bad)
    #expect(DNSServiceConstructFullName(nil, "A", "_http._tcp", "local") == bad)
  }
}
