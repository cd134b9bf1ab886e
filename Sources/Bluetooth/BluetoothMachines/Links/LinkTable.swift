import BluetoothWire
import Essentials

/// All links of one controller, found by handle or by peer, and the links that the controller keeps
/// although this host has given them up.
struct LinkTable: Sendable {
  enum Limits {
    /// Links at once. Controllers have room for 8 to 100.
    static let linksMax = 256
  }

  /// The links themselves, to be changed in place; which there are changes here only.
  ///
  /// An array and not a subscript that yields: Swift 6.3 frees what large links are yielded in too early
  /// where it compiles with optimization and assertions.
  var entries: [Link] = []
  /// The handles and peers of `entries` in the same order, so that the link of a packet or of a
  /// request is found without touching the links themselves.
  private(set) var handles: [UInt16] = []
  private(set) var peers: [DeviceAddress] = []
  var orphans = OrphanedLinks()

  var isFull: Bool { entries.count >= Limits.linksMax }

  /// The index of the link with a connection handle. The upper four bits of `handle` are ignored.
  func index(handle: UInt16) -> Int? { handles.firstIndex(of: handle & 0x0FFF) }

  /// The index of the link to a peer.
  func index(peer: DeviceAddress) -> Int? { peers.firstIndex(of: peer) }

  /// Adds a link whose handle and peer no other link has. Returns its index.
  mutating func append(_ link: Link) -> Int {
    assert(index(handle: link.handle) == nil && index(peer: link.peer) == nil)
    orphans.remove(link.handle)
    entries.append(link)
    handles.append(link.handle)
    peers.append(link.peer)
    return entries.count - 1
  }

  mutating func remove(at index: Int) -> Link {
    handles.remove(at: index)
    peers.remove(at: index)
    return entries.remove(at: index)
  }

  /// When something of a link or of an orphaned link is due.
  var nextWake: Instant? {
    var wake = orphans.nextWake ?? .distantFuture
    for index in entries.indices {
      if let due = entries[index].nextWake, due < wake { wake = due }
    }
    return wake == .distantFuture ? nil : wake
  }

  /// How the table contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if handles.count != entries.count || peers.count != entries.count {
      return ["handles and peers are not as many as links"]
    }
    // By index, because a link is large and would be copied by an iterator.
    for index in entries.indices {
      if entries[index].handle != handles[index] || entries[index].peer != peers[index] {
        found.append("handle or peer are not those of the link")
      }
      if self.index(handle: handles[index]) != index { found.append("two links have one handle") }
      if self.index(peer: peers[index]) != index { found.append("two links have one peer") }
      if orphans.contains(handles[index]) { found.append("a link is also an orphan") }
      found += entries[index].violations()
    }
    return found
  }
}

extension LinkTable: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { entries.count }

  subscript(index: Int) -> Link { entries[index] }
}
