import BluetoothWire
import Essentials

/// The advertisers that a scan remembers: bounded, the one that was not heard for longest is
/// removed first. Each advertising set of a device has an entry of its own, because its data
/// differs.
///
/// A lookup moves the entry to the young end of a linked list of the entries, so that a report of a
/// known advertiser costs one hash and no allocation, even if the table is full.
struct AdvertiserTable: Sendable {
  /// One advertiser.
  struct Entry: Sendable {
    let address: DeviceAddress
    /// The advertiser's number for the set; nil for legacy advertising.
    let set: UInt8?
    var isConnectable = false
    var isScannable = false
    var isLegacy = true
    var data: ArraySlice<UInt8> = []
    var scanResponse: ArraySlice<UInt8> = []
    /// The parts of extended advertising data received so far, until the last one.
    var parts: [UInt8] = []
    /// Scans (by bit) that were notified of the current data, or whose filter did not match it.
    var considered: UInt64 = 0
    /// Scans (by bit) whose filter matches the current data.
    var matches: UInt64 = 0
    fileprivate var younger = none
    fileprivate var older = none

    fileprivate init(_ key: AdvertiserTable.Key) {
      address = key.address
      set = key.set
    }
  }

  fileprivate struct Key: Hashable, Sendable {
    let address: DeviceAddress
    let set: UInt8?
  }

  private static let none = -1

  /// How many advertisers are remembered at most.
  let capacity: Int
  private(set) var entries: [Entry] = []
  private var indices: [Key: Int] = [:]
  private var youngest = none
  private var oldest = none

  init(capacity: Int) {
    precondition(capacity > 0, "a table holds at least one advertiser")
    self.capacity = capacity
  }

  /// How many advertisers are remembered.
  var count: Int { entries.count }

  /// The entry at an index that `hear` returned.
  subscript(index: Int) -> Entry {
    _read { yield entries[index] }
    _modify { yield &entries[index] }
  }

  /// Finds or makes the entry of an advertiser that was just heard. Indices stay valid until the
  /// next call.
  mutating func hear(_ address: DeviceAddress, set: UInt8? = nil) -> Int {
    let key = Key(address: address, set: set)
    if let index = indices[key] {
      if index != youngest {
        unlink(index)
        linkYoungest(index)
      }
      return index
    }
    let index: Int
    if entries.count < capacity {
      index = entries.count
      entries.append(Entry(key))
    } else {
      index = oldest
      unlink(index)
      indices[Key(address: entries[index].address, set: entries[index].set)] = nil
      entries[index] = Entry(key)
    }
    indices[key] = index
    linkYoungest(index)
    return index
  }

  /// Makes everything new to the scans of these bits.
  mutating func forget(scans: UInt64) {
    for index in entries.indices {
      entries[index].considered &= ~scans
      entries[index].matches &= ~scans
    }
  }

  /// Removes all advertisers.
  mutating func removeAll() { self = AdvertiserTable(capacity: capacity) }

  private mutating func unlink(_ index: Int) {
    let younger = entries[index].younger
    let older = entries[index].older
    if younger == Self.none { youngest = older } else { entries[younger].older = older }
    if older == Self.none { oldest = younger } else { entries[older].younger = younger }
  }

  private mutating func linkYoungest(_ index: Int) {
    entries[index].younger = Self.none
    entries[index].older = youngest
    if youngest == Self.none { oldest = index } else { entries[youngest].younger = index }
    youngest = index
  }
}

extension AdvertiserTable {
  /// How the table contradicts itself; a sentence for each contradiction.
  ///
  /// - Parameter limit: The number of rows that are checked.
  func violations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if entries.count > capacity { found.append("too many advertisers are remembered") }
    if indices.count != entries.count { found.append("keys and advertisers differ in number") }
    if (youngest == Self.none) != entries.isEmpty || (oldest == Self.none) != entries.isEmpty {
      found.append("the list of advertisers has only one end")
    }
    if let entry = entries[safe: youngest], entry.younger != Self.none {
      found.append("an advertiser is younger than the youngest")
    }
    if let entry = entries[safe: oldest], entry.older != Self.none {
      found.append("an advertiser is older than the oldest")
    }
    for (key, index) in indices.prefix(limit) where entries[safe: index]?.address != key.address {
      found.append("an address leads to another advertiser")
    }
    return found
  }
}
