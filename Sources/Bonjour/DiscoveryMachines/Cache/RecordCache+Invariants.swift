import DNSWire
import Essentials

// What must hold between the tables of a cache whenever it is not at work.

extension RecordCache {
  /// How the tables contradict each other; a sentence for each contradiction.
  ///
  /// - Parameter limit: How many slots are checked; of more, a part that each record moves on.
  func violations(perTable limit: Int) -> [String] {
    var found = countViolations(perTable: limit)
    let start = limit < slots.count ? Int(lastSerial % UInt64(slots.count)) : 0
    let end = limit < slots.count - start ? start + limit : slots.count
    for slot in start..<end {
      if let entry = slots[slot] { found += violations(of: entry, slot) }
    }
    return found
  }

  /// For how many questions' clients the records of a key are kept.
  func wantCount(_ key: QuestionKey) -> Int { wants[key] ?? 0 }

  private func countViolations(perTable limit: Int) -> [String] {
    var found: [String] = []
    if count > recordsMax || byteCount > byteCountMax {
      found.append("\(count) records of \(byteCount) bytes are too many")
    }
    if slots.count - freeSlots.count != count || slotsByIdentity.count != count {
      found.append("there are not \(count) records")
    }
    if queue.count < count { found.append("a record is never due") }
    if (oldestIdle == nil) != (newestIdle == nil) { found.append("idle records have one end") }
    guard slots.count <= limit else { return found }
    if byteCount != entries.reduce(0, { $0 + $1.byteCount }) {
      found.append("the records have not \(byteCount) bytes")
    }
    if slotsByName.values.reduce(0, { $0 + $1.count }) != count {
      found.append("a name has a record that is not there")
    }
    return found
  }

  private func violations(of entry: Entry, _ slot: Int) -> [String] {
    var found: [String] = []
    let name = entry.record.name
    if slotsByIdentity[Identity(name: name, data: entry.record.data)] != slot {
      found.append("slot \(slot) is not found by its data")
    }
    let row = slotsByName[name] ?? []
    if !row.indices.contains(entry.position) || row[entry.position] != slot {
      found.append("slot \(slot) is not found by its name")
    }
    if entry.isWanted != (wants[entry.key] != nil || wants[QuestionKey(name, .any)] != nil) {
      found.append("slot \(slot) is \(entry.isWanted ? "" : "not ")wanted")
    }
    if entry.queuedAt > entry.deadline { found.append("slot \(slot) is queued after it is due") }
    if queue.next.map({ $0 > entry.queuedAt }) ?? true {
      found.append("slot \(slot) is not queued")
    }
    if entry.refreshAt != .distantFuture, entry.isExpiring || !entry.isWanted {
      found.append("slot \(slot) is refreshed for nothing")
    }
    if entry.goodbyeAt != nil, !entry.isExpiring {
      found.append("slot \(slot) outlives its goodbye")
    }
    return found + idleViolations(of: entry, slot)
  }

  /// The records without a query are in one row, the others in none.
  private func idleViolations(of entry: Entry, _ slot: Int) -> [String] {
    if entry.isWanted {
      let isLinked =
        entry.older != nil || entry.newer != nil || oldestIdle == slot || newestIdle == slot
      return isLinked ? ["slot \(slot) has a query and may be evicted"] : []
    }
    let hasOlder = entry.older.map { slots[$0]?.newer == slot } ?? (oldestIdle == slot)
    let hasNewer = entry.newer.map { slots[$0]?.older == slot } ?? (newestIdle == slot)
    return hasOlder && hasNewer ? [] : ["slot \(slot) is not in the row of idle records"]
  }
}
