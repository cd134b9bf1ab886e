import BluetoothWire

/// Peers' attributes that were discovered on earlier links, for the next ones.
struct PeerCache: Sendable {
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

  var count: Int { entries.count }

  func database(of peer: DeviceAddress) -> RemoteDatabase? {
    entries.first { $0.peer == peer }?.database
  }

  /// Replaces the cached attributes of a peer, if it has a Database Hash, by which the next link
  /// can check them. A link that ended before discovery leaves the cache as it was.
  mutating func store(_ database: RemoteDatabase, of peer: DeviceAddress) {
    guard database.hash != nil else { return }
    entries.removeAll { $0.peer == peer }
    if entries.count >= Limits.peersMax { entries.removeFirst() }
    entries.append(Entry(peer: peer, database: database))
  }
}
