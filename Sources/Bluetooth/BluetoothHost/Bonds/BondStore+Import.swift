import BluetoothMachines
package import BluetoothWire

/// What an import has done with the bonds, by the addresses that clients know.
package struct BondImport: Hashable, Sendable {
  /// Bonds of peers without a bond so far.
  package var added: [DeviceAddress] = []
  /// Bonds in the place of other ones of the same peers.
  package var replaced: [DeviceAddress] = []
  /// Bonds that were not taken, because the store has other ones of the same peers.
  package var kept: [DeviceAddress] = []
  /// Bonds that the store had already, with the same keys.
  package var present: [DeviceAddress] = []
  /// Bonds with a random address of this host, which only one store may have, and this one has not.
  package var left: [DeviceAddress] = []

  package init() {}
}

extension BondStore {
  /// Reads the whole file; empty if it doesn't exist.
  package func loadContents() throws(BondStoreError) -> BondFile { try loadFile() }

  /// Takes the bonds of another store, with the identities of this host that they were made with. All of them are
  /// written together, or none. A running host that uses this store takes them, too.
  ///
  /// - Parameter isReplacing: Whether they replace bonds of the same peers, also stronger ones.
  /// - Throws: If the store can't be changed, is damaged, or has no room for all of them; then nothing is changed.
  package func importBonds(
    of other: BondFile, replacing isReplacing: Bool = false
  ) throws(BondStoreError) -> BondImport {
    var result = BondImport()
    try change(replacingDamaged: false) { (file) throws(BondStoreError) in
      // Again from the beginning, if the change is tried again.
      result = BondImport()
      for bond in other.bonds {
        try self.take(bond, of: other, into: &file, replacing: isReplacing, &result)
      }
      return !result.added.isEmpty || !result.replaced.isEmpty
    }
    return result
  }

  private func take(
    _ bond: Bond, of other: BondFile, into file: inout BondFile, replacing isReplacing: Bool,
    _ result: inout BondImport
  ) throws(BondStoreError) {
    let old = file.predecessor(of: bond)
    if let old, old.hasSameKeys(as: bond) { return result.present.append(bond.knownAddress) }
    if old != nil, !isReplacing { return result.kept.append(bond.knownAddress) }
    let identity = other.identities.first { $0.address == bond.localIdentity }
    let isKnown = file.identities.contains { $0.address == bond.localIdentity }
    // Two hosts with one random address would take each other's links.
    if bond.localIdentity?.kind == .random, !isKnown {
      return result.left.append(bond.knownAddress)
    }
    if let identity, !isKnown {
      guard file.identities.count < BondFile.identityCountMax else {
        let reason = "it has \(BondFile.identityCountMax) addresses of this host already"
        throw BondStoreError(.full, path, reason)
      }
      _ = file.store(identity)
    }
    guard file.store(bond) else {
      throw BondStoreError(
        .full, path, "there is no room for all of them: it takes \(BondFile.bondCountMax) bonds")
    }
    if old == nil {
      result.added.append(bond.knownAddress)
    } else {
      result.replaced.append(bond.knownAddress)
    }
  }
}
