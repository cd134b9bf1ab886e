import Essentials

// What must hold between the constraints and the tracks whenever the machine is not at work.

extension RangingMachine {
  /// Stops a debug build whose tables contradict each other. Release builds check nothing. Of a large
  /// table each call checks a part, the next one another.
  func assertInvariants() {
    assert(
      violations(of: checkedSlots).isEmpty, violations(of: checkedSlots).joined(separator: "; "))
  }

  private var checkedSlots: Range<Int> {
    let start = counted.matches % max(1, table.indices.count)
    return (start..<start + 8).clamped(to: table.indices)
  }

  /// How the tables contradict each other; a sentence for each contradiction.
  package func violations() -> [String] { violations(of: table.indices) }

  private func violations(of slots: Range<Int>) -> [String] {
    var found = table.violations(of: slots)
    if ranged.count > settings.constraintsMax { found.append("\(ranged.count) constraints") }
    if Set(ranged).count != ranged.count { found.append("a constraint is ranged twice") }
    if !isScanning, table.count > 0 { found.append("a track without a scan") }
    for slot in slots {
      guard let track = table[slot] else { continue }
      if !isRanged(track.identity) { found.append("slot \(slot) is of no constraint") }
      if track.lastHeard > clock.now { found.append("slot \(slot) was heard in the future") }
    }
    if max(counted.unmeasured, counted.untracked) > counted.matches {
      found.append("more sightings were dropped than there were")
    }
    return found
  }
}

extension BeaconTrackTable {
  /// How these slots contradict the other tables; a sentence for each contradiction.
  func violations(of slots: Range<Int>) -> [String] {
    var found: [String] = []
    if count > capacity { found.append("\(count) tracks") }
    if heads.count > count || heads.isEmpty != (count == 0) {
      found.append("\(heads.count) identities have \(count) tracks")
    }
    for slot in slots {
      if let track = self[slot] {
        found += violations(of: track, slot)
      } else if slots.count == indices.count, !freeSlots.contains(slot) {
        found.append("slot \(slot) is empty, not free")
      }
    }
    return found
  }

  private func violations(of track: Track, _ slot: Int) -> [String] {
    var found: [String] = []
    let row = self.slots(of: track.identity)
    if row.count(where: { $0 == slot }) != 1 {
      found.append("slot \(slot) is not among those of its identity")
    }
    if row.count > sameIdentityMax { found.append("\(row.count) tracks of one identity") }
    if row.contains(where: { self[$0]?.identity != track.identity }) {
      found.append("slot \(slot) is in a row with another identity")
    }
    if track.firstHeard > track.lastHeard { found.append("slot \(slot) was heard before its time") }
    if let other = track.predecessor, self[other]?.successor != slot {
      found.append("the predecessor of slot \(slot) has another successor")
    }
    if let other = track.successor, self[other]?.predecessor != slot {
      found.append("the successor of slot \(slot) has another predecessor")
    }
    for other in [track.predecessor, track.successor].compactMap({ $0 })
    where self[other]?.identity != track.identity {
      found.append("slot \(slot) goes on as another beacon")
    }
    return found
  }
}
