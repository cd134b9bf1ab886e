package import BluetoothWire
package import Essentials

/// How long peers have to wait after a failed pairing: twice as long after each (Core 5.4, Vol 3,
/// Part H, §2.3.6), against guessing of passkeys.
package struct PairingAttempts: Sendable {
  package enum Limits {
    static let firstDelay = TimeSpan.seconds(1)
    static let delayMax = TimeSpan.seconds(64)
    /// Limit of remembered peers; beyond it, the one that may try again soonest is forgotten.
    static let peersMax = 64
  }

  private struct Entry: Sendable {
    let peer: DeviceAddress
    var delay: TimeSpan
    var blockedUntil: Instant
  }

  private var entries: [Entry] = []

  /// Whether a peer has to wait.
  func isBlocked(_ peer: DeviceAddress, now: Instant) -> Bool {
    entries.contains { $0.peer == peer && now < $0.blockedUntil }
  }

  /// A pairing failed because the peer could not prove what it had to.
  package mutating func failed(_ peer: DeviceAddress, now: Instant) {
    if let index = entries.firstIndex(where: { $0.peer == peer }) {
      // After a long quiet time it begins anew.
      let isOld = now > entries[index].blockedUntil + Limits.delayMax
      let doubled = min(entries[index].delay * 2, Limits.delayMax)
      entries[index].delay = isOld ? Limits.firstDelay : doubled
      entries[index].blockedUntil = now + entries[index].delay
    } else {
      if entries.count >= Limits.peersMax,
        let soonest = entries.indices.min(by: {
          entries[$0].blockedUntil < entries[$1].blockedUntil
        })
      {
        entries.remove(at: soonest)
      }
      entries.append(
        Entry(peer: peer, delay: Limits.firstDelay, blockedUntil: now + Limits.firstDelay))
    }
  }

  /// A pairing succeeded.
  mutating func succeeded(_ peer: DeviceAddress) { entries.removeAll { $0.peer == peer } }
}

extension PairingAttempts {
  /// How the table contradicts itself; a sentence for each contradiction.
  package func violations() -> [String] {
    var found: [String] = []
    if entries.count > Limits.peersMax { found.append("too many failed pairings are remembered") }
    if Set(entries.map(\.peer)).count != entries.count {
      found.append("the failed pairings of a peer are counted twice")
    }
    for entry in entries where entry.delay < Limits.firstDelay || entry.delay > Limits.delayMax {
      found.append("a peer has to wait for \(entry.delay)")
    }
    return found
  }
}
