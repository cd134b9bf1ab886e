import DNSWire
import Essentials
import Testing

@Suite("Addresses")
struct AddressTests {
  @Test(
    "IPv4 addresses are four decimal numbers",
    arguments: [
      ("0.0.0.0", true), ("255.255.255.255", true), ("169.254.1.0", true), ("256.0.0.1", false),
      ("1.2.3", false), ("1.2.3.4.5", false), ("01.2.3.4", false), ("1..3.4", false),
      ("1.2.3.x", false), ("+1.2.3.4", false), ("", false), ("1.2.3.4 ", false),
    ])
  func version4(text: String, isValid: Bool) {
    let address = try? IPv4Address(text: text)
    #expect((address != nil) == isValid)
    if let address { #expect(address.description == text) }
  }

  @Test(
    "IPv6 addresses are written as RFC 5952 says and read as RFC 4291 says",
    arguments: [
      ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("FE80::1", "fe80::1"),
      ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
      ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      ("2001:0db8::0001", "2001:db8::1"), ("0:0:1:0:0:0:1:1", "0:0:1::1:1"),
      ("::ffff:192.0.2.128", "::ffff:c000:280"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
      ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("ff02::fb", "ff02::fb"),
    ])
  func version6(text: String, canonical: String) throws {
    let address = try IPv6Address(text: text)
    #expect(address.description == canonical)
    #expect(try IPv6Address(text: canonical) == address)
    #expect(IPv6Address(bytes: address.bytes) == address)
  }

  @Test(
    "what is no IPv6 address is refused",
    arguments: [
      "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::",
      "1:2:3:4:5:6:7::8", ":1::", "1.2.3.4::", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4", "+1::", "-1::",
    ])
  func notVersion6(text: String) {
    #expect(throws: DNSWireError.invalidAddress) { try IPv6Address(text: text) }
  }

  @Test("every IPv6 address comes back from its text")
  func version6RoundTrip() throws {
    let seed: UInt64 = 5
    var chance = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      // Groups of zeros are what the text is about, so most groups are zero.
      let groups = (0..<16).map { _ in chance.next() % 3 == 0 ? UInt8(chance.next() % 256) : 0 }
      let address = try #require(IPv6Address(bytes: groups))
      #expect(try IPv6Address(text: address.description) == address, "seed \(seed)")
    }
  }

  @Test("prefixes are compared bit by bit")
  func prefixes() throws {
    let a = try IPAddress(text: "192.0.2.129")
    let b = try IPAddress(text: "192.0.2.1")
    #expect(a.hasPrefix(of: b, bitCount: 24))
    #expect(!a.hasPrefix(of: b, bitCount: 25))
    #expect(a.hasPrefix(of: b, bitCount: 0))
    #expect(!a.hasPrefix(of: b, bitCount: 32))
    let c = try IPAddress(text: "2001:db8::8000:0:0:1")
    let d = try IPAddress(text: "2001:db8::1")
    #expect(c.hasPrefix(of: d, bitCount: 64))
    #expect(!c.hasPrefix(of: d, bitCount: 65))
    #expect(!c.hasPrefix(of: d, bitCount: 128))
    #expect(d.hasPrefix(of: d, bitCount: 128))
    #expect(!a.hasPrefix(of: d, bitCount: 0))
  }

  @Test("an address says what it is for")
  func scopes() throws {
    #expect(try IPAddress(text: "169.254.9.9").isLinkLocal)
    #expect(try IPAddress(text: "fe80::9").isLinkLocal)
    #expect(try IPAddress(text: "febf::9").isLinkLocal)
    #expect(try !IPAddress(text: "fec0::9").isLinkLocal)
    #expect(try IPAddress(text: "127.1.2.3").isLoopback)
    #expect(try IPAddress(text: "::1").isLoopback)
    #expect(IPAddress.multicastDNS(.v4).isMulticast)
    #expect(IPAddress.multicastDNS(.v6).description == "ff02::fb")
  }

  @Test("the reverse mapping has the numbers backwards")
  func reverse() throws {
    #expect(try IPAddress(text: "192.0.2.10").reverseName == "10.2.0.192.in-addr.arpa.")
    let name = try IPAddress(text: "2001:db8::567:89ab").reverseName
    #expect(
      name == "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.")
  }
}
