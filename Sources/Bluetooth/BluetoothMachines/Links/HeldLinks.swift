import BluetoothWire
import Essentials
import PairingMachines

/// New links with the address of a bonded peer that already has a link on which it has proved its
/// bond.
///
/// Either the peer lost its link and reconnected before the supervision timeout, or another device
/// uses its address, which is public. A held link replaces the old one when it is encrypted with
/// the key of the bond, or when the old one has ended by itself. Its packets are kept until then.
struct HeldLinks: Sendable {
  enum Limits {
    static let linksMax = 4
    /// Packets of one link. A central starts encryption before it needs many.
    static let packetsMax = 32
    /// How much longer than the old link's supervision timeout a link is held.
    static let grace = TimeSpan.seconds(1)
  }

  struct HeldLink: Sendable {
    let report: LinkReport
    /// The address under which clients know the peer.
    let peer: DeviceAddress
    fileprivate(set) var packets: [HCIPacket] = []
    /// The bond whose key the controller was given for this link.
    var bond: Bond?
    fileprivate let expiresAt: Instant

    var handle: UInt16 { report.handle }
  }

  private(set) var links: [HeldLink] = []

  var isEmpty: Bool { links.isEmpty }

  func contains(_ handle: UInt16) -> Bool { index(handle: handle) != nil }

  func index(handle: UInt16) -> Int? { links.firstIndex { $0.handle == handle & 0x0FFF } }

  subscript(index: Int) -> HeldLink {
    _read { yield links[index] }
    _modify { yield &links[index] }
  }

  /// Holds a link for as long as the old one may still be noticed to be lost; false if too many are.
  mutating func hold(
    _ report: LinkReport, of peer: DeviceAddress, oldTimeout: TimeSpan, now: Instant
  ) -> Bool {
    guard links.count < Limits.linksMax else { return false }
    let expiresAt = now + oldTimeout + Limits.grace
    links.append(HeldLink(report: report, peer: peer, expiresAt: expiresAt))
    return true
  }

  /// Keeps a packet of a held link; false if it has brought too many.
  mutating func keep(_ packet: HCIPacket, at index: Int) -> Bool {
    guard links[index].packets.count < Limits.packetsMax else { return false }
    links[index].packets.append(packet)
    return true
  }

  mutating func remove(_ handle: UInt16) -> HeldLink? {
    index(handle: handle).map { links.remove(at: $0) }
  }

  /// Takes the links of a peer, the newest last.
  mutating func take(of peer: DeviceAddress) -> [HeldLink] {
    defer { links.removeAll { $0.peer == peer } }
    return links.filter { $0.peer == peer }
  }

  /// Takes the links whose peers have proved nothing while the old ones live on.
  mutating func takeExpired(now: Instant) -> [HeldLink] {
    defer { links.removeAll { $0.expiresAt <= now } }
    return links.filter { $0.expiresAt <= now }
  }

  /// The controller is gone, and its links with it.
  mutating func removeAll() { links = [] }

  var nextWake: Instant? { links.lazy.map(\.expiresAt).min() }
}

extension HeldLinks {
  /// How the table contradicts itself; a sentence for each contradiction.
  func violations() -> [String] {
    var found: [String] = []
    if links.count > Limits.linksMax { found.append("there are too many held links") }
    for link in links where link.packets.count > Limits.packetsMax {
      found.append("a held link keeps too many packets")
    }
    return found
  }
}
