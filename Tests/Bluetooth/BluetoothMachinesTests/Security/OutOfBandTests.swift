import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("Pairing by what was told out of band")
struct OutOfBandTests {
  private enum Told: String, CaseIterable {
    case both, central, peripheral
  }

  @Test(
    "LE Secure Connections are authenticated by either side's out-of-band data, without a prompt",
    arguments: Told.allCases)
  private func secureConnections(_ told: Told) throws {
    for seed in 1...4 {
      var pair = PairingPair(
        centralIO: .keyboardDisplay, peripheralIO: .keyboardDisplay, seed: UInt64(seed))
      if told != .peripheral { try pair.tells(isCentral: true) }
      if told != .central { try pair.tells(isCentral: false) }
      pair.securesCentral(.authentication)
      #expect(pair.central.ends == [nil] && pair.peripheral.ends == [nil])
      #expect(pair.central.prompts.isEmpty && pair.peripheral.prompts.isEmpty)
      let bond = try #require(pair.central.stored.first)
      let other = try #require(pair.peripheral.stored.first)
      #expect(bond.isAuthenticated && bond.isSecureConnections)
      #expect(other.isAuthenticated && bond.centralKey == other.peripheralKey)
      #expect(pair.central.link.encryption == pair.peripheral.link.encryption)
    }
  }

  @Test("a device without display and keyboard is authenticated by out-of-band data")
  func noInputNoOutput() throws {
    var pair = PairingPair()
    try pair.tells(isCentral: true)
    pair.securesCentral(.authentication)
    #expect(pair.central.secured == [true])
    #expect(pair.central.link.encryption?.isAuthenticated == true)
  }

  @Test(
    "a man in the middle with his own public key is detected by the side with out-of-band data",
    arguments: [false, true])
  func otherKey(_ toldCentral: Bool) throws {
    var pair = PairingPair()
    try pair.tells(isCentral: toldCentral)
    pair.tamper = { fromCentral, pdu in
      guard pdu.first == 0x0C, fromCentral != toldCentral else { return [pdu] }
      var other = pdu
      other[1] ^= 1
      return [other]
    }
    pair.securesCentral()
    let end = toldCentral ? pair.central : pair.peripheral
    #expect(end.ends == [.pairingFailed(.confirmValueFailed)])
    #expect(end.stored.isEmpty)
  }

  @Test("a peer that has another out-of-band random number doesn't get in")
  func otherNumber() throws {
    var pair = PairingPair()
    let made = try pair.makes(isCentral: false)
    guard case .secureConnections(let confirm, let random) = made else { return }
    let wrong = SMPValue(number: random.number ^ 1)
    pair.takes(.secureConnections(confirm: confirm, random: wrong), isCentral: true)
    pair.securesCentral()
    #expect(pair.central.ends == [.pairingFailed(.confirmValueFailed)])
  }

  @Test(
    "a peer that only claims to have out-of-band data doesn't get in", arguments: [false, true])
  func claim(_ hasMade: Bool) throws {
    var pair = PairingPair()
    if hasMade { _ = try pair.makes(isCentral: false) }
    // The central has out-of-band data that the peripheral didn't make.
    pair.takes(
      .secureConnections(confirm: SMPValue(number: 1), random: SMPValue(number: 2)),
      isCentral: true)
    pair.securesCentral()
    #expect(pair.central.stored.isEmpty && pair.peripheral.stored.isEmpty)
    let failure: SecurityFailure =
      hasMade ? .peerFailed(.confirmValueFailed) : .pairingFailed(.outOfBandNotAvailable)
    #expect(pair.peripheral.ends == [failure])
    #expect(pair.central.secured == [false])
  }

  @Test("out-of-band data is spent by a successful pairing, and kept by one that failed")
  func spent() throws {
    var pair = PairingPair()
    try pair.tells(isCentral: true)
    pair.tamper = { fromCentral, pdu in
      guard pdu.first == 0x0C, !fromCentral else { return [pdu] }
      return [[0x05, 0x08]]
    }
    pair.securesCentral()
    #expect(pair.central.ends == [.peerFailed(.unspecifiedReason)])
    #expect(pair.central.host.outOfBand.hasData(of: PairingPair.peripheralAddress))

    pair.tamper = { [$1] }
    pair.delivers([0x05, 0x08], toCentral: false)
    pair.pass(.seconds(10))
    // Not an operation: the peer refused for an unknown reason, perhaps its user.
    pair.requestsPairing()
    #expect(pair.central.link.encryption?.isAuthenticated == true)
    #expect(!pair.central.host.outOfBand.hasData(of: PairingPair.peripheralAddress))
    #expect(pair.peripheral.host.outOfBand.known(of: PairingPair.centralAddress).own == nil)
  }

  @Test("out-of-band data that was made before is no longer valid")
  func replaced() throws {
    var pair = PairingPair()
    let first = try pair.makes(isCentral: false)
    _ = try pair.makes(isCentral: false)
    pair.takes(first, isCentral: true)
    pair.securesCentral()
    #expect(pair.central.ends == [.pairingFailed(.confirmValueFailed)])
  }

  @Test(
    "a client gets fresh out-of-band data of this host, and none without LE Secure Connections")
  func request() throws {
    for isSecure in [true, false] {
      var machine = HostMachine(
        configuration: .pairing(secureConnections: isSecure), random: SeededGenerator(seed: 1))
      var actions: [HostMachine.Action] = []
      machine.handle(.clientOpened(.one), now: .zero, into: &actions)
      let token = RequestToken(rawValue: 5)
      actions = []
      machine.handle(
        .request(.one, .createOutOfBandData(token)), now: .zero, into: &actions)
      var key: PublicKey?
      for case .computeKey(let request) in actions {
        let result = SmallKeyAgreement().perform(request.operation)
        if case .publicKey(let made) = result { key = made }
        actions = []
        machine.handle(.keyComputed(id: request.id, result), now: .zero, into: &actions)
      }
      let replies = actions.compactMap { action -> Result<HostReply, HostError>? in
        guard case .deliver(.one, .completed(token, let result)) = action else { return nil }
        return result
      }
      guard isSecure else {
        #expect(throws: HostError.unsupported("This host has no LE Secure Connections.")) {
          try replies.first?.get()
        }
        continue
      }
      guard case .outOfBandData(.secureConnections(let confirm, let random)) = try replies[0].get(),
        let key
      else { throw NoData() }
      #expect(
        confirm
          == PairingFunctions.confirmValue(
            own: key.x, other: key.x, random: random, passkeyBit: 0))
    }
  }

  private struct NoData: Error {}

  // MARK: Legacy

  private static let temporaryKey = OutOfBandData.legacy(
    temporaryKey: SMPValue(number: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF))

  private static func legacyPair(_ io: SMPIOCapability = .noInputNoOutput) -> PairingPair {
    let configuration = HostConfiguration.pairing(secureConnections: false)
    return PairingPair(
      central: configuration, peripheral: configuration, centralIO: io, peripheralIO: io)
  }

  @Test("legacy pairing is authenticated by a key that both sides have")
  func legacy() throws {
    var pair = Self.legacyPair()
    pair.takes(Self.temporaryKey, isCentral: true)
    pair.takes(Self.temporaryKey, isCentral: false)
    pair.securesCentral(.authentication)
    let bond = try #require(pair.central.stored.first)
    #expect(bond.isAuthenticated && !bond.isSecureConnections)
    #expect(bond.centralKey == pair.peripheral.stored.first?.peripheralKey)
  }

  @Test("legacy pairing with two keys fails")
  func otherLegacyKey() {
    var pair = Self.legacyPair()
    pair.takes(Self.temporaryKey, isCentral: true)
    pair.takes(.legacy(temporaryKey: SMPValue(number: 0)), isCentral: false)
    pair.securesCentral()
    #expect(pair.central.stored.isEmpty && pair.peripheral.stored.isEmpty)
    #expect(pair.central.ends == [.peerFailed(.confirmValueFailed)])
  }

  @Test("a key that only one side has is not used by legacy pairing, which prompts instead")
  func oneLegacyKey() throws {
    var pair = Self.legacyPair(.keyboardDisplay)
    pair.takes(Self.temporaryKey, isCentral: true)
    pair.securesCentral()
    #expect(pair.central.prompts.isEmpty == false)
    #expect(pair.central.stored.first?.isAuthenticated == true)
  }

  @Test("a key of legacy pairing doesn't replace a commitment, nor the other way round")
  func otherKind() throws {
    var secure = PairingPair()
    secure.takes(Self.temporaryKey, isCentral: true)
    secure.takes(Self.temporaryKey, isCentral: false)
    secure.securesCentral()
    #expect(secure.central.secured == [false] && secure.central.stored.isEmpty)

    var legacy = Self.legacyPair()
    let commitment = OutOfBandData.secureConnections(
      confirm: SMPValue(number: 1), random: SMPValue(number: 2))
    legacy.takes(commitment, isCentral: true)
    legacy.takes(commitment, isCentral: false)
    legacy.securesCentral()
    #expect(legacy.central.secured == [false] && legacy.central.stored.isEmpty)
  }

  @Test("data of more peers than the limit is refused, and existing data stays")
  func bound() {
    var table = OutOfBandTable()
    let max = OutOfBandTable.Limits.peersMax
    for index in 0..<max {
      let isTaken = table.set(Self.temporaryKey, of: .peer(UInt64(index)))
      #expect(isTaken)
    }
    let isTaken = [
      table.set(Self.temporaryKey, of: .peer(0xFF)), table.set(nil, of: .peer(0)),
      table.set(Self.temporaryKey, of: .peer(0xFF)),
    ]
    #expect(isTaken == [false, true, true])
    #expect(table.hasData(of: .peer(1)) && !table.hasData(of: .peer(0)))
  }
}

extension PairingPair {
  /// Makes out-of-band data at one end.
  fileprivate mutating func makes(isCentral: Bool) throws -> OutOfBandData {
    func make(_ host: inout HostSecurity) throws -> OutOfBandData {
      let key = host.secrets.privateKey()
      let computation = host.newComputation()
      let own = OwnOutOfBandData(privateKey: key, random: host.secrets.value())
      let isTaken = host.outOfBand.computes(own, as: computation, for: .nobody)
      #expect(isTaken)
      let result = SmallKeyAgreement().perform(.publicKey(privateKey: key))
      let data = host.outOfBand.computed(computation, result)?.data
      return try #require(data)
    }
    return isCentral ? try make(&central.host) : try make(&peripheral.host)
  }

  fileprivate mutating func takes(_ data: OutOfBandData, isCentral: Bool) {
    let peer = isCentral ? Self.peripheralAddress : Self.centralAddress
    let isTaken =
      isCentral
      ? central.host.outOfBand.set(data, of: peer) : peripheral.host.outOfBand.set(data, of: peer)
    #expect(isTaken)
  }

  /// Tells one end about the other.
  fileprivate mutating func tells(isCentral: Bool) throws {
    takes(try makes(isCentral: !isCentral), isCentral: isCentral)
  }
}

extension PendingRequest {
  fileprivate static let nobody = PendingRequest(client: .one, token: RequestToken(rawValue: 1))
}
