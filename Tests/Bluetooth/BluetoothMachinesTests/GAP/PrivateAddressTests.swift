import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

@Suite("The host's private address")
struct PrivateAddressTests {
  private static let first = DeviceAddress(bits: 0x4000_0000_0001, kind: .random)
  private let start = Instant.zero + .seconds(1)

  @Test("a host stays off the air until it has a private address, and while it changes it")
  func stages() {
    var address = PrivateAddress(interval: .seconds(10))
    #expect(!address.needsSilence && !address.isDue)
    address.controllerStarted(isUsed: true)
    #expect(address.needsSilence && address.isDue && address.address == nil)
    _ = address.set(Self.first)
    #expect(address.needsSilence && !address.isDue)
    let isSet = address.commandCompleted(.success, now: start)
    #expect(isSet && !address.needsSilence && address.address == Self.first)
    #expect(address.nextWake == start + .seconds(10))
    address.expire(now: start + .seconds(9))
    #expect(!address.needsSilence)
    address.expire(now: start + .seconds(10))
    #expect(address.needsSilence && address.isDue)
    address.controllerStopped()
    #expect(!address.needsSilence && address.address == nil && address.nextWake == nil)
  }

  @Test("a controller that refuses the first private address three times can't be used")
  func firstRefused() {
    var address = PrivateAddress(interval: .seconds(10))
    address.controllerStarted(isUsed: true)
    var now = start
    for attempt in 1...3 {
      #expect(!address.isRefused && address.isDue, "attempt \(attempt)")
      _ = address.set(Self.first)
      let isSet = address.commandCompleted(.commandDisallowed, now: now)
      #expect(!isSet && address.needsSilence && !address.isDue)
      now = address.nextWake ?? now
      address.expire(now: now)
    }
    #expect(address.isRefused)
  }

  @Test("a host keeps its old private address when the next is refused, and tries less often")
  func laterRefused() {
    var address = PrivateAddress(interval: .seconds(10))
    address.controllerStarted(isUsed: true)
    _ = address.set(Self.first)
    _ = address.commandCompleted(.success, now: start)
    var now = start + .seconds(10)
    var pauses: [TimeSpan] = []
    for _ in 1...8 {
      address.expire(now: now)
      _ = address.set(DeviceAddress(bits: 0x4000_0000_0002, kind: .random))
      _ = address.commandCompleted(.commandDisallowed, now: now)
      #expect(!address.needsSilence && !address.isRefused && address.address == Self.first)
      let wake = address.nextWake ?? now
      pauses.append(wake - now)
      now = wake
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64].map { TimeSpan.seconds($0) })
  }

  @Test("a host uses a private address for at least a second, whatever the configured interval")
  func interval() {
    for interval in [TimeSpan.zero, .seconds(-5)] {
      var address = PrivateAddress(interval: interval)
      address.controllerStarted(isUsed: true)
      _ = address.set(Self.first)
      _ = address.commandCompleted(.success, now: start)
      #expect(address.nextWake == start + .seconds(1))
    }
  }
}

@Suite("Connecting to peers with private addresses")
struct PrivatePeerTests {
  private static let known = DeviceAddress(bits: 0x4000_0000_0001, kind: .random)
  private static let second = DeviceAddress(bits: 0x4000_0000_0002, kind: .random)
  private static let third = DeviceAddress(bits: 0x4000_0000_0003, kind: .random)
  private static let bond = Bond(
    identity: .peer(1), knownAddress: known, centralKey: nil, peripheralKey: nil,
    identityResolvingKey: SMPValue(number: 1), isAuthenticated: false, isSecureConnections: true)
  private let start = Instant.zero + .seconds(1)

  private func connector(peer: DeviceAddress = known, bond: Bond? = bond) -> Connector {
    var connector = Connector()
    _ = connector.add(peer, bond: bond, .default, notBefore: start)
    return connector
  }

  @Test("a peer is searched at its last address; another one is accepted after silence")
  func addresses() {
    var connector = connector()
    #expect(connector.isSearching)
    #expect(connector.peer(at: Self.second, known: Self.second) == nil)
    let moved = connector.heard(Self.known, at: Self.second, now: start)
    #expect(moved && connector.peer(at: Self.second, known: Self.third) == Self.known)
    // A second advertising set, or an attacker that repeats an old address.
    let flips = (1...19).map { number in
      let now = start + .milliseconds(100 * Int64(number))
      let isNews = connector.heard(Self.known, at: Self.third, now: now)
      return connector.heard(Self.known, at: Self.second, now: now) || isNews
    }
    #expect(!flips.contains(true))
    let later = connector.heard(Self.known, at: Self.third, now: start + .seconds(4))
    #expect(later && connector.peer(at: Self.third, known: Self.third) == Self.known)
    let other = connector.heard(Self.second, at: Self.second, now: start + .seconds(9))
    #expect(!other, "that is somebody else")
  }

  @Test("a link is a peer's at any address that a client knows it by")
  func names() {
    let alias = connector(peer: Self.second)
    #expect(alias.peer(at: Self.third, known: Self.known) == Self.second)
    let plain = connector(bond: nil)
    #expect(!plain.isSearching)
    #expect(plain.peer(at: Self.known, known: Self.known) == Self.known)
  }

  @Test("a peer without a bond is searched at its address only")
  func bondRemoved() {
    var connector = connector()
    _ = connector.heard(Self.known, at: Self.second, now: start)
    connector.bondRemoved(Self.known)
    #expect(!connector.isSearching)
    #expect(connector.peer(at: Self.second, known: Self.second) == nil)
  }

  @Test("an identity that a private peer claims is not taken for its address")
  func claimedIdentity() {
    var table = BondTable()
    _ = table.store(Self.bond)
    let claimed = table.knownAddress(of: .peer(1))
    #expect(claimed == .peer(1) && table.bond(of: .peer(1)) == nil)
    let key = AES128(key: 1)
    let address = DeviceAddress.resolvable(identityResolvingKey: key, random: 7)
    // The second time from memory.
    let found = [table.knownAddress(of: address), table.knownAddress(of: address)]
    #expect(found == [Self.known, Self.known] && table.bond(of: address) == Self.bond)
    // People know it by its identity.
    let removed = table.remove(.peer(1))
    #expect(removed == Self.bond && table.bonds.isEmpty)
    let unknown = table.knownAddress(of: address)
    #expect(unknown == address)
  }

  @Test("bonds under another identity of this host don't count")
  func localIdentity() {
    var table = BondTable()
    var bond = Self.bond
    bond.localIdentity = .peer(8)
    _ = table.store(bond)
    table.localIdentity = .peer(9)
    #expect(table.bond(of: Self.known) == nil)
    let address = DeviceAddress.resolvable(identityResolvingKey: AES128(key: 1), random: 7)
    let unknown = table.knownAddress(of: address)
    #expect(unknown == address)
    table.localIdentity = .peer(8)
    #expect(table.bond(of: Self.known) == bond)
  }

  @Test("a peer that doesn't keep keys gets none of this host's keys", arguments: [true, false])
  func strangers(_ isBonding: Bool) {
    var configuration = HostConfiguration()
    configuration.usesPrivateAddress = true
    var random = SeededGenerator(seed: 1)
    var host = HostSecurity(configuration, secrets: SecretGenerator(predictable: &random))
    host.controllerStarted(.peer(5))
    let features = SMPPairingFeatures(
      ioCapability: .noInputNoOutput,
      authenticationRequirements: isBonding
        ? [.bonding, .secureConnections] : [.secureConnections],
      maximumEncryptionKeyByteCount: 16, initiatorKeys: [.identityKey],
      responderKeys: [.identityKey])
    let context = PairingContext(
      isInitiator: false, addresses: LinkAddresses(local: .peer(5), peer: .peer(6)),
      request: features, response: features, outOfBand: KnownOutOfBandData())
    var distribution = KeyDistribution(context)
    var outputs: [PairingOutput] = []
    distribution.sendKeys(ifInTurn: false, host: &host, into: &outputs)
    var keys: [SMPValue] = []
    var addresses: [DeviceAddress] = []
    for case .send(let pdu) in outputs {
      if case .identityInformation(let key) = pdu { keys.append(key) }
      if case .identityAddressInformation(let address) = pdu { addresses.append(address) }
    }
    #expect(keys.count == 1 && addresses.count == 1 && addresses[0].isIdentityAddress)
    #expect((keys.first == host.identity?.resolvingKey) == isBonding)
    #expect((addresses.first == .peer(5)) == isBonding)
  }
}
