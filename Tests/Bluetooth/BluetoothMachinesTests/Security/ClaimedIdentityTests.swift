import BluetoothInterface
import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines
@testable import PairingMachines

/// Peers that name an identity address at pairing: their own, or another device's.
@Suite("Identities that peers claim")
struct ClaimedIdentityTests {
  private static let lock = DeviceAddress.peer(0x10C)
  private static let key = SMPValue(number: 7)

  /// The private addresses that this key makes.
  private static func privateAddress(_ key: SMPValue, _ random: UInt64 = 1) -> DeviceAddress {
    .resolvable(identityResolvingKey: AES128(key: key.number), random: random)
  }

  private static func bond(
    _ number: UInt64, resolvingKey: SMPValue? = key, isAuthenticated: Bool = true
  ) -> Bond {
    Bond(
      identity: lock, centralKey: LongTermKey(SMPValue(number: UInt128(number))),
      peripheralKey: nil, identityResolvingKey: resolvingKey, isAuthenticated: isAuthenticated,
      isSecureConnections: true)
  }

  private static func host() -> HostSecurity {
    var random = SeededGenerator(seed: 1)
    return HostSecurity(
      HostConfiguration(), secrets: SecretGenerator(predictable: &random))
  }

  @Test("a bonded device does not get another's bond and name by claiming its identity")
  func foreignIdentity() throws {
    var host = Self.host()
    let kept = try host.keep(Self.bond(1), of: Self.privateAddress(Self.key)).get()
    // As strong a bond, at a private address that a key of its own made, or a static one.
    let other = SMPValue(number: 8)
    for address in [Self.privateAddress(other), .peer(0xBAD)] {
      let claim = host.keep(Self.bond(2, resolvingKey: other), of: address)
      #expect(claim == .failure(.claimed))
    }
    #expect(host.bonds.bonds == [kept])
    #expect(host.bonds.bond(of: kept.knownAddress)?.centralKey == kept.centralKey)
  }

  @Test("a device that pairs again keeps its name, at whichever private address it has by then")
  func pairedAgain() throws {
    var host = Self.host()
    let first = try host.keep(Self.bond(1), of: Self.privateAddress(Self.key)).get()
    let second = try host.keep(Self.bond(2), of: Self.privateAddress(Self.key, 99)).get()
    #expect(second.knownAddress == first.knownAddress && host.bonds.bonds == [second])
  }

  @Test("the owner of an identity that another has claimed before gets its own name")
  func owner() throws {
    var host = Self.host()
    let claim = try host.keep(Self.bond(1), of: Self.privateAddress(Self.key)).get()
    let owner = try host.keep(Self.bond(2, resolvingKey: nil), of: Self.lock).get()
    #expect(claim.knownAddress != Self.lock && owner.knownAddress == Self.lock)
    #expect(host.bonds.bonds == [owner] && host.bonds.bond(of: claim.knownAddress) == nil)
  }

  @Test("an authenticated bond takes the identity of an unauthenticated one, and never the reverse")
  func strength() throws {
    var host = Self.host()
    let other = SMPValue(number: 8)
    let stranger = try host.keep(
      Self.bond(1, resolvingKey: other, isAuthenticated: false), of: Self.privateAddress(other)
    ).get()
    let owner = try host.keep(Self.bond(2), of: Self.privateAddress(Self.key)).get()
    let displaced = host.takeDisplaced()
    #expect(host.bonds.bonds == [owner] && displaced == stranger)
    #expect(host.bonds.bond(of: stranger.knownAddress) == nil)
    #expect(host.bonds.bond(of: Self.privateAddress(Self.key, 5)) == owner)
    let again = host.keep(
      Self.bond(3, resolvingKey: other, isAuthenticated: false), of: Self.privateAddress(other, 9))
    let displacedLater = host.takeDisplaced()
    #expect(again == .failure(.weaker) && displacedLater == nil)
    #expect(host.bonds.bonds == [owner])
  }

  @Test("a bond under another identity of this host has no owner to displace")
  func otherIdentity() throws {
    var host = Self.host()
    host.controllerStarted(.peer(0x1))
    _ = try host.keep(Self.bond(1, isAuthenticated: false), of: Self.lock).get()
    host.controllerStarted(.peer(0x2))
    _ = try host.keep(Self.bond(2, isAuthenticated: false), of: Self.lock).get()
    let displaced = host.takeDisplaced()
    #expect(host.bonds.bonds.count == 2 && displaced == nil)
  }

  @Test("ten thousand claims of one identity leave one bond, and its owner's can be used")
  func manyClaims() throws {
    var host = Self.host()
    let owner = try host.keep(Self.bond(1), of: Self.privateAddress(Self.key)).get()
    for number in UInt64(100)..<10_100 {
      let key = SMPValue(number: UInt128(number))
      let claim = host.keep(
        Self.bond(number, resolvingKey: key, isAuthenticated: number % 2 == 0),
        of: Self.privateAddress(key))
      #expect(claim == .failure(number % 2 == 0 ? .claimed : .weaker))
    }
    #expect(host.bonds.bonds == [owner])
  }
}
