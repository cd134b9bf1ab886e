import BluetoothMachines
import BluetoothWire

/// A change of the stored bonds that isn't written yet.
struct BondChange: Sendable {
  enum Kind: Sendable {
    case store(Bond, HostIdentity?)
    /// Update the stored bond with new values.
    case update(Bond)
    case remove(Bond)
  }

  var kind: Kind
  /// What the file had when the change was first tried: what another process wrote since is newer.
  var predecessor = BondStore.Predecessor.any
  /// Whether it failed for a reason of its own, so that it waits for the next attempt.
  var isWaiting = false

  init(_ kind: Kind) { self.kind = kind }

  var bond: Bond {
    switch kind {
    case .store(let bond, _), .update(let bond), .remove(let bond): bond
    }
  }

  /// Whether it stores the bond of a pairing.
  var storesNewBond: Bool { if case .store = kind { true } else { false } }

  /// Makes the change in a file's content.
  func apply(to file: inout BondFile) {
    switch kind {
    case .store(let bond, _): _ = file.store(bond)
    case .update(let bond): _ = file.update(bond)
    case .remove(let bond): _ = file.remove(bond)
    }
  }
}

/// The changes of the stored bonds that are not written yet, in their order. Those of one peer are
/// merged into one, or two if a removal comes first.
struct BondChanges: Sendable {
  /// Changes at most; more come together only where many peers pair while nothing can be written.
  static let countMax = 2 * BondFile.bondCountMax

  private(set) var all: [BondChange] = []
  /// The changes that found no room; the oldest go first.
  var droppedCount = 0

  var isEmpty: Bool { all.isEmpty }
  var count: Int { all.count }
  /// How many store the bonds of pairings.
  var newBondCount: Int { all.count { $0.storesNewBond } }

  /// Adds the latest change.
  mutating func append(_ change: BondChange) {
    guard let index = all.lastIndex(where: { $0.bond.isOfSamePeer(as: change.bond) }) else {
      return addLast(change)
    }
    switch (all[index].kind, change.kind) {
    case (.store(_, let identity), .update(let bond)): all[index].kind = .store(bond, identity)
    case (.remove, .update): break
    // The removed bond must not be compared with the one that is stored after it.
    case (.remove, .store): addLast(change)
    case (.store(_, let identity?), .store(let bond, nil)):
      all[index] = BondChange(.store(bond, identity))
    case (_, .store), (_, .remove), (.update, .update): all[index] = change
    }
  }

  /// Adds later changes in their order.
  mutating func append(_ others: BondChanges) {
    for change in others.all { append(change) }
    droppedCount += others.droppedCount
  }

  /// Removes the changes of a peer's bond.
  mutating func remove(_ bond: Bond) { all.removeAll { $0.bond.isOfSamePeer(as: bond) } }

  /// Takes the oldest one.
  mutating func takeFirst() -> BondChange? { all.isEmpty ? nil : all.removeFirst() }

  private mutating func addLast(_ change: BondChange) {
    if all.count >= Self.countMax {
      all.removeFirst()
      droppedCount += 1
    }
    all.append(change)
  }
}

extension Bond {
  /// Whether both are bonds of one peer with one identity of this host.
  func isOfSamePeer(as other: Bond) -> Bool {
    identity == other.identity && localIdentity == other.localIdentity
  }
}
