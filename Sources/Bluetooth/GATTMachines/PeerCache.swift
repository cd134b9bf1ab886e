package import BluetoothWire

/// Peers' attributes that were discovered on earlier links, for the next ones.
package struct PeerCache: Sendable {
  enum Limits {
    /// Limit of remembered peers, a few kilobytes each.
    static let peersMax = 64
  }

  private struct Entry: Sendable {
    let peer: DeviceAddress
    let database: RemoteDatabase
  }

  /// The longest unused first.
  private var entries: [Entry] = []

  /// Creates an empty cache.
  package init() {}

  package var count: Int { entries.count }

  package func database(of peer: DeviceAddress) -> RemoteDatabase? {
    entries.first { $0.peer == peer }?.database
  }

  /// Replaces the cached attributes of a peer, if it has a Database Hash, by which the next link
  /// can check them. A link that ended before discovery leaves the cache as it was.
  package mutating func store(_ database: RemoteDatabase, of peer: DeviceAddress) {
    guard database.hash != nil else { return }
    entries.removeAll { $0.peer == peer }
    if entries.count >= Limits.peersMax { entries.removeFirst() }
    entries.append(Entry(peer: peer, database: database))
  }
}

extension PeerCache {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  package func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if entries.count > Limits.peersMax { found.append("the attributes of too many peers are kept") }
    for entry in entries.prefix(limit) {
      if entry.database.hash == nil { found.append("attributes without a hash are kept") }
      if entries.count(where: { $0.peer == entry.peer }) > 1 {
        found.append("the attributes of a peer are kept twice")
      }
    }
    return found
  }
}
