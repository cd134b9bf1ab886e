/// The offsets of name suffixes in a message, for compression.
///
/// Open addressing over offsets: a message has at most a few hundred of them, and an encoder is
/// made for each packet.
struct SuffixTable: Sendable {
  private struct Entry {
    var hash: UInt32
    /// 0 if the slot is free: the header has no names.
    var offset: UInt16
  }

  /// The farthest that a pointer reaches.
  private static let offsetMax = 0x3FFF

  private var slots: [Entry] = []
  private var count = 0
  /// The slots that were filled since `mark`, the last at the end.
  private var recent: [Int] = []

  /// Begins a piece that may be taken back.
  mutating func mark() { recent.removeAll(keepingCapacity: true) }

  /// Removes the suffixes inserted since `mark`, the last ones first, so that no chain of slots is
  /// interrupted.
  mutating func takeBack() {
    for slot in recent.reversed() { slots[slot].offset = 0 }
    count -= recent.count
    recent.removeAll(keepingCapacity: true)
  }

  /// The offset in `message` of `suffix`, a name in the form on the wire.
  func offset(of suffix: ArraySlice<UInt8>, in message: [UInt8]) -> Int? {
    guard !slots.isEmpty else { return nil }
    let hash = Self.hash(suffix)
    var slot = Int(hash) & (slots.count - 1)
    while slots[slot].offset != 0 {
      let offset = Int(slots[slot].offset)
      if slots[slot].hash == hash, Self.stands(suffix, at: offset, in: message) { return offset }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds `suffix` with its `offset`.
  mutating func insert(_ suffix: ArraySlice<UInt8>, at offset: Int) {
    guard offset <= Self.offsetMax else { return }
    if count * 2 >= slots.count { grow() }
    let entry = Entry(hash: Self.hash(suffix), offset: UInt16(offset))
    recent.append(insert(entry))
    count += 1
  }

  private mutating func insert(_ entry: Entry) -> Int {
    var slot = Int(entry.hash) & (slots.count - 1)
    while slots[slot].offset != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = entry
    return slot
  }

  /// Doubles the table. Everything moves, the recent ones last, so that they can still be taken
  /// back.
  private mutating func grow() {
    let old = slots
    let recentEntries = recent.map { old[$0] }
    let recentSlots = Set(recent)
    slots = Array(repeating: Entry(hash: 0, offset: 0), count: max(32, old.count * 2))
    for (slot, entry) in old.enumerated() where entry.offset != 0 && !recentSlots.contains(slot) {
      _ = insert(entry)
    }
    recent = recentEntries.map { insert($0) }
  }

  private static func hash(_ suffix: ArraySlice<UInt8>) -> UInt32 {
    var hash: UInt32 = 0x811C_9DC5
    for byte in suffix { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
    return hash ^ hash >> 15
  }

  /// Whether the name at `offset`, which this encoder wrote, is `suffix`.
  private static func stands(
    _ suffix: ArraySlice<UInt8>, at offset: Int, in message: [UInt8]
  ) -> Bool {
    var (cursor, index) = (offset, suffix.startIndex)
    while index < suffix.endIndex {
      while cursor + 1 < message.count, message[cursor] >= 0xC0 {
        cursor = Int(message[cursor] & 0x3F) << 8 | Int(message[cursor + 1])
      }
      let end = index + 1 + Int(suffix[index])
      guard end <= suffix.endIndex, cursor + end - index <= message.count,
        message[cursor..<cursor + end - index] == suffix[index..<end]
      else { return false }
      (cursor, index) = (cursor + end - index, end)
    }
    return true
  }
}
