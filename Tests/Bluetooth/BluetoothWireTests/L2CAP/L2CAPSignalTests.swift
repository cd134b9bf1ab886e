import BluetoothWire
import Essentials
import Testing

@Suite("L2CAP on the wire")
struct L2CAPSignalTests {
  /// One of each, laid out by hand after the figures of Core 5.4, Vol 3, Part A, §4.
  static let vectors: [(String, L2CAPSignalPDU)] = [
    ("01 02 0200 0000", pdu(2, .commandReject(.commandNotUnderstood))),
    ("01 03 0400 0100 1700", pdu(3, .commandReject(.signallingMTUExceeded(23)))),
    ("01 04 0600 0200 4000 4100", pdu(4, .commandReject(.invalidCID(local: 0x40, remote: 0x41)))),
    ("01 05 0200 0700", pdu(5, .commandReject(.other(7)))),
    ("06 06 0400 4100 4000", pdu(6, .disconnectionRequest(destination: 0x41, source: 0x40))),
    ("07 06 0400 4100 4000", pdu(6, .disconnectionResponse(destination: 0x41, source: 0x40))),
    (
      "12 07 0800 0600 0C00 0400 C800",
      pdu(
        7,
        .connectionParameterUpdateRequest(
          L2CAPConnectionParameters(
            intervalMinUnits: 6, intervalMaxUnits: 12, latency: 4, timeoutUnits: 200)))
    ),
    ("13 07 0200 0000", pdu(7, .connectionParameterUpdateResponse(accepted: true))),
    ("13 08 0200 0100", pdu(8, .connectionParameterUpdateResponse(accepted: false))),
    (
      "14 09 0A00 8000 4000 0008 F700 1000",
      pdu(
        9,
        .creditBasedConnectionRequest(
          L2CAPCreditBasedConnectionRequest(
            spsm: 0x80, source: 0x40, mtu: 2048, mps: 247, initialCredits: 16)))
    ),
    (
      "15 09 0A00 4300 1700 1700 FFFF 0000",
      pdu(
        9,
        .creditBasedConnectionResponse(
          L2CAPCreditBasedConnectionResponse(
            destination: 0x43, mtu: 23, mps: 23, initialCredits: 65535, result: .success)))
    ),
    (
      "15 09 0A00 0000 0000 0000 0000 0500",
      pdu(9, .creditBasedConnectionResponse(.refusal(.insufficientAuthentication)))
    ),
    ("16 FF 0400 4000 0A00", pdu(255, .flowControlCredit(source: 0x40, credits: 10))),
    (
      "17 0A 0C00 2700 4000 4000 0500 4000 4100",
      pdu(
        10,
        .enhancedConnectionRequest(
          L2CAPEnhancedConnectionRequest(
            spsm: 0x27, mtu: 64, mps: 64, initialCredits: 5, sources: [0x40, 0x41])))
    ),
    (
      "18 0A 0C00 4000 4000 0500 0400 5000 0000",
      pdu(
        10,
        .enhancedConnectionResponse(
          L2CAPEnhancedConnectionResponse(
            mtu: 64, mps: 64, initialCredits: 5, result: .noResources, destinations: [0x50, 0])))
    ),
    (
      "19 0B 0600 8000 7000 4000",
      pdu(11, .reconfigureRequest(mtu: 128, mps: 112, sources: [0x40]))
    ),
    ("1A 0B 0200 0300", pdu(11, .reconfigureResponse(.invalidDestinationCID))),
  ]

  static func pdu(_ identifier: UInt8, _ signal: L2CAPSignal) -> L2CAPSignalPDU {
    L2CAPSignalPDU(identifier: identifier, signal: signal)
  }

  @Test(
    "every command reads and writes as the specification draws it",
    arguments: L2CAPSignalTests.vectors)
  func readAndWrite(hex: String, pdu: L2CAPSignalPDU) throws {
    let bytes = try #require(Hexadecimal.bytes(hex))
    #expect(try L2CAPSignalPDU(decoding: bytes[...]) == pdu)
    #expect(pdu.bytes == bytes)
    #expect(bytes[0] == pdu.signal.code)
  }

  @Test(
    "no command cut short or followed by more is taken for one", arguments: L2CAPSignalTests.vectors
  )
  func cuts(hex: String, pdu: L2CAPSignalPDU) throws {
    let bytes = try #require(Hexadecimal.bytes(hex))
    let length = bytes.count - L2CAPSignalPDU.headerByteCount
    for count in 0..<bytes.count {
      #expect {
        try L2CAPSignalPDU(decoding: bytes[..<count])
      } throws: { error in
        count < L2CAPSignalPDU.headerByteCount
          ? error.isTruncated : error as? WireError == .invalidLength(length)
      }
    }
    #expect(throws: WireError.invalidLength(length)) {
      try L2CAPSignalPDU(decoding: (bytes + [0])[...])
    }
    // The same with a length that agrees: fields are missing, or half a CID too much.
    var cut = bytes
    cut.removeLast()
    cut[2] -= 1
    #expect { try L2CAPSignalPDU(decoding: cut[...]) } throws: { $0.isTruncated }
    // The data of a reject with an unknown reason has any length.
    if case .commandReject(.other) = pdu.signal { return }
    var longer = bytes + [0]
    longer[2] += 1
    #expect {
      try L2CAPSignalPDU(decoding: longer[...])
    } throws: { error in
      error.isTruncated || error as? WireError == .trailingBytes(count: 1)
    }
  }

  @Test("an unknown command keeps its code and identifier, whatever data it has")
  func unknown() throws {
    let pdu = try L2CAPSignalPDU(decoding: [0x0A, 5, 2, 0, 1, 2][...])
    #expect(pdu == L2CAPSignalPDU(identifier: 5, signal: .unknown(code: 0x0A)))
  }

  @Test("an identifier of zero is an error")
  func identifierZero() {
    #expect(throws: WireError.invalidValue(field: "identifier", value: 0)) {
      try L2CAPSignalPDU(decoding: [0x13, 0, 2, 0, 0, 0][...])
    }
  }

  @Test("whatever a mutated command is read as, it is written as the same again")
  func mutations() throws {
    for seed in 0..<20_000 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let vector = Self.vectors[Int.random(in: 0..<Self.vectors.count, using: &random)]
      var bytes = try #require(Hexadecimal.bytes(vector.0))
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      guard let pdu = try? L2CAPSignalPDU(decoding: bytes[...]) else { continue }
      #expect(try L2CAPSignalPDU(decoding: pdu.bytes[...]) == pdu, "seed \(seed)")
    }
  }

  @Test("a header reads and writes; three bytes are refused")
  func header() throws {
    var reader = ByteReader([0x07, 0x00, 0x04, 0x00, 0xAA][...])
    let header = try L2CAPHeader(decoding: &reader)
    #expect(header == L2CAPHeader(length: 7, channel: L2CAPChannelIdentifier.attribute))
    #expect(Array(reader.remaining) == [0xAA])
    var writer = ByteWriter()
    header.encode(into: &writer)
    #expect(writer.bytes == [7, 0, 4, 0])
    var short = ByteReader([1, 2, 3][...])
    #expect(throws: WireError.truncated(needed: 4, available: 3)) {
      try L2CAPHeader(decoding: &short)
    }
  }

  @Test("only timings that a link can have are valid")
  func parameters() {
    func isValid(_ min: UInt16, _ max: UInt16, _ latency: UInt16, _ timeout: UInt16) -> Bool {
      L2CAPConnectionParameters(
        intervalMinUnits: min, intervalMaxUnits: max, latency: latency, timeoutUnits: timeout
      ).isValid
    }
    #expect(isValid(6, 6, 0, 10))
    #expect(isValid(24, 24, 0, 72))
    #expect(isValid(3200, 3200, 0, 3200))
    #expect(!isValid(5, 6, 0, 10))
    #expect(!isValid(6, 3201, 0, 3200))
    #expect(!isValid(12, 6, 0, 100))
    #expect(!isValid(6, 6, 500, 3200))
    #expect(!isValid(6, 6, 0, 9))
    #expect(!isValid(6, 6, 0, 3201))
    // 2 × (1 + 4) × 100 ms is a second: the timeout must be longer than that.
    #expect(!isValid(80, 80, 4, 100))
    #expect(isValid(80, 80, 4, 101))
  }
}
