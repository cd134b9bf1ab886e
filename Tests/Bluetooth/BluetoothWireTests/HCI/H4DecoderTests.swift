import BluetoothWire
import Essentials
import Testing

@Suite("H4 streams")
struct H4DecoderTests {
  /// A seeded mixture of packets of every kind and length.
  private func packets(_ count: Int, using generator: inout SeededGenerator) -> [HCIPacket] {
    (0..<count).map { _ in
      let kind = HCIPacket.Kind.allCases.randomElement(using: &generator) ?? .event
      let longest = kind == .acl || kind == .isochronous ? 600 : 255
      let length = Int.random(in: 0...longest, using: &generator)
      let low = UInt8(length & 0xFF)
      var bytes: [UInt8] =
        switch kind {
        case .command, .synchronous: [0x01, 0x20, low]
        case .event: [0x0E, low]
        case .acl, .isochronous: [0x40, 0x20, low, UInt8(length >> 8)]
        }
      for _ in 0..<length { bytes.append(UInt8.random(in: 0...255, using: &generator)) }
      return HCIPacket(kind: kind, bytes: bytes)
    }
  }

  private func decode(_ portions: [ArraySlice<UInt8>]) throws -> [HCIPacket] {
    var decoder = H4Decoder()
    var found: [HCIPacket] = []
    for portion in portions {
      decoder.append(portion)
      while let packet = try decoder.next() { found.append(packet) }
    }
    #expect(decoder.bufferedByteCount == 0)
    return found
  }

  @Test("glued, dripped and cut anywhere, a stream gives the same packets")
  func portions() throws {
    for seed in 0..<40 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let packets = packets(30, using: &generator)
      let stream = packets.flatMap(\.h4Bytes)
      #expect(try decode([stream[...]]) == packets, "glued, seed \(seed)")
      #expect(
        try decode(stream.indices.map { stream[$0...$0] }) == packets, "dripped, seed \(seed)")
      var rest = stream[...]
      var cut: [ArraySlice<UInt8>] = []
      while !rest.isEmpty {
        let portion = rest.prefix(Int.random(in: 1...400, using: &generator))
        cut.append(portion)
        rest = rest[portion.endIndex...]
      }
      #expect(try decode(cut) == packets, "cut, seed \(seed)")
    }
  }

  @Test("portions that come before the last packets were read wait behind them")
  func appendedUnread() throws {
    var generator = SeededGenerator(seed: 3)
    let packets = packets(10, using: &generator)
    var decoder = H4Decoder()
    for packet in packets { decoder.append(packet.h4Bytes) }
    var found: [HCIPacket] = []
    while let packet = try decoder.next() { found.append(packet) }
    #expect(found == packets)
  }

  @Test("a whole packet shares the storage of the portion it came in")
  func sharesStorage() throws {
    let stream: [UInt8] = [4, 0x0E, 3, 1, 0, 0, 4, 0x13, 1, 0]
    var decoder = H4Decoder()
    decoder.append(stream)
    #expect(try decoder.next()?.bytes.startIndex == 1)
    #expect(try decoder.next()?.bytes.startIndex == 7)
    #expect(try decoder.next() == nil)
  }

  @Test("an indicator that doesn't exist ends the stream until it is reset")
  func unknownIndicator() throws {
    var decoder = H4Decoder()
    decoder.append([4, 0x13, 1, 0, 9, 4, 0x13, 1, 0])
    #expect(try decoder.next() != nil)
    #expect(throws: WireError.unknownCode(9)) { try decoder.next() }
    decoder.append([4, 0x13, 1, 0])
    #expect(throws: WireError.unknownCode(9)) { try decoder.next() }
    decoder.reset()
    decoder.append([4, 0x13, 1, 0])
    #expect(try decoder.next() == HCIPacket(kind: .event, bytes: [0x13, 1, 0]))
  }

  @Test("any bytes give packets or one error, and never more bytes than came")
  func anything() {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var decoder = H4Decoder()
      var received = 0
      var found = 0
      for _ in 0..<20 {
        let portion = (0..<Int.random(in: 0...50, using: &generator)).map { _ in
          UInt8.random(in: 0...7, using: &generator)
        }
        received += portion.count
        decoder.append(portion)
        while let packet = try? decoder.next() { found += 1 + packet.bytes.count }
      }
      #expect(found + decoder.bufferedByteCount <= received, "seed \(seed)")
    }
  }
}

@Suite("ACL packets")
struct ACLHeaderTests {
  @Test("a header and its data are read as they were written")
  func roundTrip() throws {
    let packet = ACLHeader.packet(handle: 0xEFF, boundary: .firstFlushable, payload: [1, 2, 3])
    #expect(Array(packet.bytes) == [0xFF, 0x2E, 3, 0, 1, 2, 3])
    let (header, payload) = try ACLHeader.decode(from: packet.bytes)
    #expect(header == ACLHeader(handle: 0xEFF, boundary: .firstFlushable, length: 3))
    #expect(payload == [1, 2, 3])
    #expect(header.boundary.isFirst)
    #expect(!ACLBoundary.continuing.isFirst)
  }

  @Test("packets that are cut, overlong or reserved are refused")
  func refusals() {
    let packet: [UInt8] = [0x40, 0x20, 3, 0, 1, 2, 3]
    for length in 0..<packet.count {
      #expect { try ACLHeader.decode(from: packet.prefix(length)) } throws: { $0.isTruncated }
    }
    #expect(throws: WireError.trailingBytes(count: 1)) {
      try ACLHeader.decode(from: packet + [4])
    }
    #expect(throws: WireError.invalidValue(field: "packet boundary flag", value: 3)) {
      try ACLHeader.decode(from: [0x40, 0x30, 0, 0])
    }
  }
}
