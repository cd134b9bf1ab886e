import BluetoothWire

/// What was learned of peers' attributes on earlier links, for the next ones.
struct PeerCache: Sendable {
  enum Limits {
    /// Peers that are remembered: a few kilobytes each.
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

  /// Keeps what was learned of a peer in place of what was known, if the next link can tell by the
  /// Database Hash whether it still holds. A link that ended before anything was learned leaves
  /// what was known before.
  mutating func store(_ database: RemoteDatabase, of peer: DeviceAddress) {
    guard database.hash != nil else { return }
    entries.removeAll { $0.peer == peer }
    if entries.count >= Limits.peersMax { entries.removeFirst() }
    entries.append(Entry(peer: peer, database: database))
  }
}
