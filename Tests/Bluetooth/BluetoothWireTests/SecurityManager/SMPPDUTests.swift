import BluetoothWire
import Essentials
import Testing

@Suite("Security Manager PDUs")
struct SMPPDUTests {
  private static let features = SMPPairingFeatures(
    ioCapability: .keyboardDisplay, hasOutOfBandData: true,
    authenticationRequirements: [.bonding, .mitmProtection, .secureConnections],
    maximumEncryptionKeyByteCount: 16, initiatorKeys: [.encryptionKey, .identityKey],
    responderKeys: [.identityKey, .signingKey])

  /// 0x0F first, so that what goes over the wire begins with zero.
  private static let value: SMPValue? = SMPValue((0..<16).reversed())
  private static let x: SMPCoordinate? = SMPCoordinate((0..<32).reversed())
  private static let y: SMPCoordinate? = SMPCoordinate((32..<64).reversed())

  private static let onTheWire = "000102030405060708090a0b0c0d0e0f"

  /// One of each, as Core 5.4, Vol 3, Part H, §3.5 and §3.6 lay them out.
  private static func table() throws -> [(String, SMPPDU)] {
    let value = try #require(value)
    let address = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)
    return [
      ("01 04 01 0d 10 03 06", .pairingRequest(features)),
      ("02 04 01 0d 10 03 06", .pairingResponse(features)),
      ("03" + onTheWire, .pairingConfirm(value)),
      ("04" + onTheWire, .pairingRandom(value)),
      ("05 09", .pairingFailed(.repeatedAttempts)),
      ("06" + onTheWire, .encryptionInformation(longTermKey: value)),
      (
        "07 3412 0807060504030201",
        .centralIdentification(encryptedDiversifier: 0x1234, random: 0x0102_0304_0506_0708)
      ),
      ("08" + onTheWire, .identityInformation(identityResolvingKey: value)),
      ("09 01 9a78563412c0", .identityAddressInformation(address)),
      ("0a" + onTheWire, .signingInformation(signatureResolvingKey: value)),
      ("0b 05", .securityRequest([.bonding, .mitmProtection])),
      (
        "0c" + Hexadecimal.string((0..<64).map { UInt8($0) }),
        .pairingPublicKey(x: try #require(x), y: try #require(y))
      ),
      ("0d" + onTheWire, .pairingDHKeyCheck(value)),
      ("0e 04", .keypressNotification(.entryCompleted)),
    ]
  }

  @Test("secrets that differ in a bit, or in the same bit of two bytes, are not equal")
  func secrets() {
    let secret = SMPValue(number: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    #expect(secret.isEqual(toSecret: SMPValue(number: secret.number)))
    for first in 0..<128 {
      for second in first..<128 {
        let difference = first == second ? 1 << first : UInt128(1) << first | UInt128(1) << second
        let other = SMPValue(number: secret.number ^ difference)
        #expect(!secret.isEqual(toSecret: other), "bits \(first) and \(second)")
      }
    }
  }

  @Test("PDUs are read and written as the specification lays them out")
  func bytes() throws {
    for (hex, pdu) in try Self.table() {
      let bytes = try #require(Hexadecimal.bytes(hex))
      #expect(try SMPPDU(decoding: bytes[...]) == pdu, "\(hex)")
      #expect(pdu.bytes == bytes, "\(hex)")
      #expect(pdu.code == bytes.first)
    }
    #expect(try Self.table().map(\.1.code) == Array(1...14))
  }

  @Test(
    "reserved values are refused",
    arguments: [
      // IO capability, OOB flag, key sizes; the address type; the kind of keypress; codes.
      ("01 05 00 0d 10 03 06", .invalidValue(field: "IO capability", value: 5)),
      ("01 04 02 0d 10 03 06", .invalidValue(field: "OOB data flag", value: 2)),
      ("01 04 00 0d 06 03 06", .invalidValue(field: "maximum encryption key size", value: 6)),
      ("02 04 00 0d 11 03 06", .invalidValue(field: "maximum encryption key size", value: 17)),
      ("09 02 9a78563412c0", .invalidValue(field: "address type", value: 2)),
      ("0e 05", .invalidValue(field: "notification type", value: 5)),
      ("00", .unknownCode(0)), ("0f", .unknownCode(0x0F)), ("ff", .unknownCode(0xFF)),
    ] as [(String, WireError)])
  func reserved(hex: String, error: WireError) throws {
    let bytes = try #require(Hexadecimal.bytes(hex))
    #expect(throws: error) { try SMPPDU(decoding: bytes[...]) }
  }

  @Test("bits for later versions are ignored, and unknown reasons of a failure are reasons")
  func later() throws {
    let features = try SMPPDU(decoding: [1, 3, 0, 0xFF, 16, 0xFF, 0xF0])
    guard case .pairingRequest(let read) = features else {
      Issue.record("\(features)")
      return
    }
    #expect(read.authenticationRequirements.isSuperset(of: [.bonding, .ct2]))
    #expect(read.responderKeys.isDisjoint(with: [.encryptionKey, .identityKey, .signingKey]))
    let unknown = SMPFailureReason(rawValue: 0x77)
    #expect(try SMPPDU(decoding: [5, 0x77]) == .pairingFailed(unknown))
  }

  @Test(
    "PDUs that are cut, glued or mutated are refused, or read and written back the same")
  func hostile() throws {
    for (index, (hex, _)) in try Self.table().enumerated() {
      let bytes = try #require(Hexadecimal.bytes(hex))
      for count in 0..<bytes.count {
        #expect { try SMPPDU(decoding: bytes.prefix(count)) } throws: { $0.isTruncated }
      }
      #expect(throws: WireError.trailingBytes(count: 1)) {
        try SMPPDU(decoding: (bytes + [0])[...])
      }
      for seed in UInt64(0)..<300 {
        var random = SeededGenerator(seed: UInt64(index) << 32 | seed)
        var mutated = bytes
        for _ in 0...Int(random.next() % 3) {
          mutated[Int(random.next() % UInt64(mutated.count))] = UInt8(random.next() & 0xFF)
        }
        guard let pdu = try? SMPPDU(decoding: mutated[...]) else { continue }
        #expect(pdu.bytes == mutated, "\(hex) seed \(seed)")
      }
    }
  }

  @Test("a PDU is printed without its keys")
  func secrecy() throws {
    let secret = try #require(SMPValue([UInt8](repeating: 0xA7, count: 16)))
    var dumped = ""
    let pdu = SMPPDU.encryptionInformation(longTermKey: secret)
    dump(pdu, to: &dumped)
    // The Diffie-Hellman key is one.
    let coordinate = try #require(SMPCoordinate([UInt8](repeating: 0xA7, count: 32)))
    dump(coordinate, to: &dumped)
    for text in [dumped, "\(pdu)", "\(coordinate)", String(reflecting: pdu)] {
      #expect(!text.contains("167") && !text.lowercased().contains("a7"), "\(text)")
    }
  }

  @Test("values have sixteen bytes, coordinates thirty-two")
  func lengths() {
    #expect(SMPValue([1, 2, 3]) == nil)
    #expect(SMPCoordinate([UInt8](repeating: 0, count: 33)) == nil)
  }
}
