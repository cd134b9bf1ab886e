#if Messaging
  import Essentials
  import Testing

  @testable import XMPPWire

  @Suite("Addresses of files")
  struct HTTPSAddressTests {
    @Test(arguments: [
      ("https://Files.Example/a/b?c=d#e", "https://files.example/a/b?c=d"),
      ("HTTPS://files.example", "https://files.example/"),
      ("https://files.example:443?x", "https://files.example/?x"),
      ("https://files.example:5281/ä", "https://files.example:5281/%C3%A4"),
      ("https://files.example/a#\u{301}", "https://files.example/a"),
      ("https://192.0.2.1:/", "https://192.0.2.1/"),
      ("https://[2001:DB8::1]:8443/f", "https://[2001:db8::1]:8443/f"),
    ])
    func `An address is read in its normal form`(text: String, normal: String) throws {
      let address = try #require(HTTPSAddress(text))
      #expect(address.description == normal)
      #expect(HTTPSAddress(normal) == address)
    }

    @Test(arguments: [
      "", "http://files.example/", "https:/files.example", "https://", "https:///a",
      "https://user@files.example/", "https://a:b@files.example/", "https://files.example:0/",
      "https://files.example:65536/", "https://files.example:+1/", "https://files example/",
      "https://files.example/a b", "https://files.example/\r\nHost: evil", "https://[::1",
      "https://[fe80::1%25eth0]/", "https://[]/", "https://f\u{E4}le.example/",
      "aesgcm://files.example/a", "https://files.example/\u{0}",
      "https://files.example/" + String(repeating: "a", count: 4_096),
    ])
    func `A text that is no address of a file is refused`(text: String) {
      #expect(HTTPSAddress(text) == nil)
    }

    @Test(arguments: [
      ("/x", "https://files.example/x"), ("x?y", "https://files.example/a/x?y"),
      ("?y", "https://files.example/a/b?y"), ("//other.example/x", "https://other.example/x"),
      ("https://127.0.0.1/", "https://127.0.0.1/"), ("http://other.example/", nil),
      ("/a b", nil), ("file:///etc/passwd", nil), ("", "https://files.example/a/b"),
    ])
    func `A redirection is resolved against its address`(text: String, result: String?) throws {
      let address = try #require(HTTPSAddress("https://files.example/a/b?c"))
      #expect(address.resolving(text)?.description == result)
    }

    @Test func `Any text gives an address that a request line can carry, or none`() {
      let seed = UInt64.random(in: 0...UInt64.max)
      var generator = SeededGenerator(seed: seed)
      for _ in 0..<5_000 {
        let parts = ["https://", "a", ":", "/", "?", "#", "[", "]", "@", "80", "é", "\r", "%", "."]
        var text = Bool.random(using: &generator) ? "https://a" : ""
        for _ in 0..<Int.random(in: 0..<8, using: &generator) {
          text += parts.randomElement(using: &generator) ?? ""
        }
        guard let address = HTTPSAddress(text) else { continue }
        #expect(HTTPSAddress(address.description) == address, "seed \(seed)")
        #expect((address.authority + address.target).utf8.allSatisfy { (0x21...0x7E).contains($0) })
      }
    }
  }
#endif
