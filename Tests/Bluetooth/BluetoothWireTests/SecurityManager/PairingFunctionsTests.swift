import BluetoothWire
import Essentials
import Testing

/// Sample data of Core 5.4, Vol 3, Part H, §2.2 and appendix D.
@Suite("Functions of pairing")
struct PairingFunctionsTests {
  private func value(_ hex: String) throws -> SMPValue {
    let bytes = try #require(Hexadecimal.bytes(hex))
    return try #require(SMPValue(bytes))
  }

  private func coordinate(_ hex: String) throws -> SMPCoordinate {
    let bytes = try #require(Hexadecimal.bytes(hex))
    return try #require(SMPCoordinate(bytes))
  }

  private let u = "20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6"
  private let v = "55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd"
  private let n1 = "d5cb8454d177733effffb2ec712baeab"
  private let n2 = "a6e8e7cc25a75f6e216583f7ff3dc4cf"
  private let macKey = "2965f176a1084a02fd3f6a20ce636e20"
  private let initiator = DeviceAddress(bits: 0x5612_3737_BFCE, kind: .public)
  private let responder = DeviceAddress(bits: 0xA713_702D_CFC1, kind: .public)

  @Test("c1 gives the confirm value of legacy pairing")
  func legacyConfirmValue() throws {
    let request = try SMPPDU(decoding: [0x01, 0x01, 0x00, 0x00, 0x10, 0x07, 0x07])
    let response = try SMPPDU(decoding: [0x02, 0x03, 0x00, 0x00, 0x08, 0x00, 0x05])
    let confirm = PairingFunctions.legacyConfirmValue(
      temporaryKey: try value(String(repeating: "0", count: 32)),
      random: try value("5783d52156ad6f0e6388274ec6702ee0"), request: request,
      response: response, initiator: DeviceAddress(bits: 0xA1A2_A3A4_A5A6, kind: .random),
      responder: DeviceAddress(bits: 0xB1B2_B3B4_B5B6, kind: .public))
    #expect(Hexadecimal.string(confirm.bytes) == "1e1e3fef878988ead2a74dc5bef13b86")
  }

  @Test("s1 gives the short term key of legacy pairing")
  func shortTermKey() throws {
    let key = PairingFunctions.shortTermKey(
      temporaryKey: try value(String(repeating: "0", count: 32)),
      responderRandom: try value("000f0e0d0c0b0a091122334455667788"),
      initiatorRandom: try value("010203040506070899aabbccddeeff00"))
    #expect(Hexadecimal.string(key.bytes) == "9a1fe1f0e8b0f49b5b4216ae796da062")
  }

  @Test("f4 gives the confirm value (D.2)")
  func confirmValue() throws {
    let confirm = PairingFunctions.confirmValue(
      own: try coordinate(u), other: try coordinate(v), random: try value(n1), passkeyBit: 0)
    #expect(Hexadecimal.string(confirm.bytes) == "f2c916f107a9bd1cf1eda1bea974872d")
  }

  @Test("f5 gives the keys (D.3)")
  func keys() throws {
    let keys = PairingFunctions.keys(
      diffieHellmanKey: try coordinate(
        "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698"),
      initiatorRandom: try value(n1), responderRandom: try value(n2), initiator: initiator,
      responder: responder)
    #expect(Hexadecimal.string(keys.macKey.bytes) == macKey)
    #expect(Hexadecimal.string(keys.longTermKey.bytes) == "6986791169d7cd23980522b594750a38")
  }

  @Test("f6 gives the check value (D.4)")
  func checkValue() throws {
    let features = SMPPairingFeatures(
      ioCapability: .keyboardOnly, hasOutOfBandData: true, authenticationRequirements: .bonding,
      initiatorKeys: [], responderKeys: [])
    let check = PairingFunctions.checkValue(
      macKey: try value(macKey), random: try value(n1), peerRandom: try value(n2),
      shared: try value("12a3343bb453bb5408da42d20c2d0fc8"), features: features,
      sender: initiator, receiver: responder)
    #expect(Hexadecimal.string(check.bytes) == "e3c473989cd0e8c5d26c0b09da958f61")
  }

  @Test("g2 gives the number that is compared (D.5)")
  func comparisonNumber() throws {
    let number = PairingFunctions.comparisonNumber(
      initiator: try coordinate(u), responder: try coordinate(v), initiatorRandom: try value(n1),
      responderRandom: try value(n2))
    #expect(number == 0x2F9E_D5BA % 1_000_000)
  }

  @Test("h6 and h7 convert keys (D.6, D.8)")
  func conversions() throws {
    let key = try value("ec0234a357c8ad05341010a60a397d9b")
    #expect(
      Hexadecimal.string(PairingFunctions.converted(key, identifier: "lebr").bytes)
        == "2d9ae102e76dc91ce8d3a9e280b16399")
    let salt = try value("000000000000000000000000746d7031")
    #expect(
      Hexadecimal.string(PairingFunctions.converted(key, salt: salt).bytes)
        == "fb173597c6a3c0ecd2998c2a75a57011")
  }

  /// What becomes of a key for the other transport, which no host here does: the functions are checked.
  @Test(
    "an LTK is converted to a link key and back, with h7 and without (D.9 to D.12)",
    arguments: [
      (
        "368df9bce3264b58bd066c33334fbf64", "tmp1", "lebr", true, "287ad379dca402530a39f1f43047b835"
      ),
      (
        "368df9bce3264b58bd066c33334fbf64", "tmp1", "lebr", false,
        "bc1ca4ef633fc1bd0d8230afee388fb0"
      ),
      (
        "05040302010009080706050403020100", "tmp2", "brle", true, "e85e09eb5eccb3e269418a133211bc79"
      ),
      (
        "05040302010009080706050403020100", "tmp2", "brle", false,
        "a813fb72f1a3dfa18a2c9a43f10d0a30"
      ),
    ])
  func otherTransport(
    _ key: String, _ first: String, _ second: String, _ hasH7: Bool, _ expected: String
  ) throws {
    let key = try value(key)
    let salt = try value("000000000000000000000000" + Hexadecimal.string(Array(first.utf8)))
    let intermediate =
      hasH7
      ? PairingFunctions.converted(key, salt: salt)
      : PairingFunctions.converted(key, identifier: first)
    #expect(
      Hexadecimal.string(PairingFunctions.converted(intermediate, identifier: second).bytes)
        == expected)
  }
}
