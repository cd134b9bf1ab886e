import BluetoothWire
import Essentials

/// The ranged beacons, each under its identity and address, in slots.
///
/// If the table is full, or has too many beacons of one identity, a new one needs the slot of another
/// (``candidates(for:)``).
struct BeaconTrackTable: Sendable {
  struct Track: Sendable {
    var identity: BeaconIdentity
    var address: DeviceAddress
    /// In dBm; nil if the beacon doesn't advertise it.
    var powerAtOneMetre: Int8?
    var filter = LinkFilter()
    /// Of the measurements since the last report.
    var sum = 0
    var count = 0
    /// All sightings under this address.
    var sightingCount = 0
    /// The sightings of the beacon, under addresses before this one, too; served time.
    var history: SightingHistory
    /// Served time.
    var firstHeard: Instant
    var lastHeard: Instant
    /// When its strength was measured last; served time.
    var lastMeasured: Instant?
    /// The host's time.
    var heardAt: Instant
    var proximity = BeaconProximity.unknown
    /// The track of the same beacon under the address before, as far as one can know.
    var predecessor: Int?
    /// The track whose predecessor this is.
    var successor: Int?
    /// The next track of this identity.
    var next: Int?
  }

  let capacity: Int
  let sameIdentityMax: Int
  private var slots: [Track?] = []
  var freeSlots: [Int] = []
  var heads: [BeaconIdentity: Int] = [:]
  /// Where the search for a slot goes on when the table is full.
  private var cursor = 0

  /// The number of slots among which one is chosen when the table is full: a flood of made-up beacons
  /// must not cost a search of all.
  private static var candidatesMax: Int { 32 }

  init(capacity: Int, sameIdentityMax: Int) {
    precondition(capacity >= 0 && sameIdentityMax > 0, "a beacon needs room")
    self.capacity = capacity
    self.sameIdentityMax = sameIdentityMax
  }

  var count: Int { slots.count - freeSlots.count }
  /// Slots that are or were in use.
  var indices: Range<Int> { slots.indices }

  /// The track in a slot; nil for a free one.
  subscript(slot: Int) -> Track? { slots[slot] }

  /// Changes the track in a slot that is in use.
  mutating func update<Result>(_ slot: Int, _ body: (inout Track) -> Result) -> Result {
    guard var track = slots[slot] else { preconditionFailure("slot \(slot) is not in use") }
    defer { slots[slot] = track }
    return body(&track)
  }

  /// The slot of a beacon under an address.
  func slot(_ identity: BeaconIdentity, _ address: DeviceAddress) -> Int? {
    var slot = heads[identity]
    while let here = slot, let track = slots[here] {
      if track.address == address { return here }
      slot = track.next
    }
    return nil
  }

  /// The slots of all tracks of an identity.
  func slots(of identity: BeaconIdentity) -> [Int] {
    var found: [Int] = []
    var slot = heads[identity]
    while let here = slot, let track = slots[here] {
      found.append(here)
      slot = track.next
    }
    return found
  }

  /// Whether a track goes on as another, by way of others perhaps.
  func isPredecessor(_ slot: Int, of other: Int) -> Bool {
    var next = slots[other]?.predecessor
    while let here = next {
      if here == slot { return true }
      next = slots[here]?.predecessor
    }
    return false
  }

  /// The slots of which one has to be displaced before a track of this identity can be inserted; nil
  /// if there is room.
  mutating func candidates(for identity: BeaconIdentity) -> [Int]? {
    if heads[identity] != nil {
      let row = slots(of: identity)
      if row.count >= sameIdentityMax { return row }
    }
    guard count >= capacity else { return nil }
    guard !slots.isEmpty else { return [] }
    let start = cursor
    cursor = (cursor + Self.candidatesMax) % slots.count
    return (start..<start + min(Self.candidatesMax, slots.count)).map { $0 % slots.count }
  }

  /// Removes a track to make room. The tracks before and after it become neighbours.
  mutating func displace(_ slot: Int) {
    let track = slots[slot]
    remove(slot)
    guard let predecessor = track?.predecessor, let successor = track?.successor else { return }
    update(predecessor) { $0.successor = successor }
    update(successor) { $0.predecessor = predecessor }
  }

  /// Adds a track; nil where there is no room.
  mutating func insert(_ track: Track) -> Int? {
    guard count < capacity else { return nil }
    let head = heads[track.identity]
    if head != nil, slots(of: track.identity).count >= sameIdentityMax { return nil }
    var track = track
    track.next = head
    let slot: Int
    if let free = freeSlots.popLast() {
      assert(slots[free] == nil, "slot \(free) is free and in use")
      slot = free
      slots[slot] = track
    } else {
      slot = slots.count
      slots.append(track)
    }
    heads[track.identity] = slot
    return slot
  }

  /// Removes a track.
  mutating func remove(_ slot: Int) {
    guard let track = slots[slot] else { preconditionFailure("slot \(slot) is not in use") }
    if let predecessor = track.predecessor { update(predecessor) { $0.successor = nil } }
    if let successor = track.successor { update(successor) { $0.predecessor = nil } }
    if heads[track.identity] == slot {
      heads[track.identity] = track.next
    } else {
      for other in slots(of: track.identity) where slots[other]?.next == slot {
        update(other) { $0.next = track.next }
      }
    }
    assert(!slots(of: track.identity).contains(slot), "slot \(slot) is left in its row")
    slots[slot] = nil
    freeSlots.append(slot)
  }
}
