import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("Pairing")
struct PairingTests {
  private static let capabilities = SMPIOCapability.allCases

  /// The tables of Core 5.4, Vol 3, Part H, §2.3.5.1 (table 2.8), by initiator, then responder:
  /// J: Just Works, N: numeric comparison, i, r or b: initiator, responder or both enter.
  private static let legacyTable: [SMPIOCapability: String] = [
    // In the order of raw values: display only, display yes/no, keyboard only, none, both.
    .displayOnly: "JJrJr", .displayYesNo: "JJrJr", .keyboardOnly: "iibJi",
    .noInputNoOutput: "JJJJJ", .keyboardDisplay: "iirJr",
  ]
  private static let secureTable: [SMPIOCapability: String] = [
    .displayOnly: "JJrJr", .displayYesNo: "JNrJN", .keyboardOnly: "iibJi",
    .noInputNoOutput: "JJJJJ", .keyboardDisplay: "iNrJN",
  ]

  private static func expected(
    _ initiator: SMPIOCapability, _ responder: SMPIOCapability, _ isSecure: Bool
  ) -> Character {
    let row = Array((isSecure ? secureTable : legacyTable)[initiator] ?? "")
    return row[Int(responder.rawValue)]
  }

  @Test(
    "every pair of capabilities takes the specification's association model and gives both the same keys",
    arguments: capabilities, [false, true])
  func models(_ initiator: SMPIOCapability, _ isSecure: Bool) throws {
    for responder in Self.capabilities {
      var pair = PairingPair(
        central: .pairing(secureConnections: isSecure),
        peripheral: .pairing(secureConnections: isSecure), centralIO: initiator,
        peripheralIO: responder, seed: UInt64(responder.rawValue))
      pair.securesCentral()
      let model = Self.expected(initiator, responder, isSecure)
      #expect(pair.central.ends == [nil] && pair.peripheral.ends == [nil], "\(responder)")
      #expect(pair.central.secured == [true])
      let bond = try #require(pair.central.stored.first)
      let other = try #require(pair.peripheral.stored.first)
      #expect(bond.isAuthenticated == (model != "J") && bond.isSecureConnections == isSecure)
      #expect(bond.centralKey == other.peripheralKey && bond.peripheralKey == other.centralKey)
      #expect(bond.centralKey != nil && (isSecure == (bond.centralKey == bond.peripheralKey)))
      #expect(bond.identity == PairingPair.peripheralAddress)
      #expect(pair.central.link.encryption == pair.peripheral.link.encryption)
      #expect(Self.model(pair) == model, "\(initiator) and \(responder)")
    }
  }

  /// The model that the prompts show.
  private static func model(_ pair: PairingPair) -> Character {
    let asked = [pair.central, pair.peripheral].map { end -> Character in
      switch end.prompts.last {
      case .enterPasskey: "e"
      case .displayPasskey: "d"
      case .compareNumber: "N"
      case .consent, .replaceBond, nil: "J"
      }
    }
    switch (asked[0], asked[1]) {
    case ("e", "e"): return "b"
    case ("e", "d"): return "i"
    case ("d", "e"): return "r"
    case ("N", "N"): return "N"
    default: return "J"
    }
  }

  @Test(
    "a bond encrypts the next link at once, in either role, without pairing",
    arguments: [false, true])
  func bonds(_ isSecure: Bool) throws {
    let configuration = HostConfiguration.pairing(secureConnections: isSecure)
    var first = PairingPair(central: configuration, peripheral: configuration)
    first.securesCentral()
    let bonds = (first.central.stored, first.peripheral.stored)
    var second = PairingPair(central: configuration, peripheral: configuration, bonds: bonds)
    let begins = second.connects()
    #expect(begins)
    #expect(second.central.link.encryption == first.central.link.encryption)
    #expect(second.peripheral.link.encryption == first.central.link.encryption)
    #expect(second.central.secured == [true])
    #expect(second.central.sent.isEmpty && second.peripheral.sent.isEmpty)
    // The peripheral can request it, too.
    var third = PairingPair(central: configuration, peripheral: configuration, bonds: bonds)
    third.securesPeripheral()
    #expect(third.peripheral.secured == [true] && third.central.ends.isEmpty)
  }

  @Test(
    "a pairing ends when the peer has acknowledged the last key, and fails if the link is lost before",
    arguments: [false, true])
  func lastKey(_ isAcknowledged: Bool) {
    var pair = PairingPair()
    pair.acknowledges = false
    pair.securesCentral()
    // The peripheral gets the last key, and needs no acknowledgement.
    #expect(pair.peripheral.ends == [nil] && pair.peripheral.stored.count == 1)
    #expect(pair.central.ends.isEmpty && pair.central.stored.isEmpty)
    #expect(pair.central.link.awaitsKeys)
    if isAcknowledged {
      pair.acknowledges = true
      pair.run()
      #expect(pair.central.ends == [nil] && pair.central.stored.count == 1)
      #expect(!pair.central.link.awaitsKeys)
    } else {
      pair.reconnects()
      #expect(pair.central.ends == [.disconnected] && pair.central.stored.isEmpty)
    }
  }

  @Test("a request for more protection than a pairing under way gives leads to another after it")
  func lateRequirement() {
    var pair = PairingPair()
    pair.acknowledges = false
    pair.securesCentral()
    #expect(
      pair.central.secured == [true] && pair.central.link.encryption?.isAuthenticated == false)
    // By now there are clients that can show and enter a passkey.
    pair.central.host.register(.one, .keyboardOnly)
    pair.peripheral.host.register(.one, .displayOnly)
    pair.securesCentral(.authentication)
    #expect(pair.central.secured == [true])
    pair.acknowledges = true
    pair.run()
    #expect(pair.central.ends == [nil, nil] && pair.central.secured == [true, true])
    #expect(pair.central.link.encryption?.isAuthenticated == true)
  }

  @Test("the sender of the last key waits for its acknowledgement, on whichever side")
  func lastSender() {
    let pair = PairingPair()
    var host = pair.peripheral.host
    for (initiatorKeys, responderKeys, waitsInitiator, waitsResponder) in [
      ([.identityKey], [.identityKey], true, false), ([], [.identityKey], false, true),
      ([.identityKey], [], true, false), ([], [], false, false),
    ] as [(SMPKeyDistribution, SMPKeyDistribution, Bool, Bool)] {
      let features = SMPPairingFeatures(
        ioCapability: .noInputNoOutput, authenticationRequirements: [.bonding],
        initiatorKeys: initiatorKeys, responderKeys: responderKeys)
      for isInitiator in [true, false] {
        let context = PairingContext(
          isInitiator: isInitiator,
          addresses: LinkAddresses(
            local: PairingPair.centralAddress, peer: PairingPair.peripheralAddress),
          request: features, response: features,
          outOfBand: host.outOfBand.known(of: PairingPair.peripheralAddress))
        var distribution = KeyDistribution(context)
        #expect(throws: Never.self) {
          for _ in 0..<((isInitiator ? responderKeys : initiatorKeys).isEmpty ? 0 : 1) {
            try distribution.receive(
              .identityInformation(identityResolvingKey: SMPValue(number: 5)))
            try distribution.receive(.identityAddressInformation(PairingPair.centralAddress))
          }
        }
        var outputs: [PairingOutput] = []
        distribution.sendKeys(ifInTurn: isInitiator, host: &host, into: &outputs)
        #expect(distribution.isComplete)
        #expect(distribution.isOver != (isInitiator ? waitsInitiator : waitsResponder))
        distribution.isAcknowledged = true
        #expect(distribution.isOver)
      }
    }
  }

  @Test("a Security Request of a peripheral without a bond leads to pairing")
  func securityRequest() {
    var pair = PairingPair()
    pair.securesPeripheral()
    #expect(pair.central.ends == [nil] && pair.peripheral.ends == [nil])
    #expect(pair.peripheral.secured == [true])
  }

  @Test("two peers that request protection at the same time pair once", arguments: [true, false])
  func bothAtOnce(_ isCentralFirst: Bool) {
    var pair = PairingPair()
    pair.bothSecure(centralFirst: isCentralFirst)
    #expect(pair.central.ends == [nil] && pair.peripheral.ends == [nil])
    #expect(pair.central.secured == [true] && pair.peripheral.secured == [true])
    #expect(pair.central.stored.count == 1 && pair.peripheral.stored.count == 1)
    #expect(pair.central.sent.count(where: { $0.first == 0x01 }) == 1)
  }

  @Test(
    "a peer that lost its keys ends the link, and pairing begins only after the bond is removed")
  func lostKeys() throws {
    var first = PairingPair()
    first.securesCentral()
    var pair = PairingPair(bonds: (first.central.stored, []))
    let begins = pair.connects()
    #expect(begins)
    #expect(pair.central.disconnection == .keyMissing)
    #expect(pair.central.link.encryption == nil && pair.central.ends.isEmpty)
    // Held-back requests fail with the link; none is sent in clear.
    #expect(pair.central.secured.isEmpty)
  }

  @Test("another key than the peer's is found out by the controllers")
  func wrongKey() throws {
    var first = PairingPair()
    first.securesCentral()
    var bond = try #require(first.peripheral.stored.first)
    bond.peripheralKey = LongTermKey(SMPValue(number: 1))
    var pair = PairingPair(bonds: (first.central.stored, [bond]))
    let begins = pair.connects()
    #expect(begins && pair.hasMICFailure)
    #expect(pair.central.link.encryption == nil)
  }

  @Test("a host that never pairs refuses with that reason")
  func never() {
    var pair = PairingPair(peripheral: .pairing(.never))
    pair.securesCentral()
    #expect(pair.central.ends == [.peerFailed(.pairingNotSupported)])
    #expect(pair.central.secured == [false])
    var other = PairingPair(central: .pairing(.never))
    other.securesCentral()
    #expect(other.central.secured == [false] && other.central.sent.isEmpty)
    other.securesPeripheral()
    #expect(other.peripheral.secured == [false])
  }

  @Test("a host that prompts pairs by Just Works only after consent", arguments: [true, false])
  func consent(_ agrees: Bool) {
    var pair = PairingPair(peripheral: .pairing(.ask), peripheralIO: .displayOnly)
    pair.answer = { _, _, prompt in prompt == .consent ? (agrees ? .accept : .reject) : nil }
    pair.securesCentral()
    #expect(pair.peripheral.prompts == [.consent])
    #expect((pair.central.ends == [nil]) == agrees)
    #expect(pair.central.secured == [agrees])
    var nobody = PairingPair(peripheral: .pairing(.ask))
    nobody.securesCentral()
    #expect(nobody.central.ends == [.peerFailed(.pairingNotSupported)])
  }

  @Test(
    "a wrong passkey fails, and the next attempts have to wait longer and longer",
    arguments: [true, false])
  func wrongPasskey(_ isSecure: Bool) {
    let configuration = HostConfiguration.pairing(secureConnections: isSecure)
    var pair = PairingPair(
      central: configuration, peripheral: configuration, centralIO: .keyboardOnly,
      peripheralIO: .displayOnly)
    pair.answer = { pair, isCentral, prompt in
      guard case .passkey(let right)? = PairingPair.honest(pair, isCentral: isCentral, prompt)
      else { return nil }
      return .passkey((right + 1) % 1_000_000)
    }
    var delay: Int64 = 1
    for attempt in 0..<4 {
      pair.securesCentral()
      // The peripheral has refused a request since the first attempt, which it reports once.
      #expect(pair.central.ends.count == attempt + 1)
      #expect(pair.peripheral.ends.count == attempt + (attempt > 0 ? 2 : 1))
      #expect(pair.central.secured.last == false)
      // Before its time, an attempt doesn't even begin; nor does a peer's.
      let sentCount = pair.central.sent.count
      pair.securesCentral()
      #expect(pair.central.sent.count == sentCount)
      pair.delivers(SMPPDU.pairingRequest(.none).bytes, toCentral: false)
      #expect(pair.peripheral.sent.last == SMPPDU.pairingFailed(.repeatedAttempts).bytes)
      pair.pass(.seconds(delay))
      delay *= 2
    }
  }

  @Test("numbers that a person finds different end the pairing")
  func comparison() {
    var pair = PairingPair(centralIO: .displayYesNo, peripheralIO: .displayYesNo)
    pair.answer = { _, isCentral, _ in isCentral ? .reject : .accept }
    pair.securesCentral()
    #expect(pair.central.ends == [.pairingFailed(.numericComparisonFailed)])
    #expect(pair.peripheral.ends == [.peerFailed(.numericComparisonFailed)])
    #expect(pair.central.stored.isEmpty && pair.peripheral.stored.isEmpty)
  }

  @Test("a passkey has six digits, and is another each time")
  func passkeys() {
    var passkeys: Set<UInt32> = []
    for seed in 0..<50 {
      var pair = PairingPair(
        centralIO: .keyboardOnly, peripheralIO: .displayOnly, seed: UInt64(seed))
      pair.securesCentral()
      for case .displayPasskey(let number) in pair.peripheral.prompts { passkeys.insert(number) }
    }
    #expect(passkeys.count >= 49 && passkeys.allSatisfy { $0 < 1_000_000 })
    #expect(PairingPrompt.digits(42) == "000042")
  }

  @Test("the private addresses of a bonded peer are resolved with its key")
  func privateAddresses() throws {
    // Core 5.4, Vol 3, Part H, appendix D.7.
    let key = try #require(
      SMPValue([
        0xEC, 0x02, 0x34, 0xA3, 0x57, 0xC8, 0xAD, 0x05, 0x34, 0x10, 0x10, 0xA6, 0x0A, 0x39, 0x7D,
        0x9B,
      ]))
    let bond = Bond(
      identity: .peer(1), centralKey: nil, peripheralKey: nil, identityResolvingKey: key,
      isAuthenticated: false, isSecureConnections: true)
    var table = BondTable()
    let isStored = table.store(bond)
    #expect(isStored)
    // prand 0x708194, whose hash with this key is 0x0DFBAA.
    let address = DeviceAddress(bits: 0x7081_940D_FBAA, kind: .random)
    #expect(table.bond(of: address) == bond)
    #expect(table.bond(of: DeviceAddress(bits: 0x7081_940D_FBAB, kind: .random)) == nil)
    #expect(table.bond(of: .peer(1)) == bond && table.bond(of: .peer(2)) == nil)
  }

  @Test("the generator of secrets gives NIST's bits")
  func secrets() {
    // CAVP, CTR_DRBG.rsp: AES-128 no df, no reseeding, no personalization, COUNT = 0.
    var generator = SecretGenerator(
      entropy: Self.bytes(
        "ce50f33da5d4c1d3d4004eb35244b7f2cd7f2e5076fbf6780a7ff634b249a5fc"))
    _ = generator.bytes(64)
    #expect(
      generator.bytes(64)
        == Self.bytes(
          "6545c0529d372443b392ceb3ae3a99a30f963eaf313280f1d1a1e87f9db373d361e75d18018266499cccd64d9bbb8de0185f213383080faddec46bae1f784e5a"
        ))
  }

  private static func bytes(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.count, by: 2).map { offset in
      let start = text.index(text.startIndex, offsetBy: offset)
      return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16) ?? 0
    }
  }
}

extension SMPPairingFeatures {
  /// Those of a device without display and keyboard.
  static let none = SMPPairingFeatures(
    ioCapability: .noInputNoOutput,
    authenticationRequirements: [.bonding, .secureConnections],
    maximumEncryptionKeyByteCount: 16, initiatorKeys: [], responderKeys: [])
}
