package import BluetoothInterface
package import BluetoothWire
import Essentials

/// The bonds of a host, and the resolution of peers' private addresses.
package struct BondTable: Sendable {
  package enum Limits {
    static let bondsMax = 1_024
    /// Limit of bonds by Just Works that peers initiated. The rest is reserved for pairings that
    /// users or clients of this host confirm, so that invented peers that reconnect can't fill the
    /// table.
    static let unaskedBondsMax = 768
    /// Minimum number of cached resolutions of private addresses, positive and negative: more
    /// addresses than a scanner receives in a crowded hall in the 15 minutes for which they are
    /// used.
    static let resolutionsMax = 8_192
  }

  private struct Resolver: Sendable {
    let key: AES128
    let knownAddress: DeviceAddress
  }

  /// The identity address of this host: bonds that it has under another one don't count.
  var localIdentity: DeviceAddress? { didSet { update() } }
  /// All bonds, also those under other identities of this host.
  package private(set) var bonds: [Bond] = []
  /// What `bonds` has for each address that peers are found by.
  private var indices: [DeviceAddress: Int] = [:]
  private var resolvers: [Resolver] = []
  /// The addresses under which clients know peers with keys, by their identities.
  private var knownAddresses: [DeviceAddress: DeviceAddress] = [:]
  /// Cached resolutions by private address; nil: no bonded peer. One table has the recently used
  /// ones, the other the older ones: an attacker's invented addresses cannot evict those in regular
  /// use.
  private var resolutions: [DeviceAddress: DeviceAddress?] = [:]
  private var olderResolutions: [DeviceAddress: DeviceAddress?] = [:]
  /// Incremented when the usable bonds change.
  package private(set) var version: UInt64 = 0

  /// The bond of the peer with this address: the one under which clients know it, or a private
  /// address that its key generated. Identities of peers that are known by another address are not
  /// looked up, because a peer may have claimed a foreign identity.
  package func bond(of address: DeviceAddress) -> Bond? {
    if let index = indices[address] { return bonds[index] }
    return resolve(address).flatMap { indices[$0] }.map { bonds[$0] }
  }

  // MARK: Changes

  /// Adds the bonds of earlier runs.
  package mutating func load(_ earlier: [Bond]) {
    bonds = Array(earlier.prefix(Limits.bondsMax))
    update()
  }

  /// Takes other bonds in place of all. What peers have configured and both sides have counted since is
  /// kept. Returns those that are not there any more, or with other keys.
  package mutating func replace(by new: [Bond]) -> [Bond] {
    let old = bonds
    var gone: [Bond] = []
    bonds = Array(new.prefix(Limits.bondsMax))
    for bond in old {
      let index = bonds.firstIndex {
        $0.identity == bond.identity && $0.localIdentity == bond.localIdentity
      }
      if let index, bonds[index].hasKeys(of: bond) {
        bonds[index] = bond
      } else {
        gone.append(bond)
      }
    }
    if bonds != old { update() }
    return gone
  }

  /// Adds a bond, in place of an older one of the same peer; false if there is no room.
  package mutating func store(_ bond: Bond) -> Bool {
    if let index = index(of: bond) {
      bonds[index] = bond
    } else {
      guard bonds.count < Limits.bondsMax else { return false }
      bonds.append(bond)
    }
    update()
    return true
  }

  /// Whether another peer's bond needs the room of one that is there.
  package func isFull(forUnasked isUnasked: Bool) -> Bool {
    bonds.count >= (isUnasked ? Limits.unaskedBondsMax : Limits.bondsMax)
  }

  /// Whether `makeRoom` would remove a bond.
  func canMakeRoom(sparing connected: Set<DeviceAddress>) -> Bool {
    evictable(sparing: connected) != nil
  }

  private func evictable(sparing connected: Set<DeviceAddress>) -> Int? {
    bonds.firstIndex { $0.isEvictable && !connected.contains($0.knownAddress) }
  }

  /// Removes the oldest bond that may be evicted and whose peer isn't connected, and returns it;
  /// nil if there is none.
  mutating func makeRoom(sparing connected: Set<DeviceAddress>) -> Bond? {
    guard let index = evictable(sparing: connected) else { return nil }
    let removed = bonds.remove(at: index)
    update()
    return removed
  }

  /// Notes that a peer has come back with its bond; false where that changes nothing.
  mutating func returned(_ address: DeviceAddress) -> Bool {
    guard let index = bond(of: address).flatMap({ index(of: $0) }), bonds[index].isEvictable
    else { return false }
    bonds[index].isEvictable = false
    return true
  }

  /// Keeps what a peer has configured; false where there is no bond, or nothing changes.
  package mutating func configure(
    _ address: DeviceAddress, _ configuration: ClientConfiguration?
  ) -> Bool {
    guard let bond = bond(of: address), bond.clientConfiguration != configuration,
      let index = index(of: bond)
    else { return false }
    bonds[index].clientConfiguration = configuration
    return true
  }

  /// Takes the number of a signature of the peer that was found right; nil where it has been used.
  package mutating func countPeersSignature(_ address: DeviceAddress, _ counter: UInt32) -> Bond? {
    guard let index = bond(of: address).flatMap({ index(of: $0) }),
      var key = bonds[index].peerSigning, UInt64(counter) >= key.nextCounter
    else { return nil }
    key.nextCounter = UInt64(counter) + 1
    bonds[index].peerSigning = key
    return bonds[index]
  }

  /// Takes a number for a signature of this host; nil where there is no key, or it is used up.
  package mutating func countOwnSignature(
    _ address: DeviceAddress
  ) -> (counter: UInt32, key: SMPValue, bond: Bond)? {
    guard let index = bond(of: address).flatMap({ index(of: $0) }),
      var key = bonds[index].localSigning, let counter = UInt32(exactly: key.nextCounter)
    else { return nil }
    key.nextCounter += 1
    bonds[index].localSigning = key
    return (counter, key.value, bonds[index])
  }

  /// The bond that this one replaces.
  func predecessor(of bond: Bond) -> Bond? { index(of: bond).map { bonds[$0] } }

  /// The bond that has this identity, by which its peer need not be known.
  package func owner(ofIdentity identity: DeviceAddress) -> Bond? {
    bonds.first { $0.identity == identity && isUsable($0) }
  }

  /// Removes the bond of the peer with this address or identity, and returns it; nil without one.
  package mutating func remove(_ address: DeviceAddress) -> Bond? {
    let found = bond(of: address) ?? owner(ofIdentity: address)
    guard let bond = found, let index = index(of: bond) else { return nil }
    bonds.remove(at: index)
    update()
    return bond
  }

  private func index(of bond: Bond) -> Int? {
    bonds.firstIndex {
      $0.identity == bond.identity
        && ($0.localIdentity == bond.localIdentity || $0.localIdentity == nil)
    }
  }

  private mutating func update() {
    version += 1
    indices = [:]
    resolvers = []
    knownAddresses = [:]
    resolutions = [:]
    olderResolutions = [:]
    for (index, bond) in bonds.enumerated() where isUsable(bond) {
      if indices[bond.knownAddress] == nil { indices[bond.knownAddress] = index }
      guard let key = bond.identityResolvingKey else { continue }
      resolvers.append(
        Resolver(key: AES128(key: key.number), knownAddress: bond.knownAddress))
      knownAddresses[bond.identity] = bond.knownAddress
    }
  }

  private func isUsable(_ bond: Bond) -> Bool {
    bond.localIdentity == nil || localIdentity == nil || bond.localIdentity == localIdentity
  }

  // MARK: Private addresses

  /// The address that clients know a peer by. Costs next to nothing for addresses that were asked for
  /// before, or can't be resolved.
  package mutating func knownAddress(of address: DeviceAddress) -> DeviceAddress {
    guard !indices.isEmpty else { return address }
    if let index = indices[address] { return bonds[index].knownAddress }
    guard !resolvers.isEmpty, address.randomKind == .resolvable else { return address }
    if let found = resolutions[address] { return found ?? address }
    let found = olderResolutions[address] ?? resolve(address)
    if resolutions.count >= Limits.resolutionsMax {
      olderResolutions = resolutions
      resolutions.removeAll(keepingCapacity: true)
    }
    resolutions[address] = .some(found)
    return found ?? address
  }

  /// The address under which clients know the peer whose private address the controller resolved to
  /// this identity; nil if no bonded peer has this identity.
  package func knownAddress(ofResolved identity: DeviceAddress) -> DeviceAddress? {
    knownAddresses[identity]
  }

  /// The identity of the peer that clients know by this address, if it has an IRK.
  package func identity(ofKnown address: DeviceAddress) -> DeviceAddress? {
    guard let index = indices[address], bonds[index].identityResolvingKey != nil else { return nil }
    return bonds[index].identity
  }

  /// The bonds that count whose peers may have private addresses, the newest first.
  package var resolvablePeers: [Bond] {
    bonds.reversed().filter { isUsable($0) && $0.identityResolvingKey != nil }
  }

  private func resolve(_ address: DeviceAddress) -> DeviceAddress? {
    guard address.randomKind == .resolvable else { return nil }
    return resolvers.first { address.isMade(withIdentityResolvingKey: $0.key) }?.knownAddress
  }
}

extension BondTable {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  package func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if bonds.count > Limits.bondsMax { found.append("there are too many bonds") }
    if resolvers.count > bonds.count { found.append("there are more resolvers than bonds") }
    if resolutions.count > Limits.resolutionsMax {
      found.append("there are too many resolved addresses")
    }
    for (address, index) in indices.prefix(limit) where bonds[safe: index]?.knownAddress != address
    {
      found.append("an address leads to another peer's bond")
    }
    for (identity, address) in knownAddresses.prefix(limit) where indices[address] == nil {
      found.append("the identity \(identity) leads to an address without a bond")
    }
    return found
  }
}

extension Bond {
  /// Whether the keys are those of another bond with the same peer.
  package func hasKeys(of other: Bond) -> Bool {
    centralKey == other.centralKey && peripheralKey == other.peripheralKey
      && identityResolvingKey == other.identityResolvingKey
      && peerSigning?.value == other.peerSigning?.value
      && localSigning?.value == other.localSigning?.value
  }
}
