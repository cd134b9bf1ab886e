import Essentials
import Testing

@Suite("An IPv4 address")
struct IPv4AddressTests {
  @Test(
    "an IPv4 address is read as it is printed",
    arguments: ["0.0.0.0", "169.254.1.2", "255.255.255.255"])
  func text(_ text: String) {
    #expect(Inet4Address(text: text)?.description == text)
  }

  @Test(
    "an IPv4 address is refused unless it is four decimal octets",
    arguments: ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1..3.4", "01.2.3.4", "1.2.3.+4", "a.b.c.d"])
  func malformed(_ text: String) {
    #expect(Inet4Address(text: text) == nil)
  }

  @Test("an IPv4 address knows its bytes, its link and its subnet")
  func parts() {
    let address = Inet4Address(169, 254, 1, 2)
    #expect(address.rawValue == 0xA9FE_0102)
    #expect(address.bytes == [169, 254, 1, 2])
    #expect(Inet4Address(bytes: [169, 254, 1, 2] as [UInt8]) == address)
    #expect(Inet4Address(bytes: [169, 254, 1] as [UInt8]) == nil)
    #expect(address.isLinkLocal)
    #expect(!Inet4Address(169, 255, 1, 2).isLinkLocal)
    #expect(Inet4Address(127, 0, 0, 1).isLoopback)
    #expect(Inet4Address(224, 0, 0, 251).isMulticast)
    #expect(!address.isLoopback && !address.isMulticast)
    #expect(address.hasPrefix(of: Inet4Address(169, 254, 9, 9), bitCount: 16))
    #expect(!address.hasPrefix(of: Inet4Address(169, 254, 9, 9), bitCount: 24))
    #expect(address.hasPrefix(of: Inet4Address(8, 8, 8, 8), bitCount: 0))
    #expect(!address.hasPrefix(of: Inet4Address(169, 254, 1, 3), bitCount: 32))
  }
}
