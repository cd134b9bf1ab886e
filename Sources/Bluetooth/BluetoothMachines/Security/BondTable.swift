import BluetoothWire

/// The bonds of a host.
struct BondTable: Sendable {
  enum Limits {
    static let bondsMax = 1_024
  }

  private(set) var bonds: [Bond] = []

  /// The bond of the peer with this address: its identity, or a private address that its key made.
  func bond(of address: DeviceAddress) -> Bond? {
    if let bond = bonds.first(where: { $0.identity == address }) { return bond }
    guard address.randomKind == .resolvable else { return nil }
    return bonds.first { $0.identityResolvingKey.map(address.isMade(with:)) ?? false }
  }

  /// Adds a bond, in place of an older one of the same peer; false if there is no room.
  mutating func store(_ bond: Bond) -> Bool {
    if let index = bonds.firstIndex(where: { $0.identity == bond.identity }) {
      bonds[index] = bond
    } else {
      guard bonds.count < Limits.bondsMax else { return false }
      bonds.append(bond)
    }
    return true
  }

  /// Removes the bond of an identity; false if there is none.
  mutating func remove(_ identity: DeviceAddress) -> Bool {
    guard let index = bonds.firstIndex(where: { $0.identity == identity }) else { return false }
    bonds.remove(at: index)
    return true
  }
}

extension DeviceAddress {
  /// Whether a device with this identity resolving key made the address (Core 5.4, Vol 6, Part B,
  /// §1.3.2.3).
  func isMade(with key: SMPValue) -> Bool {
    guard randomKind == .resolvable else { return false }
    let random = UInt32(truncatingIfNeeded: bits >> 24) & 0xFF_FFFF
    let hash = AES128.addressHash(identityResolvingKey: key.bytes, random: random)
    return UInt64(hash) == bits & 0xFF_FFFF
  }
}
