import ARPWire
import Essentials
import Testing

@Suite("Frames of Ethernet")
struct EthernetFrameTests {
  private let mac = MACAddress(rawValue: 0x0200_0000_0001)

  @Test("an ARP packet for everybody is framed byte by byte as RFC 826 and Ethernet have it")
  func broadcast() throws {
    let packet = ARPPacket.announcement(of: Inet4Address(169, 254, 1, 2), from: mac)
    let bytes = EthernetFrame(broadcasting: packet).bytes
    #expect(
      bytes == [
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 1, 8, 6,
        0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 169, 254, 1, 2, 0, 0, 0, 0, 0, 0, 169, 254, 1, 2,
      ])
  }

  @Test("a framed packet is read back, and padding stays behind the payload")
  func roundTrip() throws {
    let packet = ARPPacket.probe(for: Inet4Address(169, 254, 9, 9), from: mac)
    let padded = EthernetFrame(broadcasting: packet).bytes + [UInt8](repeating: 0, count: 18)
    let frame = try EthernetFrame(decoding: padded[...])
    #expect(frame.destination == .broadcast)
    #expect(frame.source == mac)
    #expect(frame.etherType == ARPPacket.etherType)
    #expect(try ARPPacket(decoding: frame.payload) == packet)
    #expect(frame.bytes == padded)
  }

  @Test("a frame cut in its header is refused, one without a payload is not", arguments: 0...14)
  func cut(_ count: Int) {
    let bytes = [UInt8](repeating: 7, count: count)
    if count < EthernetFrame.headerByteCount {
      // Two addresses of six bytes, a type of two.
      let needed = count < 12 ? 6 : 2
      #expect(throws: Truncated(needed: needed, available: count % 6)) {
        try EthernetFrame(decoding: bytes[...])
      }
    } else {
      #expect((try? EthernetFrame(decoding: bytes[...]))?.payload.isEmpty == true)
    }
  }
}
