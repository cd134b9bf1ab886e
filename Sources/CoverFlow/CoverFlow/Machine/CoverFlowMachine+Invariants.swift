extension CoverFlowMachine {
  /// Traps in a debug build whose machine violates an invariant. Release builds, which include those
  /// for browsers, check nothing.
  func assertInvariants() {
    #if !hasFeature(Embedded)
      assert(violations().isEmpty, violations().map(\.description).joined(separator: "; "))
    #endif
  }

  /// The violated invariants; debug builds and tests check them after each event.
  package func violations() -> [StaticString] {
    var found: [StaticString] = []
    func require(_ holds: Bool, _ what: StaticString) {
      if !holds { found.append(what) }
    }
    require(position.isFinite, "the position is a number")
    require(position >= -0.5 && position <= positionMax + 0.5, "the position is near the covers")
    require(target >= 0 && target <= max(0, count - 1), "the target exists")
    require(goAfterDrag.map { 0..<count ~= $0 } ?? true, "the item to go to exists")
    require(velocity.isFinite && abs(velocity) <= 1e10, "the velocity is a number")
    if case .rest = motion { require(position == Double(target), "rest is on a whole cover") }
    var shown: [Int] = []
    for case let index? in pool.indices {
      require(index >= 0 && index < count, "a slot's item exists")
      require(!shown.contains(index), "an item has one slot")
      shown.append(index)
    }
    if let front { require(front >= 0 && front < count, "the reported front exists") }
    if let flip {
      require(flip.index >= 0 && flip.index < count, "the turned cover exists")
      require(flip.part >= 0 && flip.part <= 1, "a cover is turned between front and back")
    }
    require(isLoadWanted.count == pool.slotCount, "each slot's image was asked for or not")
    require(!isFlipBackDue || flip != nil, "the cover that is turned back exists")
    require(lastTap.map { -1..<count ~= $0.index } ?? true, "the tapped cover exists, or is gone")
    if case .scroll(let scroll) = motion {
      require(scroll.goal >= 0 && scroll.goal <= positionMax, "the goal is among the covers")
    }
    if isDirty { return found }
    for (slot, isWanted) in isLoadWanted.enumerated() where isWanted {
      require(pool.indices[slot] != nil, "an image is for an item")
    }
    require(front == (count > 0 ? nearest : nil), "the reported front is nearest")
    require(shown.count == min(count, pool.slotCount), "as many slots show items as can")
    for index in pool.window(front: nearest, count: count) {
      require(shown.contains(index), "an item near the front has a slot")
    }
    return found
  }
}
