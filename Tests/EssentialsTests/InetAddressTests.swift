import Essentials
import Testing

@Suite("IP addresses")
struct IPAddressTests {
  @Test(
    "IPv6 addresses are written as in RFC 5952 and read as in RFC 4291",
    arguments: [
      ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("FE80::1", "fe80::1"),
      ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
      ("2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      ("2001:0db8::0001", "2001:db8::1"), ("0:0:1:0:0:0:1:1", "0:0:1::1:1"),
      ("::ffff:192.0.2.128", "::ffff:c000:280"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
      ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("ff02::fb", "ff02::fb"),
    ])
  func version6(text: String, canonical: String) throws {
    let address = try #require(Inet6Address(text: text))
    #expect(address.description == canonical)
    #expect(Inet6Address(text: canonical) == address)
    #expect(Inet6Address(bytes: address.bytes) == address)
  }

  @Test(
    "a text that is no IPv6 address is refused",
    arguments: [
      "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::",
      "1:2:3:4:5:6:7:8::", ":1::", "1.2.3.4::", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4", "+1::", "-1::",
    ])
  func notVersion6(text: String) {
    #expect(Inet6Address(text: text) == nil)
    #expect(InetAddress(text: text) == nil)
  }

  @Test("every IPv6 address comes back from its text")
  func version6RoundTrip() throws {
    let seed: UInt64 = 5
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2_000 {
      // Groups of zeros are what the text is about, so most groups are zero.
      let groups = (0..<16).map { _ in random.next() % 3 == 0 ? UInt8(random.next() % 256) : 0 }
      let address = try #require(Inet6Address(bytes: groups))
      #expect(Inet6Address(text: address.description) == address, "seed \(seed)")
    }
  }

  @Test("prefixes are compared bit by bit")
  func prefixes() throws {
    let a = try #require(InetAddress(text: "192.0.2.129"))
    let b = try #require(InetAddress(text: "192.0.2.1"))
    #expect(a.hasPrefix(of: b, bitCount: 24))
    #expect(!a.hasPrefix(of: b, bitCount: 25))
    #expect(a.hasPrefix(of: b, bitCount: 0))
    #expect(!a.hasPrefix(of: b, bitCount: 32))
    let c = try #require(InetAddress(text: "2001:db8::8000:0:0:1"))
    let d = try #require(InetAddress(text: "2001:db8::1"))
    #expect(c.hasPrefix(of: d, bitCount: 64))
    #expect(!c.hasPrefix(of: d, bitCount: 65))
    #expect(!c.hasPrefix(of: d, bitCount: 128))
    #expect(d.hasPrefix(of: d, bitCount: 128))
    #expect(!a.hasPrefix(of: d, bitCount: 0))
  }

  @Test("an address knows whether it is valid on one link only, or on this host")
  func scopes() {
    for text in ["169.254.9.9", "fe80::9", "febf::9"] {
      #expect(InetAddress(text: text)?.isLinkLocal == true)
    }
    #expect(InetAddress(text: "fec0::9")?.isLinkLocal == false)
    #expect(Inet6Address(text: "::1")?.isLoopback == true)
    #expect(Inet6Address(text: "ff02::fb")?.isMulticast == true)
    #expect(InetAddress(text: "192.0.2.1")?.version == .v4)
    #expect(InetAddress(text: "::")?.version == .v6)
    #expect(InetAddress(text: "192.0.2.1")?.bytes == [192, 0, 2, 1])
  }
}
