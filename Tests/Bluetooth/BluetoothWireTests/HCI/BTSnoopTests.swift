import BluetoothWire
import Essentials
import Testing

@Suite("Captures")
struct BTSnoopTests {
  private let records = [
    BTSnoop.Record(
      packet: Reset().packet, direction: .hostToController, microseconds: 1_700_000_000_123_456),
    BTSnoop.Record(
      packet: CommandComplete(opcode: .reset, status: .success).packet,
      direction: .controllerToHost, microseconds: 1_700_000_000_124_000),
    BTSnoop.Record(
      packet: ACLHeader.packet(handle: 0x40, boundary: .firstFlushable, payload: [1, 2, 3]),
      direction: .controllerToHost, microseconds: 0),
  ]

  private func file(_ records: [BTSnoop.Record]) -> [UInt8] {
    BTSnoop.header
      + records.flatMap {
        BTSnoop.record($0.packet, direction: $0.direction, microseconds: $0.microseconds)
      }
  }

  private func read(_ file: ArraySlice<UInt8>) throws -> [BTSnoop.Record] {
    var reader = try BTSnoop.Reader(file)
    var found: [BTSnoop.Record] = []
    while let record = try reader.next() { found.append(record) }
    return found
  }

  @Test("a capture is read back as it was written")
  func roundTrip() throws {
    #expect(try read(file(records)[...]) == records)
  }

  @Test("a file has the header, flags and times that other readers expect")
  func layout() {
    let bytes = file([records[0]])
    #expect(
      Hexadecimal.string(bytes)
        == "6274736e6f6f700000000001000003ea" + "0000000400000004" + "00000002" + "00000000"
        + "00e2e7d7274fa240" + "01030c00")
  }

  @Test("a file that was cut gives what came before the cut, then an error")
  func cut() throws {
    let whole = file(records)
    let ends = [16, 16 + 28, 16 + 28 + 31, whole.count]
    for length in 0..<whole.count where !ends.contains(length) {
      #expect("cut to \(length)") {
        try read(whole.prefix(length))
      } throws: { $0.isTruncated }
    }
    #expect(try read(whole.prefix(16 + 28)) == [records[0]])
  }

  @Test("other files, other data links and damaged lengths are refused")
  func refusals() {
    let good = file(records)
    for (index, value, error) in [
      (0, 0x63, .invalidValue(field: "btsnoop identification", value: 0x63)),
      (11, 2, .invalidValue(field: "btsnoop version", value: 2)),
      (15, 0xE9, .invalidValue(field: "btsnoop data link type", value: 0x3E9)),
      (19, 3, .invalidLength(4)), (20, 0xFF, .invalidLength(0xFF00_0004)), (40, 9, .unknownCode(9)),
    ] as [(Int, UInt8, WireError)] {
      var bad = good
      bad[index] = value
      #expect(throws: error, "byte \(index)") { try read(bad[...]) }
    }
    var empty = good
    empty[23] = 0
    #expect(throws: WireError.invalidLength(0)) { try read(empty[...]) }
  }

  @Test
  func `A file in pcapng has blocks of whole words, with direction, time and packet`() {
    #expect(PCAPNG.header.count == 48)
    let bytes = PCAPNG.record(
      records[0].packet, direction: .controllerToHost, microseconds: 0x1_0000_0002)
    #expect(
      bytes == [
        6, 0, 0, 0, 40, 0, 0, 0,  // an enhanced packet block, 40 bytes long
        0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0,  // time and lengths
        0, 0, 0, 1, 1, 3, 12, 0,  // received; the command Reset
        40, 0, 0, 0,
      ])
    for length in 0..<9 {
      let packet = HCIPacket(kind: .event, bytes: [UInt8](repeating: 1, count: length)[...])
      let count = PCAPNG.record(packet, direction: .hostToController, microseconds: 0).count
      #expect(count % 4 == 0 && count >= 37 + length)
    }
  }
}
