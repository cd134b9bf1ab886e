import BluetoothWire
import Essentials
import Testing

@Suite("HCI commands and events")
struct HCICodecTests {
  @Test("every value survives being written and read back", arguments: 0..<20 as Range<UInt64>)
  func roundTrip(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for type in HCISamples.all { try expectRoundTrip(type, seed: seed, &generator) }
  }

  private func expectRoundTrip<Value: HCICodable>(
    _ type: Value.Type, seed: UInt64, _ generator: inout SeededGenerator
  ) throws {
    let value = try #require(
      HCISamples.value(type, using: &generator), "no \(type) found, seed \(seed)")
    let bytes = HCISamples.encoded(value)
    var reader = ByteReader(bytes)
    let again = try Value(decoding: &reader)
    #expect(again == value, "\(type), seed \(seed)")
    #expect(reader.isAtEnd, "\(type) left bytes, seed \(seed)")
    #expect(HCISamples.encoded(again) == bytes, "\(type), seed \(seed)")
  }

  @Test("a value cut short is refused, wherever it was cut", arguments: 0..<5 as Range<UInt64>)
  func truncation(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for type in HCISamples.all where !(type is CommandComplete.Type) {
      try expectRefusedWhenCut(type, seed: seed, &generator)
    }
  }

  private func expectRefusedWhenCut<Value: HCICodable>(
    _ type: Value.Type, seed: UInt64, _ generator: inout SeededGenerator
  ) throws {
    let value = try #require(
      HCISamples.value(type, using: &generator), "no \(type) found, seed \(seed)")
    let bytes = HCISamples.encoded(value)
    for length in 0..<bytes.count {
      #expect("\(type) cut to \(length), seed \(seed)") {
        var reader = ByteReader(bytes.prefix(length))
        _ = try Value(decoding: &reader)
      } throws: { $0.isTruncated }
    }
  }

  @Test("an event packet comes back as the same case, and cut short it is refused")
  func eventPackets() throws {
    var generator = SeededGenerator(seed: 7)
    for type in HCISamples.events {
      let parameters = try #require(HCISamples.value(type, using: &generator), "\(type)")
      let packet = parameters.packet
      let event = try HCIEvent(decoding: packet.bytes)
      #expect(event.packet == packet, "\(type)")
      for length in 0..<packet.bytes.count {
        #expect("\(type) cut to \(length)") {
          try HCIEvent(decoding: packet.bytes.prefix(length))
        } throws: { $0.isTruncated }
      }
      if case .unknown = event { Issue.record("\(type) is not read") }
      if case .unknownLE = event { Issue.record("\(type) is not read") }
    }
  }

  @Test("no bytes make the decoders trap, and accepted ones can be written again")
  func mutation() throws {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<20_000 {
      let code: UInt8 =
        Bool.random(using: &generator) ? 0x3E : .random(in: 0...0x40, using: &generator)
      let count = Int.random(in: 0...80, using: &generator)
      var bytes = [code, UInt8(count)] + HCISamples.bytes(count, using: &generator)
      if code == 0x3E, count > 0 { bytes[2] = .random(in: 0...0x20, using: &generator) }
      guard let event = try? HCIEvent(decoding: bytes[...]) else { continue }
      #expect(try HCIEvent(decoding: event.packet.bytes) == event)
      if case .leAdvertisingReport(let reports) = event {
        #expect(Array(reports).count == reports.count)
      }
    }
    for type in HCISamples.commands {
      for _ in 0..<200 { try decodeAnything(type, &generator) }
    }
  }

  private func decodeAnything<Command: HCICommand>(
    _ type: Command.Type, _ generator: inout SeededGenerator
  ) throws {
    let count = Int.random(in: 0...80, using: &generator)
    let packet =
      [UInt8(Command.opcode.rawValue & 0xFF), UInt8(Command.opcode.rawValue >> 8), UInt8(count)]
      + HCISamples.bytes(count, using: &generator)
    let header = try HCICommandHeader(decoding: packet[...])
    guard let command = try? header.decode(as: Command.self) else { return }
    #expect(command.packet.bytes.count <= 258)
  }

  @Test("bytes too many are an error in a command, and ignored in an event")
  func trailingBytes() throws {
    let reset = try HCICommandHeader(decoding: [0x03, 0x0C, 1, 0])
    #expect(throws: WireError.trailingBytes(count: 1)) { try reset.decode(as: Reset.self) }
    #expect(throws: WireError.trailingBytes(count: 1)) {
      try HCICommandHeader(decoding: [0x03, 0x0C, 0, 0])
    }
    let event = try HCIEvent(decoding: [0x05, 5, 0, 0x40, 0, 0x13, 0xAA])
    #expect(
      event
        == .disconnectionComplete(
          DisconnectionComplete(handle: 0x40, reason: .remoteUserTerminatedConnection)))
  }

  @Test("events that we don't know keep their bytes")
  func unknownEvents() throws {
    let general = try HCIEvent(decoding: [0xFF, 2, 7, 8])
    #expect(general == .unknown(code: 0xFF, parameters: [7, 8]))
    #expect(Array(general.packet.bytes) == [0xFF, 2, 7, 8])
    let le = try HCIEvent(decoding: [0x3E, 3, 0x7F, 7, 8])
    #expect(le == .unknownLE(subevent: 0x7F, parameters: [7, 8]))
    #expect(Array(le.packet.bytes) == [0x3E, 3, 0x7F, 7, 8])
  }

  @Test("a Command Complete gives the status and what the command returns")
  func commandComplete() throws {
    let buffers = LEReadBufferSizeReturn(aclLength: 251, aclCount: 12)
    let packet = CommandComplete(LEReadBufferSize.self, returning: buffers).packet
    #expect(Hexadecimal.string(packet.bytes) == "0e0701022000fb000c")
    guard case .commandComplete(let complete) = try HCIEvent(decoding: packet.bytes) else {
      Issue.record("not read as Command Complete")
      return
    }
    #expect(complete.opcode == .leReadBufferSize)
    #expect(complete.status == .success)
    #expect(try complete.returned(by: LEReadBufferSize.self) == buffers)

    let refused = CommandComplete(opcode: .leReadBufferSize, status: .unknownCommand)
    #expect(refused.status == .unknownCommand)
    #expect { try refused.returned(by: LEReadBufferSize.self) } throws: { $0.isTruncated }

    let idle = try HCIEvent(decoding: [0x0E, 3, 1, 0, 0])
    #expect(idle == .commandComplete(CommandComplete(opcode: .none, returnParameters: [])))
    #expect(CommandComplete(opcode: .none, returnParameters: []).status == nil)
  }

  @Test("reserved values are refused with the field's name")
  func reservedValues() {
    #expect(throws: WireError.invalidValue(field: "OwnAddressType", value: 4)) {
      try HCICommandHeader(decoding: [0x0B, 0x20, 7, 0, 16, 0, 16, 0, 4, 0])
        .decode(as: LESetScanParameters.self)
    }
    #expect(throws: WireError.invalidValue(field: "flag", value: 2)) {
      try HCICommandHeader(decoding: [0x0C, 0x20, 2, 2, 0]).decode(as: LESetScanEnable.self)
    }
    #expect(throws: WireError.invalidLength(32)) {
      try HCICommandHeader(decoding: [0x08, 0x20, 32, 32] + [UInt8](repeating: 0, count: 31))
        .decode(as: LESetAdvertisingData.self)
    }
  }

  @Test("an undirected report is read with any bytes in place of a target")
  func undirectedTarget() throws {
    // As rootcanal 1.10 sends it for a legacy advertisement.
    let bytes = try #require(
      Hexadecimal.bytes(
        "3e2a0d01 1300 01 01000000f0c4 01 00 ff 7f fb 0000 ff000000000000"
          + "10 020106 0c0942756d626c652070656572"))
    guard case .leExtendedAdvertisingReport(let reports) = try HCIEvent(decoding: bytes[...]),
      let report = Array(reports).first
    else {
      Issue.record("it is not a report")
      return
    }
    #expect(report.target == nil)
    #expect(report.advertiser?.address == DeviceAddress("C4:F0:00:00:00:01", kind: .random))
    #expect(AdvertisingFields(report.data).localName == "Bumble peer")
  }

  @Test("an anonymous advertiser has no address, and an unresolvable target is random")
  func unusualAddresses() throws {
    var report = LEExtendedAdvertisingReport(type: .directed, advertiser: nil, rssi: nil, data: [1])
    var bytes = HCISamples.encoded(report)
    #expect(bytes[2] == 0xFF)
    bytes[16] = 0xFE
    var reader = ByteReader(bytes)
    report.target = PeerAddress(DeviceAddress(bits: 0, kind: .random))
    #expect(try LEExtendedAdvertisingReport(decoding: &reader) == report)
  }
}

@Suite("Supported commands")
struct SupportedCommandsTests {
  @Test("every command that can be written has a name and a bit of its own")
  func complete() {
    for type in HCISamples.commands {
      let only = SupportedCommands([type.opcode])
      #expect(only.contains(type.opcode))
      #expect(only.bitmap.reduce(0) { $0 + $1.nonzeroBitCount } == 1)
      #expect(!type.opcode.description.hasPrefix("command 0x"))
      var none = only
      none.remove(type.opcode)
      #expect(none == SupportedCommands())
    }
    let all = SupportedCommands.allKnown
    #expect(all.bitmap.reduce(0) { $0 + $1.nonzeroBitCount } == HCISamples.commands.count)
  }

  @Test("the bits are at the positions of the specification")
  func places() {
    let places: [(HCIOpcode, octet: Int, bit: Int)] = [
      (.disconnect, 0, 5), (.reset, 5, 7), (.readBDADDR, 15, 1), (.leSetEventMask, 25, 0),
      (.leSetScanEnable, 26, 3), (.leRand, 27, 7), (.leSetDataLength, 33, 6),
      (.leExtendedCreateConnection, 37, 7), (.leSetPrivacyMode, 39, 2),
      (.leReadBufferSizeV2, 41, 5), (.leSetHostFeature, 44, 1),
    ]
    for (opcode, octet, bit) in places {
      #expect(SupportedCommands([opcode]).bitmap[octet] == 1 << bit, "\(opcode)")
    }
    let vendors = HCIOpcode(rawValue: 0xFC01)
    #expect(SupportedCommands([vendors]) == SupportedCommands())
    #expect(!SupportedCommands.allKnown.contains(vendors))
    #expect(HCIOpcode(rawValue: 0xFC01).description == "command 0xfc01")
    #expect(HCIOpcode.leSetScanEnable.description == "LE Set Scan Enable")
    #expect(HCIOpcode.leSetScanEnable.group == 8)
  }
}

@Suite("HCI status")
struct HCIStatusTests {
  @Test("known codes have descriptions, unknown ones their number")
  func descriptions() {
    #expect(HCIStatus.connectionTimeout.description == "the connection timed out")
    #expect(HCIStatus(rawValue: 0xEE).description == "code 0xee")
  }
}
