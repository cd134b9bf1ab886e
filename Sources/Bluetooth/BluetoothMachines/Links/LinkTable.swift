import BluetoothWire
import Essentials

/// All links of one controller, found by handle or by peer, and the links that the controller keeps
/// although this host has given them up.
struct LinkTable: Sendable {
  enum Limits {
    /// Links at once. Controllers have room for 8 to 100.
    static let linksMax = 256
  }

  private var links: [Link] = []
  /// The handles and peers of `links` in the same order, so that the link of a packet or of a
  /// request is found without touching the links themselves.
  private(set) var handles: [UInt16] = []
  private(set) var peers: [DeviceAddress] = []
  var orphans = OrphanedLinks()

  var isFull: Bool { links.count >= Limits.linksMax }

  /// The index of the link with a connection handle. The upper four bits of `handle` are ignored.
  func index(handle: UInt16) -> Int? { handles.firstIndex(of: handle & 0x0FFF) }

  /// The index of the link to a peer.
  func index(peer: DeviceAddress) -> Int? { peers.firstIndex(of: peer) }

  /// Adds a link whose handle and peer no other link has. Returns its index.
  mutating func append(_ link: Link) -> Int {
    assert(index(handle: link.handle) == nil && index(peer: link.peer) == nil)
    orphans.remove(link.handle)
    links.append(link)
    handles.append(link.handle)
    peers.append(link.peer)
    return links.count - 1
  }

  mutating func remove(at index: Int) -> Link {
    handles.remove(at: index)
    peers.remove(at: index)
    return links.remove(at: index)
  }

  /// When something of a link or of an orphaned link is due.
  var nextWake: Instant? {
    var wake = orphans.nextWake ?? .distantFuture
    for index in links.indices {
      if let due = links[index].nextWake, due < wake { wake = due }
    }
    return wake == .distantFuture ? nil : wake
  }

  /// Whether the table contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if links.map(\.handle) != handles { found.append("handles are not those of the links") }
    if links.map(\.peer) != peers { found.append("peers are not those of the links") }
    if Set(handles).count != handles.count { found.append("two links have one handle") }
    if Set(peers).count != peers.count { found.append("two links have one peer") }
    for link in links {
      if link.stage == .open, !link.isAnnounced { found.append("an open link is not announced") }
      if !link.isConfirmed, link.isAnnounced { found.append("an unconfirmed link is announced") }
      if link.closeReason != nil, !link.isClosing { found.append("a close reason without an end") }
      if orphans.contains(link.handle) { found.append("link \(link.handle) is also an orphan") }
      found += link.gatt.violations()
    }
    return found
  }
}

extension LinkTable: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { links.count }

  /// A link, to be changed in place. Its handle and peer stay what they are.
  subscript(index: Int) -> Link {
    _read { yield links[index] }
    _modify { yield &links[index] }
  }
}
