import DNSWire
import Essentials
import Testing

@Suite("Reverse names")
struct ReverseNameTests {
  @Test("the reverse mapping has the numbers backwards")
  func reverse() throws {
    #expect(InetAddress(text: "192.0.2.10")?.reverseName == "10.2.0.192.in-addr.arpa.")
    #expect(
      InetAddress(text: "2001:db8::567:89ab")?.reverseName
        == "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.")
  }

  @Test("A1: the groups of Multicast DNS are 224.0.0.251 and ff02::fb")
  func groups() {
    #expect(InetAddress.multicastDNS(.v4).description == "224.0.0.251")
    #expect(InetAddress.multicastDNS(.v6).description == "ff02::fb")
  }
}
