import BluetoothWire
import Essentials
import Testing

@testable import BluetoothMachines

/// Peers that name an identity address at pairing: their own, or another device's.
@Suite("Identities that peers claim")
struct ClaimedIdentityTests {
  private static let lock = DeviceAddress.peer(0x10C)
  private static let key = SMPValue(number: 7)

  /// The private addresses that this key makes.
  private static func privateAddress(_ key: SMPValue, _ random: UInt64 = 1) -> DeviceAddress {
    .resolvable(identityResolvingKey: AES128(key: key.number), random: random)
  }

  private static func bond(_ number: UInt64, resolvingKey: SMPValue? = key) -> Bond {
    Bond(
      identity: lock, centralKey: LongTermKey(SMPValue(number: UInt128(number))),
      peripheralKey: nil, identityResolvingKey: resolvingKey, isAuthenticated: true,
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
      #expect(claim == .failure(.claimedIdentity))
    }
    #expect(host.bonds.bonds == [kept] && host.counters.unkeptBonds == 2)
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
}
