import BluetoothWire
import Essentials
import Testing

@Suite("Attribute PDUs")
struct ATTPDUTests {
  /// One of each, as Core 5.4, Vol 3, Part F, §3.4 lays them out.
  static let table: [(String, ATTPDU)] = [
    (
      "01 08 0300 0a",
      .errorResponse(request: .readByTypeRequest, handle: 3, error: .attributeNotFound)
    ),
    ("02 0502", .exchangeMTURequest(mtu: 517)),
    ("03 1700", .exchangeMTUResponse(mtu: 23)),
    ("04 0100 ffff", .findInformationRequest(start: 1, end: 0xFFFF)),
    ("05 01 0300 0229", .findInformationResponse(list(4, "0300 0229"))),
    (
      "05 02 0300 9ecadc240ee5a9e093f3a3b50100406e",
      .findInformationResponse(list(18, "0300 9ecadc240ee5a9e093f3a3b50100406e"))
    ),
    (
      "06 0100 ffff 0028 0d18",
      .findByTypeValueRequest(start: 1, end: 0xFFFF, type: 0x2800, value: [0x0D, 0x18])
    ),
    ("07 0100 0500 0700 0900", .findByTypeValueResponse(list(4, "0100 0500 0700 0900"))),
    ("08 0100 0500 0328", .readByTypeRequest(start: 1, end: 5, type: 0x2803)),
    ("09 07 0200 02 0300 002a", .readByTypeResponse(list(7, "0200 02 0300 002a"))),
    ("0a 0300", .readRequest(handle: 3)),
    ("0b 4142", .readResponse(value: [0x41, 0x42])),
    ("0c 0300 1600", .readBlobRequest(handle: 3, offset: 22)),
    ("0d", .readBlobResponse(value: [])),
    ("0e 0300 0500", .readMultipleRequest(ATTHandleList([3, 5]))),
    ("0f 414243", .readMultipleResponse(values: [0x41, 0x42, 0x43])),
    ("10 0100 ffff 0028", .readByGroupTypeRequest(start: 1, end: 0xFFFF, type: 0x2800)),
    ("11 06 0100 0500 0018", .readByGroupTypeResponse(list(6, "0100 0500 0018"))),
    ("12 0400 0100", .writeRequest(handle: 4, value: [1, 0])),
    ("13", .writeResponse),
    ("16 0400 0200 41", .prepareWriteRequest(handle: 4, offset: 2, value: [0x41])),
    ("17 0400 0200 41", .prepareWriteResponse(handle: 4, offset: 2, value: [0x41])),
    ("18 01", .executeWriteRequest(isExecuted: true)),
    ("19", .executeWriteResponse),
    ("1b 0300 0660", .handleValueNotification(handle: 3, value: [0x06, 0x60])),
    ("1d 0300 0660", .handleValueIndication(handle: 3, value: [0x06, 0x60])),
    ("1e", .handleValueConfirmation),
    ("20 0300 0500", .readMultipleVariableRequest(ATTHandleList([3, 5]))),
    ("21 0100 41 0000", .readMultipleVariableResponse(list(0, "0100 41 0000"))),
    (
      "23 0300 0100 41 0500 0000",
      .multipleHandleValueNotification(list(0, "0300 0100 41 0500 0000"))
    ),
    ("52 0400 41", .writeCommand(handle: 4, value: [0x41])),
    (
      "d2 0400 41 000102030405060708090a0b",
      .signedWriteCommand(handle: 4, value: [0x41], signature: Array(0...11)[...])
    ),
  ]

  static func list<Entry>(_ entryByteCount: Int, _ hex: String) -> ATTList<Entry> {
    ATTList(entryByteCount: entryByteCount, encoded: (Hexadecimal.bytes(hex) ?? [])[...])
  }

  @Test("every PDU is written and read as the specification lays it out")
  func table() throws {
    for (hex, pdu) in Self.table {
      let bytes = try #require(Hexadecimal.bytes(hex))
      #expect(pdu.bytes == bytes)
      #expect(try ATTPDU(decoding: bytes[...]) == pdu)
      #expect(pdu.opcode.rawValue == bytes[0])
    }
    #expect(Set(Self.table.map(\.1.opcode)).count == 31)
  }

  @Test("lists give their entries")
  func lists() throws {
    let information: ATTInformationList = Self.list(4, "0300 0229 0400 0129")
    #expect(information.map(\.handle) == [3, 4])
    #expect(information.map(\.type) == [0x2902, 0x2901])
    #expect(Array(ATTHandleList([3, 5])) == [3, 5])
    let ranges: ATTHandleRangeList = Self.list(4, "0100 0500 0700 0900")
    #expect(ranges.map(\.end) == [5, 9])
    let groups: ATTGroupDataList = Self.list(6, "0100 0500 0018")
    #expect(groups.map(\.value) == [[0x00, 0x18]])
    let values: ATTHandleLengthValueList = Self.list(0, "0300 0100 41 0500 0000")
    #expect(values.map(\.value) == [[0x41], []])
    let cut: ATTLengthValueList = Self.list(0, "0100 41 0500 42")
    #expect(cut.map(\.byteCount) == [1, 5])
    #expect(cut.map(\.value) == [[0x41], [0x42]])
  }

  @Test(
    "wrong forms are refused",
    arguments: [
      ("", .truncated(needed: 1, available: 0)), ("02 05", .truncated(needed: 2, available: 1)),
      ("02 050200", .trailingBytes(count: 1)),
      ("05 03 0300 0229", .invalidValue(field: "format", value: 3)),
      ("05 01 0300 02", .invalidLength(3)),
      ("05 01", .truncated(needed: 1, available: 0)), ("07 0100 05", .invalidLength(3)),
      ("07", .truncated(needed: 1, available: 0)),
      ("08 0100 0500 032800 00", .invalidLength(4)), ("09 00 0100", .invalidLength(0)),
      ("09 01 01", .invalidLength(1)), ("09 07 0200 02", .invalidLength(3)),
      ("0e 0300", .truncated(needed: 4, available: 2)),
      ("0e 0300 05", .truncated(needed: 4, available: 3)),
      ("11 03 010005", .invalidLength(3)), ("13 00", .trailingBytes(count: 1)),
      ("18 02", .invalidValue(field: "execute flags", value: 2)),
      ("23 0300 0500 41", .invalidLength(5)),
      ("d2 0400 41", .truncated(needed: 12, available: 1)), ("14", .unknownCode(0x14)),
      ("ff", .unknownCode(0xFF)),
      ("1e 01", .trailingBytes(count: 1)),
    ] as [(String, WireError)])
  func refused(hex: String, error: WireError) throws {
    let bytes = try #require(Hexadecimal.bytes(hex))
    #expect(throws: error) { try ATTPDU(decoding: bytes[...]) }
  }

  @Test("PDUs are sorted to the half of the bearer that they are meant for")
  func routing() {
    #expect(ATTOpcode.errorResponse.isForClient)
    #expect(ATTOpcode.handleValueIndication.isForClient)
    #expect(ATTOpcode.multipleHandleValueNotification.isForClient)
    #expect(!ATTOpcode.handleValueConfirmation.isForClient)
    #expect(!ATTOpcode.writeCommand.isForClient)
    #expect(!ATTOpcode(rawValue: 0x77).isForClient)
  }

  @Test("an opcode is a request, a response, a command or none of them")
  func methods() {
    let all = (UInt8.min...UInt8.max).map(ATTOpcode.init)
    // Core 5.4, Vol 3, Part F, §3.4.8: requests are even, and each response follows its request.
    let requests: [UInt8] = [2, 4, 6, 8, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20]
    #expect(all.filter(\.isRequest).map(\.rawValue) == requests)
    #expect(all.filter(\.isResponse).map(\.rawValue) == [1] + requests.map { $0 + 1 })
    #expect(all.allSatisfy { !$0.isRequest || !$0.isCommand })
  }

  @Test("PDUs that are cut or mutated are refused, or read and written back the same")
  func hostile() throws {
    for (index, (hex, _)) in Self.table.enumerated() {
      let bytes = try #require(Hexadecimal.bytes(hex))
      for count in 0...bytes.count { check(bytes.prefix(count), "\(hex) cut to \(count)") }
      for seed in UInt64(0)..<300 {
        var random = SeededGenerator(seed: UInt64(index) << 32 | seed)
        var mutated = bytes
        for _ in 0...Int(random.next() % 3) {
          mutated[Int(random.next() % UInt64(mutated.count))] = UInt8(random.next() & 0xFF)
        }
        check(mutated[...], "\(hex) seed \(seed)")
      }
    }
  }

  private func check(_ bytes: ArraySlice<UInt8>, _ comment: Comment) {
    guard let pdu = try? ATTPDU(decoding: bytes) else { return }
    #expect(pdu.bytes == Array(bytes), comment)
    switch pdu {
    case .findInformationResponse(let list): #expect(list.reversed().count > 0, comment)
    case .readMultipleVariableResponse(let list): _ = Array(list)
    case .multipleHandleValueNotification(let list): _ = Array(list)
    case .readByTypeResponse(let list): _ = Array(list)
    case .readByGroupTypeResponse(let list): _ = Array(list)
    default: break
    }
  }
}
